/* bench_screen: the whole screen of a store that holds very many keys, built without SQLite.
 *
 *   bench_screen PASSES KEYS
 *
 * Full segments of 16,777,216 keys are sealed (a classic filter each), the rest stands in the active
 * segment's bank; 1 % for a capacity of KEYS. Absent keys are asked as the store asks them; members
 * must all be answered maybe. */
#include "base/clock.h"
#include "measure.h"
#include "messages.h"
#include "store/screen.h"

enum { SEGMENT_ROWS = 16777216, GENERATION_KEYS = 65536, BATCH = 512, AHEAD = 8, ASKED = 1 << 20 };

static const unsigned char secret[BLOOM_KEY_BYTES] = "benchmark secret";
static const uint64_t absent_first = (uint64_t)1 << 40; /* numbers from here on are never added */

static char keys[ASKED][MESSAGE_KEY_BYTES]; /* that are asked */

static struct bloom_hash hash_of(const struct screen *screen, uint64_t n)
{
    char key[MESSAGE_KEY_BYTES];

    message_key(key, MESSAGE_RANDOM, n);
    return screen_hash(screen, key, sizeof key);
}

/* Part i, the last so far, as its sealing would leave it. */
static void seal(struct screen *screen, size_t i)
{
    struct bloom bloom;

    bloom_init(&bloom, screen_sealed_shape(screen, SEGMENT_ROWS));
    for (uint64_t n = 0; n < SEGMENT_ROWS; n++)
        bloom_add(&bloom, hash_of(screen, i * SEGMENT_ROWS + n));
    screen_seal_part(screen, i, &bloom);
}

static void fill(struct screen *screen, uint64_t n)
{
    size_t sealed = n ? (size_t)((n - 1) / SEGMENT_ROWS) : 0;

    for (size_t i = 0; i <= sealed; i++) {
        screen_add_part(screen, GENERATION_KEYS, 0);
        if (i < sealed)
            seal(screen, i);
    }
    for (uint64_t i = sealed * SEGMENT_ROWS; i < n; i++) {
        screen_current_generation(screen);
        screen_insert(screen, hash_of(screen, i));
    }
}

static uint64_t ask(struct screen *screen)
{
    struct bloom_hash hashes[BATCH];
    uint64_t maybe = 0;

    for (size_t at = 0; at < ASKED; at += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            hashes[i] = screen_hash(screen, keys[at + i], MESSAGE_KEY_BYTES);
        for (size_t i = 0; i < BATCH; i++) {
            if (i + AHEAD < BATCH)
                screen_prefetch(screen, hashes[i + AHEAD]);
            maybe += screen_ask(screen, hashes[i]) == SCREEN_MAYBE;
        }
    }
    return maybe;
}

int main(int argc, char **argv)
{
    measure_must(argc == 3, "usage: bench_screen PASSES KEYS");
    uint64_t passes = measure_number(argv[1]), stored = measure_number(argv[2]), maybe = 0;
    struct screen_config config = {0.01, stored, SEGMENT_ROWS};
    struct screen screen;
    struct figures figures = {0};

    measure_must(passes > 0 && stored > 0, "PASSES and KEYS are at least 1");
    screen_init(&screen, &config, secret);
    fill(&screen, stored);
    for (uint64_t pass = 0; pass < passes; pass++) {
        for (uint64_t i = 0; i < ASKED; i++)
            message_key(keys[i], MESSAGE_RANDOM, absent_first + pass * ASKED + i);
        int64_t began_us = clock_mono_us();

        maybe += ask(&screen);
        measure_print("absent", measure_ns(ASKED, began_us));
    }
    for (uint64_t i = 0; i < ASKED; i++)
        message_key(keys[i], MESSAGE_RANDOM, message_choose(i, stored));
    measure_must(ask(&screen) == ASKED, "a member was answered absent");
    screen_fill_figures(&screen, &figures);
    measure_print("measured_rate", (double)maybe / (double)(passes * ASKED));
    measure_print("predicted_rate", figures.predicted_fpr);
    measure_print("memory_bytes", (double)figures.memory_bytes);
    screen_done(&screen);
    return 0;
}
