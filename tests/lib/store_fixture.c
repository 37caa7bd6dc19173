#include "store_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <search.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "disk_journal.h"
#include "store/store_state.h"

enum {
    FINGERPRINT_DEFAULT = 1,
    VERSIONS_MAX = 8, /* conflicting versions of one key that the map remembers */
};

/* ---- directories ---- */

static char root[256];

void store_fixture_make_root(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(root, sizeof root, "%s/tradesieve-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(root));
    disk_never_sync(); /* what lies below the root vanishes with the test */
}

static int on_remove(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

static void remove_directory(const char *dir)
{
    nftw(dir, on_remove, 16, FTW_DEPTH | FTW_PHYS);
}

void store_fixture_remove_root(void)
{
    remove_directory(root);
}

void store_fixture_remove(char *dir)
{
    remove_directory(dir);
    free(dir);
}

char *store_fixture_directory(void)
{
    char path[sizeof root + 16];

    snprintf(path, sizeof path, "%s/XXXXXX", root);
    ck_assert_ptr_nonnull(mkdtemp(path));
    return mem_strdup(path);
}

void store_fixture_copy_file(const char *from, const char *to)
{
    char buffer[1 << 16];
    FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
    size_t n;

    if (!in && errno == ENOENT)
        return; /* the seal thread has just renamed it */
    ck_assert(in && out);
    while ((n = fread(buffer, 1, sizeof buffer, in)) > 0)
        ck_assert_uint_eq(fwrite(buffer, 1, n, out), n);
    fclose(in);
    ck_assert_int_eq(fclose(out), 0);
}

/* The -shm file is left out: after a power cut it is gone, after a kill it is not believed. */
char *store_fixture_copy(const char *dir)
{
    char *ret = store_fixture_directory();
    DIR *d = opendir(dir);
    struct dirent *file;

    ck_assert_ptr_nonnull(d);
    while ((file = readdir(d))) {
        char from[1024], to[1024];

        if (file->d_name[0] == '.' || strstr(file->d_name, "-shm"))
            continue;
        snprintf(from, sizeof from, "%s/%s", dir, file->d_name);
        snprintf(to, sizeof to, "%s/%s", ret, file->d_name);
        store_fixture_copy_file(from, to);
    }
    closedir(d);
    return ret;
}

/* ---- the store ---- */

/* filter.key as the store makes it, but always the same: a run is like the one before. */
static void write_secret(const char *dir)
{
    static const unsigned char secret[16] = "always the same.";
    unsigned char file[32] = "TSVKEY1\n";
    char path[1024];

    memcpy(file + 8, secret, sizeof secret);
    crypto_shorthash(file + 24, file, 8, secret);
    snprintf(path, sizeof path, "%s/filter.key", dir);
    FILE *out = fopen(path, "wb");

    ck_assert(out && fwrite(file, sizeof file, 1, out) == 1);
    fclose(out);
}

static void on_event(void *arg, enum store_event_level level, const char *text)
{
    struct store_fixture *fixture = arg;

    fixture->events[level]++;
    snprintf(fixture->event, sizeof fixture->event, "%s", text);
}

void store_fixture_init(struct store_fixture *fixture)
{
    *fixture = (struct store_fixture){
        .dir = store_fixture_directory(),
        .config =
            {
                .keep_message = true,
                .generation_keys = 4,
                .segment_rows = 16,
                .reject_rows = 1000,
                .reject_bytes = 1 << 20,
                .false_positive_rate = 0.01,
                .capacity = 100000,
                .on_event = on_event,
            },
    };
    fixture->config.data_dir = fixture->dir;
    fixture->config.arg = fixture;
    write_secret(fixture->dir);
}

void store_fixture_done(struct store_fixture *fixture)
{
    store_fixture_close(fixture);
    figures_done(&fixture->figures);
    remove_directory(fixture->dir);
    free(fixture->dir);
}

int store_fixture_try_open(struct store_fixture *fixture)
{
    figures_done(&fixture->figures);
    if (store_open(&fixture->store, &fixture->config, &fixture->err) < 0)
        return fixture->err.code;
    if (!fixture->now_us)
        fixture->now_us = store_active(fixture->store)->meta.day * STORE_FIXTURE_DAY_US;
    return 0;
}

void store_fixture_open(struct store_fixture *fixture)
{
    if (store_fixture_try_open(fixture) < 0)
        ck_abort_msg("open: %s", fixture->err.text);
}

void store_fixture_close(struct store_fixture *fixture)
{
    store_close(fixture->store);
    fixture->store = NULL;
}

void store_fixture_reopen(struct store_fixture *fixture)
{
    store_fixture_close(fixture);
    store_fixture_open(fixture);
}

void store_fixture_kill(struct store_fixture *fixture)
{
    char *copy = store_fixture_copy(fixture->dir);

    store_fixture_close(fixture);
    remove_directory(fixture->dir);
    free(fixture->dir);
    fixture->dir = copy;
    fixture->config.data_dir = copy;
}

/* ---- batches ---- */

static uint32_t put(struct text *text, const char *bytes, size_t len)
{
    size_t at = text->len;

    text_add(text, bytes, len);
    return (uint32_t)at;
}

/* KEY, KEY=FINGERPRINT, KEY@FEED. */
static void add_question(struct batch *batch, struct batch_trade *trade, const char *word, size_t len)
{
    size_t key_len = strcspn(word, "=@ ");

    trade->key_at = put(&batch->arena, word, key_len);
    trade->key_len = (uint32_t)key_len;
    trade->fingerprint = FINGERPRINT_DEFAULT;
    if (word[key_len] == '=')
        trade->fingerprint = strtoull(word + key_len + 1, NULL, 10);
    if (word[key_len] == '@') {
        trade->feed_at = put(&batch->arena, word + key_len + 1, len - key_len - 1);
        trade->feed_len = (uint32_t)(len - key_len - 1);
    }
    batch->ask_n++;
}

static void add_word(struct batch *batch, const char *word, size_t len)
{
    struct batch_line *line = batch_add_line(batch);
    struct batch_trade *trade = batch_add_trade(batch);

    line->number = batch->lines_n;
    line->trades_n = 1;
    trade->message_at = put(&batch->bytes, word, len);
    trade->message_len = (uint32_t)len;
    text_add_char(&batch->bytes, '\n');
    if (*word == '!') {
        trade->verdict = VERDICT_INVALID;
        trade->reason = REASON_BAD_JSON;
    } else if (*word == '~') {
        trade->verdict = VERDICT_IGNORED;
    } else {
        add_question(batch, trade, word, len);
    }
}

struct batch *store_fixture_batch(struct store_fixture *fixture, const char *words)
{
    struct batch *batch = batch_open();

    batch->feed = "test";
    batch->received_us = fixture->now_us;
    fixture->now_us += 1000000;
    for (const char *word = words + strspn(words, " "); *word; word += strspn(word, " ")) {
        size_t len = strcspn(word, " ");

        add_word(batch, word, len);
        word += len;
    }
    return batch;
}

static void must(struct store_fixture *fixture, int result, const char *doing)
{
    if (result < 0)
        ck_abort_msg("%s: %s", doing, fixture->err.text);
}

void store_fixture_transact(struct store_fixture *fixture, struct batch **batches, size_t n,
                            bool commit)
{
    struct store *store = fixture->store;
    size_t i = 0;

    while (i < n) {
        if (store_must_roll(store, batches[i]))
            must(fixture, store_roll(store, batches[i]->received_us, &fixture->err), "roll");
        must(fixture, store_begin(store, &fixture->err), "begin");
        do
            must(fixture, store_judge(store, batches[i++], &fixture->err), "judge");
        while (i < n && !store_must_roll(store, batches[i]));
        if (commit)
            must(fixture, store_commit(store, &fixture->err), "commit");
        else
            store_rollback(store);
    }
}

const char *store_fixture_verdicts(const struct batch *batch)
{
    static struct text said;

    said.len = 0;
    for (size_t i = 0; i < batch->trades_n; i++) {
        const struct batch_trade *trade = &batch->trades[i];

        text_add_format(&said, "%s%s", i ? " " : "", verdict_name((enum verdict)trade->verdict));
        if (trade->seq)
            text_add_format(&said, ":%lld", (long long)trade->seq);
    }
    return text_terminate(&said);
}

const char *store_fixture_send(struct store_fixture *fixture, const char *words)
{
    struct batch *batch = store_fixture_batch(fixture, words);

    store_fixture_transact(fixture, &batch, 1, true);
    const char *said = store_fixture_verdicts(batch);

    batch_close(batch);
    return said;
}

void store_fixture_send_range(struct store_fixture *fixture, const char *prefix, int from, int to,
                              int size)
{
    struct text words = {0};

    for (int i = from; i <= to; i++) {
        text_add_format(&words, "%s%d ", prefix, i);
        if ((i - from + 1) % size == 0 || i == to) {
            store_fixture_send(fixture, text_terminate(&words));
            words.len = 0;
        }
    }
    text_done(&words);
}

const struct figures *store_fixture_figures(struct store_fixture *fixture)
{
    store_fill_figures(fixture->store, &fixture->figures);
    return &fixture->figures;
}

/* ---- the filter, looked at and damaged ---- */

struct census {
    struct store *store;
    size_t part;
    int64_t next_seq;
    uint32_t generation, in_generation;
    struct store_fixture_census found;
};

static int census_row(void *arg, const struct segment_row *row, struct err *err)
{
    struct census *census = arg;
    struct screen *screen = &census->store->screen;

    (void)err;
    ck_assert_int_eq(row->seq, census->next_seq++);
    ck_assert_uint_ge(row->generation, census->generation);
    if (row->generation != census->generation)
        census->in_generation = 0;
    census->generation = row->generation;
    ck_assert_uint_le(++census->in_generation,
                      census->store->segments[census->part].meta.generation_keys);
    census->found.rows++;
    census->found.denied += !screen_holds(screen, census->part, row->generation,
                                          screen_hash(screen, row->key, row->key_len));
    return 0;
}

struct store_fixture_census store_fixture_census(struct store_fixture *fixture)
{
    struct census census = {
        .store = fixture->store,
        .next_seq = fixture->store->segments[0].meta.first_seq,
    };

    for (size_t i = 0; i < fixture->store->segments_n; i++) {
        struct segment *db = store_segment_db(fixture->store, i, &fixture->err);

        must(fixture, db ? 0 : -1, "census");
        census.part = i;
        census.generation = census.in_generation = 0;
        must(fixture, segment_scan(db, 0, census_row, &census, &fixture->err), "census");
    }
    return census.found;
}

void store_fixture_zero_column(struct store_fixture *fixture, size_t segment, uint32_t generation)
{
    struct bank *bank = &fixture->store->screen.parts[segment].bank;

    ck_assert_uint_lt(generation, bank->columns);
    for (uint64_t row = 0; row < bank->shape.bits; row++)
        bank->bits[row * bank->words + generation / 64] &= ~((uint64_t)1 << generation % 64);
}

void store_fixture_saturate(struct store_fixture *fixture)
{
    for (size_t i = 0; i < fixture->store->screen.parts_n; i++) {
        struct screen_part *part = &fixture->store->screen.parts[i];

        if (part->sealed)
            memset(part->bloom.words, 0xff, bloom_memory(&part->bloom));
        else
            memset(part->bank.bits, 0xff, bank_memory(&part->bank));
    }
}

/* ---- the plain map ---- */

struct known {
    char *key;
    uint64_t fingerprint;
    int64_t seq, received_us;
    uint64_t versions[VERSIONS_MAX]; /* conflicting fingerprints seen */
    size_t versions_n;
};

struct store_model {
    void *tree;             /* of entries, by key */
    struct known **entries; /* in order of seq: entry i has seq i + 1 */
    size_t n;
    size_t gone;        /* so many of the first have left with their segments */
    uint64_t conflicts; /* versions over all entries */
};

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct known *)a)->key, ((const struct known *)b)->key);
}

struct store_model *store_model_open(void)
{
    return mem_zalloc(1, sizeof(struct store_model));
}

void store_model_close(struct store_model *model)
{
    store_model_expire(model, (int64_t)model->n + 1);
    for (size_t i = 0; i < model->n; i++) {
        free(model->entries[i]->key);
        free(model->entries[i]);
    }
    free(model->entries);
    free(model);
}

size_t store_model_size(const struct store_model *model)
{
    return model->n - model->gone;
}

int64_t store_model_received(const struct store_model *model, int64_t seq)
{
    return model->entries[seq - 1]->received_us;
}

void store_model_expire(struct store_model *model, int64_t first_seq)
{
    for (; (int64_t)model->gone + 1 < first_seq; model->gone++)
        tdelete(model->entries[model->gone], &model->tree, by_key);
}

static void expect_new(struct store_model *model, const struct batch *batch,
                       const struct batch_trade *trade, char *key)
{
    struct known *entry = mem_zalloc(1, sizeof *entry);

    ck_assert_msg(trade->verdict == VERDICT_NEW, "%s: %s instead of new", key,
                  verdict_name((enum verdict)trade->verdict));
    *entry = (struct known){
        .key = key,
        .fingerprint = trade->fingerprint,
        .seq = (int64_t)model->n + 1,
        .received_us = batch->received_us,
    };
    ck_assert_int_eq(trade->seq, entry->seq);
    model->entries = mem_realloc(model->entries, model->n + 1, sizeof *model->entries);
    model->entries[model->n++] = entry;
    tsearch(entry, &model->tree, by_key);
}

static void note_version(struct store_model *model, struct known *entry, uint64_t fingerprint)
{
    for (size_t i = 0; i < entry->versions_n; i++)
        if (entry->versions[i] == fingerprint)
            return;
    ck_assert_uint_lt(entry->versions_n, VERSIONS_MAX);
    entry->versions[entry->versions_n++] = fingerprint;
    model->conflicts++;
}

static void expect_stored(struct store_model *model, const struct batch_trade *trade,
                          struct known *entry)
{
    bool same = trade->fingerprint == entry->fingerprint;

    ck_assert_msg(trade->verdict == (same ? VERDICT_DUPLICATE : VERDICT_CONFLICT),
                  "%s: %s instead of %s", entry->key, verdict_name((enum verdict)trade->verdict),
                  same ? "duplicate" : "conflict");
    ck_assert_int_eq(trade->seq, entry->seq);
    ck_assert_int_eq(trade->received_us, entry->received_us);
    if (!same)
        note_version(model, entry, trade->fingerprint);
}

void store_model_judge(struct store_model *model, const struct batch *batch)
{
    for (size_t i = 0; i < batch->trades_n; i++) {
        const struct batch_trade *trade = &batch->trades[i];

        if (!trade->key_len)
            continue;
        char *key = strndup(batch_key(batch, trade), trade->key_len);
        struct known **found = tfind(&(struct known){.key = key}, &model->tree, by_key);

        if (!found) {
            expect_new(model, batch, trade, key);
            continue;
        }
        free(key);
        expect_stored(model, trade, *found);
    }
}

void store_model_check(const struct store_model *model, struct store_fixture *fixture, const char *key)
{
    struct known wanted = {.key = (char *)key};
    struct known **found = tfind(&wanted, &model->tree, by_key);
    struct store_answer answer;

    must(fixture, store_check(fixture->store, key, strlen(key), &answer, &fixture->err), "check");
    ck_assert_msg(answer.present == (found != NULL), "%s is %s", key, found ? "lost" : "still there");
    if (found) {
        ck_assert_msg(answer.screen == SCREEN_MAYBE, "%s is denied", key);
        ck_assert_int_eq(answer.seq, (*found)->seq);
        ck_assert_int_eq(answer.received_us, (*found)->received_us);
    }
    store_answer_done(&answer);
}

/* Versions leave with the segment in which they were kept, which may be later than the trade's. */
void store_model_verify(const struct store_model *model, struct store_fixture *fixture)
{
    const struct figures *figures = store_fixture_figures(fixture);

    ck_assert_uint_eq(figures->rows, store_model_size(model));
    if (model->gone)
        ck_assert_uint_le(figures->conflicts, model->conflicts);
    else
        ck_assert_uint_eq(figures->conflicts, model->conflicts);
    for (size_t i = 0; i < model->n; i++)
        store_model_check(model, fixture, model->entries[i]->key);
}

/* ---- random numbers ---- */

uint64_t store_random_seed(void)
{
    const char *asked = getenv("TRADESIEVE_SEED");
    uint64_t seed = asked ? strtoull(asked, NULL, 10) : 20261201;

    printf("TRADESIEVE_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

uint64_t store_random_next(struct store_random *random)
{
    uint64_t z = random->state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint64_t store_random_below(struct store_random *random, uint64_t bound)
{
    return store_random_next(random) % bound;
}
