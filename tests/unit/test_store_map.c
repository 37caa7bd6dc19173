/* The store against a plain map: whatever is sent, in whatever batches, transactions, days and restarts,
 * each verdict, seq and time is what the map says. generation_keys 4 and segment_rows 16 put a border
 * of some kind next to nearly every trade. */
#include <stdio.h>

#include "store_fixture.h"
#include "suite.h"

/* The sanitizers look for other things than wrong verdicts, and are slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define THOROUGH 0
#else
#define THOROUGH 1
#endif

enum {
    SEEDS = THOROUGH ? 24 : 6,
    USELESS_SEEDS = THOROUGH ? 4 : 1,
    STEPS = 120, /* of one seed */
    KEYS = 150,  /* from which a seed draws */
    BATCHES = 4, /* of one transaction, at most */
    PHASES = 16, /* offsets within a segment */
};

static struct store_fixture f;
static struct store_model *model;

static void setup(void)
{
    store_fixture_init(&f);
    store_fixture_open(&f);
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

/* ---- random operations ---- */

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

static void step_transaction(bool commit)
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

/* useless_filter: no self-test, whose sweep would find the changed bits of a sealed filter. */
static void step(bool useless_filter)
{
    int kind = roll_dice(100);

    if (kind < 75)
        step_transaction(true);
    else if (kind < 85)
        step_transaction(false);
    else if (kind < 88)
        store_fixture_reopen(&f);
    else if (kind < 90)
        f.now_us += (roll_dice(4) - 1) * STORE_FIXTURE_DAY_US; /* back a day, or on up to two */
    else if (kind < 93)
        ck_assert_int_eq(store_maintain(f.store, &f.err), 0);
    else if (kind < 95)
        ck_assert_int_eq(store_settle(f.store, &f.err), 0);
    else if (kind < 97)
        ck_assert_int_eq(store_save_filters(f.store, &f.err), 0);
    else if (!useless_filter)
        ck_assert_int_eq(store_self_test(f.store, &f.err), 0);
}

static void random_run(int round, bool useless_filter)
{
    dice = (struct store_random){store_random_seed() + (uint64_t)round};
    printf("with the filter %s: round %d\n", useless_filter ? "useless" : "as it is", round);
    for (int i = 0; i < STEPS; i++) {
        if (useless_filter)
            store_fixture_saturate(&f);
        step(useless_filter);
    }
    store_model_verify(model, &f);
    ck_assert_uint_eq(store_fixture_census(&f).rows, store_model_size(model));
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    ck_assert_uint_eq(store_fixture_figures(&f)->false_negative, 0);
    ck_assert_uint_eq(f.events[STORE_CRITICAL], 0);
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

int main(void)
{
    Suite *suite = suite_create("store_map");
    TCase *cases = tcase_create("store_map");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_loop_test(cases, equal_keys_at_every_offset_around_every_border, 0, PHASES * SIZES);
    tcase_add_loop_test(cases, random_operations_get_the_verdicts_of_the_map, 0, SEEDS);
    tcase_add_loop_test(cases, a_useless_filter_changes_no_verdict, 0, USELESS_SEEDS);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
