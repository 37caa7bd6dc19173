/* Each alert fires on its own figure, and on no other. */
#include <string.h>

#include "report/alerts.h"
#include "suite.h"

#define NOW_US (INT64_C(1000) * 60 * 1000000) /* minute 1,000 */

static struct stats_values stats;
static struct figures figures;
static struct alert alerts[ALERTS_N];

static void begin(void)
{
    memset(&stats, 0, sizeof stats);
    figures = (struct figures){
        .state = STORE_READY,
        .capacity = 1000,
        .target_fpr = 0.01,
        .sqlite_version = "3",
        .disk_free_bytes = 1000,
        .disk_reserve_bytes = 500,
    };
}

/* The one that fires, "" when none does; more than one fails. */
static const char *firing(const char *stuck)
{
    const char *ret = "";

    alerts_judge(&stats, &figures, stuck, NOW_US, alerts);
    for (int i = 0; i < ALERTS_N; i++) {
        ck_assert_str_ne(alerts[i].reason, "");
        if (!alerts[i].firing)
            continue;
        ck_assert_msg(!*ret, "%s fires beside %s", alerts[i].name, ret);
        ret = alerts[i].name;
    }
    return ret;
}

START_TEST(of_a_daemon_that_is_well_nothing_fires)
{
    begin();
    ck_assert_str_eq(firing(NULL), "");
    ck_assert_str_eq(firing("the loop makes no progress"), ""); /* nobody waits */
}
END_TEST

START_TEST(each_figure_fires_its_alert_alone)
{
    begin();
    figures.state = STORE_FULL;
    strcpy(figures.reason, "no space");
    ck_assert_str_eq(firing(NULL), "store_full");
    begin();
    figures.state = STORE_FAILED;
    strcpy(figures.reason, "no disk");
    ck_assert_str_eq(firing(NULL), "store_failed");
    begin();
    figures.false_negative = 1;
    ck_assert_str_eq(firing(NULL), "false_negative");
    begin();
    figures.members_asked = 10;
    figures.members_maybe = 9;
    ck_assert_str_eq(firing(NULL), "self_test");
    figures.members_maybe = 10;
    ck_assert_str_eq(firing(NULL), "");
    figures.predicted_fpr = 0.51;
    ck_assert_str_eq(firing(NULL), "filter_useless");
    begin();
    figures.keys = 1001;
    ck_assert_str_eq(firing(NULL), "over_capacity");
    begin();
    figures.wal_bytes = (64 << 20) + 1;
    ck_assert_str_eq(firing(NULL), "wal_growing");
    begin();
    figures.disk_free_bytes = 999;
    ck_assert_str_eq(firing(NULL), "disk_filling");
    figures.sqlite_version = NULL; /* not looked at yet */
    ck_assert_str_eq(firing(NULL), "");
    begin();
    figures.expiry_held = true;
    ck_assert_str_eq(firing(NULL), "expiry_held");
    begin();
    stats.received = stats.verdicts[VERDICT_CONFLICT] = 1;
    stats.conflict_mono_us = NOW_US - INT64_C(14) * 60 * 1000000;
    ck_assert_str_eq(firing(NULL), "conflicts");
    stats.conflict_mono_us = NOW_US - INT64_C(15) * 60 * 1000000;
    ck_assert_str_eq(firing(NULL), "");
}
END_TEST

START_TEST(acks_stall_when_trades_wait_and_a_thread_is_stuck)
{
    begin();
    stats.received = 3;
    stats.verdicts[VERDICT_NEW] = 2;
    ck_assert_str_eq(firing(NULL), "");
    ck_assert_str_eq(firing("the store makes no progress"), "acks_stalled");
    ck_assert_ptr_nonnull(strstr(alerts[4].reason, "1 trades unanswered, the store makes no progress"));
}
END_TEST

/* 3 of 100 is 3 times the target and no proof; 31 of 1,000 is not either; 50 of 1,000 is. */
START_TEST(a_rate_is_high_when_chance_does_not_explain_it)
{
    static const struct {
        uint64_t maybe, asked;
        bool high;
    } cases[] = {{3, 100, false}, {31, 1000, false}, {50, 1000, true}, {0, 0, false}};

    begin();
    figures.recent_false_positive = cases[_i].maybe;
    figures.recent_absent_asked = cases[_i].asked;
    ck_assert_str_eq(firing(NULL), cases[_i].high ? "rate_high" : "");
    begin();
    figures.strangers_maybe = cases[_i].maybe;
    figures.strangers_asked = cases[_i].asked;
    ck_assert_str_eq(firing(NULL), cases[_i].high ? "rate_high" : "");
}
END_TEST

START_TEST(a_filter_that_says_maybe_to_most_strangers_is_useless_whatever_is_predicted)
{
    begin();
    figures.target_fpr = 0.9; /* else the rate is high, too */
    figures.recent_absent_asked = 99;
    figures.recent_false_positive = 99;
    ck_assert_str_eq(firing(NULL), "");
    figures.recent_absent_asked = figures.recent_false_positive = 100;
    ck_assert_str_eq(firing(NULL), "filter_useless");
    figures.recent_false_positive = 50;
    ck_assert_str_eq(firing(NULL), "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("alerts");
    TCase *cases = tcase_create("alerts");

    tcase_add_test(cases, of_a_daemon_that_is_well_nothing_fires);
    tcase_add_test(cases, each_figure_fires_its_alert_alone);
    tcase_add_test(cases, acks_stall_when_trades_wait_and_a_thread_is_stuck);
    tcase_add_loop_test(cases, a_rate_is_high_when_chance_does_not_explain_it, 0, 4);
    tcase_add_test(cases, a_filter_that_says_maybe_to_most_strangers_is_useless_whatever_is_predicted);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
