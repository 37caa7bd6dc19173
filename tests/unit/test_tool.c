/* The tool's pure parts: figures, command lines, summaries, pages. */
#include <string.h>

#include "suite.h"
#include "tool/figure.h"
#include "tool/options.h"
#include "tool/page.h"
#include "tool/progress.h"
#include "tool/table.h"
#include "tool/tally.h"

static struct text out;

static void setup(void)
{
    out = (struct text){0};
}

static void teardown(void)
{
    text_done(&out);
}

static const char *text(void)
{
    return text_terminate(&out);
}

START_TEST(counts_have_a_comma_every_three_digits)
{
    static const struct {
        uint64_t n;
        const char *text;
    } cases[] = {{0, "0"},
                 {999, "999"},
                 {1000, "1,000"},
                 {1234567, "1,234,567"},
                 {100000, "100,000"},
                 {UINT64_MAX, "18,446,744,073,709,551,615"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        out.len = 0;
        figure_add_count(&out, cases[i].n, 0);
        ck_assert_str_eq(text(), cases[i].text);
    }
}
END_TEST

START_TEST(percentages_have_three_significant_digits)
{
    static const struct {
        double rate;
        const char *text;
    } cases[] = {{0, "0 %"},
                 {1, "100.0 %"},
                 {0.123456, "12.3 %"},
                 {0.01, "1.00 %"},
                 {0.000123456, "0.0123 %"},
                 {2e-8, "0.00000200 %"},
                 {0.000999993, "0.100 %"},
                 {0.0999949, "10.0 %"},
                 {0.0999951, "10.0 %"},
                 {1e-12, "< 0.000001 %"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        out.len = 0;
        figure_add_percent(&out, cases[i].rate);
        ck_assert_str_eq(text(), cases[i].text);
    }
}
END_TEST

START_TEST(bytes_and_durations_have_fitting_units)
{
    figure_add_bytes(&out, 512);
    text_add_char(&out, '|');
    figure_add_bytes(&out, 1536);
    text_add_char(&out, '|');
    figure_add_duration(&out, 12.54);
    text_add_char(&out, '|');
    figure_add_duration(&out, 200);
    text_add_char(&out, '|');
    figure_add_duration(&out, 4 * 3600 + 59 * 60 + 59.9);
    text_add_char(&out, '|');
    figure_add_duration(&out, 51 * 3600 + 1800);
    ck_assert_str_eq(text(), "512 B|1.5 KiB|12.5 s|3 min 20 s|4 h 59 min|2 d 3 h");
}
END_TEST

START_TEST(decimal_bytes_have_three_significant_digits)
{
    static const struct {
        double bytes;
        const char *text;
    } cases[] = {{0, "0 B"},           {999, "999 B"},     {1000, "1.00 KB"},  {1200, "1.20 KB"},
                 {9999, "10.0 KB"},    {119816, "120 KB"}, {999499, "999 KB"}, {999500, "1.00 MB"},
                 {34.04e6, "34.0 MB"}, {5e15, "5.00 PB"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        out.len = 0;
        figure_add_decimal_bytes(&out, cases[i].bytes);
        ck_assert_str_eq(text(), cases[i].text);
    }
}
END_TEST

START_TEST(a_table_is_as_wide_as_its_cells)
{
    static const char *const cells[] = {"1", "22,222", "", "333", "4", "<- note"};
    static const char *const headers[] = {"n", "long", ""};
    struct table table;

    table_init(&table, headers, 3, 1 << 2);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        text_add_str(table_cell(&table), cells[i]);
    table_add(&out, &table);
    table_done(&table);
    ck_assert_str_eq(text(), "  n    long\n"
                             "  1  22,222\n"
                             "333       4  <- note\n");
}
END_TEST

START_TEST(a_bar_is_never_longer_than_its_cells)
{
    figure_add_bar(&out, 0.5, 4);
    figure_add_bar(&out, 7, 4);
    figure_add_bar(&out, -1, 4);
    ck_assert_str_eq(text(), "[##..][####][....]");
}
END_TEST

START_TEST(foreign_text_cannot_steer_the_terminal)
{
    figure_add_foreign(&out, "a\033[2J\0\xc2\x9b\xff\x7f\n\xc3\xa9", 13);
    ck_assert_str_eq(text(), "a\\x1b[2J\\x00\\xc2\\x9b\\xff\\x7f\\x0a\xc3\xa9");
}
END_TEST

/* A command line that takes one option of each kind. */
struct taken {
    bool flag;
    const char *text;
    uint64_t count, counts[OPTION_LIST_MAX];
    double fraction, fractions[OPTION_LIST_MAX];
    size_t counts_n, fractions_n;
};

static int read_line(const char *const *words, char **argv, struct taken *taken, bool *done,
                     struct err *err)
{
    const struct option_row rows[] = {
        {.name = "flag", OPTION_FLAG, &taken->flag, .letter = 'f'},
        {.name = "text", OPTION_TEXT, &taken->text},
        {.name = "count", OPTION_COUNT, &taken->count, .min = 1, .max = 10},
        {.name = "fraction", OPTION_FRACTION, &taken->fraction},
        {.name = "counts", OPTION_COUNT, taken->counts, &taken->counts_n, .max = UINT64_MAX},
        {.name = "fractions", OPTION_FRACTION, taken->fractions, &taken->fractions_n},
    };
    const struct options options = {.help = "", .rows = rows, .rows_n = sizeof rows / sizeof *rows};
    int argc = 1;

    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)words[argc - 1];
    return options_read(&options, argc, argv, done, err);
}

START_TEST(options_and_operands_may_stand_in_any_order)
{
    const char *const words[] = {"a",          "--text", "-",  "--count=3", "-f", "-",
                                 "--fraction", "0.25",   "--", "--b",       NULL};
    char *argv[16] = {NULL};
    struct taken taken = {0};
    bool done = false;
    struct err err;

    ck_assert_int_eq(read_line(words, argv, &taken, &done, &err), 3);
    ck_assert_str_eq(argv[1], "a");
    ck_assert_str_eq(argv[2], "-");
    ck_assert_str_eq(argv[3], "--b");
    ck_assert(taken.flag && !done);
    ck_assert_str_eq(taken.text, "-");
    ck_assert_uint_eq(taken.count, 3);
    ck_assert_double_eq(taken.fraction, 0.25);
}
END_TEST

static const char *const refused[][3] = {
    {"--none"},
    {"-x"},
    {"-ff"},
    {"--flag=1"},
    {"--text"},
    {"--count", "0"},
    {"--count", "11"},
    {"--count", "1x"},
    {"--count", ""},
    {"--count", "-1"},
    {"--fraction", "1"},
    {"--fraction", "-0.1"},
    {"--fraction", "nan"},
    {"--fraction", "x"},
    {"--counts", "1,,2"},
    {"--counts", "1,2,"},
    {"--counts", "0.5"},
    {"--counts", "1.5e0"},
    {"--counts", "1e"},
    {"--counts", "1e-1"},
    {"--counts", "1e3k"},
    {"--counts", "1kM"},
    {"--counts", "1K"},
    {"--counts", ".5k"},
    {"--counts", "1.2.3k"},
    {"--counts", "1e20"},
    {"--counts", "0x10"},
    {"--counts", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"},
    {"--fractions", "0.1,1"},
    {"--fractions", "100%"},
    {"--fractions", "%"},
    {"--fractions", "1e-2%"},
    {"--fractions", "1%%"},
    {"--textual", "1"},
    {"--count=18446744073709551617"},
};

START_TEST(a_wrong_option_is_a_usage_error)
{
    char *argv[16] = {NULL};
    struct taken taken = {0};
    bool done = false;
    struct err err;

    ck_assert_int_eq(read_line(refused[_i], argv, &taken, &done, &err), ERR_USAGE);
    ck_assert_int_eq(err_exit_code(err.code), 64);
    ck_assert(!done);
}
END_TEST

START_TEST(numbers_may_have_exponents_units_and_percents_and_stand_in_lists)
{
    const char *const words[] = {
        "--counts",    "1,1e6,1.1M,2k,0.25G",     "--counts", "3T,18446744073709551615",
        "--fractions", "0.01,1%,1e-2,0.1%,50%,0", NULL};
    static const uint64_t counts[] = {1, 1000000, 1100000, 2000, 250000000, 3000000000000, UINT64_MAX};
    static const double fractions[] = {0.01, 0.01, 0.01, 0.001, 0.5, 0};
    char *argv[16] = {NULL};
    struct taken taken = {0};
    bool done = false;
    struct err err;

    ck_assert_int_eq(read_line(words, argv, &taken, &done, &err), 0);
    ck_assert_uint_eq(taken.counts_n, sizeof counts / sizeof *counts);
    ck_assert_mem_eq(taken.counts, counts, sizeof counts);
    ck_assert_uint_eq(taken.fractions_n, sizeof fractions / sizeof *fractions);
    ck_assert_mem_eq(taken.fractions, fractions, sizeof fractions);
}
END_TEST

static const struct tally TALLY = {.lines = 1500,
                                   .answered = 1500,
                                   .verdicts = {0, 1000, 300, 150, 25, 20, 5},
                                   .resent = 7,
                                   .reconnects = 1,
                                   .seconds = 0.5};

START_TEST(the_summary_for_programs_has_every_member)
{
    tally_add_json(&TALLY, &out);
    ck_assert_str_eq(
        text(), "{\"lines\":1500,\"answered\":1500,\"new\":1000,\"duplicate\":300,\"conflict\":150,"
                "\"invalid\":25,\"ignored\":20,\"retry\":5,\"resent\":7,\"reconnects\":1,"
                "\"seconds\":0.500000,\"trades_per_s\":3000.0}\n");
}
END_TEST

START_TEST(the_progress_line_shows_part_rate_and_verdicts_and_fits_its_width)
{
    progress_add_line(&out, &TALLY, 0.5, 200);
    ck_assert_str_eq(
        text(), "[############............]  50 %  1,500 trades  3,000/s  new 1,000  duplicate 300  "
                "conflict 150  invalid 25  ignored 20  retry 5");
    out.len = 0;
    progress_add_line(&out, &TALLY, -1, 20);
    ck_assert_str_eq(text(), "1,500 trades  3,000/");
}
END_TEST

static void add_page(const char *json, const char *before, double seconds)
{
    cJSON *stats = cJSON_Parse(json), *old = before ? cJSON_Parse(before) : NULL;

    page_add_stats(&out, stats, old, seconds);
    cJSON_Delete(stats);
    cJSON_Delete(old);
}

START_TEST(the_page_shows_rates_from_differences)
{
    add_page("{\"state\":\"ready\",\"trades\":{\"new\":3000,\"received\":5000}}",
             "{\"trades\":{\"new\":1000}}", 2);
    ck_assert_ptr_nonnull(strstr(text(), "   ready   "));
    ck_assert_ptr_nonnull(strstr(text(), "new                       3,000        1,000/s\n"));
}
END_TEST

START_TEST(a_page_of_anything_has_dashes_and_no_control_characters)
{
    static const char *const bodies[] = {
        "{}", "[]", "{\"feeds\":[1,[2]],\"trades\":[],\"filter\":7,\"uptime_s\":\"x\"}",
        "{\"state\":\"\\u001b[2J\",\"feeds\":{\"\\u001b]0;\":{\"new\":1e300},\"b\":null}}"};

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        out.len = 0;
        add_page(bodies[i], NULL, 0);
        ck_assert_ptr_nonnull(strstr(text(), "acknowledge     median -, 99 % -, longest -\n"));
        ck_assert_ptr_null(strchr(out.at, '\033'));
    }
}
END_TEST

START_TEST(a_check_names_the_position_that_rules_a_filter_out)
{
    cJSON *check =
        cJSON_Parse("{\"key\":\"A/B/1\",\"screen\":\"maybe\",\"exact\":\"present\",\"seq\":42,"
                    "\"received\":\"2026-12-01T14:30:00.000000Z\",\"candidates\":[{\"segment\":\"s\","
                    "\"generation\":3}],"
                    "\"filters\":[{\"segment\":\"s\",\"kind\":\"bank\",\"bits\":1024,\"hashes\":3,"
                    "\"positions\":[1,22,333],"
                    "\"zero\":1},{\"segment\":\"t\",\"kind\":\"classic\",\"bits\":64,\"hashes\":1,"
                    "\"positions\":[5],"
                    "\"zero\":null}]}");

    page_add_check(&out, check);
    cJSON_Delete(check);
    ck_assert_str_eq(
        text(), "key         A/B/1\n"
                "screen      maybe\n"
                "exact       present\n"
                "seq         42\n"
                "received    2026-12-01T14:30:00.000000Z\n"
                "candidate   s, generation 3\n"
                "filter      s, bank, 1,024 bits, 3 hashes; absent: ruled out at position 2, bit 22\n"
                "filter      t, classic, 64 bits, 1 hashes; maybe: every position is set\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tool");
    TCase *pure = tcase_create("pure parts");

    tcase_add_checked_fixture(pure, setup, teardown);
    tcase_add_test(pure, counts_have_a_comma_every_three_digits);
    tcase_add_test(pure, percentages_have_three_significant_digits);
    tcase_add_test(pure, bytes_and_durations_have_fitting_units);
    tcase_add_test(pure, decimal_bytes_have_three_significant_digits);
    tcase_add_test(pure, a_table_is_as_wide_as_its_cells);
    tcase_add_test(pure, a_bar_is_never_longer_than_its_cells);
    tcase_add_test(pure, foreign_text_cannot_steer_the_terminal);
    tcase_add_test(pure, options_and_operands_may_stand_in_any_order);
    tcase_add_loop_test(pure, a_wrong_option_is_a_usage_error, 0,
                        (int)(sizeof refused / sizeof *refused));
    tcase_add_test(pure, numbers_may_have_exponents_units_and_percents_and_stand_in_lists);
    tcase_add_test(pure, the_summary_for_programs_has_every_member);
    tcase_add_test(pure, the_progress_line_shows_part_rate_and_verdicts_and_fits_its_width);
    tcase_add_test(pure, the_page_shows_rates_from_differences);
    tcase_add_test(pure, a_page_of_anything_has_dashes_and_no_control_characters);
    tcase_add_test(pure, a_check_names_the_position_that_rules_a_filter_out);
    suite_add_tcase(suite, pure);
    return suite_run(suite);
}
