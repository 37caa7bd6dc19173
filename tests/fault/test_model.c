/* The store against a plain map: whatever is sent, in whatever batches, transactions, days, stops and kills,
 * and whatever happens to files that are derived, each verdict, seq and time is what the map says. Few
 * keys, small generations and small segments put a border of some kind next to nearly every trade.
 *
 *   make model [SEEDS=10000] [SEED=N]    so many seeds from N on
 *   make model SEEDS=1 SEED=N            one of them again: round i of a run is the seed N + i
 *
 * The operations of a seed are always the same; when the seal thread is done with a segment is not. As a
 * control the program runs itself with a fault planted, named by TRADESIEVE_FAULT, and must fail. */
#include <glob.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/store_state.h"
#include "store_fixture.h"
#include "suite.h"

enum {
    SEEDS = 200,
    SEEDS_BRIEF = 8,
    USELESS_SHARE = 20, /* one more round, with a useless filter, for so many seeds */
    STEPS = 40,         /* of one seed */
    KEYS = 80,          /* from which a seed draws */
    BATCHES = 4,        /* of one transaction, at most */
    PHASES = 16,        /* offsets within a segment */
    CONTROL_SEEDS = 4,
    CONTROL_LIMIT_S = 60,
};

static struct store_fixture f;
static struct store_model *model;
static uint64_t first_seed;
static const char *fault = ""; /* planted; "": none */

static bool is_planted(const char *name)
{
    return strcmp(fault, name) == 0;
}

static void must(int result)
{
    if (result < 0)
        ck_abort_msg("%s", f.err.text);
}

static void setup(void)
{
    store_fixture_init(&f);
    model = store_model_open();
}

static void teardown(void)
{
    store_model_close(model);
    store_fixture_done(&f);
}

/* ---- every offset ---- */

/* How many new trades stand between a trade and its repetition: around 4, 16 and multiples of them. */
static const int gaps[] = {0, 1, 3, 4, 5, 8, 15, 16, 17, 32};
static const int batch_sizes[] = {1, 3, 4, 17};
enum { SIZES = sizeof batch_sizes / sizeof *batch_sizes };

/* Words that go out as batches of one size, so that batch borders fall everywhere too. */
struct stream {
    struct text words;
    int in_batch, size;
    int fresh; /* number of the next fresh key */
};

static void flush(struct stream *stream)
{
    struct batch *batch = store_fixture_batch(&f, text_terminate(&stream->words));

    store_fixture_transact(&f, &batch, 1, true);
    store_model_judge(model, batch);
    batch_close(batch);
    stream->words.len = 0;
    stream->in_batch = 0;
}

static void say(struct stream *stream, int number, int fingerprint)
{
    text_add_format(&stream->words, "k%d=%d ", number, fingerprint);
    if (++stream->in_batch == stream->size)
        flush(stream);
}

static void say_fresh(struct stream *stream, int n)
{
    while (n-- > 0)
        say(stream, stream->fresh++, 1);
}

START_TEST(equal_keys_at_every_offset_around_every_border)
{
    struct stream stream = {.size = batch_sizes[_i % SIZES]};
    int phase = _i / SIZES;

    store_fixture_open(&f);
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        say_fresh(&stream, (phase - stream.fresh % PHASES + PHASES) % PHASES);
        int key = stream.fresh;

        say_fresh(&stream, 1 + gaps[g]);
        say(&stream, key, 1);
        say(&stream, key, 2);
        say(&stream, key, 2);
    }
    flush(&stream);
    text_done(&stream.words);
    ck_assert_uint_eq(store_model_size(model), (size_t)stream.fresh);
    store_model_verify(model, &f);
    ck_assert_uint_eq(store_fixture_figures(&f)->false_negative, 0);
    store_fixture_reopen(&f);
    store_model_verify(model, &f);
}
END_TEST

/* ---- trades ---- */

static struct store_random dice;

static int roll_dice(uint64_t sides)
{
    return (int)store_random_below(&dice, sides);
}

/* A batch of up to `max` trades: old keys and new ones, some with other content, some invalid. */
static struct batch *random_batch(int max)
{
    struct text words = {0};

    for (int n = roll_dice((uint64_t)max + 1); n > 0; n--) {
        int key = roll_dice(KEYS), kind = roll_dice(20);

        if (kind < 2)
            text_add_format(&words, "%c%d ", "!~"[kind], key);
        else
            text_add_format(&words, "k%d=%d ", key, kind < 6 ? 1 + roll_dice(4) : 1);
    }
    struct batch *batch = store_fixture_batch(&f, text_terminate(&words));

    text_done(&words);
    return batch;
}

static void transact(bool commit)
{
    struct batch *batches[BATCHES];
    size_t n = 1 + (size_t)roll_dice(BATCHES);

    for (size_t i = 0; i < n; i++)
        batches[i] = random_batch(roll_dice(20) ? 7 : 40);
    store_fixture_transact(&f, batches, n, commit);
    for (size_t i = 0; i < n; i++) {
        if (commit)
            store_model_judge(model, batches[i]);
        batch_close(batches[i]);
    }
}

static void act_commit(void)
{
    transact(true);
}

static void act_roll_back(void)
{
    transact(false);
}

/* Back a day, or on up to two. */
static void act_days(void)
{
    f.now_us += (roll_dice(4) - 1) * STORE_FIXTURE_DAY_US;
}

/* Old keys and strangers. */
static void act_check(void)
{
    char key[16];

    for (int i = 0; i < 8; i++) {
        snprintf(key, sizeof key, "k%d", roll_dice(KEYS * 2));
        store_model_check(model, &f, key);
    }
}

/* ---- upkeep ---- */

static void act_maintain(void)
{
    f.store->snapshot.slice_us = 0;
    must(store_maintain(f.store, &f.err));
}

static void act_settle(void)
{
    must(store_settle(f.store, &f.err));
}

static void act_save(void)
{
    must(store_save_filters(f.store, &f.err));
}

static void act_self_test(void)
{
    must(store_self_test(f.store, &f.err));
}

/* When the newest of the last n trades of a segment came; 0: it has none. */
static int64_t newest_us(const struct store_segment *segment, uint64_t n)
{
    int64_t ret = 0;

    for (uint64_t i = 1; i <= n && i <= segment->rows; i++) {
        int64_t received_us = store_model_received(model, store_next_seq(segment) - (int64_t)i);

        ret = received_us > ret ? received_us : ret;
    }
    return ret;
}

/* How many segments are older than the limit, judged by so many of their last trades. */
static size_t older_than(int64_t limit_us, uint64_t n)
{
    size_t due = 0;

    while (due + 1 < f.store->segments_n && newest_us(&f.store->segments[due], n) < limit_us)
        due++;
    return due;
}

/* The trades have a clock of their own, which goes on while the store's stands still: a retention that ends
 * up to four days before their now is days after the store's, and may be negative. After a start a segment
 * is as old as its last trade, before as its newest: not the same where a clock went back. */
static void act_expire(void)
{
    int days = (int)(clock_wall_us() / STORE_FIXTURE_DAY_US - f.now_us / STORE_FIXTURE_DAY_US);

    must(store_settle(f.store, &f.err)); /* what the seal thread holds stays */
    f.store->config.retention_days = days + roll_dice(5);
    f.store->expire_next_us = 0;
    if (!f.store->config.retention_days)
        return;
    int64_t limit_us = clock_wall_us() - f.store->config.retention_days * STORE_FIXTURE_DAY_US;
    size_t must_go = older_than(limit_us, UINT64_MAX), may_go = older_than(limit_us, 1);
    size_t before = f.store->segments_n;

    must(store_maintain(f.store, &f.err));
    f.store->config.retention_days = 0;
    ck_assert_uint_ge(before - f.store->segments_n, must_go);
    ck_assert_uint_le(before - f.store->segments_n, may_go);
    store_model_expire(model, f.store->segments[0].meta.first_seq);
}

/* ---- derived files ---- */

static char older[CATALOG_PATH_MAX]; /* directory of copies */

static const char *base_name(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* Any of the files that can be made again. */
static bool pick_derived(char ret[CATALOG_PATH_MAX])
{
    static const char *const patterns[] = {"*.bloom", "*.keys", "filter.key"};
    char pattern[CATALOG_PATH_MAX];
    glob_t found = {0};

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        catalog_path(pattern, f.dir, patterns[i], "");
        glob(pattern, i ? GLOB_APPEND : 0, NULL, &found);
    }
    if (found.gl_pathc)
        snprintf(ret, CATALOG_PATH_MAX, "%s", found.gl_pathv[roll_dice(found.gl_pathc)]);
    bool any = found.gl_pathc > 0;

    globfree(&found);
    return any;
}

static void flip(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    int before = 0;

    ck_assert(file && fseek(file, at, SEEK_SET) == 0 && (before = fgetc(file)) != EOF);
    fseek(file, at, SEEK_SET);
    fputc(before ^ (1 + roll_dice(255)), file);
    ck_assert_int_eq(fclose(file), 0);
}

static void keep_copy(void)
{
    char path[CATALOG_PATH_MAX], copy[CATALOG_PATH_MAX];

    if (!pick_derived(path))
        return;
    catalog_path(copy, older, base_name(path), "");
    store_fixture_copy_file(path, copy);
}

static void damage_derived(void)
{
    char path[CATALOG_PATH_MAX], other[CATALOG_PATH_MAX];
    struct stat info;

    if (!pick_derived(path) || stat(path, &info) < 0)
        return;
    switch (roll_dice(5)) {
    case 0:
        unlink(path);
        break;
    case 1:
        ck_assert_int_eq(truncate(path, roll_dice((uint64_t)info.st_size + 1)), 0);
        break;
    case 2:
        if (info.st_size)
            flip(path, roll_dice((uint64_t)info.st_size));
        break;
    case 3:
        catalog_path(other, older, base_name(path), "");
        store_fixture_copy_file(other, path); /* if there is one */
        break;
    default: /* half of one that was being written */
        snprintf(other, sizeof other, "%.4000s.new", path);
        store_fixture_copy_file(path, other);
        ck_assert_int_eq(truncate(other, info.st_size / 2), 0);
    }
}

/* ---- stops, kills and starts ---- */

static void lose_logs(void)
{
    char pattern[CATALOG_PATH_MAX];
    glob_t found = {0};

    catalog_path(pattern, f.dir, "*-wal", "");
    glob(pattern, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++)
        unlink(found.gl_pathv[i]);
    globfree(&found);
}

static void lose_row(void)
{
    char pattern[CATALOG_PATH_MAX];
    glob_t found = {0};
    sqlite3 *db;

    catalog_path(pattern, f.dir, "*.db", "");
    glob(pattern, 0, NULL, &found);
    ck_assert_int_eq(sqlite3_open(found.gl_pathv[roll_dice(found.gl_pathc)], &db), SQLITE_OK);
    sqlite3_exec(db, "DELETE FROM trade WHERE seq = (SELECT max(seq) FROM trade)", NULL, NULL, NULL);
    sqlite3_close(db);
    globfree(&found);
}

static void no_key_was_denied(void)
{
    ck_assert_uint_eq(store_fixture_figures(&f)->false_negative, 0);
    ck_assert_msg(f.events[STORE_CRITICAL] == 0, "%s", f.event);
}

/* What the store is when it starts again: perhaps with other files beside the segments. */
static void start(void)
{
    if (roll_dice(4) == 0)
        keep_copy();
    for (int n = roll_dice(3) ? 0 : 1 + roll_dice(3); n > 0; n--)
        damage_derived();
    if (is_planted("row"))
        lose_row();
    store_fixture_open(&f);
}

static void act_stop(void)
{
    no_key_was_denied();
    if (roll_dice(2))
        must(store_save_filters(f.store, &f.err));
    store_fixture_close(&f);
    start();
}

/* With the seal thread at work, a snapshot half written, a transaction open. */
static void act_kill(void)
{
    struct batch *batch = random_batch(20);

    no_key_was_denied();
    if (roll_dice(2))
        act_maintain();
    if (roll_dice(2)) {
        if (store_must_roll(f.store, batch))
            must(store_roll(f.store, batch->received_us, &f.err));
        must(store_begin(f.store, &f.err));
        must(store_judge(f.store, batch, &f.err));
    }
    batch_close(batch);
    store_fixture_kill(&f);
    if (is_planted("log"))
        lose_logs();
    start();
}

/* ---- random runs ---- */

static const struct {
    int weight; /* of 1000 */
    void (*act)(void);
    bool sweeps; /* would find that a filter was made useless */
} actions[] = {
    {600, act_commit, false}, {80, act_roll_back, false}, {50, act_stop, false},
    {60, act_kill, false},    {40, act_days, false},      {45, act_maintain, false},
    {30, act_settle, false},  {20, act_save, false},      {20, act_check, false},
    {25, act_expire, false},  {30, act_self_test, true},
};

static void step(bool useless_filter)
{
    int at = roll_dice(1000);
    size_t i = 0;

    while (at >= actions[i].weight)
        at -= actions[i++].weight;
    if (!useless_filter || !actions[i].sweeps)
        actions[i].act();
}

static void zero_random_column(void)
{
    size_t part = (size_t)roll_dice(f.store->segments_n);
    uint32_t columns = f.store->screen.parts[part].bank.columns;

    if (columns)
        store_fixture_zero_column(&f, part, (uint32_t)roll_dice(columns));
}

static void random_config(void)
{
    static const double rates[] = {0.3, 0.01, 1e-6};

    f.config.generation_keys = 1 + (uint32_t)roll_dice(8);
    f.config.segment_rows = 8 + (uint64_t)roll_dice(32);
    f.config.reject_rows = (uint64_t)roll_dice(10);
    f.config.keep_message = roll_dice(2);
    f.config.snapshot_rows = (uint64_t)roll_dice(6);
    f.config.false_positive_rate = rates[roll_dice(3)];
}

static void random_run(int round, bool useless_filter)
{
    dice = (struct store_random){first_seed + (uint64_t)round};
    char *copies = store_fixture_directory();

    snprintf(older, sizeof older, "%s", copies);
    free(copies);
    random_config();
    store_fixture_open(&f);
    for (int i = 0; i < STEPS; i++) {
        if (useless_filter)
            store_fixture_saturate(&f);
        if (is_planted("column"))
            zero_random_column();
        step(useless_filter);
    }
    store_model_verify(model, &f);
    ck_assert_uint_eq(store_fixture_census(&f).rows, store_model_size(model));
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    no_key_was_denied();
    store_fixture_reopen(&f);
    store_model_verify(model, &f);
}

START_TEST(random_operations_get_the_verdicts_of_the_map)
{
    random_run(_i, false);
}
END_TEST

START_TEST(a_useless_filter_changes_no_verdict)
{
    random_run(_i, true);
}
END_TEST

/* ---- the controls ---- */

static const struct {
    const char *fault;
    int status;
} controls[] = {
    {"", EXIT_SUCCESS},
    {"column", EXIT_FAILURE}, /* a column of a filter is zeroed, and no self-test looks */
    {"row", EXIT_FAILURE},    /* the last row of a segment is deleted while the store is stopped */
    {"log", EXIT_FAILURE},    /* the fixture forgets the logs when it copies what a kill leaves */
};

START_TEST(a_planted_fault_is_caught)
{
    char program[1024], command[2048];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);

    ck_assert_int_gt(len, 0);
    program[len] = '\0';
    snprintf(command, sizeof command,
             "CK_RUN_CASE=random SEEDS=%d TRADESIEVE_FAULT=%s '%s' >/dev/null 2>&1", CONTROL_SEEDS,
             controls[_i].fault, program);
    int status = system(command);

    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), controls[_i].status);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);

    tcase_add_unchecked_fixture(tcase, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(tcase, setup, teardown);
    suite_add_tcase(suite, tcase);
    return tcase;
}

int main(void)
{
    const char *planted = getenv("TRADESIEVE_FAULT");
    int seeds = suite_amount("SEEDS", SEEDS, SEEDS_BRIEF);
    Suite *suite = suite_create("model");
    TCase *random = add_case(suite, "random"), *offsets = add_case(suite, "offsets"),
          *control = add_case(suite, "control");

    first_seed = store_random_seed(); /* round i is seed + i */
    fault = planted ? planted : "";
    tcase_add_loop_test(random, random_operations_get_the_verdicts_of_the_map, 0, seeds);
    tcase_add_loop_test(random, a_useless_filter_changes_no_verdict, 0,
                        (seeds + USELESS_SHARE - 1) / USELESS_SHARE);
    tcase_add_loop_test(offsets, equal_keys_at_every_offset_around_every_border, 0,
                        suite_amount(NULL, PHASES * SIZES, SIZES));
    tcase_add_loop_test(control, a_planted_fault_is_caught, 0,
                        (int)(sizeof controls / sizeof *controls));
    tcase_set_timeout(control, CONTROL_LIMIT_S);
    return suite_run(suite);
}
