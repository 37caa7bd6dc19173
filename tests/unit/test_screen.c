#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/screen.h"
#include "suite.h"

static const unsigned char secret[BLOOM_KEY_BYTES] = "sixteen bytes ok";
static struct screen screen;

static void setup(void)
{
    struct screen_config config = {
        .false_positive_rate = 0.03,
        .capacity = 10000,
        .segment_rows = 640,
    };

    screen_init(&screen, &config, secret);
    screen_add_part(&screen, 64, 0);
}

static void teardown(void)
{
    screen_done(&screen);
}

static struct bloom_hash hash_of(const char *prefix, unsigned number)
{
    char key[32];
    int len = snprintf(key, sizeof key, "%s%u", prefix, number);

    return screen_hash(&screen, key, (size_t)len);
}

/* New keys PREFIXfrom.. as the store inserts them. */
static void insert(const char *prefix, unsigned from, unsigned n)
{
    for (unsigned i = from; i < from + n; i++) {
        screen_current_generation(&screen);
        screen_insert(&screen, hash_of(prefix, i));
    }
}

static double rate_of(double log_pass)
{
    return -expm1(log_pass);
}

/* The rate of the whole screen from the definition: 1 - product(1 - p_i) over every column. */
static double predicted_by_hand(void)
{
    double log_pass = 0;

    for (size_t i = 0; i < screen.parts_n; i++)
        for (uint32_t g = 0; g < screen.parts[i].bank.columns; g++)
            log_pass += log1p(-screen_column_figures(&screen, i, g).predicted_fpr);
    return rate_of(log_pass);
}

START_TEST(an_empty_screen_answers_absent_and_predicts_nothing)
{
    struct figures figures = {0};

    ck_assert_int_eq(screen_ask(&screen, hash_of("a", 1)), SCREEN_ABSENT);
    ck_assert_uint_eq(screen.candidates_n, 0);
    screen_fill_figures(&screen, &figures);
    ck_assert(figures.predicted_fpr == 0);
    ck_assert_uint_eq(figures.keys, 0);
    ck_assert_uint_eq(figures.bits, 0);
    ck_assert(figures.fullest == 0);
}
END_TEST

START_TEST(a_full_segment_uses_a_third_of_the_rate)
{
    insert("a", 0, 640);
    ck_assert_uint_eq(screen.parts[0].bank.columns, 10);
    ck_assert_msg(fabs(predicted_by_hand() - 0.01) < 0.0003, "%g", predicted_by_hand());
}
END_TEST

START_TEST(the_rate_of_a_column_has_a_floor)
{
    struct screen_config config = {.false_positive_rate = 1e-9, .segment_rows = 640};
    struct screen tight;

    screen_init(&tight, &config, secret);
    screen_add_part(&tight, 64, 0);
    ck_assert_uint_eq(tight.parts[0].bank.shape.hashes, 30); /* 1e-9, not 3e-11 */
    screen_done(&tight);
}
END_TEST

START_TEST(a_segment_of_less_than_a_generation_has_one_column)
{
    struct screen_config config = {.false_positive_rate = 0.03, .segment_rows = 10};
    struct screen small;

    screen_init(&small, &config, secret);
    screen_add_part(&small, 64, 0);
    ck_assert_uint_eq(small.parts[0].bank.words, 1);
    ck_assert(fabs(bloom_predict(small.parts[0].bank.shape, 64) - 0.01) < 0.0005);
    screen_done(&small);
}
END_TEST

START_TEST(a_segment_that_has_more_columns_than_planned_still_keeps_to_its_third)
{
    screen_add_part(&screen, 64, 100);
    ck_assert_uint_eq(screen.parts[1].bank.words, 2);
    ck_assert(bloom_predict(screen.parts[1].bank.shape, 64) * 100 < 0.0105);
}
END_TEST

START_TEST(a_key_goes_to_the_generation_that_is_current)
{
    insert("a", 0, 65);
    ck_assert(screen_holds(&screen, 0, 0, hash_of("a", 63)));
    ck_assert(screen_holds(&screen, 0, 1, hash_of("a", 64)));
    ck_assert_uint_eq(screen_current_generation(&screen), 1);
    ck_assert_uint_eq(screen_column_figures(&screen, 0, 0).keys, 64);
    ck_assert_uint_eq(screen_column_figures(&screen, 0, 1).keys, 1);
}
END_TEST

START_TEST(no_generation_holds_a_key_before_it_began)
{
    ck_assert(!screen_holds(&screen, 0, 0, hash_of("a", 0)));
    insert("a", 0, 1);
    ck_assert(!screen_holds(&screen, 0, 1, hash_of("a", 0)));
}
END_TEST

START_TEST(a_stored_key_is_maybe_in_its_own_place)
{
    insert("a", 0, 640);
    screen_add_part(&screen, 64, 0);
    insert("b", 0, 100);
    for (unsigned i = 0; i < 640; i++) {
        bool named = false;

        screen_prefetch(&screen, hash_of("a", i));
        ck_assert_int_eq(screen_ask(&screen, hash_of("a", i)), SCREEN_MAYBE);
        for (size_t c = 0; c < screen.candidates_n; c++)
            named |= screen.candidates[c].part == 0 && screen.candidates[c].generation == i / 64;
        ck_assert(named);
    }
}
END_TEST

static void candidates_must_be_newest_first(void)
{
    for (size_t c = 1; c < screen.candidates_n; c++) {
        const struct screen_candidate *a = &screen.candidates[c - 1], *b = &screen.candidates[c];

        ck_assert(a->part > b->part || (a->part == b->part && a->generation > b->generation));
    }
}

START_TEST(candidates_come_newest_first)
{
    for (int part = 0; part < 3; part++) {
        if (part)
            screen_add_part(&screen, 64, 0);
        insert(part == 0 ? "a" : part == 1 ? "b" : "c", 0, 640);
        for (unsigned i = 0; i < 10; i++) /* the same key in every generation */
            screen_load(&screen, (size_t)part, 9 + i, hash_of("everywhere", 0));
    }
    screen_loaded(&screen);
    screen_ask(&screen, hash_of("everywhere", 0));
    ck_assert_uint_ge(screen.candidates_n, 30);
    candidates_must_be_newest_first();
}
END_TEST

START_TEST(suspect_all_names_every_generation_newest_first)
{
    insert("a", 0, 640);
    screen_add_part(&screen, 64, 0);
    insert("b", 0, 100);
    screen_suspect_all(&screen);
    ck_assert_uint_eq(screen.candidates_n, 12);
    candidates_must_be_newest_first();
    ck_assert_uint_eq(screen.candidates[0].part, 1);
    ck_assert_int_eq(screen.candidates[0].generation, 1);
}
END_TEST

START_TEST(bits_of_columns_that_have_not_begun_name_no_candidate)
{
    insert("a", 0, 1);
    memset(screen.parts[0].bank.bits, 0xff, bank_memory(&screen.parts[0].bank));
    ck_assert_int_eq(screen_ask(&screen, hash_of("b", 0)), SCREEN_MAYBE);
    ck_assert_uint_eq(screen.candidates_n, 1);
}
END_TEST

START_TEST(the_prediction_moves_with_the_filling_in_small_steps)
{
    double last = 0;

    for (unsigned i = 0; i < 700; i++) {
        insert("a", i, 1);
        ck_assert_double_ge(screen.predicted, last);
        ck_assert_msg(fabs(screen.predicted - predicted_by_hand()) < 1e-4, "%g, by hand %g",
                      screen.predicted, predicted_by_hand());
        last = screen.predicted;
    }
}
END_TEST

START_TEST(a_big_generation_predicts_anew_every_256th_of_it)
{
    screen_add_part(&screen, 25600, 0);
    insert("b", 0, 25600);
    ck_assert_msg(fabs(screen.predicted / predicted_by_hand() - 1) < 0.1, "%g, by hand %g",
                  screen.predicted, predicted_by_hand());
}
END_TEST

START_TEST(figures_are_the_sums_over_all_columns)
{
    struct figures figures = {0};
    uint64_t bits = 0, bits_set = 0, keys = 0;
    double fullest = 0;

    insert("a", 0, 500);
    screen_add_part(&screen, 32, 0);
    insert("b", 0, 100);
    for (size_t i = 0; i < 2; i++)
        for (uint32_t g = 0; g < screen.parts[i].bank.columns; g++) {
            struct filter_figures column = screen_column_figures(&screen, i, g);

            bits += column.bits;
            bits_set += column.bits_set;
            keys += column.keys;
            fullest = fmax(fullest, (double)column.bits_set / (double)column.bits);
        }
    screen_fill_figures(&screen, &figures);
    ck_assert_uint_eq(figures.bits, bits);
    ck_assert_uint_eq(figures.bits_set, bits_set);
    ck_assert_uint_eq(figures.keys, keys);
    ck_assert_uint_eq(keys, 600);
    ck_assert(fabs(figures.fullest - fullest) < 1e-12);
    ck_assert(fabs(figures.predicted_fpr - predicted_by_hand()) < 1e-12);
    ck_assert_uint_eq(figures.memory_bytes,
                      bank_memory(&screen.parts[0].bank) + bank_memory(&screen.parts[1].bank));
    ck_assert_uint_eq(figures.capacity, 10000);
    ck_assert(figures.target_fpr == 0.03);
    ck_assert_uint_eq(figures.hashes, screen.parts[1].bank.shape.hashes);
    ck_assert(fabs(figures.optimal_hashes - figures.hashes) <= 1);
    ck_assert_uint_eq(screen_part_figures(&screen, 0).keys + screen_part_figures(&screen, 1).keys, 600);
}
END_TEST

START_TEST(what_is_loaded_gives_the_same_screen_as_what_was_inserted)
{
    struct figures inserted = {0}, loaded = {0};

    insert("a", 0, 500);
    screen_fill_figures(&screen, &inserted);
    screen_empty_part(&screen, 0, 8);
    ck_assert_int_eq(screen_ask(&screen, hash_of("a", 1)), SCREEN_ABSENT);
    for (unsigned i = 0; i < 500; i++)
        screen_load(&screen, 0, i / 64, hash_of("a", i));
    screen_loaded(&screen);
    screen_fill_figures(&screen, &loaded);
    ck_assert_uint_eq(loaded.keys, 500);
    ck_assert_uint_eq(loaded.bits_set, inserted.bits_set);
    ck_assert(fabs(loaded.predicted_fpr - inserted.predicted_fpr) < 1e-12);
}
END_TEST

START_TEST(answers_are_counted_by_what_was_found)
{
    struct figures figures = {0};

    insert("a", 0, 64);
    screen_count(&screen, SCREEN_ABSENT, false);
    screen_count(&screen, SCREEN_MAYBE, false);
    screen_count(&screen, SCREEN_MAYBE, true);
    screen_count(&screen, SCREEN_MAYBE, true);
    screen_count(&screen, SCREEN_ABSENT, true); /* a false negative */
    screen_fill_figures(&screen, &figures);
    ck_assert_uint_eq(figures.absent, 2);
    ck_assert_uint_eq(figures.maybe, 3);
    ck_assert_uint_eq(figures.true_positive, 2);
    ck_assert_uint_eq(figures.false_positive, 1);
    ck_assert(fabs(figures.expected_sum - 2 * screen.predicted) < 1e-15);
    ck_assert_uint_eq(figures.recent_absent_asked, 2);
    ck_assert_uint_eq(figures.recent_false_positive, 1);
}
END_TEST

START_TEST(the_recent_rate_forgets_what_is_more_than_its_length_ago)
{
    struct figures figures = {0};

    for (int i = 0; i < 1000; i++)
        screen_count(&screen, SCREEN_MAYBE, false);
    for (int i = 0; i < SCREEN_RECENT_MAX - 400; i++)
        screen_count(&screen, SCREEN_ABSENT, false);
    screen_fill_figures(&screen, &figures);
    ck_assert_uint_eq(figures.recent_absent_asked, SCREEN_RECENT_MAX);
    ck_assert_uint_eq(figures.recent_false_positive, 400);
    for (int i = 0; i < 2 * SCREEN_RECENT_MAX; i++)
        screen_count(&screen, SCREEN_ABSENT, false);
    screen_fill_figures(&screen, &figures);
    ck_assert_uint_eq(figures.recent_false_positive, 0);
    ck_assert_uint_eq(figures.false_positive, 1000);
}
END_TEST

START_TEST(strangers_are_maybe_as_often_as_the_whole_screen_predicts)
{
    double expected = 0, maybe = 0;

    for (int part = 0; part < 3; part++) {
        if (part)
            screen_add_part(&screen, 64, 0);
        insert(part == 0 ? "a" : part == 1 ? "b" : "c", 0, 640);
    }
    for (unsigned i = 0; i < 200000; i++) {
        expected += screen.predicted;
        maybe += screen_ask(&screen, hash_of("stranger", i)) == SCREEN_MAYBE;
    }
    ck_assert_msg(maybe > 0.9 * expected && maybe < 1.15 * expected, "%g, %g expected", maybe,
                  expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("screen");
    TCase *cases = tcase_create("screen");

    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, an_empty_screen_answers_absent_and_predicts_nothing);
    tcase_add_test(cases, a_full_segment_uses_a_third_of_the_rate);
    tcase_add_test(cases, the_rate_of_a_column_has_a_floor);
    tcase_add_test(cases, a_segment_of_less_than_a_generation_has_one_column);
    tcase_add_test(cases, a_segment_that_has_more_columns_than_planned_still_keeps_to_its_third);
    tcase_add_test(cases, a_key_goes_to_the_generation_that_is_current);
    tcase_add_test(cases, no_generation_holds_a_key_before_it_began);
    tcase_add_test(cases, a_stored_key_is_maybe_in_its_own_place);
    tcase_add_test(cases, candidates_come_newest_first);
    tcase_add_test(cases, suspect_all_names_every_generation_newest_first);
    tcase_add_test(cases, bits_of_columns_that_have_not_begun_name_no_candidate);
    tcase_add_test(cases, the_prediction_moves_with_the_filling_in_small_steps);
    tcase_add_test(cases, a_big_generation_predicts_anew_every_256th_of_it);
    tcase_add_test(cases, figures_are_the_sums_over_all_columns);
    tcase_add_test(cases, what_is_loaded_gives_the_same_screen_as_what_was_inserted);
    tcase_add_test(cases, answers_are_counted_by_what_was_found);
    tcase_add_test(cases, the_recent_rate_forgets_what_is_more_than_its_length_ago);
    tcase_add_test(cases, strangers_are_maybe_as_often_as_the_whole_screen_predicts);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
