/* The log: which lines are written, and which are left out of a crowd. */
#include "daemon/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

static int log_fd; /* where standard error goes */

static void catch_the_log(void)
{
    FILE *file = tmpfile();

    ck_assert_ptr_nonnull(file);
    log_fd = fileno(file);
    ck_assert_int_ge(dup2(log_fd, STDERR_FILENO), 0);
    log_init(LOG_INFO);
}

static const char *written(void)
{
    static char text[65536];
    ssize_t n = pread(log_fd, text, sizeof text - 1, 0);

    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    return text;
}

START_TEST(a_crowd_of_small_news_leaves_out_nothing_that_is_worse)
{
    for (int i = 0; i < 100; i++)
        log_limited(LOG_KIND_STORE, LOG_INFO, "a segment is sealed");
    log_limited(LOG_KIND_STORE, LOG_WARNING, "the disk is full");
    log_limited(LOG_KIND_STORE, LOG_ERROR, "a false negative");
    ck_assert_ptr_nonnull(strstr(written(), "warning: the disk is full\n"));
    ck_assert_ptr_nonnull(strstr(written(), "error: a false negative\n"));
}
END_TEST

START_TEST(a_crowd_of_one_kind_leaves_out_nothing_of_another)
{
    for (int i = 0; i < 100; i++)
        log_limited(LOG_KIND_REFUSED, LOG_WARNING, "refused");
    log_limited(LOG_KIND_SLOW_PEER, LOG_WARNING, "too slow");
    ck_assert_ptr_nonnull(strstr(written(), "warning: too slow\n"));
}
END_TEST

static unsigned count(const char *text)
{
    unsigned n = 0;

    for (const char *at = written(); (at = strstr(at, text)); at += strlen(text))
        n++;
    return n;
}

START_TEST(a_flood_leaves_few_lines_and_their_number)
{
    for (int i = 0; i < 100000; i++)
        log_limited(LOG_KIND_REFUSED, LOG_WARNING, "refused");
    log_tell_left_out(false); /* its minute is not over */
    ck_assert_uint_eq(count("\n"), LOG_LINES_MAX);
    log_tell_left_out(true);
    ck_assert_uint_eq(count("warning: refused\n"), LOG_LINES_MAX);
    ck_assert_uint_eq(count("warning: 99995 more about refused connections left out\n"), 1);
    log_tell_left_out(true);
    ck_assert_uint_eq(count("\n"), LOG_LINES_MAX + 1);
}
END_TEST

START_TEST(what_is_below_the_level_is_not_written)
{
    log_event(LOG_DEBUG, "detail");
    log_limited(LOG_KIND_STORE, LOG_DEBUG, "detail");
    log_event(LOG_INFO, "news");
    ck_assert_ptr_null(strstr(written(), "detail"));
    ck_assert_ptr_nonnull(strstr(written(), "info: news\n"));
}
END_TEST

START_TEST(control_characters_cannot_forge_a_line)
{
    log_event(LOG_INFO, "a\nb%s", "\x1b\x7f");
    ck_assert_ptr_nonnull(strstr(written(), "info: a\\x0ab\\x1b\\x7f\n"));
    log_event(LOG_INFO, "%s", "\xc2\x9b\xff\xe2\x82.\xe2\x82\xac"); /* C1, no UTF-8, a euro sign */
    ck_assert_ptr_nonnull(strstr(written(), "info: \\xc2\\x9b\\xff\\xe2\\x82.\xe2\x82\xac\n"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tests = tcase_create("log");

    suite_add_tcase(suite, tests);
    unsetenv("JOURNAL_STREAM");
    tcase_add_checked_fixture(tests, catch_the_log, NULL);
    tcase_add_test(tests, a_crowd_of_small_news_leaves_out_nothing_that_is_worse);
    tcase_add_test(tests, a_crowd_of_one_kind_leaves_out_nothing_of_another);
    tcase_add_test(tests, a_flood_leaves_few_lines_and_their_number);
    tcase_add_test(tests, what_is_below_the_level_is_not_written);
    tcase_add_test(tests, control_characters_cannot_forge_a_line);
    return suite_run(suite);
}
