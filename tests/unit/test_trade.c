/* Key parts, contents and fingerprints, byte by byte as docs/format.md has them. */
#include "ingest/trade.h"

#include <string.h>

#include "suite.h"

static struct scan_value value_of(const char *json)
{
    struct scan_want want;
    struct scan_value value;

    scan_want_init(&want);
    ck_assert_int_eq(scan_text(json, strlen(json), &want, &value, NULL), SCAN_OK);
    return value;
}

static const struct {
    const char *json, *part;
    enum reason reason;
} parts[] = {
    {"123", "123", REASON_NONE},
    {"\"123\"", "123", REASON_NONE},
    {"\"0123\"", "0123", REASON_NONE},
    {"0", "0", REASON_NONE},
    {"-5", "-5", REASON_NONE},
    {"9007199254740993", "9007199254740993", REASON_NONE},
    {"100182534526255757567432481", "100182534526255757567432481", REASON_NONE},
    {"\"-0\"", "-0", REASON_NONE},
    {"\"1.5\"", "1.5", REASON_NONE},
    {"\"\\u0041BC\"", "ABC", REASON_NONE},
    {"\" a \"", " a ", REASON_NONE},
    {"\"\"", "", REASON_NONE},
    {"\"a/b%c\"", "a%2Fb%25c", REASON_NONE},
    {"\"a\\/b\\u0025\"", "a%2Fb%25", REASON_NONE},
    {"\"%2F\"", "%252F", REASON_NONE},
    {"\"//%%\"", "%2F%2F%25%25", REASON_NONE},
    {"\"\\u00e9\"", "\xc3\xa9", REASON_NONE},
    {"\"e\\u0301\"", "e\xcc\x81", REASON_NONE},
    {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", REASON_NONE},
    {"\"\\u0080\"", "\xc2\x80", REASON_NONE},
    {"-0", NULL, REASON_ID_NOT_INTEGER},
    {"1.0", NULL, REASON_ID_NOT_INTEGER},
    {"-0.5", NULL, REASON_ID_NOT_INTEGER},
    {"1e3", NULL, REASON_ID_NOT_INTEGER},
    {"1E0", NULL, REASON_ID_NOT_INTEGER},
    {"null", NULL, REASON_ID_MISSING},
    {"true", NULL, REASON_ID_TYPE},
    {"false", NULL, REASON_ID_TYPE},
    {"[]", NULL, REASON_ID_TYPE},
    {"{}", NULL, REASON_ID_TYPE},
    {"\"\\u0000\"", NULL, REASON_ID_CONTROL_CHAR},
    {"\"a\\n\"", NULL, REASON_ID_CONTROL_CHAR},
    {"\"\\u001f\"", NULL, REASON_ID_CONTROL_CHAR},
    {"\"\x7f\"", NULL, REASON_ID_CONTROL_CHAR},
    {"\"\\u007f\"", NULL, REASON_ID_CONTROL_CHAR},
    {"\"\\ud800\"", NULL, REASON_BAD_UTF8},
    {"\"\\udfffx\"", NULL, REASON_BAD_UTF8},
};

START_TEST(a_value_becomes_a_key_part_or_has_a_reason_not_to)
{
    struct scan_value value = value_of(parts[_i].json);
    struct text out = {0};

    ck_assert_int_eq(trade_add_part(&out, true, &value), parts[_i].reason);
    ck_assert_str_eq(text_terminate(&out), parts[_i].part ? parts[_i].part : "");
    text_add_str(&out, "x");
    size_t before = out.len;

    ck_assert_int_eq(trade_add_part(&out, false, &value), parts[_i].reason);
    ck_assert_uint_eq(out.len, parts[_i].part ? before + 1 + strlen(parts[_i].part) : before);
    text_done(&out);
}
END_TEST

START_TEST(no_value_at_all_is_a_missing_part)
{
    struct scan_value nothing = {0};
    struct text out = {0};

    ck_assert_int_eq(trade_add_part(&out, true, &nothing), REASON_ID_MISSING);
    text_done(&out);
}
END_TEST

START_TEST(decoded_bytes_are_escaped_and_checked_like_a_value)
{
    struct text out = {0};

    ck_assert_int_eq(trade_add_part_bytes(&out, true, "", 0), REASON_NONE);
    ck_assert_int_eq(trade_add_part_bytes(&out, false, "a/%", 3), REASON_NONE);
    ck_assert_int_eq(trade_add_part_bytes(&out, false, "\n", 1), REASON_ID_CONTROL_CHAR);
    ck_assert_str_eq(text_terminate(&out), "/a%2F%25");
    text_done(&out);
}
END_TEST

/* "t3:abc" or "d4:12e3" or "a" for the canonical form of one piece. */
static void show_piece(struct text *shown, const struct text *piece)
{
    const unsigned char *at = (const unsigned char *)piece->at;

    text_add_char(shown, piece->at[0]);
    if (piece->at[0] == 'a') {
        ck_assert_uint_eq(piece->len, 1);
        return;
    }
    size_t len = (size_t)at[1] | (size_t)at[2] << 8 | (size_t)at[3] << 16 | (size_t)at[4] << 24;

    ck_assert_uint_eq(piece->len, 5 + len);
    text_add_u64(shown, len);
    text_add_char(shown, ':');
    text_add(shown, piece->at + 5, len);
}

static const struct {
    const char *json, *text, *decimal;
} pieces[] = {
    {"null", "a", "a"},
    {"\"\"", "t0:", "t0:"},
    {"true", "t4:true", "t4:true"},
    {"\"true\"", "t4:true", "t4:true"},
    {"123", "t3:123", "d5:123e0"},
    {"\"123\"", "t3:123", "d5:123e0"},
    {"\"\\u0031\"", "t1:1", "d3:1e0"},
    {"1.50", "t4:1.50", "d5:15e-1"},
    {"\"buy\"", "t3:buy", "t3:buy"},
    {"{\"a\": 1}", "t8:{\"a\": 1}", "t8:{\"a\": 1}"},
    {"[1, 2]", "t6:[1, 2]", "t6:[1, 2]"},
    {"\"\\ud800\"", "t3:\xed\xa0\x80", "t3:\xed\xa0\x80"},
    {"\"68123.45000000\"", "t14:68123.45000000", "d10:6812345e-2"},
    {"68123.45", "t8:68123.45", "d10:6812345e-2"},
    {"6.812345e4", "t10:6.812345e4", "d10:6812345e-2"},
    {"\"+0068123.450\"", "t12:+0068123.450", "d10:6812345e-2"},
    {"1e3", "t3:1e3", "d3:1e3"},
    {"1000", "t4:1000", "d3:1e3"},
    {"1000.0", "t6:1000.0", "d3:1e3"},
    {"\"0.001E+6\"", "t8:0.001E+6", "d3:1e3"},
    {"100.001", "t7:100.001", "d9:100001e-3"},
    {"-100.5", "t6:-100.5", "d8:-1005e-1"},
    {"9.2E-7", "t6:9.2E-7", "d5:92e-8"},
    {"0", "t1:0", "d1:0"},
    {"-0", "t2:-0", "d1:0"},
    {"\"-0.000e5\"", "t8:-0.000e5", "d1:0"},
    {"0e99999999999999999999", "t22:0e99999999999999999999", "d1:0"},
    {"1e400", "t5:1e400", "d5:1e400"},
    {"1e-0000000000000000000003", "t25:1e-0000000000000000000003", "d4:1e-3"},
    {"1e999999999999999999", "t20:1e999999999999999999", "d20:1e999999999999999999"},
    {"1e9999999999999999999", "t21:1e9999999999999999999", "t21:1e9999999999999999999"},
    {"\".5\"", "t2:.5", "d4:5e-1"},
    {"\"5.\"", "t2:5.", "d3:5e0"},
    {"\"+.50\"", "t4:+.50", "d4:5e-1"},
    {"12345678901234567890.123456789", "t30:12345678901234567890.123456789",
     "d32:12345678901234567890123456789e-9"},
    {"\".\"", "t1:.", "t1:."},
    {"\"-\"", "t1:-", "t1:-"},
    {"\"1e\"", "t2:1e", "t2:1e"},
    {"\"1e+\"", "t3:1e+", "t3:1e+"},
    {"\"1.2.3\"", "t5:1.2.3", "t5:1.2.3"},
    {"\"--1\"", "t3:--1", "t3:--1"},
    {"\" 1\"", "t2: 1", "t2: 1"},
    {"\"1 \"", "t2:1 ", "t2:1 "},
    {"\"1e5x\"", "t4:1e5x", "t4:1e5x"},
    {"\"0x10\"", "t4:0x10", "t4:0x10"},
    {"\"1,5\"", "t3:1,5", "t3:1,5"},
};

START_TEST(a_piece_of_content_has_one_canonical_form_as_text_and_one_by_value)
{
    struct scan_value value = value_of(pieces[_i].json);
    struct text piece = {0}, shown = {0};

    trade_add_content(&piece, &value);
    show_piece(&shown, &piece);
    ck_assert_str_eq(text_terminate(&shown), pieces[_i].text);
    piece.len = shown.len = 0;
    trade_add_content_decimal(&piece, &value);
    show_piece(&shown, &piece);
    ck_assert_str_eq(text_terminate(&shown), pieces[_i].decimal);
    text_done(&piece);
    text_done(&shown);
}
END_TEST

START_TEST(a_text_and_the_decimal_that_looks_like_it_differ)
{
    struct scan_value text = value_of("\"1e3\"");
    struct text a = {0}, b = {0};

    trade_add_content(&a, &text);
    trade_add_content_decimal(&b, &text);
    ck_assert(trade_fingerprint(a.at, a.len) != trade_fingerprint(b.at, b.len));
    text_done(&a);
    text_done(&b);
}
END_TEST

/* The worked examples of docs/format.md, and the empty content. */
static const struct {
    const char *content;
    size_t len;
    uint64_t print;
} prints[] = {
    {"", 0, UINT64_C(0x7966b6ee871f68eb)},
    {"d\x0a\0\0\0"
     "6812345e-2"
     "d\x05\0\0\0"
     "12e-4"
     "t\x03\0\0\0"
     "buy"
     "a",
     34, UINT64_C(0xe33290dd25a87cff)},
    {"aaaa", 4, UINT64_C(0xa6e19e449812a760)},
};

START_TEST(a_fingerprint_is_the_published_hash_of_its_content)
{
    ck_assert_uint_eq(trade_fingerprint(prints[_i].content, prints[_i].len), prints[_i].print);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trade");
    TCase *tcase = tcase_create("trade");

    tcase_add_loop_test(tcase, a_value_becomes_a_key_part_or_has_a_reason_not_to, 0,
                        (int)(sizeof parts / sizeof *parts));
    tcase_add_test(tcase, no_value_at_all_is_a_missing_part);
    tcase_add_test(tcase, decoded_bytes_are_escaped_and_checked_like_a_value);
    tcase_add_loop_test(tcase, a_piece_of_content_has_one_canonical_form_as_text_and_one_by_value, 0,
                        (int)(sizeof pieces / sizeof *pieces));
    tcase_add_test(tcase, a_text_and_the_decimal_that_looks_like_it_differ);
    tcase_add_loop_test(tcase, a_fingerprint_is_the_published_hash_of_its_content, 0,
                        (int)(sizeof prints / sizeof *prints));
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
