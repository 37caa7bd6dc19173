#include "ingest/match.h"

#include <string.h>

#include "ingest/trade.h"

static bool test_holds(const struct profile_test *test, const struct scan_value *value,
                       struct text *scratch);

enum match_answer match_all(const struct profile_condition *conditions, unsigned n,
                            const struct profile_values *values, struct text *scratch,
                            const char **ret_label)
{
    for (unsigned i = 0; i < n; i++) {
        const struct profile_condition *condition = &conditions[i];
        const struct scan_value *value = profile_value(&condition->ref, values);
        bool holds = false;

        if (value->twice) {
            *ret_label = condition->label;
            return MATCH_TWICE;
        }
        for (unsigned t = 0; t < condition->n && !holds; t++)
            holds = test_holds(&condition->tests[t], value, scratch);
        if (!holds)
            return MATCH_NO;
    }
    return MATCH_YES;
}

static bool has_affixes(const struct profile_test *test, const char *text, size_t len)
{
    const struct profile_text *starts = &test->starts, *ends = &test->ends;

    if (starts->at && (len < starts->len || memcmp(text, starts->at, starts->len)))
        return false;
    return !ends->at || (len >= ends->len && !memcmp(text + len - ends->len, ends->at, ends->len));
}

/* Starts and ends are those of a string, or of a number as it stands. */
static bool affixes_hold(const struct profile_test *test, const struct scan_value *value,
                         struct text *scratch)
{
    size_t at = scratch->len;

    if (value->kind == SCAN_NUMBER)
        return has_affixes(test, value->at, value->len);
    if (value->kind != SCAN_STRING)
        return false;
    if (!value->escaped)
        return has_affixes(test, value->at + 1, value->len - 2);
    text_reserve(scratch, value->len);
    scan_decode(value, scratch);
    bool holds = has_affixes(test, scratch->at + at, scratch->len - at);

    scratch->len = at;
    return holds;
}

static bool equals_number(const struct profile_test *test, const struct scan_value *value,
                          struct text *scratch)
{
    size_t at = scratch->len;

    if (value->kind != SCAN_NUMBER)
        return false;
    trade_add_content_decimal(scratch, value);
    size_t len = scratch->len - at;
    bool equal = len == test->text.len && !memcmp(scratch->at + at, test->text.at, len);

    scratch->len = at;
    return equal;
}

static bool shape_holds(const struct profile_test *test, const struct scan_value *value,
                        struct text *scratch)
{
    if (test->wants_presence && test->present != (value->kind != SCAN_NOTHING))
        return false;
    return (!test->starts.at && !test->ends.at) || affixes_hold(test, value, scratch);
}

static bool test_holds(const struct profile_test *test, const struct scan_value *value,
                       struct text *scratch)
{
    switch (test->kind) {
    case TEST_STRING:
        return value->kind == SCAN_STRING && scan_string_is(value, test->text.at, test->text.len);
    case TEST_NUMBER:
        return equals_number(test, value, scratch);
    case TEST_TRUE:
        return value->kind == SCAN_TRUE;
    case TEST_FALSE:
        return value->kind == SCAN_FALSE;
    case TEST_SHAPE:
        return shape_holds(test, value, scratch);
    }
    return false;
}
