/* Sizing and simulation: what the tool says about filters, held against the textbook. */
#include <math.h>
#include <string.h>

#include "suite.h"
#include "tool/simulation.h"
#include "tool/sizing.h"

#define ROWS(table) ((int)(sizeof table / sizeof *table))

enum { SEGMENT_ROWS = 16 << 20, GENERATION_KEYS = 1 << 16 };

static const struct {
    uint64_t keys;
    double rate;
    uint64_t bytes;
    uint32_t hashes;
} sizes[] = {
    {1000, 0.01, 1200, 7},
    {100000, 0.01, 119814, 7},
    {100000, 0.001, 179720, 10},
    {1000000000, 0.01, 1198132299, 7},
    {1, 0.5, 8, 1},
    {SIZING_KEYS_MAX, 1e-300, 0, BLOOM_HASHES_MAX},
};

START_TEST(a_filter_is_as_large_as_the_textbook_says)
{
    struct sizing sizing = sizing_make(sizes[_i].keys, sizes[_i].rate, SEGMENT_ROWS, GENERATION_KEYS);

    ck_assert_uint_eq(sizing.shape.hashes, sizes[_i].hashes);
    if (sizes[_i].bytes)
        ck_assert_uint_eq(sizing.bytes, (sizes[_i].bytes + 7) / 8 * 8);
    else
        ck_assert_uint_gt(sizing.bytes, UINT64_C(1) << 57);
}
END_TEST

START_TEST(the_predicted_rate_is_near_the_one_that_was_asked_for)
{
    static const double rates[] = {0.5, 0.3, 0.1, 0.01, 0.001, 1e-6, 1e-9, 1e-15};

    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double predicted = sizing_make(1000000, rates[i], SEGMENT_ROWS, GENERATION_KEYS).predicted;

        ck_assert_msg(fabs(predicted - rates[i]) < 0.06 * rates[i], "%g: %g", rates[i], predicted);
    }
}
END_TEST

START_TEST(the_daemon_needs_what_its_design_says)
{
    struct sizing sizing = sizing_make(100000000, 0.01, SEGMENT_ROWS, GENERATION_KEYS);

    ck_assert(sizing.fits_daemon);
    ck_assert_double_eq_tol(sizing.active.bits_per_key, 23.4, 0.05);
    ck_assert_double_eq_tol(sizing.sealed.bits_per_key, 15.6, 0.05);
    ck_assert_uint_eq(sizing_bytes_max(&sizing) - sizing_bytes(&sizing), sizing.active.bytes);
    /* the last segment is smaller, and its share of the rate with it: more bits a key, not fewer */
    ck_assert_double_ge((double)sizing.sealed.bytes * 8 / 100e6, sizing.sealed.bits_per_key);
}
END_TEST

START_TEST(what_the_daemon_cannot_be_configured_for_has_no_figures_of_it)
{
    ck_assert(!sizing_make(1000, 1e-9, SEGMENT_ROWS, GENERATION_KEYS).fits_daemon);
    ck_assert(
        !sizing_make(SIZING_DAEMON_KEYS_MAX + 1, 0.01, SEGMENT_ROWS, GENERATION_KEYS).fits_daemon);
    ck_assert_uint_eq(sizing_make(1000, 1e-9, SEGMENT_ROWS, GENERATION_KEYS).active.bytes, 0);
}
END_TEST

/* ---- simulation ---- */

static struct simulation simulate(uint64_t bits, uint32_t hashes, uint64_t insert, uint64_t probe)
{
    struct simulation_options options = {.shape = {bits, hashes},
                                         .insert = insert,
                                         .probe = probe,
                                         .seed = 1,
                                         .work = SIMULATION_WORK / 4};
    struct simulation simulation;

    simulation_run(&simulation, &options);
    return simulation;
}

static const struct {
    uint64_t bits, insert;
    uint32_t hashes;
    double fill_ratio, rate; /* what the mathematics says */
} fillings[] = {
    {512, 180, 3, 0.652, 0.2768},   {256, 400, 3, 0.991, 0.9726}, {9586, 1000, 7, 0.518, 0.01004},
    {9586, 500, 7, 0.306, 0.00025}, {65536, 45426, 1, 0.5, 0.5},  {1000000, 10, 4, 0.00004, 0},
};

START_TEST(a_filled_filter_answers_as_predicted_and_knows_its_members)
{
    struct simulation simulation =
        simulate(fillings[_i].bits, fillings[_i].hashes, fillings[_i].insert, 20000);
    const struct simulation_row *full = &simulation.rows[simulation.rows_n - 1];

    ck_assert_uint_eq(full->keys, fillings[_i].insert);
    ck_assert_double_eq_tol(full->fill_ratio, fillings[_i].fill_ratio, 0.002);
    ck_assert_double_eq_tol(full->predicted, fillings[_i].rate, 0.0001);
    ck_assert_uint_eq(full->asked, 20000);
    ck_assert_msg(full->low <= full->predicted && full->predicted <= full->high, "%g: %g to %g",
                  full->predicted, full->low, full->high);
    ck_assert_uint_eq(simulation.members_asked, simulation.filters * fillings[_i].insert);
    ck_assert_uint_eq(simulation.members_maybe, simulation.members_asked);
}
END_TEST

START_TEST(an_interval_excludes_the_prediction_for_another_number_of_positions)
{
    struct simulation simulation = simulate(512, 3, 180, 20000);
    const struct simulation_row *full = &simulation.rows[simulation.rows_n - 1];
    double two = bloom_predict((struct bloom_shape){512, 2}, 180);
    double four = bloom_predict((struct bloom_shape){512, 4}, 180);

    ck_assert(two < full->low && full->high < four);
}
END_TEST

START_TEST(a_filter_that_loses_a_word_is_found_out_by_its_members)
{
    struct simulation_options options = {
        .shape = {512, 3}, .insert = 180, .probe = 1, .seed = 7, .work = SIMULATION_WORK};
    struct simulation simulation;
    struct bloom bloom;

    simulation_run(&simulation, &options);
    ck_assert_uint_eq(simulation.filters, 1);
    bloom_init(&bloom, options.shape);
    ck_assert_uint_eq(simulation_ask_members(&bloom, 7, 0, 180), 0);
    memset(bloom.words, 0xff, bloom_memory(&bloom));
    ck_assert_uint_eq(simulation_ask_members(&bloom, 7, 0, 180), 180);
    bloom.words[3] = 0;
    ck_assert_uint_lt(simulation_ask_members(&bloom, 7, 0, 180), 180);
    bloom_done(&bloom);
}
END_TEST

START_TEST(the_first_false_maybe_comes_when_the_mathematics_expects_it)
{
    struct simulation simulation = simulate(512, 3, 180, 20000);
    double none = 1;
    uint64_t median = 0;

    while (none > 0.5)
        none *= 1 - bloom_predict(simulation.options.shape, ++median);
    ck_assert_uint_le(simulation.first_median, median + 3);
    ck_assert_uint_ge(simulation.first_median + 3, median);
    ck_assert_uint_gt(simulation.first_least, 0);
    ck_assert_uint_lt(simulation.first_least, simulation.first_median);
    ck_assert_uint_eq(simulate(1 << 20, 20, 10, 1000).first_least, 0);
}
END_TEST

START_TEST(the_looks_at_a_filling_filter_rise_and_one_is_at_its_best_load)
{
    static const uint64_t inserts[] = {1, 2, 9, 10, 11, 118, 119, 180, 1000};

    for (size_t i = 0; i < sizeof inserts / sizeof *inserts; i++) {
        struct simulation simulation = simulate(512, 3, inserts[i], 100);
        bool at_best = inserts[i] < 118;

        for (uint32_t row = 0; row < simulation.rows_n; row++) {
            ck_assert(row == 0 || simulation.rows[row].keys > simulation.rows[row - 1].keys);
            at_best |= simulation.rows[row].keys == 118;
        }
        ck_assert(at_best);
        ck_assert_uint_eq(simulation.rows[simulation.rows_n - 1].keys, inserts[i]);
    }
    ck_assert_uint_eq(simulation_sized_for((struct bloom_shape){512, 3}), 118);
}
END_TEST

START_TEST(a_large_filter_is_filled_once_and_a_small_one_often)
{
    ck_assert_uint_eq(simulate(1 << 20, 1, SIMULATION_WORK / 4, 100).filters, 1);
    ck_assert_uint_eq(simulate(64, 1, 1, 1 << 20).filters, SIMULATION_FILTERS_MAX);
    ck_assert_uint_eq(simulate(1, 1, 1, 3).filters, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("maths");
    TCase *sizing = tcase_create("sizing"), *simulation = tcase_create("simulation");

    tcase_add_loop_test(sizing, a_filter_is_as_large_as_the_textbook_says, 0, ROWS(sizes));
    tcase_add_test(sizing, the_predicted_rate_is_near_the_one_that_was_asked_for);
    tcase_add_test(sizing, the_daemon_needs_what_its_design_says);
    tcase_add_test(sizing, what_the_daemon_cannot_be_configured_for_has_no_figures_of_it);
    suite_add_tcase(suite, sizing);
    tcase_add_loop_test(simulation, a_filled_filter_answers_as_predicted_and_knows_its_members, 0,
                        ROWS(fillings));
    tcase_add_test(simulation, an_interval_excludes_the_prediction_for_another_number_of_positions);
    tcase_add_test(simulation, a_filter_that_loses_a_word_is_found_out_by_its_members);
    tcase_add_test(simulation, the_first_false_maybe_comes_when_the_mathematics_expects_it);
    tcase_add_test(simulation, the_looks_at_a_filling_filter_rise_and_one_is_at_its_best_load);
    tcase_add_test(simulation, a_large_filter_is_filled_once_and_a_small_one_often);
    suite_add_tcase(suite, simulation);
    return suite_run(suite);
}
