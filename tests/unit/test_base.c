/* What everything else stands on: errors, texts, UTF-8, calendar, histogram, comments, files, addresses. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/histogram.h"
#include "base/jsonc.h"
#include "base/text.h"
#include "base/utf8.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* err */

START_TEST(an_error_gains_context_on_its_way_up)
{
    struct err err;

    ck_assert_int_eq(err_set(&err, ERR_CONFIG, "no such %s", "key"), ERR_CONFIG);
    ck_assert_int_eq(err_prefix(&err, "file %d", 7), ERR_CONFIG);
    ck_assert_str_eq(err.text, "file 7: no such key");
}
END_TEST

START_TEST(an_error_is_one_line_whatever_is_put_into_it)
{
    struct err err;

    err_set(&err, ERR_IO, "a\nb\x7f%s", "\x1b[31m");
    err_prefix(&err, "x\ty");
    ck_assert_str_eq(err.text, "x?y: a?b??[31m");
}
END_TEST

START_TEST(an_error_that_is_too_long_is_cut_and_terminated)
{
    struct err err;
    char longest[2 * ERR_TEXT_MAX];

    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    err_set(&err, ERR_IO, "%s", longest);
    ck_assert_uint_eq(strlen(err.text), ERR_TEXT_MAX - 1);
    err_prefix(&err, "short");
    ck_assert_uint_eq(strlen(err.text), ERR_TEXT_MAX - 1);
    ck_assert_int_eq(strncmp(err.text, "short: aaa", 10), 0);
    err_prefix(&err, "%s", longest);
    ck_assert_uint_eq(strlen(err.text), ERR_TEXT_MAX - 1);
}
END_TEST

START_TEST(every_error_has_its_exit_code)
{
    static const int codes[][2] = {{ERR_USAGE, 64}, {ERR_CORRUPT, 65}, {ERR_SYSTEM, 71},
                                   {ERR_IO, 74},    {ERR_LOCKED, 75},  {ERR_CONFIG, 78},
                                   {ERR_FULL, 74},  {ERR_BUSY, 74},    {0, 0}};

    for (size_t i = 0; i < COUNT(codes); i++)
        ck_assert_int_eq(err_exit_code(codes[i][0]), codes[i][1]);
}
END_TEST

/* text */

START_TEST(a_text_grows_and_keeps_what_it_holds)
{
    struct text text = {0};

    for (int i = 0; i < 10000; i++)
        text_add_char(&text, (char)('a' + i % 26));
    ck_assert_uint_eq(text.len, 10000);
    for (int i = 0; i < 10000; i++)
        ck_assert_int_eq(text.at[i], 'a' + i % 26);
    ck_assert_int_eq(text_terminate(&text)[10000], '\0');
    text_done(&text);
    ck_assert_ptr_null(text.at);
}
END_TEST

START_TEST(numbers_are_written_in_full_from_end_to_end_of_their_range)
{
    struct text text = {0};

    text_add_u64(&text, 0);
    text_add_char(&text, ' ');
    text_add_u64(&text, UINT64_MAX);
    text_add_char(&text, ' ');
    text_add_i64(&text, INT64_MIN);
    text_add_char(&text, ' ');
    text_add_i64(&text, INT64_MAX);
    text_add_char(&text, ' ');
    text_add_hex64(&text, 0x00ab00000000cdefu);
    text_add_format(&text, " %s-%d", "x", 5);
    ck_assert_str_eq(text_terminate(&text), "0 18446744073709551615 -9223372036854775808 "
                                            "9223372036854775807 00ab00000000cdef x-5");
    text_done(&text);
}
END_TEST

START_TEST(digits_are_put_with_zeros_before_them_and_nothing_around)
{
    char text[] = "xxxxxxx";

    text_put_digits(text + 1, 5, 42);
    ck_assert_str_eq(text, "x00042x");
    text_put_digits(text + 1, 2, 1999);
    ck_assert_str_eq(text, "x99042x");
}
END_TEST

START_TEST(hexadecimal_digits_have_their_values_and_no_other_character_has_one)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    int found = 0;

    for (int i = 0; i < 32; i++)
        ck_assert_int_eq(text_hex_digit(digits[i]), i % 16);
    for (int c = CHAR_MIN; c <= CHAR_MAX; c++)
        found += text_hex_digit((char)c) >= 0;
    ck_assert_int_eq(found, 22);
}
END_TEST

START_TEST(a_json_string_escapes_what_it_must_and_mends_what_is_no_utf8)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *json;
    } cases[] = {
        {"", 0, "\"\""},
        {"a/b", 3, "\"a/b\""},
        {"\"\\", 2, "\"\\\"\\\\\""},
        {"\n\r\t", 3, "\"\\n\\r\\t\""},
        {"\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\""},
        {"\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\""},
        {"a\xffz", 3, "\"a\xef\xbf\xbdz\""},
        {"\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text text = {0};

        text_add_json(&text, cases[i].bytes, cases[i].len);
        ck_assert_str_eq(text_terminate(&text), cases[i].json);
        text_done(&text);
    }
}
END_TEST

START_TEST(a_moment_is_written_as_rfc_3339_with_microseconds)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000000Z"},
        {-1, "1969-12-31T23:59:59.999999Z"},
        {951782400123456, "2000-02-29T00:00:00.123456Z"},
        {1796135400000001, "2026-12-01T14:30:00.000001Z"},
        {253402300799999999, "9999-12-31T23:59:59.999999Z"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text text = {0};

        text_add_time_us(&text, cases[i].us);
        ck_assert_str_eq(text_terminate(&text), cases[i].text);
        text_done(&text);
    }
}
END_TEST

/* utf8 */

START_TEST(every_code_point_but_the_surrogates_is_one_well_formed_character)
{
    /* check writes to a pipe at each assertion, so a loop of a million has one at its end. */
    unsigned wrong = 0;

    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char bytes[4];
        size_t n = utf8_encode(code, bytes);
        bool surrogate = code >= 0xd800 && code <= 0xdfff;

        wrong += utf8_length(bytes, n) != (surrogate ? 0 : n);
        wrong += utf8_length(bytes, n - 1) != 0;
    }
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(overlong_stray_and_too_large_forms_are_no_characters)
{
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xe0\x80\x80",
                                      "\xe0\x9f\xbf",
                                      "\xc2\x41",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xf0\x80\x80\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "\xe1\x80\x41",
                                      "\xf1\x80\x80\xc0"};

    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_uint_eq(utf8_length(bad[i], strlen(bad[i])), 0);
}
END_TEST

/* clock */

START_TEST(days_and_dates_turn_into_each_other)
{
    int64_t day = clock_days_from_date(0, 1, 1), last = clock_days_from_date(9999, 12, 31);
    unsigned wrong = 0;

    ck_assert_int_eq(clock_days_from_date(1970, 1, 1), 0);
    ck_assert_int_eq(clock_days_from_date(2000, 3, 1), 11017);
    ck_assert_int_eq(clock_days_from_date(1969, 12, 31), -1);
    for (; day <= last; day++) {
        int year, month, date;

        clock_date_from_days(day, &year, &month, &date);
        wrong += clock_days_from_date(year, month, date) != day;
    }
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(division_rounds_down_on_both_sides_of_0)
{
    static const int64_t cases[][3] = {{0, 5, 0},
                                       {4, 5, 0},
                                       {5, 5, 1},
                                       {-1, 5, -1},
                                       {-5, 5, -1},
                                       {-6, 5, -2},
                                       {INT64_MIN, 1, INT64_MIN}};

    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_int_eq(clock_floor_div(cases[i][0], cases[i][1]), cases[i][2]);
}
END_TEST

START_TEST(a_moment_before_the_epoch_belongs_to_the_day_that_holds_it)
{
    ck_assert_int_eq(clock_day_of_us(0), 0);
    ck_assert_int_eq(clock_day_of_us(86399999999), 0);
    ck_assert_int_eq(clock_day_of_us(86400000000), 1);
    ck_assert_int_eq(clock_day_of_us(-1), -1);
    ck_assert_int_eq(clock_day_of_us(-86400000000), -1);
    ck_assert_int_eq(clock_day_of_us(-86400000001), -2);
}
END_TEST

START_TEST(the_monotonic_clock_does_not_go_back)
{
    int64_t before = clock_mono_us();

    ck_assert_int_ge(clock_mono_us(), before);
    ck_assert_int_gt(clock_wall_us(), 1600000000000000);
}
END_TEST

/* histogram */

START_TEST(an_empty_histogram_has_no_quantile)
{
    struct histogram h = {0};

    ck_assert_double_eq(histogram_quantile_us(&h, 0.5), 0);
    histogram_add(&h, 50, 0);
    ck_assert_uint_eq(h.n, 0);
    ck_assert_uint_eq(h.max_us, 0);
}
END_TEST

START_TEST(a_quantile_is_never_below_the_truth_and_at_most_an_eighth_above)
{
    struct histogram h = {0};

    for (int64_t us = 1; us <= 100000; us++)
        histogram_add(&h, us, 1);
    for (int percent = 1; percent <= 100; percent++) {
        double truth = 1000.0 * percent;
        double said = histogram_quantile_us(&h, percent / 100.0);

        ck_assert_double_ge(said, truth - 1);
        ck_assert_double_le(said, truth * 1.125);
    }
    ck_assert_double_eq(histogram_quantile_us(&h, 1), 100000);
}
END_TEST

START_TEST(durations_at_the_ends_are_counted_and_summed)
{
    struct histogram h = {0};

    histogram_add(&h, -5, 2);
    histogram_add(&h, INT64_MAX / 4, 1);
    ck_assert_uint_eq(h.n, 3);
    ck_assert_uint_eq(h.counts[0], 2);
    ck_assert_uint_eq(h.counts[HISTOGRAM_BUCKETS - 1], 1);
    ck_assert_uint_eq(h.sum_us, INT64_MAX / 4);
    ck_assert_uint_eq(h.max_us, INT64_MAX / 4);
}
END_TEST

START_TEST(equal_durations_are_counted_as_often_as_said)
{
    struct histogram h = {0};

    histogram_add(&h, 3, 10);
    histogram_add(&h, 1000, 5);
    ck_assert_uint_eq(h.n, 15);
    ck_assert_uint_eq(h.sum_us, 5030);
    ck_assert_uint_eq(histogram_count_up_to(&h, 2), 0);
    ck_assert_uint_eq(histogram_count_up_to(&h, 3), 10);
    ck_assert_uint_eq(histogram_count_up_to(&h, 2000), 15);
}
END_TEST

/* jsonc */

START_TEST(comments_become_spaces_and_strings_stay)
{
    static const char *const cases[][2] = {
        {"{} // end", "{}       "},
        {"[1,/* two */2]", "[1,         2]"},
        {"\"// no\" // yes\n1", "\"// no\"       \n1"},
        {"\"a\\\"/* no */\"", "\"a\\\"/* no */\""},
        {"/*a\nb*/1", "   \n   1"},
        {"1 / 2", "1 / 2"},
        {"/**/", "    "},
        {"7/*/ x */4", "7        4"},
        {"\"unterminated // x", "\"unterminated // x"},
        {"", ""},
        {"/", "/"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[64];
        struct err err;

        strcpy(text, cases[i][0]);
        ck_assert_int_eq(jsonc_blank_comments(text, strlen(text), &err), 0);
        ck_assert_str_eq(text, cases[i][1]);
    }
}
END_TEST

START_TEST(a_comment_without_end_is_refused_with_its_line)
{
    static const char *const cases[] = {"1\n2\n/* x", "1\n\n/*/", "\n\n/*"};

    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[16];
        struct err err;

        strcpy(text, cases[i]);
        ck_assert_int_eq(jsonc_blank_comments(text, strlen(text), &err), ERR_CONFIG);
        ck_assert_ptr_nonnull(strstr(err.text, "line 3"));
    }
}
END_TEST

START_TEST(a_place_is_in_the_line_whose_feed_has_not_come)
{
    static const char text[] = "a\nb\n";

    ck_assert_int_eq(jsonc_line_at(text, 0), 1);
    ck_assert_int_eq(jsonc_line_at(text, 1), 1);
    ck_assert_int_eq(jsonc_line_at(text, 2), 2);
    ck_assert_int_eq(jsonc_line_at(text, 4), 3);
}
END_TEST

/* file */

START_TEST(a_file_is_read_whole_up_to_its_bound_and_refused_beyond)
{
    char path[] = "/tmp/tradesieve-base-XXXXXX";
    int fd = mkstemp(path);
    struct text text = {0}, more = {0};
    struct err err;

    ck_assert_int_ge(fd, 0);
    for (int i = 0; i < 10000; i++)
        text_add_char(&text, (char)i);
    ck_assert_int_eq(write(fd, text.at, text.len), 10000);
    close(fd);
    text_add_str(&more, "before");
    ck_assert_int_eq(file_read(path, 10000, &more, &err), 0);
    ck_assert_uint_eq(more.len, 10006);
    ck_assert_int_eq(memcmp(more.at + 6, text.at, text.len), 0);
    ck_assert_int_eq(file_read(path, 9999, &more, &err), ERR_CONFIG);
    ck_assert_str_eq(err.text, "more than 9999 bytes");
    unlink(path);
    text_done(&text);
    text_done(&more);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_refused_with_the_systems_reason)
{
    struct text text = {0};
    struct err err;

    ck_assert_int_eq(file_read("/nowhere/at/all", 10, &text, &err), ERR_CONFIG);
    ck_assert_str_eq(err.text, "No such file or directory");
    ck_assert_int_eq(file_read("/", 10, &text, &err), ERR_CONFIG);
    ck_assert_str_eq(err.text, "Is a directory");
    text_done(&text);
}
END_TEST

/* address */

START_TEST(an_address_is_read_and_written_as_the_same_text)
{
    static const char *const cases[] = {
        "127.0.0.1:7401", "0.0.0.0:0",        "255.255.255.255:65535", "[::1]:7401",
        "[::]:0",         "[2001:db8::1]:80", "unix:/run/x.sock",      "unix:relative.sock"};

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct address address;
        struct err err;
        char text[ADDRESS_TEXT_MAX];

        ck_assert_int_eq(address_parse(&address, cases[i], &err), 0);
        address_format(&address, text, sizeof text);
        ck_assert_str_eq(text, cases[i]);
    }
}
END_TEST

START_TEST(what_is_no_numeric_address_with_a_port_is_refused_by_name)
{
    static const char *const cases[] = {
        "",           "7401",         "127.0.0.1",   "127.0.0.1:",
        ":7401",      "localhost:1",  "127.0.0.1:x", "127.0.0.1:65536",
        "1.2.3:4",    "::1:7401",     "[::1]",       "[::1:7401",
        "[nope]:1",   "127.0.0.1:-1", "unix:",       "127.0.0.1: 1",
        "01.2.3.4:1", "127.0.0.1:+1", "[]:1",        "127.0.0.1:000001"};

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct address address;
        struct err err;

        ck_assert_msg(address_parse(&address, cases[i], &err) == ERR_CONFIG, "%s", cases[i]);
        ck_assert_ptr_nonnull(strstr(err.text, cases[i]));
    }
}
END_TEST

START_TEST(a_unix_path_fits_the_socket_address_or_is_refused)
{
    struct address address;
    struct err err;
    char text[5 + 108 + 1] = "unix:";
    char again[ADDRESS_TEXT_MAX];

    memset(text + 5, 'p', 108);
    ck_assert_int_eq(address_parse(&address, text, &err), ERR_CONFIG);
    text[5 + 107] = '\0';
    ck_assert_int_eq(address_parse(&address, text, &err), 0);
    address_format(&address, again, sizeof again);
    ck_assert_str_eq(again, text);
}
END_TEST

START_TEST(loopback_and_unix_sockets_are_local_and_nothing_else_is)
{
    static const struct {
        const char *text;
        bool local;
    } cases[] = {
        {"127.0.0.1:1", true},
        {"127.255.0.9:1", true},
        {"[::1]:1", true},
        {"[::ffff:127.0.0.1]:1", true},
        {"unix:/x", true},
        {"0.0.0.0:1", false},
        {"[::]:1", false},
        {"10.0.0.1:1", false},
        {"[::ffff:10.0.0.1]:1", false},
        {"[fe80::1]:1", false},
        {"128.0.0.1:1", false},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct address address;
        struct err err;

        ck_assert_int_eq(address_parse(&address, cases[i].text, &err), 0);
        ck_assert_int_eq(address_is_local(&address), cases[i].local);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *tests = tcase_create("base");

    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, an_error_gains_context_on_its_way_up);
    tcase_add_test(tests, an_error_is_one_line_whatever_is_put_into_it);
    tcase_add_test(tests, an_error_that_is_too_long_is_cut_and_terminated);
    tcase_add_test(tests, every_error_has_its_exit_code);
    tcase_add_test(tests, a_text_grows_and_keeps_what_it_holds);
    tcase_add_test(tests, numbers_are_written_in_full_from_end_to_end_of_their_range);
    tcase_add_test(tests, digits_are_put_with_zeros_before_them_and_nothing_around);
    tcase_add_test(tests, hexadecimal_digits_have_their_values_and_no_other_character_has_one);
    tcase_add_test(tests, a_json_string_escapes_what_it_must_and_mends_what_is_no_utf8);
    tcase_add_test(tests, a_moment_is_written_as_rfc_3339_with_microseconds);
    tcase_add_test(tests, every_code_point_but_the_surrogates_is_one_well_formed_character);
    tcase_add_test(tests, overlong_stray_and_too_large_forms_are_no_characters);
    tcase_add_test(tests, days_and_dates_turn_into_each_other);
    tcase_add_test(tests, division_rounds_down_on_both_sides_of_0);
    tcase_add_test(tests, a_moment_before_the_epoch_belongs_to_the_day_that_holds_it);
    tcase_add_test(tests, the_monotonic_clock_does_not_go_back);
    tcase_add_test(tests, an_empty_histogram_has_no_quantile);
    tcase_add_test(tests, a_quantile_is_never_below_the_truth_and_at_most_an_eighth_above);
    tcase_add_test(tests, durations_at_the_ends_are_counted_and_summed);
    tcase_add_test(tests, equal_durations_are_counted_as_often_as_said);
    tcase_add_test(tests, comments_become_spaces_and_strings_stay);
    tcase_add_test(tests, a_comment_without_end_is_refused_with_its_line);
    tcase_add_test(tests, a_place_is_in_the_line_whose_feed_has_not_come);
    tcase_add_test(tests, a_file_is_read_whole_up_to_its_bound_and_refused_beyond);
    tcase_add_test(tests, a_file_that_cannot_be_read_is_refused_with_the_systems_reason);
    tcase_add_test(tests, an_address_is_read_and_written_as_the_same_text);
    tcase_add_test(tests, what_is_no_numeric_address_with_a_port_is_refused_by_name);
    tcase_add_test(tests, a_unix_path_fits_the_socket_address_or_is_refused);
    tcase_add_test(tests, loopback_and_unix_sockets_are_local_and_nothing_else_is);
    return suite_run(suite);
}
