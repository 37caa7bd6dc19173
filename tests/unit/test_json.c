/* The bodies of /stats, /check, /readyz from figures made by hand. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "report/json.h"
#include "suite.h"

static struct stats_values stats;
static struct figures figures;

static void begin(void)
{
    memset(&stats, 0, sizeof stats);
    figures = (struct figures){.state = STORE_READY};
    stats.started_mono_us = clock_mono_us();
}

static cJSON *parsed(char *text)
{
    cJSON *root = cJSON_Parse(text);

    ck_assert_ptr_nonnull(root);
    free(text);
    return root;
}

/* The raw text of "name":value behind the first "section":, which shows how it was written. */
static void assert_written(const char *text, const char *section, const char *member)
{
    char wanted[80];
    const char *at;

    snprintf(wanted, sizeof wanted, "\"%s\":", section);
    at = strstr(text, wanted);
    ck_assert_msg(at != NULL, "%s lacks %s", text, section);
    ck_assert_msg(strstr(at, member) != NULL, "%s lacks %s in %s", text, member, section);
}

static void assert_stats_hold(const char *section, const char *member)
{
    char *text = json_stats(&stats, &figures);

    assert_written(text, section, member);
    free(text);
}

START_TEST(stats_have_the_agreed_members_in_the_agreed_order)
{
    static const char *const wanted =
        "{\"name\":\"tradesieve\",\"version\":\"" TRADESIEVE_VERSION "\",\"state\":\"ready\","
        "\"uptime_s\":0,"
        "\"lines\":{\"received\":0,\"truncated\":0},"
        "\"trades\":{\"received\":0,\"new\":0,\"duplicate\":0,\"conflict\":0,\"invalid\":0,"
        "\"ignored\":0,\"retry\":0,\"unanswered\":0},"
        "\"filter\":{\"fill_ratio\":0,\"fullest\":0,\"bits\":0,\"bits_set\":0,\"hashes\":0,"
        "\"optimal_hashes\":0,\"keys\":0,\"capacity\":100000000,\"memory_bytes\":0,"
        "\"target_fpr\":0.01,\"predicted_fpr\":0,\"expected_fpr\":null,\"measured_fpr\":null,"
        "\"measured_fpr_low\":null,\"measured_fpr_high\":null,\"recent_fpr\":null,"
        "\"false_discovery_rate\":null,\"absent\":0,\"maybe\":0,\"true_positive\":0,"
        "\"false_positive\":0,\"false_negative\":0,"
        "\"self_test\":{\"members_asked\":0,\"members_maybe\":0,\"strangers_asked\":0,"
        "\"strangers_maybe\":0}},"
        "\"generations\":[{\"segment\":\"trades-20261201-000001\",\"generation\":0,\"keys\":0,"
        "\"bits\":0,\"bits_set\":0,\"fill_ratio\":0,\"hashes\":0,\"predicted_fpr\":0}],"
        "\"segments\":[{\"segment\":\"trades-20261201-000001\",\"state\":\"active\",\"rows\":0,"
        "\"first_seq\":1,\"bytes\":0,\"keys\":0,\"bits\":0,\"bits_set\":0,\"fill_ratio\":0,"
        "\"hashes\":0,\"predicted_fpr\":0}],"
        "\"store\":{\"rows\":0,\"segments\":1,\"bytes\":0,\"wal_bytes\":0,\"commits\":0,"
        "\"window_start\":null,\"conflicts\":0,\"rejects\":0,\"sqlite_version\":\"3.40.1\"},"
        "\"latency_ms\":{\"ack_p50\":0,\"ack_p99\":0,\"ack_max\":0,\"commit_p50\":0,"
        "\"commit_p99\":0},"
        "\"connections\":{\"open\":0,\"accepted\":0,\"paused\":0,\"refused\":0},"
        "\"feeds\":{\"canonical\":{\"received\":0,\"new\":0,\"duplicate\":0,\"conflict\":0,"
        "\"invalid\":0,\"ignored\":0}}}";
    struct generation_figures generation = {.segment = "trades-20261201-000001"};
    struct segment_figures segment = {
        .segment = "trades-20261201-000001", .state = "active", .first_seq = 1};

    figures.capacity = 100000000;
    figures.target_fpr = 0.01;
    figures.generations = &generation;
    figures.segments = &segment;
    figures.generations_n = figures.segments_n = 1;
    figures.sqlite_version = "3.40.1";
    stats.feeds[0].name = "canonical";
    stats.feeds_n = 1;
    char *text = json_stats(&stats, &figures);
    /* The one member that moves by itself is made 0. */
    char *uptime = strstr(text, "\"uptime_s\":") + strlen("\"uptime_s\":");

    memmove(uptime + 1, strchr(uptime, ','), strlen(strchr(uptime, ',')) + 1);
    *uptime = '0';
    ck_assert_str_eq(text, wanted);
    free(text);
}
END_TEST

START_TEST(the_state_is_the_stores_unless_the_daemon_drains)
{
    static const struct {
        enum store_state store;
        bool draining;
        const char *written;
    } cases[] = {
        {STORE_STARTING, false, "\"starting\""}, {STORE_READY, false, "\"ready\""},
        {STORE_FULL, false, "\"store_full\""},   {STORE_FAILED, false, "\"failed\""},
        {STORE_READY, true, "\"draining\""},     {STORE_FULL, true, "\"draining\""},
        {STORE_FAILED, true, "\"failed\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        figures.state = cases[i].store;
        stats.draining = cases[i].draining;
        assert_stats_hold("state", cases[i].written);
    }
}
END_TEST

START_TEST(counters_beyond_2_to_53_are_written_in_full)
{
    stats.received = UINT64_MAX;
    stats.verdicts[VERDICT_NEW] = 9007199254740993u;
    figures.bits = 9007199254740991u;
    figures.rows = 10000000000000001u;
    assert_stats_hold("trades", "\"received\":18446744073709551615,");
    assert_stats_hold("trades", "\"new\":9007199254740993,");
    assert_stats_hold("trades", "\"unanswered\":18437736874454810622}");
    assert_stats_hold("filter", "\"bits\":9007199254740991,");
    assert_stats_hold("store", "\"rows\":10000000000000001,");
}
END_TEST

START_TEST(doubles_are_as_short_as_they_can_be_read_back)
{
    static const double values[] = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 0.108688872, 1e-9};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        figures.predicted_fpr = values[i];
        cJSON *root = parsed(json_stats(&stats, &figures));
        const cJSON *filter = cJSON_GetObjectItemCaseSensitive(root, "filter");

        ck_assert_double_eq(cJSON_GetObjectItemCaseSensitive(filter, "predicted_fpr")->valuedouble,
                            values[i]);
        cJSON_Delete(root);
    }
    figures.predicted_fpr = 0.1;
    assert_stats_hold("filter", "\"predicted_fpr\":0.1,");
    figures.predicted_fpr = NAN;
    assert_stats_hold("filter", "\"predicted_fpr\":null,");
    figures.predicted_fpr = INFINITY;
    assert_stats_hold("filter", "\"predicted_fpr\":null,");
}
END_TEST

START_TEST(unanswered_is_what_was_received_without_a_verdict_yet)
{
    stats.received = 21;
    for (int v = VERDICT_NEW; v < VERDICT_COUNT; v++)
        stats.verdicts[v] = 2;
    stats.verdicts[VERDICT_NONE] = 5;
    assert_stats_hold("trades", "\"unanswered\":9}");
}
END_TEST

START_TEST(rates_are_over_the_keys_that_nobody_stores)
{
    figures.absent = 900;
    figures.false_positive = 100;
    figures.true_positive = 300;
    figures.maybe = 400;
    figures.expected_sum = 95;
    figures.recent_absent_asked = 50;
    figures.recent_false_positive = 4;
    assert_stats_hold("filter", "\"expected_fpr\":0.095,\"measured_fpr\":0.1,");
    assert_stats_hold("filter", "\"measured_fpr_low\":0.0829");
    assert_stats_hold("filter", "\"measured_fpr_high\":0.1201");
    assert_stats_hold("filter", "\"recent_fpr\":0.08,\"false_discovery_rate\":0.25,");
}
END_TEST

START_TEST(with_duplicates_only_the_discovery_rate_is_known_and_the_others_are_not)
{
    figures.maybe = figures.true_positive = 10;
    assert_stats_hold("filter", "\"measured_fpr\":null,\"measured_fpr_low\":null,"
                                "\"measured_fpr_high\":null,\"recent_fpr\":null,"
                                "\"false_discovery_rate\":0,");
}
END_TEST

START_TEST(fill_ratios_are_bits_set_over_bits)
{
    struct generation_figures generation = {
        .segment = "trades-20261201-000002", .generation = 7, .filter = {800, 200, 30, 3, 0.0156}};
    struct segment_figures segment = {.segment = "trades-20261201-000002",
                                      .state = "closed",
                                      .rows = 30,
                                      .first_seq = 31,
                                      .bytes = 4096,
                                      .filter = {1000, 900, 31, 4, 0.5}};

    figures.bits = 1000;
    figures.bits_set = 250;
    figures.generations = &generation;
    figures.segments = &segment;
    figures.generations_n = figures.segments_n = 1;
    assert_stats_hold("filter", "\"fill_ratio\":0.25,");
    assert_stats_hold("generations", "\"generation\":7,\"keys\":30,\"bits\":800,\"bits_set\":200,"
                                     "\"fill_ratio\":0.25,\"hashes\":3,\"predicted_fpr\":0.0156}");
    assert_stats_hold("segments", "\"state\":\"closed\",\"rows\":30,\"first_seq\":31,\"bytes\":4096,"
                                  "\"keys\":31,\"bits\":1000,\"bits_set\":900,\"fill_ratio\":0.9,");
}
END_TEST

START_TEST(latencies_are_milliseconds_and_the_window_is_a_moment)
{
    histogram_add(&stats.ack, 2500, 100);
    histogram_add(&figures.commit, 4000, 1);
    figures.window_start_us = 1796135400123456;
    assert_stats_hold("latency_ms", "\"ack_p50\":2.5,\"ack_p99\":2.5,\"ack_max\":2.5,"
                                    "\"commit_p50\":4,\"commit_p99\":4}");
    assert_stats_hold("store", "\"window_start\":\"2026-12-01T14:30:00.123456Z\",");
}
END_TEST

START_TEST(each_feed_has_its_own_counts)
{
    stats.feeds[0] = (struct feed_counts){"kraken", 10, {[VERDICT_NEW] = 4, [VERDICT_IGNORED] = 6}};
    stats.feeds[1] = (struct feed_counts){"okx", 1, {[VERDICT_INVALID] = 1}};
    stats.feeds_n = 2;
    assert_stats_hold("feeds", "\"kraken\":{\"received\":10,\"new\":4,\"duplicate\":0,\"conflict\":0,"
                               "\"invalid\":0,\"ignored\":6},\"okx\":{\"received\":1,\"new\":0,"
                               "\"duplicate\":0,\"conflict\":0,\"invalid\":1,\"ignored\":0}}}");
}
END_TEST

START_TEST(check_tells_of_a_stored_key_where_it_may_be_and_since_when)
{
    struct store_candidate candidates[] = {{"trades-20261201-000001", 3},
                                           {"trades-20261130-000000", -1}};
    uint64_t positions[] = {5, 9007199254740993u};
    struct store_filter_answer filters[] = {{"trades-20261201-000001", true, 100, 2, positions, -1},
                                            {"trades-20261130-000000", false, 64, 1, positions, 0}};
    struct store_answer answer = {.screen = SCREEN_MAYBE,
                                  .present = true,
                                  .seq = 12,
                                  .received_us = 1796135400000000,
                                  .candidates = candidates,
                                  .candidates_n = 2,
                                  .filters = filters,
                                  .filters_n = 2};
    char *text = json_check("BINANCE/a%2Fb", 13, &answer);

    ck_assert_str_eq(
        text, "{\"key\":\"BINANCE/a%2Fb\",\"screen\":\"maybe\",\"exact\":\"present\",\"seq\":12,"
              "\"received\":\"2026-12-01T14:30:00.000000Z\",\"candidates\":["
              "{\"segment\":\"trades-20261201-000001\",\"generation\":3},"
              "{\"segment\":\"trades-20261130-000000\",\"generation\":null}],\"filters\":["
              "{\"segment\":\"trades-20261201-000001\",\"kind\":\"bank\",\"bits\":100,\"hashes\":2,"
              "\"positions\":[5,9007199254740993],\"zero\":null},"
              "{\"segment\":\"trades-20261130-000000\",\"kind\":\"classic\",\"bits\":64,\"hashes\":1,"
              "\"positions\":[5],\"zero\":0}]}");
    free(text);
}
END_TEST

START_TEST(check_of_a_stranger_has_nulls_and_a_key_of_any_bytes)
{
    struct store_answer answer = {.screen = SCREEN_ABSENT};
    char *text = json_check("a\0\"\xff", 4, &answer);

    ck_assert_str_eq(text, "{\"key\":\"a\\u0000\\\"\xef\xbf\xbd\",\"screen\":\"absent\","
                           "\"exact\":\"absent\",\"seq\":null,\"received\":null,\"candidates\":[],"
                           "\"filters\":[]}");
    free(text);
}
END_TEST

START_TEST(ready_means_that_trades_are_accepted_and_else_says_why)
{
    static const struct {
        enum store_state store;
        bool draining;
        const char *reason, *written;
    } cases[] = {
        {STORE_READY, false, "", "{\"ready\":true}"},
        {STORE_READY, true, "", "{\"ready\":false,\"reason\":\"draining\"}"},
        {STORE_STARTING, false, "", "{\"ready\":false,\"reason\":\"starting\"}"},
        {STORE_FULL, false, "12 bytes are left", "{\"ready\":false,\"reason\":\"12 bytes are left\"}"},
        {STORE_FAILED, false, "I/O \"error\"", "{\"ready\":false,\"reason\":\"I/O \\\"error\\\"\"}"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool ready;

        figures.state = cases[i].store;
        stats.draining = cases[i].draining;
        strcpy(figures.reason, cases[i].reason);
        char *text = json_ready(&stats, &figures, &ready);

        ck_assert_str_eq(text, cases[i].written);
        ck_assert_int_eq(ready, i == 0);
        free(text);
    }
}
END_TEST

START_TEST(live_and_error_bodies_hold_their_reason)
{
    char *texts[] = {json_live(NULL), json_live("the loop"), json_error("no \"key\"")};

    ck_assert_str_eq(texts[0], "{\"live\":true}");
    ck_assert_str_eq(texts[1], "{\"live\":false,\"reason\":\"the loop\"}");
    ck_assert_str_eq(texts[2], "{\"error\":\"no \\\"key\\\"\"}");
    for (int i = 0; i < 3; i++)
        free(texts[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *tests = tcase_create("json");

    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, begin, NULL);
    tcase_add_test(tests, stats_have_the_agreed_members_in_the_agreed_order);
    tcase_add_test(tests, the_state_is_the_stores_unless_the_daemon_drains);
    tcase_add_test(tests, counters_beyond_2_to_53_are_written_in_full);
    tcase_add_test(tests, doubles_are_as_short_as_they_can_be_read_back);
    tcase_add_test(tests, unanswered_is_what_was_received_without_a_verdict_yet);
    tcase_add_test(tests, rates_are_over_the_keys_that_nobody_stores);
    tcase_add_test(tests, with_duplicates_only_the_discovery_rate_is_known_and_the_others_are_not);
    tcase_add_test(tests, fill_ratios_are_bits_set_over_bits);
    tcase_add_test(tests, latencies_are_milliseconds_and_the_window_is_a_moment);
    tcase_add_test(tests, each_feed_has_its_own_counts);
    tcase_add_test(tests, check_tells_of_a_stored_key_where_it_may_be_and_since_when);
    tcase_add_test(tests, check_of_a_stranger_has_nulls_and_a_key_of_any_bytes);
    tcase_add_test(tests, ready_means_that_trades_are_accepted_and_else_says_why);
    tcase_add_test(tests, live_and_error_bodies_hold_their_reason);
    return suite_run(suite);
}
