/* bench_bank: one question to all generations of a segment: the bank, and as many classic filters.
 *
 *   bench_bank PASSES
 *
 * 256 columns of 65,536 keys, shaped as the defaults shape them (a third of 1 % shared by 256), filled;
 * beside them 256 classic filters of the same shape with the same keys. Absent keys are asked as the
 * store asks them: a batch is hashed, and each key's rows are fetched eight keys ahead. */
#include "base/clock.h"
#include "base/mem.h"
#include "measure.h"
#include "messages.h"
#include "store/bank.h"

#include <stdlib.h>

enum { COLUMNS = 256, GENERATION_KEYS = 65536, BATCH = 512, AHEAD = 8, ASKED = 1 << 18 };

static const double rate = 0.01 / 3 / COLUMNS;
static const unsigned char secret[BLOOM_KEY_BYTES] = "benchmark secret";
static const uint64_t absent_first = (uint64_t)1 << 40; /* numbers from here on are never added */

static char keys[ASKED][MESSAGE_KEY_BYTES]; /* of the absent */

static struct bloom_hash hash_of(uint64_t n)
{
    char key[MESSAGE_KEY_BYTES];

    message_key(key, MESSAGE_RANDOM, n);
    return bloom_hash(secret, key, sizeof key);
}

static void fill(struct bank *bank, struct bloom classic[COLUMNS])
{
    bank_init(bank, bloom_shape_for(GENERATION_KEYS, rate), COLUMNS);
    for (uint32_t column = 0; column < COLUMNS; column++) {
        bank_begin_column(bank);
        bloom_init(&classic[column], bank->shape);
        for (uint64_t i = 0; i < GENERATION_KEYS; i++) {
            struct bloom_hash hash = hash_of((uint64_t)column * GENERATION_KEYS + i);

            bank_add(bank, column, hash);
            bloom_add(&classic[column], hash);
        }
    }
}

static uint64_t ask_bank(struct bank *bank, size_t n)
{
    struct bloom_hash hashes[BATCH];
    uint64_t maybe = 0;

    for (size_t at = 0; at < n; at += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            hashes[i] = bloom_hash(secret, keys[at + i], MESSAGE_KEY_BYTES);
        for (size_t i = 0; i < BATCH; i++) {
            if (i + AHEAD < BATCH)
                bank_prefetch(bank, hashes[i + AHEAD]);
            maybe += bank_ask(bank, hashes[i]);
        }
    }
    return maybe;
}

/* Every filter is asked, as every column is: all candidates are wanted, not the first. */
static uint64_t ask_classic(const struct bloom classic[COLUMNS], size_t n)
{
    uint64_t maybe = 0;

    for (size_t at = 0; at < n; at++) {
        struct bloom_hash hash = bloom_hash(secret, keys[at], MESSAGE_KEY_BYTES);
        bool any = false;

        for (size_t i = 0; i < COLUMNS; i++)
            any |= bloom_ask(&classic[i], hash);
        maybe += any;
    }
    return maybe;
}

int main(int argc, char **argv)
{
    enum { ASKED_CLASSIC = ASKED / 8 };
    struct bloom *classic = mem_zalloc(COLUMNS, sizeof *classic);
    struct bank bank;

    measure_must(argc == 2, "usage: bench_bank PASSES");
    fill(&bank, classic);
    for (uint64_t pass = 0; pass < measure_number(argv[1]); pass++) {
        for (uint64_t i = 0; i < ASKED; i++)
            message_key(keys[i], MESSAGE_RANDOM, absent_first + pass * ASKED + i);
        measure_must(ask_bank(&bank, ASKED_CLASSIC) == ask_classic(classic, ASKED_CLASSIC),
                     "bank and classic filters do not agree");
        int64_t began_us = clock_mono_us();
        uint64_t maybe = ask_bank(&bank, ASKED);

        measure_print("bank", measure_ns(ASKED, began_us));
        measure_print("rate", (double)maybe / ASKED);
        began_us = clock_mono_us();
        ask_classic(classic, ASKED_CLASSIC);
        measure_print("classic", measure_ns(ASKED_CLASSIC, began_us));
    }
    measure_print("bits_a_key", (double)bank.shape.bits / GENERATION_KEYS);
    for (size_t i = 0; i < COLUMNS; i++)
        bloom_done(&classic[i]);
    bank_done(&bank);
    free(classic);
    return 0;
}
