/* A disk that stays full while fresh keys come: every transaction is rolled back, and each leaves bits in
 * the filter that stand for no row. They must count as load, or the current column fills up beyond what
 * its prediction knows; and they must not add up for ever. Ten minutes of it, without the minutes. */
#include <stdio.h>
#include <string.h>

#include "store/store_state.h"
#include "store_fixture.h"
#include "suite.h"

enum {
    FAILURES = 20000, /* transactions that are rolled back */
    FAILURES_BRIEF = 1000,
    FRESH = 50, /* keys of one */
    GENERATION = 512,
    SEGMENT = 16384,
    STORED = 1900, /* before the disk is full: the last column has room for FRESH more */
    STRANGERS = 400000,
    COLUMNS_MAX = (STORED + GENERATION - 1) / GENERATION + 20,
};

static struct store_fixture f;

static void setup(void)
{
    store_fixture_init(&f);
    f.config.generation_keys = GENERATION;
    f.config.segment_rows = SEGMENT;
    store_fixture_open(&f);
    store_fixture_send_range(&f, "k", 1, STORED, 100);
}

static void teardown(void)
{
    store_fixture_done(&f);
}

static void roll_back(int round)
{
    struct text words = {0};

    for (int i = 0; i < FRESH; i++)
        text_add_format(&words, "ghost%d-%d ", round, i);
    struct batch *batch = store_fixture_batch(&f, text_terminate(&words));

    store_fixture_transact(&f, &batch, 1, false);
    batch_close(batch);
    text_done(&words);
}

/* No column holds more than it is made for, and no more columns stand than a rebuild leaves. */
static void load_is_bounded(void)
{
    const struct bank *bank = &f.store->screen.parts[0].bank;

    ck_assert_uint_le(bank->columns, COLUMNS_MAX);
    for (uint32_t column = 0; column < bank->columns; column++)
        ck_assert_uint_le(bank->column[column].keys, GENERATION);
}

/* Whether never-issued keys are answered maybe as often as predicted: within a fifth, beyond chance. */
static bool prediction_is_honest(void)
{
    struct store_random dice = {store_random_seed()};
    struct screen *screen = &f.store->screen;
    char key[9] = "\001"; /* no key of a trade begins so */
    uint64_t maybe = 0;
    double low, high;

    for (int i = 0; i < STRANGERS; i++) {
        uint64_t random = store_random_next(&dice);

        memcpy(key + 1, &random, sizeof random);
        maybe += screen_ask(screen, screen_hash(screen, key, sizeof key)) == SCREEN_MAYBE;
    }
    wilson_interval(maybe, STRANGERS, &low, &high);
    printf("strangers: predicted %.6f, measured %.6f (%.6f to %.6f)\n", screen->predicted,
           (double)maybe / STRANGERS, low, high);
    return screen->predicted < high * 1.2 && screen->predicted > low / 1.2;
}

START_TEST(a_disk_that_stays_full_leaves_filter_and_prediction_as_they_should_be)
{
    uint64_t memory = store_fixture_figures(&f)->memory_bytes;
    int failures = suite_amount(NULL, FAILURES, FAILURES_BRIEF);

    for (int i = 0; i < failures; i++) {
        roll_back(i);
        ck_assert_int_eq(store_maintain(f.store, &f.err), 0);
        load_is_bounded();
    }
    ck_assert_uint_eq(store_fixture_figures(&f)->memory_bytes, memory);
    ck_assert_uint_eq(f.figures.rows, STORED);
    ck_assert(prediction_is_honest());
    store_fixture_send_range(&f, "ghost1-", 0, FRESH - 1, 10); /* told to retry, and sent again */
    store_fixture_send_range(&f, "k", 1, STORED, 100);
    ck_assert_uint_eq(store_fixture_figures(&f)->rows, STORED + FRESH);
    ck_assert_uint_eq(f.figures.false_negative, 0);
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    printf("%d transactions rolled back, %u columns, %llu bytes\n", failures,
           f.store->screen.parts[0].bank.columns, (unsigned long long)memory);
}
END_TEST

/* The control: keys that were rolled back do not count, and fill the last column for ever. */
START_TEST(ghosts_that_do_not_count_as_load_would_be_noticed)
{
    struct bank *bank = &f.store->screen.parts[0].bank;

    for (int i = 0; i < 200; i++) {
        uint64_t keys = bank->column[bank->columns - 1].keys;

        roll_back(i);
        bank->column[bank->columns - 1].keys = keys;
    }
    ck_assert(!prediction_is_honest());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ghosts");
    TCase *cases = tcase_create("ghosts");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_disk_that_stays_full_leaves_filter_and_prediction_as_they_should_be);
    tcase_add_test(cases, ghosts_that_do_not_count_as_load_would_be_noticed);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
