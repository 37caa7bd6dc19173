/* The counters of the ingest side: what moves when, and that a copy is consistent. */
#include <pthread.h>

#include "base/clock.h"
#include "report/stats.h"
#include "suite.h"

static struct stats stats;
static struct batch *batch;

static void open_stats(void)
{
    stats_init(&stats);
    batch = batch_open();
    batch->feed_index = stats_add_feed(&stats, "canonical");
}

static void close_stats(void)
{
    batch_close(batch);
    stats_done(&stats);
}

static void add_trades(enum verdict verdict, int n)
{
    while (n--)
        batch_add_trade(batch)->verdict = (uint8_t)verdict;
}

static struct stats_values copy(void)
{
    struct stats_values values;

    stats_copy(&stats, &values);
    return values;
}

START_TEST(at_first_everything_is_zero_but_the_moment_of_the_start)
{
    struct stats_values values = copy();

    ck_assert_uint_eq(values.received, 0);
    ck_assert_uint_eq(values.lines_received, 0);
    ck_assert_uint_eq(values.ack.n, 0);
    ck_assert(!values.draining);
    ck_assert_int_gt(values.started_mono_us, 0);
    ck_assert_int_eq(values.loop_progress_us, values.started_mono_us);
}
END_TEST

START_TEST(feeds_of_one_name_share_one_number)
{
    ck_assert_uint_eq(stats_add_feed(&stats, "canonical"), batch->feed_index);
    unsigned kraken = stats_add_feed(&stats, "kraken");

    ck_assert_uint_ne(kraken, batch->feed_index);
    ck_assert_uint_eq(stats_add_feed(&stats, "kraken"), kraken);
    ck_assert_uint_eq(copy().feeds_n, 2);
}
END_TEST

START_TEST(a_batch_is_received_when_submitted_and_answered_when_it_is_back)
{
    struct stats_values values;

    add_trades(VERDICT_NONE, 5);
    stats_count_received(&stats, batch);
    values = copy();
    ck_assert_uint_eq(values.received, 5);
    ck_assert_uint_eq(values.feeds[batch->feed_index].received, 5);
    ck_assert_uint_eq(values.verdicts[VERDICT_NEW], 0);
    for (size_t i = 0; i < batch->trades_n; i++)
        batch->trades[i].verdict = i ? VERDICT_NEW : VERDICT_DUPLICATE;
    stats_count_verdicts(&stats, batch);
    values = copy();
    ck_assert_uint_eq(values.received, 5);
    ck_assert_uint_eq(values.verdicts[VERDICT_NEW], 4);
    ck_assert_uint_eq(values.verdicts[VERDICT_DUPLICATE], 1);
}
END_TEST

START_TEST(every_verdict_has_its_own_counter_in_all_and_in_its_feed)
{
    unsigned other = stats_add_feed(&stats, "other");

    for (int v = VERDICT_NEW; v < VERDICT_COUNT; v++)
        add_trades((enum verdict)v, v);
    stats_count_verdicts(&stats, batch);
    batch->feed_index = other;
    stats_count_verdicts(&stats, batch);
    struct stats_values values = copy();

    for (int v = VERDICT_NEW; v < VERDICT_COUNT; v++) {
        ck_assert_uint_eq(values.verdicts[v], 2 * (uint64_t)v);
        ck_assert_uint_eq(values.feeds[other].verdicts[v], (uint64_t)v);
    }
}
END_TEST

START_TEST(trades_that_a_failed_store_left_without_verdict_stay_unanswered)
{
    add_trades(VERDICT_NONE, 3);
    add_trades(VERDICT_INVALID, 1);
    stats_count_received(&stats, batch);
    stats_count_verdicts(&stats, batch);
    struct stats_values values = copy();

    ck_assert_uint_eq(values.received, 4);
    ck_assert_uint_eq(values.verdicts[VERDICT_NONE], 0);
    ck_assert_uint_eq(values.verdicts[VERDICT_INVALID], 1);
}
END_TEST

START_TEST(lines_latencies_connections_and_progress_are_kept)
{
    stats_count_lines(&stats, 7, 1);
    stats_count_lines(&stats, 3, 0);
    stats_count_ack(&stats, 1500, 4);
    stats_set_connections(&stats, 1, 2, 3, 4);
    stats_set_draining(&stats);
    stats_tick(&stats);
    struct stats_values values = copy();

    ck_assert_uint_eq(values.lines_received, 10);
    ck_assert_uint_eq(values.lines_truncated, 1);
    ck_assert_uint_eq(values.ack.n, 4);
    ck_assert_uint_eq(values.ack.max_us, 1500);
    ck_assert_uint_eq(values.connections_open, 1);
    ck_assert_uint_eq(values.connections_accepted, 2);
    ck_assert_uint_eq(values.connections_paused, 3);
    ck_assert_uint_eq(values.connections_refused, 4);
    ck_assert(values.draining);
    ck_assert_int_ge(values.loop_progress_us, values.started_mono_us);
}
END_TEST

enum { ROUNDS = 20000 };

static void *count_rounds(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        stats_count_received(&stats, batch);
        stats_count_verdicts(&stats, batch);
    }
    return unused;
}

START_TEST(a_copy_taken_while_the_loop_counts_is_consistent)
{
    pthread_t loop;
    struct stats_values values;

    add_trades(VERDICT_NEW, 3);
    add_trades(VERDICT_CONFLICT, 1);
    pthread_create(&loop, NULL, count_rounds, NULL);
    do {
        const struct feed_counts *feed = &values.feeds[0];

        stats_copy(&stats, &values);
        ck_assert_uint_eq(values.verdicts[VERDICT_NEW], 3 * values.verdicts[VERDICT_CONFLICT]);
        ck_assert_uint_eq(values.received, feed->received);
        ck_assert_uint_le(4 * values.verdicts[VERDICT_CONFLICT], values.received);
    } while (values.verdicts[VERDICT_CONFLICT] < ROUNDS);
    pthread_join(loop, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stats");
    TCase *tests = tcase_create("stats");

    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, open_stats, close_stats);
    tcase_add_test(tests, at_first_everything_is_zero_but_the_moment_of_the_start);
    tcase_add_test(tests, feeds_of_one_name_share_one_number);
    tcase_add_test(tests, a_batch_is_received_when_submitted_and_answered_when_it_is_back);
    tcase_add_test(tests, every_verdict_has_its_own_counter_in_all_and_in_its_feed);
    tcase_add_test(tests, trades_that_a_failed_store_left_without_verdict_stay_unanswered);
    tcase_add_test(tests, lines_latencies_connections_and_progress_are_kept);
    tcase_add_test(tests, a_copy_taken_while_the_loop_counts_is_consistent);
    return suite_run(suite);
}
