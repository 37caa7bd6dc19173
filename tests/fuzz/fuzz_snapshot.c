/* The reader of filter snapshots.
 *
 *   1. the first letter says bank ('b') or classic filter ('c'); in upper case the file's head is made to
 *      fit and its checksum to be right, so that what lies behind them is reached; the rest is the file
 *   2. a file is believed only when its checksum is right and its length is what its head says; what was
 *      read holds the file's bits and can be asked
 *   3. the same bytes as keys: a filter that holds them, written and read again, is the same, and is not
 *      believed any more once one bit of the file is turned */
#include "store/snapshot.h"

#include <ctype.h>
#include <sodium.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "fuzz.h"
#include "store/catalog.h"

enum {
    KEY_BYTES = 3, /* of the input, for one key */
    SUM_BYTES = 32,
    FILE_BYTES_MAX = 1 << 20,
    /* docs/format.md, "Filters": offsets in the head, and its length */
    AT_KIND = 12,
    AT_SEGMENT = 16,
    AT_SECRET = 32,
    AT_BITS = 64,
    AT_HASHES = 72,
    AT_WORDS = 76,
    AT_COLUMNS = 80,
    HEAD_BYTES = 104,
    COLUMN_BYTES = 24,
};

static const struct bloom_shape shape = {.bits = 192, .hashes = 3};
static const char name[] = "trades-20261201-000001";
static char dir[256]; /* in TMPDIR, else in memory if it can be; it lives as long as one input */

/* A filter of either kind, and what came with it. */
struct filter {
    bool is_bank;
    struct bank bank;
    int64_t *first_seqs; /* of a bank; owned */
    struct bloom bloom;
    struct snapshot_origin origin;
};

static struct snapshot_origin origin_now(void)
{
    struct snapshot_origin origin = {.last_seq = 7, .last_hash = 8, .run = 9};

    memset(origin.segment_id, 1, sizeof origin.segment_id);
    memset(origin.secret, 2, sizeof origin.secret);
    return origin;
}

static bool open_dir_in(const char *parent)
{
    int n = snprintf(dir, sizeof dir, "%s/tradesieve-fuzz-XXXXXX", parent);

    return n > 0 && (size_t)n < sizeof dir && mkdtemp(dir);
}

static void open_dir(void)
{
    const char *wanted = getenv("TMPDIR");

    FUZZ_REQUIRE(wanted ? open_dir_in(wanted) : open_dir_in("/dev/shm") || open_dir_in("/tmp"));
}

static void close_dir(void)
{
    catalog_remove(dir, name, ".bloom");
    FUZZ_REQUIRE(rmdir(dir) == 0);
}

static void put_file(const struct text *bytes)
{
    char path[CATALOG_PATH_MAX];

    catalog_path(path, dir, name, ".bloom");
    FILE *file = fopen(path, "we");

    FUZZ_REQUIRE(file && fwrite(bytes->at, 1, bytes->len, file) == bytes->len && !fclose(file));
}

static struct text get_file(void)
{
    char path[CATALOG_PATH_MAX];
    struct text bytes = {0};
    struct err err;

    catalog_path(path, dir, name, ".bloom");
    FUZZ_REQUIRE(!file_read(path, FILE_BYTES_MAX, &bytes, &err));
    return bytes;
}

static bool read_filter(struct filter *ret, bool is_bank)
{
    const char *why = NULL;

    *ret = (struct filter){.is_bank = is_bank, .origin = origin_now()};
    bool good =
        is_bank ? snapshot_read_bank(dir, name, &ret->origin, shape, &ret->bank, &ret->first_seqs, &why)
                : snapshot_read_classic(dir, name, &ret->origin, shape, &ret->bloom, &why);

    FUZZ_REQUIRE(good == !why);
    return good;
}

static void done_filter(struct filter *filter)
{
    if (filter->is_bank) {
        bank_done(&filter->bank);
        free(filter->first_seqs);
    } else {
        bloom_done(&filter->bloom);
    }
}

/* ---- 1. any file ---- */

static void sum_of(unsigned char ret[SUM_BYTES], const struct text *file)
{
    crypto_generichash(ret, SUM_BYTES, (const unsigned char *)file->at, file->len - SUM_BYTES, NULL, 0);
}

static bool has_right_sum(const struct text *file)
{
    unsigned char sum[SUM_BYTES];

    if (file->len < SUM_BYTES)
        return false;
    sum_of(sum, file);
    return memcmp(file->at + file->len - SUM_BYTES, sum, SUM_BYTES) == 0;
}

/* The members that are compared; words and columns stay as they are, but small enough to be had. */
static void repair(struct text *file, bool is_bank)
{
    struct snapshot_origin origin = origin_now();
    uint32_t start[] = {0x01020304, is_bank ? 1 : 2};

    if (file->len < HEAD_BYTES + SUM_BYTES)
        return;
    memcpy(file->at, "TSVBLM1\n", 8);
    memcpy(file->at + AT_KIND - 4, start, sizeof start);
    memcpy(file->at + AT_SEGMENT, origin.segment_id, sizeof origin.segment_id);
    crypto_shorthash((unsigned char *)file->at + AT_SECRET, (const unsigned char *)"TSVBLM1\n", 8,
                     origin.secret);
    memcpy(file->at + AT_BITS, &shape.bits, 8);
    memcpy(file->at + AT_HASHES, &shape.hashes, 4);
    sum_of((unsigned char *)file->at + file->len - SUM_BYTES, file);
}

/* ---- 2. what was believed ---- */

static void check_asked(struct filter *filter)
{
    const unsigned char secret[BLOOM_KEY_BYTES] = {0};

    if (filter->is_bank) {
        bank_count_bits(&filter->bank, 0);
        bank_ask(&filter->bank, bloom_hash(secret, "k", 1));
    } else {
        bloom_ask(&filter->bloom, bloom_hash(secret, "k", 1));
    }
}

static void check_believed(const struct text *file, struct filter *filter)
{
    const void *bits = filter->is_bank ? (void *)filter->bank.bits : (void *)filter->bloom.words;
    size_t bits_len = filter->is_bank ? bank_memory(&filter->bank) : bloom_memory(&filter->bloom);
    uint32_t words, columns;

    memcpy(&words, file->at + AT_WORDS, sizeof words);
    memcpy(&columns, file->at + AT_COLUMNS, sizeof columns);
    FUZZ_REQUIRE(has_right_sum(file));
    FUZZ_REQUIRE(file->len == HEAD_BYTES + COLUMN_BYTES * (size_t)columns + bits_len + SUM_BYTES);
    FUZZ_REQUIRE(memcmp(bits, file->at + file->len - SUM_BYTES - bits_len, bits_len) == 0);
    if (filter->is_bank)
        FUZZ_REQUIRE(filter->bank.words == words && filter->bank.columns == columns);
    check_asked(filter);
}

static void check_any(const char *bytes, size_t len, char letter)
{
    bool is_bank = tolower((unsigned char)letter) == 'b';
    struct text file = {0};
    struct filter filter;

    text_add(&file, bytes, len);
    text_reserve(&file, 1);
    if (isupper((unsigned char)letter))
        repair(&file, is_bank);
    put_file(&file);
    if (read_filter(&filter, is_bank)) {
        check_believed(&file, &filter);
        done_filter(&filter);
    }
    text_done(&file);
}

/* ---- 3. there and back ---- */

static struct bloom_hash hash_of(const char *bytes, size_t at, size_t len)
{
    const unsigned char secret[BLOOM_KEY_BYTES] = {0};

    return bloom_hash(secret, bytes + at, len - at < KEY_BYTES ? len - at : KEY_BYTES);
}

/* A key for every three bytes; every first byte above 0x7f begins another column. */
static void fill(struct filter *filter, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len; at += KEY_BYTES) {
        if (!filter->is_bank) {
            bloom_add(&filter->bloom, hash_of(bytes, at, len));
            continue;
        }
        if (!filter->bank.columns || (bytes[at] & 0x80))
            bank_begin_column(&filter->bank);
        bank_add(&filter->bank, filter->bank.columns - 1, hash_of(bytes, at, len));
    }
}

static void write_filter(const struct filter *filter)
{
    static int64_t first_seqs[FILE_BYTES_MAX / KEY_BYTES];
    struct err err;
    bool done = false;

    if (!filter->is_bank) {
        FUZZ_REQUIRE(!snapshot_write_classic(dir, name, &filter->origin, &filter->bloom, &err));
        return;
    }
    for (uint32_t i = 0; i < filter->bank.columns; i++)
        first_seqs[i] = 100 + (int64_t)i;
    struct snapshot_writer *writer =
        snapshot_begin(dir, name, &filter->origin, &filter->bank, first_seqs, &err);

    while (!done)
        FUZZ_REQUIRE(writer && !snapshot_step(writer, &done, &err));
    FUZZ_REQUIRE(!snapshot_finish(writer, &err));
}

static void check_same(const struct filter *a, const struct filter *b)
{
    FUZZ_REQUIRE(memcmp(&a->origin, &b->origin, sizeof a->origin) == 0);
    if (!a->is_bank) {
        FUZZ_REQUIRE(a->bloom.keys == b->bloom.keys && a->bloom.bits_set == b->bloom.bits_set);
        FUZZ_REQUIRE(!memcmp(a->bloom.words, b->bloom.words, bloom_memory(&a->bloom)));
        return;
    }
    FUZZ_REQUIRE(a->bank.words == b->bank.words && a->bank.columns == b->bank.columns);
    FUZZ_REQUIRE(!memcmp(a->bank.bits, b->bank.bits, bank_memory(&a->bank)));
    for (uint32_t i = 0; i < a->bank.columns; i++) {
        FUZZ_REQUIRE(a->bank.column[i].keys == b->bank.column[i].keys);
        FUZZ_REQUIRE(a->bank.column[i].bits_set == b->bank.column[i].bits_set);
        FUZZ_REQUIRE(b->first_seqs[i] == 100 + (int64_t)i);
    }
}

static void turn_a_bit(const char *bytes, size_t len)
{
    uint64_t random = fuzz_seed((const uint8_t *)bytes, len);
    struct text file = get_file();

    file.at[fuzz_below(&random, file.len)] ^= (char)(1 << fuzz_below(&random, 8));
    put_file(&file);
    text_done(&file);
}

static void check_round_trip(const char *bytes, size_t len, bool is_bank)
{
    struct filter filter = {.is_bank = is_bank, .origin = origin_now()}, again;

    if (is_bank)
        bank_init(&filter.bank, shape, 1);
    else
        bloom_init(&filter.bloom, shape);
    fill(&filter, bytes, len);
    write_filter(&filter);
    FUZZ_REQUIRE(read_filter(&again, is_bank));
    check_same(&filter, &again);
    done_filter(&filter);
    done_filter(&again);
    turn_a_bit(bytes, len);
    FUZZ_REQUIRE(!read_filter(&again, is_bank));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data + 1;

    if (!size || sodium_init() < 0)
        return 0;
    open_dir();
    check_any(bytes, size - 1, (char)data[0]);
    check_round_trip(bytes, size - 1, tolower(data[0]) == 'b');
    close_dir();
    return 0;
}
