/* The screen of statistics: fits any terminal, tells the truth about what it does not know. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "suite.h"
#include "tool/dashboard.h"

#define ROWS(table) ((int)(sizeof table / sizeof *table))

static struct text out;
static struct dashboard dashboard;
static cJSON *answers[8];
static size_t answers_n;

static void setup(void)
{
    out = (struct text){0};
    dashboard = (struct dashboard){.columns = 100, .rows = 60, .from = "127.0.0.1:7402"};
    answers_n = 0;
}

static void teardown(void)
{
    text_done(&out);
    while (answers_n > 0)
        cJSON_Delete(answers[--answers_n]);
}

static void note(const char *json, double seconds)
{
    dashboard_note(&dashboard, answers[answers_n++] = cJSON_Parse(json), seconds);
    ck_assert_ptr_nonnull(dashboard.stats);
}

static const char *page(void)
{
    out.len = 0;
    dashboard_add(&out, &dashboard);
    return text_terminate(&out);
}

static void assert_shows(const char *words)
{
    const char *text = page();

    ck_assert_msg(strstr(text, words) != NULL, "no \"%s\" in:\n%s", words, text);
}

static const char BUSY[] =
    "{\"name\":\"tradesieve\",\"version\":\"9\",\"state\":\"ready\",\"uptime_s\":90,"
    "\"trades\":{\"received\":123456789012,\"new\":123456789012},"
    "\"filter\":{\"fill_ratio\":0.5,\"fullest\":0.5,\"keys\":9007199254740993,\"measured_fpr\":1e-12},"
    "\"feeds\":{\"k\xc3\xb6ln-\xe6\x9d\xb1\":{\"received\":1},\"canonical\":{\"received\":5,\"new\":"
    "99999}},"
    "\"segments\":[{\"segment\":\"trades-20261201-000001\",\"state\":\"sealed\",\"rows\":1},"
    "{\"segment\":\"trades-20261201-000002\",\"state\":\"active\",\"rows\":2}]}";

/* Columns of a line without the sequences for colours; half a character is wider than any terminal. */
static unsigned columns_of(const char *at, const char *end)
{
    unsigned columns = 0;

    while (at < end) {
        if (*at == '\033') {
            at += strcspn(at, "m") + 1;
            continue;
        }
        size_t n = utf8_length(at, (size_t)(end - at));

        if (n == 0)
            return UINT_MAX;
        columns++;
        at += n;
    }
    return columns;
}

static void assert_fits(unsigned columns, unsigned rows)
{
    unsigned lines = 0;

    dashboard.columns = columns;
    dashboard.rows = rows;
    for (const char *at = page(), *end; *at; at = end + 1, lines++) {
        end = strchr(at, '\n');
        ck_assert_ptr_nonnull(end);
        ck_assert_msg(columns_of(at, end) < (columns > 1 ? columns : 2), "%u columns: %.*s", columns,
                      (int)(end - at), at);
    }
    ck_assert_msg(lines <= rows && lines > 0, "%u lines in %u rows", lines, rows);
}

START_TEST(it_fits_a_terminal_of_any_size)
{
    note(BUSY, 0);
    note(BUSY, 1);
    if (_i & 1)
        dashboard_note_silence(&dashboard, "127.0.0.1:7402: Couldn't connect to server", 1e9);
    dashboard.colours = _i & 2;
    dashboard.blocks = _i & 4;
    for (unsigned columns = 1; columns < 200; columns++)
        assert_fits(columns, 1 + columns % 60);
    assert_fits(1000, 1);
    assert_fits(3000, 3000);
}
END_TEST

START_TEST(rates_come_from_two_answers_of_one_daemon)
{
    note("{\"uptime_s\":5,\"trades\":{\"received\":1000}}", 0);
    assert_shows("received                 1,000            -\n");
    note("{\"uptime_s\":7,\"trades\":{\"received\":5000}}", 2);
    assert_shows("received                 5,000        2,000\n");
    assert_shows("up to 2.00k\n");
    note("{\"uptime_s\":1,\"trades\":{\"received\":9000}}", 1);
    assert_shows("received                 9,000            -\n");
    note("{\"uptime_s\":2,\"trades\":{\"received\":9001}}", 1);
    assert_shows("received                 9,001            1\n");
}
END_TEST

START_TEST(silence_is_said_and_leaves_the_last_answer)
{
    note(BUSY, 0);
    note(BUSY, 1);
    assert_shows("  ready  up ");
    dashboard_note_silence(&dashboard, "no\033[2Jroute", 12);
    assert_shows("  NO ANSWER  was up 1 min 30 s  127.0.0.1:7402");
    assert_shows("! no answer for 12.0 s, below is the last one: no\\x1b[2Jroute\n");
    assert_shows("received       123,456,789,012            -\n");
    note(BUSY, 14);
    assert_shows("  ready  up ");
    ck_assert_ptr_null(strchr(out.at, '!'));
}
END_TEST

static const struct {
    const char *json, *words;
} alerts[] = {
    {"{\"filter\":{\"false_negative\":1}}", "! a filter answered absent for a stored trade"},
    {"{\"filter\":{\"self_test\":{\"members_asked\":3,\"members_maybe\":2}}}",
     "! a filter answered absent"},
    {"{\"filter\":{\"predicted_fpr\":0.02,\"target_fpr\":0.01}}", "! the filters hold more"},
    {"{\"state\":\"store_full\"}", "  store_full  "},
};

START_TEST(what_is_wrong_is_said_in_words)
{
    note(alerts[_i].json, 0);
    assert_shows(alerts[_i].words);
}
END_TEST

START_TEST(colours_only_repeat_words_and_are_left_out_when_not_wanted)
{
    struct text plain = {0};

    note(BUSY, 0);
    text_add_str(&plain, page());
    ck_assert_ptr_null(strchr(page(), '\033'));
    dashboard.colours = true;
    assert_shows("\033[32mready\033[0m");
    for (size_t at = 0, i = 0; at < out.len; at++) {
        if (out.at[at] == '\033') {
            at += strcspn(out.at + at, "m");
            continue;
        }
        ck_assert_int_eq(out.at[at], plain.at[i++]);
    }
    text_done(&plain);
}
END_TEST

START_TEST(text_from_the_daemon_cannot_steer_the_terminal)
{
    note("{\"name\":\"\\u001b[2J\",\"state\":\"\\u009b\",\"feeds\":{\"\\u001b]0;\\n\":{\"new\":1e300}},"
         "\"segments\":[{\"segment\":\"\\r\\u0007\",\"rows\":-1},7,null,\"x\"]}",
         0);
    for (const char *at = page(); *at; at++)
        ck_assert(*at == '\n' || (unsigned char)*at >= 0x20);
    ck_assert_ptr_null(strstr(out.at, "\xc2\x9b"));
    note("[]", 0);
    assert_shows("received                     -            -\n");
}
END_TEST

START_TEST(bars_and_the_line_of_rates_have_an_ascii_form)
{
    note("{\"uptime_s\":1,\"trades\":{\"received\":0}}", 0);
    note("{\"uptime_s\":2,\"trades\":{\"received\":8}}", 1);
    note("{\"uptime_s\":3,\"trades\":{\"received\":12}}", 1);
    assert_shows(" #=  up to 8\n");
    dashboard.blocks = true;
    assert_shows(" \xe2\x96\x88\xe2\x96\x85  up to 8\n");
}
END_TEST

START_TEST(a_small_window_keeps_the_top_and_says_that_there_is_more)
{
    note(BUSY, 0);
    dashboard.rows = 12;
    assert_shows("... (a taller window shows more)\n");
    assert_shows("received ");
    dashboard.rows = 60;
    ck_assert_ptr_null(strstr(page(), "taller"));
    ck_assert(strstr(out.at, "000002  active") < strstr(out.at, "000001  sealed"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dashboard");
    TCase *tests = tcase_create("screen");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, it_fits_a_terminal_of_any_size, 0, 8);
    tcase_add_test(tests, rates_come_from_two_answers_of_one_daemon);
    tcase_add_test(tests, silence_is_said_and_leaves_the_last_answer);
    tcase_add_loop_test(tests, what_is_wrong_is_said_in_words, 0, ROWS(alerts));
    tcase_add_test(tests, colours_only_repeat_words_and_are_left_out_when_not_wanted);
    tcase_add_test(tests, text_from_the_daemon_cannot_steer_the_terminal);
    tcase_add_test(tests, bars_and_the_line_of_rates_have_an_ascii_form);
    tcase_add_test(tests, a_small_window_keeps_the_top_and_says_that_there_is_more);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
