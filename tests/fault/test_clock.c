/* The wall clock is set, by an operator, by NTP, by a virtual machine that was moved. It stands still here
 * but for the tests: a jump moves it alone, and where time passes the store is told that the monotonic
 * clock went along. Whatever it says,
 * no trade is lost, none is stored twice, names of segments never go back, and nothing expires that was
 * not stored long enough. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/store_state.h"
#include "store_fixture.h"
#include "suite.h"

static const int64_t second_us = 1000000, hour_us = INT64_C(3600) * 1000000;
static const int64_t day_us = STORE_FIXTURE_DAY_US, ten_years_us = 3652 * STORE_FIXTURE_DAY_US;

static int64_t wall_us;

/* In place of the C library's. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
    if (id != CLOCK_REALTIME)
        return (int)syscall(SYS_clock_gettime, id, ret);
    *ret = (struct timespec){.tv_sec = wall_us / second_us, .tv_nsec = wall_us % second_us * 1000};
    return 0;
}

static struct store_fixture f;
static struct store_model *model;
static uint64_t newest_number;
static int64_t newest_day;

static void pass(int64_t us)
{
    wall_us += us;
    if (f.store)
        f.store->clock_offset_us += us;
}

static void setup(void)
{
    wall_us = clock_days_from_date(2026, 12, 1) * day_us + 23 * hour_us + 59 * 60 * second_us;
    newest_number = 0;
    newest_day = 0;
    store_fixture_init(&f);
    f.config.retention_days = 7;
    store_fixture_open(&f);
    model = store_model_open();
}

static void teardown(void)
{
    store_model_close(model);
    store_fixture_done(&f);
}

static void must(int result)
{
    if (result < 0)
        ck_abort_msg("%s", f.err.text);
}

/* Trades that come now. Each segment's name is later than the one before it. */
static void send(const char *prefix, int n)
{
    struct text words = {0};

    for (int i = 1; i <= n; i++)
        text_add_format(&words, "%s%d ", prefix, i);
    f.now_us = wall_us;
    struct batch *batch = store_fixture_batch(&f, text_terminate(&words));

    store_fixture_transact(&f, &batch, 1, true);
    store_model_judge(model, batch);
    ck_assert_int_eq(batch->received_us, wall_us); /* as the clock said, right or wrong */
    batch_close(batch);
    text_done(&words);
    const struct store_segment *active = store_active(f.store);

    ck_assert(active->number >= newest_number && active->meta.day >= newest_day);
    newest_number = active->number;
    newest_day = active->meta.day;
}

static const char *day_of_active(void)
{
    static char day[9];

    snprintf(day, sizeof day, "%.8s", store_active(f.store)->name + strlen("trades-"));
    return day;
}

/* Everything that is due now goes; says how many segments remain. */
static size_t expire(void)
{
    must(store_settle(f.store, &f.err));
    f.store->expire_next_us = 0;
    must(store_maintain(f.store, &f.err));
    return f.store->segments_n;
}

static void nothing_is_lost(void)
{
    store_model_verify(model, &f);
    store_fixture_reopen(&f);
    store_model_verify(model, &f);
    ck_assert_uint_eq(store_fixture_census(&f).rows, store_model_size(model));
    ck_assert_uint_eq(f.events[STORE_CRITICAL], 0);
}

START_TEST(a_day_back_at_midnight_loses_and_doubles_nothing)
{
    send("a", 5);
    pass(2 * 60 * second_us);
    send("b", 5);
    ck_assert_str_eq(day_of_active(), "20261202");
    wall_us -= day_us;
    send("c", 5);
    send("a", 5);
    send("b", 5);
    ck_assert_str_eq(day_of_active(), "20261202");
    send("d", 12); /* rolls by rows, under the later day */
    ck_assert_str_eq(day_of_active(), "20261202");
    pass(day_us);
    send("e", 5);
    send("c", 5);
    ck_assert_str_eq(day_of_active(), "20261202");
    nothing_is_lost();
    pass(day_us);
    send("f", 5);
    ck_assert_str_eq(day_of_active(), "20261203");
    nothing_is_lost();
}
END_TEST

START_TEST(ten_years_forward_and_back_expire_nothing)
{
    for (int i = 0; i < 3; i++) {
        send((char[]){(char)(0x61 + i), 0}, 5);
        pass(day_us);
    }
    wall_us += ten_years_us;
    send("d", 5);
    send("a", 5);
    size_t segments = f.store->segments_n;

    ck_assert_uint_eq(expire(), segments);
    ck_assert_uint_ge(f.events[STORE_WARNING], 1);
    ck_assert_ptr_nonnull(strstr(f.event, "nothing expires"));
    store_model_verify(model, &f);
    wall_us -= ten_years_us;
    send("e", 14);
    send("d", 5);
    ck_assert_uint_eq(expire(), f.store->segments_n);
    store_fixture_reopen(&f);
    ck_assert_ptr_nonnull(strstr(f.event, "days ahead of the clock"));
    nothing_is_lost();
}
END_TEST

START_TEST(once_the_clock_is_right_again_what_is_due_goes)
{
    send("a", 5);
    pass(day_us);
    send("b", 5);
    wall_us += ten_years_us;
    send("c", 5);
    ck_assert_uint_eq(expire(), 3);
    wall_us -= ten_years_us;
    pass(7 * day_us); /* a is more than seven days old, b is not */
    ck_assert_uint_eq(expire(), 2);
    ck_assert_str_eq(store_fixture_send(&f, "a1 b1 c1"), "new:16 duplicate:6 duplicate:11");
}
END_TEST

/* A machine that boots with a wrong clock: both clocks agree, and only the trades tell. */
START_TEST(a_start_ten_years_ahead_expires_nothing)
{
    for (int i = 0; i < 3; i++) {
        send((char[]){(char)(0x61 + i), 0}, 5);
        pass(day_us);
    }
    store_fixture_close(&f);
    f.events[STORE_WARNING] = 0;
    wall_us += ten_years_us;
    store_fixture_open(&f);
    ck_assert_uint_eq(f.events[STORE_WARNING], 1);
    ck_assert_ptr_nonnull(strstr(f.event, "nothing expires until the next start"));
    ck_assert_uint_eq(expire(), 3);
    send("d", 5);
    send("a", 5);
    wall_us -= ten_years_us;
    ck_assert_uint_eq(expire(), 4);
    nothing_is_lost();
}
END_TEST

START_TEST(after_a_long_stop_the_second_start_expires)
{
    send("a", 5);
    pass(day_us);
    send("b", 5);
    store_fixture_close(&f);
    pass(30 * day_us);
    store_fixture_open(&f);
    send("c", 5);
    ck_assert_uint_eq(expire(), 3);
    store_fixture_reopen(&f);
    ck_assert_uint_eq(expire(), 1);
    ck_assert_str_eq(store_fixture_send(&f, "c1 a1"), "duplicate:11 new:16");
}
END_TEST

/* A start looks at the last rows of a segment only. */
START_TEST(rows_of_a_clock_that_was_set_back_do_not_age_those_before_them)
{
    f.config.segment_rows = 30000;
    store_fixture_reopen(&f);
    send("a", 5);
    wall_us -= 30 * day_us;
    for (int i = 0; i < 11; i++)
        send((char[]){'b', (char)('a' + i), '\0'}, 1000);
    wall_us += 30 * day_us;
    pass(hour_us);
    send("c", 5);
    ck_assert_uint_eq(f.store->segments_n, 2);
    store_fixture_reopen(&f);
    ck_assert_uint_eq(expire(), 2);
    nothing_is_lost();
    pass(7 * day_us);
    send("d", 5);
    ck_assert_uint_eq(expire(), 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock");
    TCase *cases = tcase_create("clock");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, a_day_back_at_midnight_loses_and_doubles_nothing);
    tcase_add_test(cases, ten_years_forward_and_back_expire_nothing);
    tcase_add_test(cases, once_the_clock_is_right_again_what_is_due_goes);
    tcase_add_test(cases, a_start_ten_years_ahead_expires_nothing);
    tcase_add_test(cases, after_a_long_stop_the_second_start_expires);
    tcase_add_test(cases, rows_of_a_clock_that_was_set_back_do_not_age_those_before_them);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
