/* The body of /metrics from figures made by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/metrics.h"
#include "suite.h"

static struct stats_values stats;
static struct figures figures;
static struct process_values process;
static bool live;
static char *text;

static void begin(void)
{
    memset(&stats, 0, sizeof stats);
    figures = (struct figures){.state = STORE_READY, .sqlite_version = "3.40.1"};
    process = (struct process_values){0};
    live = true;
    stats.feeds_n = 1;
    stats.feeds[0].name = "canonical";
}

static void end(void)
{
    free(text);
    text = NULL;
}

static void compose(void)
{
    free(text);
    text = metrics_text(&stats, &figures, &process, live);
}

/* A whole line. */
static void assert_line(const char *line)
{
    char wanted[200];

    snprintf(wanted, sizeof wanted, "\n%s\n", line);
    ck_assert_msg(strstr(text, wanted) != NULL, "no line %s in\n%s", line, text);
}

START_TEST(every_series_is_there_before_anything_has_happened)
{
    static const char *const verdicts[] = {"new",     "duplicate", "conflict",
                                           "invalid", "ignored",   "retry"};
    char line[120];

    compose();
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        snprintf(line, sizeof line, "tradesieve_trades_total{feed=\"canonical\",verdict=\"%s\"} 0",
                 verdicts[i]);
        assert_line(line);
    }
    assert_line("tradesieve_screen_total{answer=\"absent\"} 0");
    assert_line("tradesieve_screen_total{answer=\"maybe\"} 0");
    assert_line("tradesieve_screen_maybe_total{outcome=\"true_positive\"} 0");
    assert_line("tradesieve_screen_maybe_total{outcome=\"false_positive\"} 0");
    assert_line("tradesieve_filter_false_negatives_total 0");
    assert_line("tradesieve_store_segments{state=\"sealed\"} 0");
    assert_line("tradesieve_commit_duration_seconds_bucket{le=\"+Inf\"} 0");
    assert_line("tradesieve_ack_latency_seconds_count 0");
}
END_TEST

START_TEST(what_is_not_known_yet_is_nan)
{
    compose();
    assert_line("tradesieve_filter_measured_fpr NaN");
    assert_line("tradesieve_filter_expected_fpr NaN");
    assert_line("tradesieve_store_window_start_timestamp_seconds NaN");
}
END_TEST

START_TEST(rates_are_those_of_the_statistics)
{
    figures.absent = 990;
    figures.maybe = 20;
    figures.true_positive = 10;
    figures.false_positive = 10;
    figures.expected_sum = 5;
    figures.target_fpr = 0.01;
    figures.lookups = 21;
    compose();
    assert_line("tradesieve_filter_measured_fpr 0.01");
    assert_line("tradesieve_filter_expected_fpr 0.005");
    assert_line("tradesieve_filter_target_fpr 0.01");
    assert_line("tradesieve_screen_lookups_total 21");
}
END_TEST

START_TEST(histogram_counts_are_cumulative_and_exact_at_their_edges)
{
    histogram_add(&stats.ack, 255, 1);  /* under 256 us */
    histogram_add(&stats.ack, 256, 2);  /* not under it */
    histogram_add(&stats.ack, 1023, 4); /* under 1.024 ms */
    histogram_add(&stats.ack, 1024, 8);
    compose();
    assert_line("tradesieve_ack_latency_seconds_bucket{le=\"0.000256\"} 1");
    assert_line("tradesieve_ack_latency_seconds_bucket{le=\"0.000512\"} 3");
    assert_line("tradesieve_ack_latency_seconds_bucket{le=\"0.001024\"} 7");
    assert_line("tradesieve_ack_latency_seconds_bucket{le=\"0.002048\"} 15");
    assert_line("tradesieve_ack_latency_seconds_bucket{le=\"33.554432\"} 15");
    assert_line("tradesieve_ack_latency_seconds_bucket{le=\"+Inf\"} 15");
    assert_line("tradesieve_ack_latency_seconds_count 15");
    assert_line("tradesieve_ack_latency_seconds_sum 0.013051");
}
END_TEST

START_TEST(one_state_is_1)
{
    figures.state = STORE_FULL;
    compose();
    assert_line("tradesieve_state{state=\"store_full\"} 1");
    assert_line("tradesieve_state{state=\"ready\"} 0");
    stats.draining = true;
    compose();
    assert_line("tradesieve_state{state=\"store_full\"} 0");
    assert_line("tradesieve_state{state=\"draining\"} 1");
}
END_TEST

START_TEST(live_is_what_livez_says)
{
    compose();
    assert_line("tradesieve_live 1");
    live = false;
    compose();
    assert_line("tradesieve_live 0");
}
END_TEST

START_TEST(free_space_is_not_known_before_the_store_is_open)
{
    figures.disk_free_bytes = 4096;
    compose();
    assert_line("tradesieve_store_disk_free_bytes 4096");
    figures.sqlite_version = NULL;
    compose();
    assert_line("tradesieve_store_disk_free_bytes NaN");
}
END_TEST

START_TEST(a_feed_name_cannot_end_its_label)
{
    stats.feeds[0].name = "a\"b\\c";
    compose();
    assert_line("tradesieve_trades_received_total{feed=\"a\\\"b\\\\c\"} 0");
}
END_TEST

START_TEST(segments_are_counted_by_state)
{
    struct segment_figures segments[] = {
        {.state = "sealed"}, {.state = "sealed"}, {.state = "closed"}, {.state = "active"}};

    figures.segments = segments;
    figures.segments_n = 4;
    compose();
    assert_line("tradesieve_store_segments{state=\"sealed\"} 2");
    assert_line("tradesieve_store_segments{state=\"closed\"} 1");
    assert_line("tradesieve_store_segments{state=\"draining\"} 0");
}
END_TEST

START_TEST(the_process_tells_of_itself)
{
    metrics_process(&process);
    ck_assert_uint_gt(process.resident_bytes, 1 << 20);
    ck_assert_uint_ge(process.virtual_bytes, process.resident_bytes);
    ck_assert_uint_ge(process.open_fds, 3);
    ck_assert_uint_gt(process.max_fds, process.open_fds);
    ck_assert_double_gt(process.start_time_s, 1.5e9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tests = tcase_create("metrics");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, every_series_is_there_before_anything_has_happened);
    tcase_add_test(tests, what_is_not_known_yet_is_nan);
    tcase_add_test(tests, rates_are_those_of_the_statistics);
    tcase_add_test(tests, histogram_counts_are_cumulative_and_exact_at_their_edges);
    tcase_add_test(tests, one_state_is_1);
    tcase_add_test(tests, live_is_what_livez_says);
    tcase_add_test(tests, free_space_is_not_known_before_the_store_is_open);
    tcase_add_test(tests, a_feed_name_cannot_end_its_label);
    tcase_add_test(tests, segments_are_counted_by_state);
    tcase_add_test(tests, the_process_tells_of_itself);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
