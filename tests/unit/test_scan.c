/* The scanner: what is JSON and what is not, what it finds, what it never reads. */
#include "ingest/scan.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"

static enum scan_result scan(const char *text, size_t len, size_t *ret_at)
{
    return scan_text(text, len, NULL, NULL, ret_at);
}

/* A literal with its length, so that it may hold NUL. */
#define BYTES(literal) literal, sizeof(literal) - 1

static const struct {
    const char *text;
    size_t len;
    enum scan_result result;
    size_t at;
} texts[] = {
    {BYTES("{}"), SCAN_OK, 0},
    {BYTES("[]"), SCAN_OK, 0},
    {BYTES(" \t\r\n[ 1 , 2 ] \n"), SCAN_OK, 0},
    {BYTES("0"), SCAN_OK, 0},
    {BYTES("-0"), SCAN_OK, 0},
    {BYTES("-0.0e-0"), SCAN_OK, 0},
    {BYTES("123456789012345678901234567890"), SCAN_OK, 0},
    {BYTES("1E+400"), SCAN_OK, 0},
    {BYTES("true"), SCAN_OK, 0},
    {BYTES("\"\""), SCAN_OK, 0},
    {BYTES("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uABCD\""), SCAN_OK, 0},
    {BYTES("\"\\ud800\""), SCAN_OK, 0},
    {BYTES("\"\\udc00\\ud800\""), SCAN_OK, 0},
    {BYTES("\"\\u0000\""), SCAN_OK, 0},
    {BYTES("\"\x7f\""), SCAN_OK, 0},
    {BYTES("\"\xc2\x80\xe0\xa0\x80\xed\x9f\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""), SCAN_OK, 0},
    {BYTES("{\"a\":[{\"b\":null}],\"a\":false}"), SCAN_OK, 0},

    {BYTES(""), SCAN_BAD_JSON, 0},
    {BYTES("  "), SCAN_BAD_JSON, 2},
    {BYTES("01"), SCAN_BAD_JSON, 1},
    {BYTES("-01"), SCAN_BAD_JSON, 2},
    {BYTES("1."), SCAN_BAD_JSON, 2},
    {BYTES("1.e1"), SCAN_BAD_JSON, 2},
    {BYTES(".5"), SCAN_BAD_JSON, 0},
    {BYTES("+1"), SCAN_BAD_JSON, 0},
    {BYTES("-"), SCAN_BAD_JSON, 1},
    {BYTES("1e"), SCAN_BAD_JSON, 2},
    {BYTES("1e+"), SCAN_BAD_JSON, 3},
    {BYTES("1e1.5"), SCAN_BAD_JSON, 3},
    {BYTES("0x10"), SCAN_BAD_JSON, 1},
    {BYTES("NaN"), SCAN_BAD_JSON, 0},
    {BYTES("nul"), SCAN_BAD_JSON, 3},
    {BYTES("nulL"), SCAN_BAD_JSON, 3},
    {BYTES("True"), SCAN_BAD_JSON, 0},
    {BYTES("truee"), SCAN_BAD_JSON, 4},
    {BYTES("[1,]"), SCAN_BAD_JSON, 3},
    {BYTES("[,1]"), SCAN_BAD_JSON, 1},
    {BYTES("[1 2]"), SCAN_BAD_JSON, 3},
    {BYTES("[1"), SCAN_BAD_JSON, 2},
    {BYTES("[1}"), SCAN_BAD_JSON, 2},
    {BYTES("]"), SCAN_BAD_JSON, 0},
    {BYTES("{\"a\":1,}"), SCAN_BAD_JSON, 7},
    {BYTES("{\"a\"}"), SCAN_BAD_JSON, 4},
    {BYTES("{\"a\" 1}"), SCAN_BAD_JSON, 5},
    {BYTES("{\"a\":}"), SCAN_BAD_JSON, 5},
    {BYTES("{a:1}"), SCAN_BAD_JSON, 1},
    {BYTES("{'a':1}"), SCAN_BAD_JSON, 1},
    {BYTES("{1:1}"), SCAN_BAD_JSON, 1},
    {BYTES("{,}"), SCAN_BAD_JSON, 1},
    {BYTES("{}{}"), SCAN_BAD_JSON, 2},
    {BYTES("{} x"), SCAN_BAD_JSON, 3},
    {BYTES("1\0"), SCAN_BAD_JSON, 1},
    {BYTES("\"a\tb\""), SCAN_BAD_JSON, 2},
    {BYTES("\"a\0b\""), SCAN_BAD_JSON, 2},
    {BYTES("\"a\x1f\""), SCAN_BAD_JSON, 2},
    {BYTES("\"abcdefghijkl\x01mnopqrst\""), SCAN_BAD_JSON, 13},
    {BYTES("\"\\x\""), SCAN_BAD_JSON, 2},
    {BYTES("\"\\U0041\""), SCAN_BAD_JSON, 2},
    {BYTES("\"\\\0\""), SCAN_BAD_JSON, 2},
    {BYTES("\"\\u12g4\""), SCAN_BAD_JSON, 5},
    {BYTES("\"\\u12"), SCAN_BAD_JSON, 5},
    {BYTES("\"\\"), SCAN_BAD_JSON, 2},
    {BYTES("\"abc"), SCAN_BAD_JSON, 4},
    {BYTES("\xef\xbb\xbf{}"), SCAN_BAD_JSON, 0},
    {BYTES("[1]\xc2\xa0"), SCAN_BAD_JSON, 3},
    {BYTES("// no\n1"), SCAN_BAD_JSON, 0},

    {BYTES("\"\x80\""), SCAN_BAD_UTF8, 1},
    {BYTES("\"\xc0\xaf\""), SCAN_BAD_UTF8, 1},
    {BYTES("\"\xc1\xbf\""), SCAN_BAD_UTF8, 1},
    {BYTES("\"\xe0\x9f\xbf\""), SCAN_BAD_UTF8, 1},
    {BYTES("\"\xed\xa0\x80\""), SCAN_BAD_UTF8, 1},
    {BYTES("\"\xf0\x8f\xbf\xbf\""), SCAN_BAD_UTF8, 1},
    {BYTES("\"\xf4\x90\x80\x80\""), SCAN_BAD_UTF8, 1},
    {BYTES("\"\xf5\x80\x80\x80\""), SCAN_BAD_UTF8, 1},
    {BYTES("\"\xff\""), SCAN_BAD_UTF8, 1},
    {BYTES("\"abcdefghijklmnop\xe2\x82\""), SCAN_BAD_UTF8, 17},
    {BYTES("\"\xe2\x82"), SCAN_BAD_UTF8, 1},
    {BYTES("{\"\xff\":1}"), SCAN_BAD_UTF8, 2},
    {BYTES("[\xff]"), SCAN_BAD_UTF8, 1},
    {BYTES("[1]\x80"), SCAN_BAD_UTF8, 3},
    {BYTES("\"\\\xff\""), SCAN_BAD_UTF8, 2},
    {BYTES("[1,]\xff"), SCAN_BAD_JSON, 3},
    {BYTES("\xff[1,]"), SCAN_BAD_UTF8, 0},
};

START_TEST(a_text_is_json_exactly_as_rfc_8259_and_the_first_fault_decides)
{
    size_t at = 0;
    enum scan_result result = scan(texts[_i].text, texts[_i].len, &at);

    ck_assert_msg(result == texts[_i].result && at == texts[_i].at, "%s: result %d at %zu",
                  texts[_i].text, result, at);
}
END_TEST

START_TEST(depth_64_is_legal_and_65_is_too_deep)
{
    char text[400] = {0};
    size_t at = 0;

    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    ck_assert_int_eq(scan(text, 128, NULL), SCAN_OK);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    ck_assert_int_eq(scan(text, 130, &at), SCAN_TOO_DEEP);
    ck_assert_uint_eq(at, 64);
    for (size_t i = 0; i < 64; i++)
        memcpy(text + i * 5, "{\"a\":", 5);
    ck_assert_int_eq(scan(text, 320, &at), SCAN_BAD_JSON);
    memcpy(text + 320, "{}", 2);
    ck_assert_int_eq(scan(text, 322, &at), SCAN_TOO_DEEP);
    ck_assert_uint_eq(at, 320);
}
END_TEST

/* Adds /step/step/... to a trie. */
static int want_path(struct scan_want *want, const char *path)
{
    int node = 0;

    while (*path == '/') {
        size_t len = strcspn(path + 1, "/");

        node = scan_want_add(want, (unsigned)node, path + 1, len);
        path += len + 1;
    }
    return node;
}

static const struct {
    const char *text, *path, *found; /* the raw value, NULL: nothing */
    bool twice;
} finds[] = {
    {"{\"a\":1}", "", "{\"a\":1}", false},
    {" [1] ", "", "[1]", false},
    {"{\"a\":1}", "/a", "1", false},
    {"{\"A\":1}", "/a", NULL, false},
    {"{\"T\":1,\"t\":2}", "/t", "2", false},
    {"{\"\\u0061\":1}", "/a", "1", false},
    {"{\"ab\":1,\"a\":2}", "/a", "2", false},
    {"{\"\":1}", "/", "1", false},
    {"{\"a\" : { \"b\" : [ 10 , 20 ] } }", "/a/b", "[ 10 , 20 ]", false},
    {"{\"a\":{\"b\":[10,20]}}", "/a/b/1", "20", false},
    {"{\"a\":{\"b\":[10,20]}}", "/a/b/2", NULL, false},
    {"{\"a\":{\"b\":[10,20]}}", "/a/b/01", NULL, false},
    {"{\"a\":{\"b\":[10,20]}}", "/a/b/-", NULL, false},
    {"{\"2\":\"member\"}", "/2", "\"member\"", false},
    {"[0,1,\"index\"]", "/2", "\"index\"", false},
    {"[[],[[7]]]", "/1/0/0", "7", false},
    {"[1,{\"a\":2}]", "/1/a", "2", false},
    {"\"text\"", "/a", NULL, false},
    {"{\"a\":null}", "/a", "null", false},
    {"{\"a\":{\"x\":{\"b\":9}},\"b\":1}", "/b", "1", false},
    {"{\"\xc3\xa9\":1}", "/\xc3\xa9", "1", false},
    {"{\"\\u00e9\":1}", "/\xc3\xa9", "1", false},

    {"{\"t\":1,\"t\":2}", "/t", "1", true},
    {"{\"\\u0074\":1,\"t\":2}", "/t", "1", true},
    {"{\"t\":1,\"x\":3,\"\\u0074\":2}", "/t", "1", true},
    {"{\"t\":null,\"t\":2}", "/t", "null", true},
    {"{\"a\":{\"t\":1},\"a\":{\"t\":2}}", "/a/t", "1", true},
    {"{\"a\":1,\"a\":{\"t\":2}}", "/a/t", NULL, true},
    {"{\"a\":{\"t\":1,\"t\":2}}", "/a", "{\"t\":1,\"t\":2}", false},
    {"{\"a\":[{\"t\":1},{\"t\":2}]}", "/a/0/t", "1", false},
    {"{\"x\":1,\"x\":2,\"t\":3}", "/t", "3", false},
    {"{\"t\":1,\"T\":2}", "/t", "1", false},
    {"{\"a\":{\"t\":1},\"b\":{\"t\":2}}", "/a/t", "1", false},
};

static void check_found(const struct scan_value *value, int i, const char *how)
{
    const char *found = finds[i].found;
    bool same = found ? value->len == strlen(found) && !memcmp(value->at, found, value->len)
                      : value->kind == SCAN_NOTHING;

    ck_assert_msg(same && value->twice == finds[i].twice, "%s: %s at %s: \"%.*s\"%s", how,
                  finds[i].text, finds[i].path, (int)value->len, value->at ? value->at : "",
                  value->twice ? " twice" : "");
}

START_TEST(a_wanted_value_is_found_by_its_pointer_and_known_to_stand_twice)
{
    struct scan_want want;
    struct scan_value values[SCAN_WANT_MAX], again[SCAN_WANT_MAX];

    scan_want_init(&want);
    int node = want_path(&want, finds[_i].path);

    ck_assert_int_eq(scan_text(finds[_i].text, strlen(finds[_i].text), &want, values, NULL), SCAN_OK);
    check_found(&values[node], _i, "checked");
    scan_again(&values[0], &want, again);
    check_found(&again[node], _i, "again");
}
END_TEST

START_TEST(the_kind_of_a_value_is_told_and_whether_a_string_is_escaped)
{
    static const char *const names[] = {"/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8"};
    static const enum scan_kind kinds[] = {SCAN_NULL,   SCAN_FALSE,  SCAN_TRUE,
                                           SCAN_NUMBER, SCAN_STRING, SCAN_STRING,
                                           SCAN_ARRAY,  SCAN_OBJECT, SCAN_NOTHING};
    static const char text[] = "[null,false,true,-1.5e3,\"a\",\"\\n\",[],{}]";
    struct scan_want want;
    struct scan_value values[SCAN_WANT_MAX];

    scan_want_init(&want);
    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(want_path(&want, names[i]), i + 1);
    ck_assert_int_eq(scan_text(text, sizeof text - 1, &want, values, NULL), SCAN_OK);
    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(values[i + 1].kind, kinds[i]);
    ck_assert(!values[5].escaped && values[6].escaped);
}
END_TEST

START_TEST(a_trie_finds_a_step_again_and_says_when_it_is_full)
{
    static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-";
    struct scan_want want;

    scan_want_init(&want);
    for (unsigned i = 0; i < SCAN_WANT_MAX - 1; i++)
        ck_assert_int_eq(scan_want_add(&want, 0, names + i, 1), (int)i + 1);
    ck_assert_int_eq(scan_want_add(&want, 0, names + SCAN_WANT_MAX - 1, 1), -1);
    ck_assert_int_eq(scan_want_add(&want, 0, "c", 1), 3);
}
END_TEST

static const struct {
    const char *raw, *decoded;
    size_t len;
    bool whole; /* no lone surrogate */
} strings[] = {
    {"\"\"", BYTES(""), true},
    {"\"plain\"", BYTES("plain"), true},
    {"\"\\u0041BC\"", BYTES("ABC"), true},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", BYTES("\"\\/\b\f\n\r\t"), true},
    {"\"\\u0000\"", BYTES("\0"), true},
    {"\"\\u00e9\\u20AC\"", BYTES("\xc3\xa9\xe2\x82\xac"), true},
    {"\"\\ud83d\\ude00\"", BYTES("\xf0\x9f\x98\x80"), true},
    {"\"\\uDBFF\\uDFFF\"", BYTES("\xf4\x8f\xbf\xbf"), true},
    {"\"\\ud83d\"", BYTES("\xed\xa0\xbd"), false},
    {"\"\\ude00\\ud83d\"", BYTES("\xed\xb8\x80\xed\xa0\xbd"), false},
    {"\"\\ud83d\\u0041\"",
     BYTES("\xed\xa0\xbd"
           "A"),
     false},
    {"\"\\ud83dx\\ude00\"", BYTES("\xed\xa0\xbdx\xed\xb8\x80"), false},
    {"\"\\ud83d\\ud83d\\ude00\"", BYTES("\xed\xa0\xbd\xf0\x9f\x98\x80"), false},
    {"\"\\\\u0041\"", BYTES("\\u0041"), true},
};

START_TEST(a_string_is_decoded_and_compared_without_its_escapes)
{
    struct scan_want want;
    struct scan_value value;
    struct text out = {0};

    scan_want_init(&want);
    ck_assert_int_eq(scan_text(strings[_i].raw, strlen(strings[_i].raw), &want, &value, NULL), SCAN_OK);
    ck_assert_int_eq(scan_decode(&value, &out), strings[_i].whole);
    ck_assert_uint_eq(out.len, strings[_i].len);
    ck_assert(!out.len || !memcmp(out.at, strings[_i].decoded, out.len));
    ck_assert(scan_string_is(&value, strings[_i].decoded, strings[_i].len));
    ck_assert(!scan_string_is(&value, "other", 5));
    ck_assert(!strings[_i].len || !scan_string_is(&value, strings[_i].decoded, strings[_i].len - 1));
    text_done(&out);
}
END_TEST

/* Documents that hold every kind of token, for the tests that cut and compare. */
static const char *const documents[] = {
    "{\"stream\":\"btcusdt@trade\",\"data\":{\"e\":\"trade\",\"t\":3735683259,\"p\":\"68123.45000000\","
    "\"m\":true,\"M\":null}}",
    "[ 0 , -1.25e+30,\"\\ud83d\\ude00\\n\xe2\x82\xac\xf0\x9f\x98\x80 a long plain text to skip\", "
    "[false]]",
    "  {\"a\" : [ { } , [ ] , \"\" ] , \"\\u0062\" : { \"a\" : 1E5 } }  ",
};

/* A copy of [text, len) that ends where an unreadable page begins. */
static char *before_the_wall(const char *text, size_t len, char **ret_map, size_t *ret_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    *ret_bytes = 2 * page;
    *ret_map = mmap(NULL, *ret_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(*ret_map != MAP_FAILED && len <= page);
    ck_assert_int_eq(mprotect(*ret_map + page, page, PROT_NONE), 0);
    return memcpy(*ret_map + page - len, text, len);
}

START_TEST(no_prefix_of_a_document_makes_it_read_behind_the_end)
{
    const char *text = documents[_i];
    size_t len = strlen(text), bytes;
    struct scan_want want;
    struct scan_value values[SCAN_WANT_MAX], again[SCAN_WANT_MAX];
    char *map;

    scan_want_init(&want);
    want_path(&want, "/data/t");
    want_path(&want, "/a/2");
    want_path(&want, "/b/a");
    for (size_t n = 0; n <= len; n++) {
        char *copy = before_the_wall(text, n, &map, &bytes);
        size_t at = 0;
        enum scan_result result = scan_text(copy, n, &want, values, &at);

        ck_assert(at <= n);
        if (n == len)
            ck_assert_int_eq(result, SCAN_OK);
        if (result == SCAN_OK)
            scan_again(&values[0], &want, again);
        munmap(map, bytes);
    }
}
END_TEST

/* A small generator: the same seed makes the same documents. */
static uint64_t state;

static unsigned pick(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static void add_space(struct text *out)
{
    static const char *const spaces[] = {"", "", "", " ", "\n\t", "  "};

    text_add_str(out, spaces[pick(6)]);
}

static void add_string(struct text *out)
{
    static const char *const pieces[] = {"a",        "b",
                                         "T",        "t",
                                         "0",        "1",
                                         "\\n",      "\\u0041",
                                         "\\u00e9",  "\\ud83d\\ude00",
                                         "\xc3\xa9", "\xe2\x82\xac",
                                         "\\\"",     "\\\\",
                                         "\\/",      "plain text of some length"};

    text_add_char(out, '"');
    for (unsigned n = pick(4); n; n--)
        text_add_str(out, pieces[pick(16)]);
    text_add_char(out, '"');
}

static void add_document(struct text *out, unsigned depth);

static void add_container(struct text *out, unsigned depth, bool object)
{
    text_add_char(out, object ? '{' : '[');
    for (unsigned i = 0, n = pick(5); i < n; i++) {
        if (i)
            text_add_char(out, ',');
        add_space(out);
        if (object) {
            add_string(out);
            add_space(out);
            text_add_char(out, ':');
        }
        add_document(out, depth + 1);
    }
    add_space(out);
    text_add_char(out, object ? '}' : ']');
}

static void add_document(struct text *out, unsigned depth)
{
    static const char *const scalars[] = {"null",
                                          "true",
                                          "false",
                                          "0",
                                          "-1",
                                          "3735683259",
                                          "9007199254740993",
                                          "1.5e-3",
                                          "12345678901234567890123"};

    add_space(out);
    if (depth < 4 && pick(3))
        add_container(out, depth, pick(2));
    else if (pick(2))
        add_string(out);
    else
        text_add_str(out, scalars[pick(9)]);
    add_space(out);
}

/* The kinds of cJSON, in the order of enum scan_kind. */
static enum scan_kind kind_in_cjson(const cJSON *item)
{
    static const int types[] = {cJSON_NULL,   cJSON_False, cJSON_True,  cJSON_Number,
                                cJSON_String, cJSON_Array, cJSON_Object};

    for (int i = 0; i < 7; i++)
        if ((item->type & 0xff) == types[i])
            return (enum scan_kind)(SCAN_NULL + i);
    return SCAN_NOTHING;
}

static void check_string_equal(const struct scan_value *value, const char *expected)
{
    struct text decoded = {0};

    ck_assert(scan_decode(value, &decoded));
    ck_assert_str_eq(text_terminate(&decoded), expected);
    ck_assert(scan_string_is(value, expected, strlen(expected)));
    text_done(&decoded);
}

static void check_equal(const struct scan_value *value, const cJSON *item)
{
    struct scan_value name, child;
    const cJSON *expected = item->child;
    size_t cursor = 0;

    ck_assert_int_eq(value->kind, kind_in_cjson(item));
    if (value->kind == SCAN_STRING)
        check_string_equal(value, item->valuestring);
    if (value->kind == SCAN_NUMBER)
        ck_assert_double_eq(strtod(value->at, NULL), item->valuedouble);
    if (value->kind == SCAN_ARRAY)
        for (; scan_next_element(value, &cursor, &child); expected = expected->next)
            check_equal(&child, expected);
    if (value->kind == SCAN_OBJECT)
        for (; scan_next_member(value, &cursor, &name, &child); expected = expected->next) {
            check_string_equal(&name, expected->string);
            check_equal(&child, expected);
        }
    if (value->kind >= SCAN_ARRAY)
        ck_assert_ptr_null(expected);
}

static uint64_t seed_of_this_run(void)
{
    const char *given = getenv("TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);

    printf("TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

enum { DOCUMENTS = 10000, DOCUMENTS_BRIEF = 1000 };

static int random_documents(void)
{
    return suite_amount(NULL, DOCUMENTS, DOCUMENTS_BRIEF);
}

START_TEST(cjson_sees_the_same_tree_in_random_documents)
{
    struct text text = {0};
    struct scan_want want;
    struct scan_value root;
    int n = random_documents();

    state = seed_of_this_run();
    scan_want_init(&want);
    for (int i = 0; i < n; i++) {
        text.len = 0;
        add_document(&text, 0);
        cJSON *tree = cJSON_ParseWithLength(text_terminate(&text), text.len);

        ck_assert_msg(tree && scan_text(text.at, text.len, &want, &root, NULL) == SCAN_OK, "%s",
                      text.at);
        check_equal(&root, tree);
        cJSON_Delete(tree);
    }
    text_done(&text);
}
END_TEST

/* One byte changed, dropped or doubled. */
static void damage(struct text *text)
{
    static const char bytes[] = "{}[]\",:\\u019.eE+-tfn \x01\x80\xc3\xff/";
    size_t at = pick((unsigned)text->len);

    if (pick(2)) {
        text->at[at] = bytes[pick(sizeof bytes - 1)];
        return;
    }
    memmove(text->at + at, text->at + at + 1, text->len - at - 1);
    text->len--;
}

/* cJSON is more lenient than RFC 8259, except that it wants surrogates in pairs. */
START_TEST(what_cjson_refuses_is_refused_too)
{
    struct text text = {0};
    int n = random_documents(), refused = 0;

    state = seed_of_this_run();
    for (int i = 0; i < n; i++) {
        text.len = 0;
        add_document(&text, 0);
        damage(&text);
        text_terminate(&text);
        cJSON *tree = cJSON_ParseWithLengthOpts(text.at, text.len + 1, NULL, 1);
        bool accepted = scan(text.at, text.len, NULL) == SCAN_OK;

        refused += !accepted;
        ck_assert_msg(tree || !accepted || strstr(text.at, "\\ud") || strstr(text.at, "\\ude"), "%s",
                      text.at);
        cJSON_Delete(tree);
    }
    ck_assert_int_gt(refused, n / 4);
    text_done(&text);
}
END_TEST

START_TEST(reading_again_finds_what_the_checking_pass_found)
{
    static const char *const paths[] = {"/a", "/b/a", "/t/0", "/0", "/1/1", "/1/a/b", "/a/a/a", "/Aa"};
    struct text text = {0};
    struct scan_want want;
    struct scan_value values[SCAN_WANT_MAX], again[SCAN_WANT_MAX];
    int n = random_documents();

    state = seed_of_this_run();
    scan_want_init(&want);
    for (int i = 0; i < 8; i++)
        want_path(&want, paths[i]);
    for (int i = 0; i < n; i++) {
        text.len = 0;
        add_document(&text, 0);
        ck_assert_int_eq(scan_text(text.at, text.len, &want, values, NULL), SCAN_OK);
        scan_again(&values[0], &want, again);
        for (unsigned k = 0; k < want.n; k++)
            ck_assert_msg(values[k].at == again[k].at && values[k].len == again[k].len &&
                              values[k].kind == again[k].kind && values[k].twice == again[k].twice &&
                              values[k].escaped == again[k].escaped,
                          "node %u of %s", k, text_terminate(&text));
    }
    text_done(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scan");
    TCase *tcase = tcase_create("scan");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_text_is_json_exactly_as_rfc_8259_and_the_first_fault_decides, 0,
                        (int)(sizeof texts / sizeof *texts));
    tcase_add_test(tcase, depth_64_is_legal_and_65_is_too_deep);
    tcase_add_loop_test(tcase, a_wanted_value_is_found_by_its_pointer_and_known_to_stand_twice, 0,
                        (int)(sizeof finds / sizeof *finds));
    tcase_add_test(tcase, the_kind_of_a_value_is_told_and_whether_a_string_is_escaped);
    tcase_add_test(tcase, a_trie_finds_a_step_again_and_says_when_it_is_full);
    tcase_add_loop_test(tcase, a_string_is_decoded_and_compared_without_its_escapes, 0,
                        (int)(sizeof strings / sizeof *strings));
    tcase_add_loop_test(tcase, no_prefix_of_a_document_makes_it_read_behind_the_end, 0,
                        (int)(sizeof documents / sizeof *documents));
    tcase_add_test(tcase, cjson_sees_the_same_tree_in_random_documents);
    tcase_add_test(tcase, what_cjson_refuses_is_refused_too);
    tcase_add_test(tcase, reading_again_finds_what_the_checking_pass_found);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
