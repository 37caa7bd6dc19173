/* The parameters of a question. */
#include <string.h>

#include "report/query.h"
#include "suite.h"

#define ROWS(table) ((int)(sizeof table / sizeof *table))

/* A value of 7: there was none. */
static const struct {
    const char *query;
    bool good;
    uint64_t number;
} numbers[] = {
    {NULL, true, 7},
    {"", true, 7},
    {"m=1&nn=2&N=3", true, 7},
    {"n", true, 7},
    {"n=0", true, 0},
    {"a=1&n=42&b=2", true, 42},
    {"n=0042", true, 42},
    {"n=%34%32", true, 42},
    {"n=18446744073709551615", true, UINT64_MAX},
    {"n=18446744073709551616", false, 0},
    {"n=99999999999999999999999", false, 0},
    {"n=", false, 0},
    {"n=-1", false, 0},
    {"n=+1", false, 0},
    {"n=%201", false, 0},
    {"n=1%00", false, 0},
    {"n=1.5", false, 0},
    {"n=1e3", false, 0},
    {"n=0x1", false, 0},
    {"n=1&n=1", false, 0},
    {"n=%4", false, 0},
};

START_TEST(a_number_is_decimal_digits_alone)
{
    uint64_t number = 7;
    bool found;
    const char *wrong = query_read_number(numbers[_i].query, "n", &number, &found);

    ck_assert_msg((wrong == NULL) == numbers[_i].good, "%s: %s", numbers[_i].query, wrong);
    if (!wrong)
        ck_assert_uint_eq(number, numbers[_i].number);
    if (!wrong)
        ck_assert_int_eq(found, numbers[_i].number != 7);
}
END_TEST

START_TEST(a_parameter_is_found_by_its_whole_name_and_decoded)
{
    struct text value = {0};
    bool found;

    ck_assert_ptr_null(query_read("segments=x&segment=a%2Fb+c&seg=y", "segment", &value, &found));
    ck_assert(found);
    ck_assert_str_eq(text_terminate(&value), "a/b+c");
    value.len = 0;
    ck_assert_ptr_null(query_read("segments=x&seg=y", "segment", &value, &found));
    ck_assert(!found);
    text_done(&value);
}
END_TEST

START_TEST(digits_are_parsed_up_to_what_is_none)
{
    const char *list = "12,3", *at = list;
    uint64_t number;

    ck_assert(query_parse_number(&at, list + 4, &number));
    ck_assert_uint_eq(number, 12);
    ck_assert_ptr_eq(at, list + 2);
    ck_assert(!query_parse_number(&at, list + 4, &number));
    at = list + 4;
    ck_assert(!query_parse_number(&at, list + 4, &number));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("query");
    TCase *cases = tcase_create("query");

    tcase_add_loop_test(cases, a_number_is_decimal_digits_alone, 0, ROWS(numbers));
    tcase_add_test(cases, a_parameter_is_found_by_its_whole_name_and_decoded);
    tcase_add_test(cases, digits_are_parsed_up_to_what_is_none);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
