/* Profiles: what is refused, and what becomes of a line, in the order of judgement. */
#include "ingest/feed.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "judging.h"
#include "suite.h"

#define KEY "\"key\":[\"/id\"]"

static const struct {
    const char *json, *path, *reason; /* the message begins with path and holds reason */
} refusals[] = {
    {"", "the file is empty", ""},
    {"{" KEY, "line 1", "not JSON"},
    {"{\n" KEY ",\n}", "line 3, column 1", "not JSON here: }"},
    {"{\"key\":[\"/\xff\"]}", "line 1", "not UTF-8"},
    {"{" KEY "}x", "line 1", "not JSON"},
    {"{" KEY " /* open", "line 1", "comment"},
    {"[]", "/", "object"},
    {"{}", "/key", "1 to 8"},
    {"{" KEY ",\"comment\":\"x\"}", "/", "unknown member \"comment\""},
    {"{" KEY ",\"Trades\":\"\"}", "/", "unknown member \"Trades\""},
    {"{" KEY "," KEY "}", "/", "key stands twice"},
    {"{" KEY ",\"\\u006bey\":[]}", "/", "key stands twice"},
    {"{\"key\":{}}", "/key", "1 to 8"},
    {"{\"key\":[]}", "/key", "1 to 8"},
    {"{\"key\":[\"/1\",\"/2\",\"/3\",\"/4\",\"/5\",\"/6\",\"/7\",\"/8\",\"/9\"]}", "/key", "1 to 8"},
    {"{\"key\":[5]}", "/key/0", "path"},
    {"{\"key\":[null]}", "/key/0", "path"},
    {"{\"key\":[\"id\"]}", "/key/0", "begin with '/'"},
    {"{\"key\":[\"$id\"]}", "/key/0", "begin with '/'"},
    {"{\"key\":[\"/a~2\"]}", "/key/0", "~0"},
    {"{\"key\":[\"/a~\"]}", "/key/0", "~0"},
    {"{\"key\":[\"/a/*/b\"]}", "/key/0", "'*'"},
    {"{\"key\":[\"/\\ud800\"]}", "/key/0", "surrogate"},
    {"{\"key\":[[]]}", "/key/0", "empty list"},
    {"{\"key\":[[\"/a\",5]]}", "/key/0/1", "string"},
    {"{\"key\":[{}]}", "/key/0", "const, source, prefix or utc_day"},
    {"{\"key\":[{\"const\":\"A\"}]}", "/key/0", "must come from the message"},
    {"{\"key\":[\"/id\",{\"source\":true}]}", "/key/1", "must come from the message"},
    {"{\"key\":[[\"/id\",{\"const\":\"A\"}]]}", "/key/0", "must come from the message"},
    {"{\"key\":[[\"/a\",{\"const\":\"\"},\"/b\"],\"/id\"]}", "/key/0/2", "follow the constant"},
    {"{\"key\":[[{\"const\":\"\"}],\"/id\"]}", "/key/0/0", "string"},
    {"{\"key\":[[\"/a\",{\"source\":true}],\"/id\"]}", "/key/0/1", "unknown member"},
    {"{\"key\":[{\"const\":5},\"/id\"]}", "/key/0/const", "string"},
    {"{\"key\":[{\"const\":\"\\n\"},\"/id\"]}", "/key/0/const", "control character"},
    {"{\"key\":[{\"const\":\"A\",\"x\":1},\"/id\"]}", "/key/0", "unknown member \"x\""},
    {"{\"key\":[{\"source\":false},\"/id\"]}", "/key/0", "source must be true"},
    {"{\"key\":[{\"prefix\":\"/a\"},\"/id\"]}", "/key/0/length", "integer"},
    {"{\"key\":[{\"prefix\":\"/a\",\"length\":0},\"/id\"]}", "/key/0/length", "from 1"},
    {"{\"key\":[{\"prefix\":\"/a\",\"length\":2.5},\"/id\"]}", "/key/0/length", "integer"},
    {"{\"key\":[{\"prefix\":5,\"length\":2},\"/id\"]}", "/key/0", "path"},
    {"{\"key\":[{\"prefix\":[\"/a\",{\"const\":\"\"}],\"length\":2},\"/id\"]}", "/key/0/1", "string"},
    {"{\"key\":[{\"utc_day\":\"/a\"},\"/id\"]}", "/key/0", "unit"},
    {"{\"key\":[{\"utc_day\":\"/a\",\"unit\":\"m\"},\"/id\"]}", "/key/0", "unit"},
    {"{\"key\":[{\"utc_day\":\"/a\",\"unit\":\"s\",\"shift_h\":25},\"/id\"]}", "/key/0/shift_h", "-24"},
    {"{\"key\":[{\"utc_day\":\"/a\",\"unit\":\"s\",\"shift\":1},\"/id\"]}", "/key/0", "unknown member"},
    {"{" KEY ",\"unwrap\":5}", "/unwrap", "path"},
    {"{" KEY ",\"unwrap\":null}", "/unwrap", "path"},
    {"{" KEY ",\"unwrap\":\"data\"}", "/unwrap", "begin with '/'"},
    {"{" KEY ",\"unwrap\":\"$/data\"}", "/unwrap", "begin with '/'"},
    {"{" KEY ",\"unwrap\":\"/data/*\"}", "/unwrap", "'*'"},
    {"{" KEY ",\"trades\":5}", "/trades", "string"},
    {"{" KEY ",\"trades\":[]}", "/trades", "empty list"},
    {"{" KEY ",\"trades\":[\"/a\",\"b\"]}", "/trades/1", "begin with '/'"},
    {"{" KEY ",\"trades\":\"$/a\"}", "/trades", "begin with '/'"},
    {"{" KEY ",\"trades\":\"/*/*/*/*/*/*/*/*/*\"}", "/trades", "more than 8"},
    {"{" KEY ",\"match\":5}", "/match", "object"},
    {"{" KEY ",\"match\":[]}", "/match", "1 to 64"},
    {"{" KEY ",\"match\":[{},5]}", "/match/1", "object"},
    {"{" KEY ",\"match\":{\"a\":1}}", "/match", "begin with '/'"},
    {"{" KEY ",\"match\":{\"/a\":null}}", "/match//a", "must be"},
    {"{" KEY ",\"match\":{\"/a\":[]}}", "/match//a", "empty list"},
    {"{" KEY ",\"match\":{\"/a\":[[1]]}}", "/match//a/0", "must be"},
    {"{" KEY ",\"match\":{\"/a\":{}}}", "/match//a", "says nothing"},
    {"{" KEY ",\"match\":{\"/a\":{\"starts\":1}}}", "/match//a", "string"},
    {"{" KEY ",\"match\":{\"/a\":{\"present\":1}}}", "/match//a", "true or false"},
    {"{" KEY ",\"match\":{\"/a\":{\"present\":false,\"ends\":\"x\"}}}", "/match//a", "no start"},
    {"{" KEY ",\"match\":{\"/a\":{\"equals\":1}}}", "/match//a", "unknown member"},
    {"{" KEY ",\"match\":{\"/a\":1,\"/a\":2}}", "/match", "/a stands twice"},
    {"{" KEY ",\"content\":{}}", "/content", "list"},
    {"{" KEY ",\"content\":[5]}", "/content/0", "path"},
    {"{" KEY ",\"content\":[\"/a\",{\"decimal\":5}]}", "/content/1", "path"},
    {"{" KEY ",\"content\":[{\"decimals\":\"/a\"}]}", "/content/0", "unknown member"},
};

START_TEST(a_bad_profile_is_refused_with_path_and_reason)
{
    struct feed *feed = NULL;
    struct err err = {0};
    int rc = feed_parse(&feed, "test", refusals[_i].json, strlen(refusals[_i].json), &err);

    ck_assert_msg(rc == ERR_CONFIG && !feed, "accepted: %s", refusals[_i].json);
    ck_assert_msg(!strncmp(err.text, refusals[_i].path, strlen(refusals[_i].path)) &&
                      strstr(err.text, refusals[_i].reason),
                  "%s: %s", refusals[_i].json, err.text);
}
END_TEST

START_TEST(a_profile_with_more_steps_than_a_trie_holds_is_refused)
{
    struct text json = {0};
    struct feed *feed = NULL;
    struct err err;

    text_add_str(&json, "{\"key\":[\"/id\"],\"content\":[\"/0\"");
    for (int i = 1; i < 62; i++)
        text_add_format(&json, ",\"/%d\"", i);
    size_t full = json.len;

    text_add_str(&json, "]}");
    ck_assert_int_eq(feed_parse(&feed, "test", json.at, json.len, &err), 0);
    feed_close(feed);
    json.len = full;
    text_add_str(&json, ",\"/62\"]}");
    ck_assert_int_eq(feed_parse(&feed, "test", json.at, json.len, &err), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.text, "/content/62: too many different paths"));
    text_done(&json);
}
END_TEST

/* What the profiles of the next tables have in common is left out: key K is the member id. */
#define P(members) "{" members "}"
#define DAY(unit, shift)                                                                               \
    P("\"key\":[{\"utc_day\":\"/t\",\"unit\":\"" unit "\",\"shift_h\":" shift "},\"/id\"]")
#define ON_DAY(unit, shift, time, outcome)                                                             \
    {                                                                                                  \
        DAY(unit, shift), "{\"id\":1,\"t\":" time "}", outcome                                         \
    }

static const struct {
    const char *profile, *line, *outcome;
} cases[] = {
    /* JSON first */
    {P(KEY), "{\"id\":1", "invalid bad_json"},
    {P(KEY), "{\"id\":01}", "invalid bad_json"},
    {P(KEY), "{\"id\":1}{}", "invalid bad_json"},
    {P(KEY), "{\"id\":1,\"x\":\"\xff\"}", "invalid bad_utf8"},
    {P(KEY ",\"match\":{\"$/e\":1}"), "{\"x\":\"\xff\"}", "invalid bad_utf8"},
    {P("\"trades\":\"/*\"," KEY), "[", "invalid bad_json"},

    /* IDs */
    {P(KEY), "{\"id\":123}", "ask 123"},
    {P(KEY), "{\"id\":\"123\"}", "ask 123"},
    {P(KEY), "{\"id\":\"0123\"}", "ask 0123"},
    {P(KEY), "{\"id\":9007199254740993}", "ask 9007199254740993"},
    {P(KEY), "{\"id\":100182534526255757567432481}", "ask 100182534526255757567432481"},
    {P(KEY), "{\"\\u0069d\":\"\\u0041BC\"}", "ask ABC"},
    {P(KEY), "{\"ID\":1,\"id\":2,\"Id\":3}", "ask 2"},
    {P("\"key\":[\"/t\"]"), "{\"T\":1723161257679,\"t\":849714402}", "ask 849714402"},
    {P(KEY), "{\"id\":\"a/b%\"}", "ask a%2Fb%25"},
    {P(KEY), "{\"x\":1}", "invalid id_missing"},
    {P(KEY), "{\"id\":null}", "invalid id_missing"},
    {P(KEY), "{\"id\":\"\"}", "invalid id_missing"},
    {P(KEY), "{\"id\":true}", "invalid id_type"},
    {P(KEY), "{\"id\":{}}", "invalid id_type"},
    {P(KEY), "{\"id\":[1]}", "invalid id_type"},
    {P(KEY), "{\"id\":-0}", "invalid id_not_integer"},
    {P(KEY), "{\"id\":1.0}", "invalid id_not_integer"},
    {P(KEY), "{\"id\":1e2}", "invalid id_not_integer"},
    {P(KEY), "{\"id\":\"a\\u0000\"}", "invalid id_control_char"},
    {P(KEY), "{\"id\":\"\\u007f\"}", "invalid id_control_char"},
    {P(KEY), "{\"id\":\"\\ud800\"}", "invalid bad_utf8"},
    {P(KEY), "{\"id\":1,\"x\":\"\\ud800\"}", "ask 1"},
    {P(KEY), "{\"id\":1,\"id\":2}", "invalid duplicate_member"},
    {P(KEY), "{\"id\":1,\"\\u0069\\u0064\":1}", "invalid duplicate_member"},
    {P(KEY), "{\"id\":1,\"x\":2,\"x\":3}", "ask 1"},
    {P("\"key\":[\"/a/id\"]"), "{\"a\":{\"id\":1},\"a\":{}}", "invalid duplicate_member"},
    {P("\"key\":[\"/a~1b/~0c\"]"), "{\"a/b\":{\"~c\":5}}", "ask 5"},
    {P("\"key\":[\"/2/0\"]"), "[1,\"te\",[7]]", "ask 7"},
    {P("\"key\":[\"/2/0\"]"), "{\"2\":[7]}", "ask 7"},

    /* other parts */
    {P("\"key\":[\"/s\",\"/id\"]"), "{\"s\":\"\",\"id\":1}", "ask /1"},
    {P("\"key\":[\"/s\",\"/id\"]"), "{\"s\":5,\"id\":1}", "ask 5/1"},
    {P("\"key\":[\"/s\",\"/id\"]"), "{\"id\":1}", "invalid field_missing"},
    {P("\"key\":[\"/s\",\"/id\"]"), "{\"s\":null,\"id\":1}", "invalid field_missing"},
    {P("\"key\":[\"/s\",\"/id\"]"), "{\"s\":[],\"id\":1}", "invalid field_type"},
    {P("\"key\":[\"/s\",\"/id\"]"), "{\"s\":1.5,\"id\":1}", "invalid field_not_integer"},
    {P("\"key\":[\"/s\",\"/id\"]"), "{\"s\":\"\\t\",\"id\":1}", "invalid field_control_char"},
    {P("\"key\":[\"/s\",\"/id\"]"), "{\"s\":\"\\udc00\",\"id\":1}", "invalid bad_utf8"},
    {P("\"key\":[\"/s\",\"/id\"]"), "{\"s\":1,\"s\":2,\"id\":1}", "invalid duplicate_member"},
    {P("\"key\":[{\"const\":\"A/B\"},{\"source\":true},\"/id\"]"), "{\"id\":1}", "ask A%2FB/SRC/1"},
    {P("\"key\":[[\"/a\",\"/b\"]]"), "{\"b\":2,\"a\":1}", "ask 1"},
    {P("\"key\":[[\"/a\",\"/b\"]]"), "{\"b\":2}", "ask 2"},
    {P("\"key\":[[\"/a\",\"/b\"]]"), "{\"a\":null,\"b\":2}", "ask 2"},
    {P("\"key\":[[\"/a\",\"/b\"]]"), "{\"a\":null}", "invalid id_missing"},
    {P("\"key\":[[\"/a\",\"/b\"]]"), "{\"a\":1,\"b\":2,\"b\":3}", "ask 1"},
    {P("\"key\":[[\"/a\",\"/b\"]]"), "{\"a\":\"\",\"b\":2}", "invalid id_missing"},
    {P("\"key\":[[\"/a\",{\"const\":\"\"}],\"/id\"]"), "{\"id\":1}", "ask /1"},
    {P("\"key\":[[\"/a\",{\"const\":\"-\"}],\"/id\"]"), "{\"a\":null,\"id\":1}", "ask -/1"},
    {P("\"key\":[[\"/a\",{\"const\":\"-\"}],\"/id\"]"), "{\"a\":\"x\",\"id\":1}", "ask x/1"},
    {P("\"key\":[[\"/a\",{\"const\":\"-\"}],\"/id\"]"), "{\"a\":true,\"id\":1}", "invalid field_type"},
    {P("\"key\":[\"$/s\",\"/id\"],\"trades\":\"/d\""), "{\"s\":\"X\",\"d\":{\"s\":\"Y\",\"id\":1}}",
     "ask X/1"},

    /* prefixes */
    {P("\"key\":[{\"prefix\":\"/t\",\"length\":4},\"/id\"]"), "{\"t\":\"2026-12\",\"id\":1}",
     "ask 2026/1"},
    {P("\"key\":[{\"prefix\":\"/t\",\"length\":4},\"/id\"]"), "{\"t\":20261201,\"id\":1}",
     "ask 2026/1"},
    {P("\"key\":[{\"prefix\":\"/t\",\"length\":4},\"/id\"]"), "{\"t\":\"2026\",\"id\":1}",
     "ask 2026/1"},
    {P("\"key\":[{\"prefix\":\"/t\",\"length\":4},\"/id\"]"), "{\"t\":\"202\",\"id\":1}",
     "invalid field_missing"},
    {P("\"key\":[{\"prefix\":\"/t\",\"length\":4},\"/id\"]"), "{\"id\":1}", "invalid field_missing"},
    {P("\"key\":[{\"prefix\":\"/t\",\"length\":4},\"/id\"]"), "{\"t\":[],\"id\":1}",
     "invalid field_type"},
    {P("\"key\":[{\"prefix\":\"/t\",\"length\":4},\"/id\"]"), "{\"t\":\"a\\u00e9\\u00e9\",\"id\":1}",
     "invalid field_type"},
    {P("\"key\":[{\"prefix\":\"/t\",\"length\":5},\"/id\"]"), "{\"t\":\"a\\u00e9\\u00e9\",\"id\":1}",
     "ask a\xc3\xa9\xc3\xa9/1"},
    {P("\"key\":[{\"prefix\":\"/t\",\"length\":2},\"/id\"]"), "{\"t\":\"a/b\\n\",\"id\":1}",
     "ask a%2F/1"},
    {P("\"key\":[{\"prefix\":\"/t\",\"length\":2}]"), "{\"t\":\"a\"}", "invalid id_missing"},

    {P("\"key\":[{\"const\":\"A\"},{\"prefix\":\"/t\",\"length\":2}]"), "{\"t\":\"abc\"}", "ask A/ab"},

    /* days */
    ON_DAY("s", "0", "1796083200", "ask 2026-12-01/1"),
    ON_DAY("s", "0", "\"1796083199\"", "ask 2026-11-30/1"),
    ON_DAY("ms", "0", "1796083200000", "ask 2026-12-01/1"),
    ON_DAY("ms", "-5", "1796083200000", "ask 2026-11-30/1"),
    ON_DAY("us", "0", "1796083199999999", "ask 2026-11-30/1"),
    ON_DAY("ns", "1", "1796083199999999999", "ask 2026-12-01/1"),
    ON_DAY("s", "0", "-1", "ask 1969-12-31/1"),
    ON_DAY("ms", "0", "\"-1\"", "ask 1969-12-31/1"),
    ON_DAY("s", "0", "-62135596800", "ask 0001-01-01/1"),
    ON_DAY("s", "0", "-62135596801", "invalid field_type"),
    ON_DAY("s", "0", "253402300799", "ask 9999-12-31/1"),
    ON_DAY("s", "0", "253402300800", "invalid field_type"),
    ON_DAY("s", "1", "253402300799", "invalid field_type"),
    ON_DAY("s", "0", "99999999999999999999", "invalid field_type"),
    ON_DAY("s", "0", "1.5", "invalid field_not_integer"),
    ON_DAY("s", "0", "\"1.5\"", "invalid field_type"),
    ON_DAY("s", "0", "\"\"", "invalid field_type"),
    ON_DAY("s", "0", "\"-\"", "invalid field_type"),
    ON_DAY("s", "0", "null", "invalid field_missing"),
    ON_DAY("s", "0", "true", "invalid field_type"),
    ON_DAY("rfc3339", "0", "\"2026-12-01T00:00:00Z\"", "ask 2026-12-01/1"),
    ON_DAY("rfc3339", "0", "\"2026-12-01T00:30:00.123456789+01:00\"", "ask 2026-11-30/1"),
    ON_DAY("rfc3339", "0", "\"2026-11-30t23:30:00-01:00\"", "ask 2026-12-01/1"),
    ON_DAY("rfc3339", "-5", "\"2026-12-01T04:59:59.9Z\"", "ask 2026-11-30/1"),
    ON_DAY("rfc3339", "0", "\"2024-02-29T12:00:00Z\"", "ask 2024-02-29/1"),
    ON_DAY("rfc3339", "0", "\"2023-02-29T12:00:00Z\"", "invalid field_type"),
    ON_DAY("rfc3339", "0", "\"2016-12-31T23:59:60Z\"", "ask 2016-12-31/1"),
    ON_DAY("rfc3339", "0", "\"2026-12-01T24:00:00Z\"", "invalid field_type"),
    ON_DAY("rfc3339", "0", "\"2026-12-01T00:00:00\"", "invalid field_type"),
    ON_DAY("rfc3339", "0", "\"2026-12-01T00:00:00.Z\"", "invalid field_type"),
    ON_DAY("rfc3339", "0", "\"2026-12-01T00:00:00Zx\"", "invalid field_type"),
    ON_DAY("rfc3339", "0", "\"2026-12-01\"", "invalid field_type"),
    ON_DAY("rfc3339", "0", "\"0000-12-31T23:30:00Z\"", "invalid field_type"),
    ON_DAY("rfc3339", "1", "\"0000-12-31T23:30:00Z\"", "ask 0001-01-01/1"),
    ON_DAY("rfc3339", "0", "1796083200", "invalid field_type"),

    /* unwrap */
    {P("\"unwrap\":\"/data\"," KEY), "{\"data\":{\"id\":1},\"id\":2}", "ask 1"},
    {P("\"unwrap\":\"/data\"," KEY), "{\"id\":2}", "ask 2"},
    {P("\"unwrap\":\"/data\"," KEY), "{\"data\":null,\"id\":2}", "invalid not_a_trade_object"},
    {P("\"unwrap\":\"/data\"," KEY), "{\"data\":{\"id\":1},\"data\":{}}", "invalid duplicate_member"},
    {P("\"unwrap\":[\"/a\",\"/b\"]," KEY), "{\"b\":{\"id\":1}}", "ask 1"},
    {P("\"unwrap\":\"/data\",\"match\":{\"$/e\":\"t\"}," KEY), "{\"e\":\"t\",\"data\":{\"id\":1}}",
     "ignored"},
    {P("\"unwrap\":\"/data\",\"trades\":\"/d/*\"," KEY), "{\"data\":{\"d\":[{\"id\":1}]}}", "[ask 1]"},

    /* match */
    {P("\"match\":{\"/e\":\"trade\"}," KEY), "{\"e\":\"trade\",\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":\"trade\"}," KEY), "{\"e\":\"tr\\u0061de\",\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":\"trade\"}," KEY), "{\"e\":\"Trade\",\"id\":1}", "ignored"},
    {P("\"match\":{\"/e\":\"trade\"}," KEY), "{\"id\":1,\"id\":2}", "ignored"},
    {P("\"match\":{\"/e\":\"trade\"}," KEY), "5", "ignored"},
    {P("\"match\":{\"$/e\":\"a\"}," KEY), "{\"e\":\"a\",\"e\":\"b\",\"id\":1}",
     "invalid duplicate_member"},
    {P("\"match\":{\"$/e\":\"b\"}," KEY), "{\"e\":\"a\",\"e\":\"b\",\"id\":1}",
     "invalid duplicate_member"},
    {P("\"match\":{\"/e\":\"1\"}," KEY), "{\"e\":1,\"id\":1}", "ignored"},
    {P("\"match\":{\"/e\":1}," KEY), "{\"e\":\"1\",\"id\":1}", "ignored"},
    {P("\"match\":{\"/e\":1}," KEY), "{\"e\":10e-1,\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":1.50}," KEY), "{\"e\":1.5,\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":9007199254740993}," KEY), "{\"e\":9007199254740992,\"id\":1}", "ignored"},
    {P("\"match\":{\"/e\":9007199254740993}," KEY), "{\"e\":9007199254740993,\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":true}," KEY), "{\"e\":true,\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":true}," KEY), "{\"e\":\"true\",\"id\":1}", "ignored"},
    {P("\"match\":{\"/e\":false}," KEY), "{\"e\":false,\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":false}," KEY), "{\"id\":1}", "ignored"},
    {P("\"match\":{\"/e\":[\"a\",2,true]}," KEY), "{\"e\":2,\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":[\"a\",2,true]}," KEY), "{\"e\":3,\"id\":1}", "ignored"},
    {P("\"match\":{\"/e\":{\"starts\":\"pub.\"}}," KEY), "{\"e\":\"pub.X\",\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":{\"starts\":\"pub.\"}}," KEY), "{\"e\":\"pub\",\"id\":1}", "ignored"},
    {P("\"match\":{\"/e\":{\"starts\":\"pub.\"}}," KEY), "{\"e\":\"\\u0070ub.\",\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":{\"starts\":\"a\",\"ends\":\"z\"}}," KEY), "{\"e\":\"abz\",\"id\":1}",
     "ask 1"},
    {P("\"match\":{\"/e\":{\"starts\":\"a\",\"ends\":\"z\"}}," KEY), "{\"e\":\"ab\",\"id\":1}",
     "ignored"},
    {P("\"match\":{\"/e\":{\"starts\":\"a\",\"ends\":\"z\"}}," KEY), "{\"e\":\"bz\",\"id\":1}",
     "ignored"},
    {P("\"match\":{\"/e\":{\"starts\":\"\"}}," KEY), "{\"e\":true,\"id\":1}", "ignored"},
    {P("\"match\":{\"/e\":{\"starts\":\"16\"}}," KEY), "{\"e\":1618,\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":{\"present\":true}}," KEY), "{\"e\":null,\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":{\"present\":true}}," KEY), "{\"id\":1}", "ignored"},
    {P("\"match\":{\"/e\":{\"present\":false}}," KEY), "{\"id\":1}", "ask 1"},
    {P("\"match\":{\"/e\":{\"present\":false}}," KEY), "{\"e\":1,\"id\":1}", "ignored"},
    {P("\"match\":{\"/a\":1,\"/b\":2}," KEY), "{\"a\":1,\"b\":2,\"id\":1}", "ask 1"},
    {P("\"match\":{\"/a\":1,\"/b\":2}," KEY), "{\"a\":1,\"b\":3,\"id\":1}", "ignored"},
    {P("\"match\":[{\"/a\":1},{\"/b\":2}]," KEY), "{\"b\":2,\"id\":1}", "ask 1"},
    {P("\"match\":[{\"/a\":1},{\"/b\":2}]," KEY), "{\"b\":3,\"id\":1}", "ignored"},
    {P("\"match\":[{\"$/a\":1,\"/x\":1},{\"$/a\":2,\"/x\":2}],\"trades\":\"/d/*\"," KEY),
     "{\"a\":1,\"d\":[{\"x\":1,\"id\":1},{\"x\":2,\"id\":2}]}", "[ask 1, ignored]"},
    {P("\"match\":[{\"$/a\":1,\"/x\":1},{\"$/a\":2,\"/x\":2}],\"trades\":\"/d/*\"," KEY),
     "{\"a\":3,\"d\":[{\"x\":1,\"id\":1}]}", "ignored"},

    {P("\"match\":{\"/e\":1},\"trades\":\"/*\"," KEY),
     "[{\"e\":1,\"e\":1,\"id\":1},{\"e\":1,\"id\":2}]", "[invalid duplicate_member, ask 2]"},

    /* where trades are */
    {P(KEY), "5", "invalid not_a_trade_object"},
    {P(KEY), "null", "invalid not_a_trade_object"},
    {P(KEY), "[]", "invalid id_missing"},
    {P("\"trades\":\"/d\"," KEY), "{\"d\":{\"id\":1}}", "ask 1"},
    {P("\"trades\":\"/d\"," KEY), "{\"d\":5}", "invalid not_a_trade_object"},
    {P("\"trades\":\"/d\"," KEY), "{\"x\":1}", "invalid not_a_trade_object"},
    {P("\"trades\":\"/d\",\"match\":{\"$/e\":1}," KEY), "{\"e\":1}", "ignored"},
    {P("\"trades\":\"/d\"," KEY), "{\"d\":{\"id\":1},\"d\":{\"id\":2}}", "invalid duplicate_member"},
    {P("\"trades\":\"/*\"," KEY), "[{\"id\":1},{\"id\":2}]", "[ask 1, ask 2]"},
    {P("\"trades\":\"/*\"," KEY), "[{\"id\":1},5,{\"id\":null},[],{\"id\":2}]",
     "[ask 1, invalid not_a_trade_object, invalid id_missing, invalid id_missing, ask 2]"},
    {P("\"trades\":\"/*\"," KEY), "[{\"id\":1,\"id\":1},{\"id\":2}]",
     "[invalid duplicate_member, ask 2]"},
    {P("\"trades\":\"/*\"," KEY), "[]", "ignored"},
    {P("\"trades\":\"/*\"," KEY), "{}", "ignored"},
    {P("\"trades\":\"/*\"," KEY), "5", "ignored"},
    {P("\"trades\":\"/d/*\"," KEY), "{\"d\":{}}", "ignored"},
    {P("\"trades\":\"/d/*\"," KEY), "{\"d\":[{\"id\":1}],\"d\":[]}", "invalid duplicate_member"},
    {P("\"trades\":\"/d/*/t\"," KEY), "{\"d\":[{\"t\":{\"id\":1}},{},{\"t\":{\"id\":2}},7]}",
     "[ask 1, ask 2]"},
    {P("\"trades\":\"/e/*/t/*\"," KEY),
     "{\"e\":[{\"t\":[{\"id\":1},{\"id\":2}]},{\"t\":[{\"id\":3}]}]}", "[ask 1, ask 2, ask 3]"},
    {P("\"trades\":\"/e/*/t/*\"," KEY), "{\"e\":[{\"t\":5},{},[],{\"t\":[{\"id\":3}]}]}", "[ask 3]"},
    {P("\"trades\":\"/e/*/t/*\"," KEY), "{\"e\":[{\"t\":[]},{\"t\":[]}]}", "ignored"},
    {P("\"trades\":\"/e/*/t/*\"," KEY), "{\"e\":[{\"t\":[{\"id\":1}]},{\"t\":[{\"id\":2}],\"t\":[]}]}",
     "invalid duplicate_member"},
    {P("\"trades\":\"/*/*\"," KEY), "[[{\"id\":1}],[[{\"id\":2}]],[]]", "[ask 1, invalid id_missing]"},
    {P("\"trades\":[\"/t/*\",\"\"]," KEY), "{\"t\":[{\"id\":1}],\"id\":2}", "[ask 1]"},
    {P("\"trades\":[\"/t/*\",\"\"]," KEY), "{\"t\":5,\"id\":2}", "[ask 2]"},
    {P("\"trades\":[\"/t/*\",\"\"]," KEY), "{\"t\":[],\"id\":2}", "ignored"},
    {P("\"trades\":[\"/a\",\"/b\"]," KEY), "{\"b\":{\"id\":2}}", "ask 2"},
    {P("\"trades\":\"/*\",\"match\":{\"/e\":1}," KEY), "[{\"e\":1,\"id\":1},5,{\"e\":2},{\"e\":1}]",
     "[ask 1, ignored, ignored, invalid id_missing]"},

    /* content */
    {P(KEY ",\"content\":[\"/p\"]"), "{\"id\":1,\"p\":1,\"p\":1}", "invalid duplicate_member"},
    {P(KEY ",\"content\":[\"/p\"]"), "{\"id\":1,\"p\":{\"a\":1,\"a\":2}}", "ask 1"},
    {P(KEY ",\"content\":[{\"decimal\":\"/p\"}]"), "{\"id\":1,\"p\":[]}", "ask 1"},
};

START_TEST(a_line_becomes_what_the_profile_says)
{
    struct judging judging;

    judging_parse(&judging, cases[_i].profile);
    const char *outcome = judging_str(&judging, cases[_i].line);

    ck_assert_msg(!strcmp(outcome, cases[_i].outcome), "%s\n%s\n%s, not %s", cases[_i].profile,
                  cases[_i].line, outcome, cases[_i].outcome);
    judging_done(&judging);
}
END_TEST

/* Groups of lines with equal content; neighbours in different groups differ. */
static const struct {
    int group;
    const char *line;
} contents[] = {
    {1, "{\"id\":1,\"p\":\"68123.45000000\",\"s\":\"buy\"}"},
    {1, "{\"id\":1,\"p\":68123.45,\"s\":\"buy\",\"E\":5}"},
    {1, "{\"id\":1,\"p\":6.812345e4,\"s\":\"b\\u0075y\",\"t\":null}"},
    {2, "{\"id\":1,\"p\":68123.46,\"s\":\"buy\"}"},
    {3, "{\"id\":1,\"p\":68123.46,\"s\":\"sell\"}"},
    {4, "{\"id\":1,\"p\":68123.46,\"s\":\"sell\",\"t\":5}"},
    {4, "{\"id\":1,\"p\":68123.46,\"s\":\"sell\",\"t\":\"5\"}"},
    {5, "{\"id\":1,\"p\":68123.46,\"s\":\"sell\",\"t\":\"05\"}"},
    {6, "{\"id\":1}"},
    {6, "{\"id\":1,\"p\":null}"},
    {7, "{\"id\":1,\"p\":\"\"}"},
    {8, "{\"id\":1,\"s\":\"ab\",\"t\":\"c\"}"},
    {9, "{\"id\":1,\"s\":\"a\",\"t\":\"bc\"}"},
    {10, "{\"id\":1,\"p\":-0}"},
    {10, "{\"id\":1,\"p\":\"0.00\"}"},
    {11, "{\"id\":1,\"p\":1e999999}"},
    {12, "{\"id\":1,\"p\":1e999998}"},
    {12, "{\"id\":1,\"p\":10e999997}"},
};

START_TEST(contents_are_equal_by_value_and_no_further)
{
    struct judging judging;
    uint64_t last = 0;

    judging_parse(&judging, P(KEY ",\"content\":[{\"decimal\":\"/p\"},\"/s\",\"/t\"]"));
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        ck_assert_str_eq(judging_str(&judging, contents[i].line), "ask 1");
        uint64_t print = judging_trade(&judging)->fingerprint;
        bool same = i && contents[i].group == contents[i - 1].group;

        ck_assert_msg(!i || same == (print == last), "%s", contents[i].line);
        last = print;
    }
    judging_done(&judging);
}
END_TEST

START_TEST(of_a_content_list_the_first_present_counts_and_null_is_present)
{
    struct judging judging;

    judging_parse(&judging, P(KEY ",\"content\":[[\"/a\",\"/b\"]]"));
    judging_str(&judging, "{\"id\":1,\"b\":5}");
    uint64_t five = judging_trade(&judging)->fingerprint;

    judging_str(&judging, "{\"id\":1,\"a\":5,\"b\":6}");
    ck_assert_uint_eq(judging_trade(&judging)->fingerprint, five);
    judging_str(&judging, "{\"id\":1,\"a\":null,\"b\":5}");
    ck_assert_uint_ne(judging_trade(&judging)->fingerprint, five);
    judging_done(&judging);
}
END_TEST

static const struct {
    const char *file, *line, *key; /* file NULL: canonical */
    uint64_t print;
} examples[] = {
    {NULL,
     "{\"source\":\"XNAS\",\"symbol\":\"BTC/USD\",\"id\":\"007\",\"price\":\"68123.45000000\","
     "\"quantity\":0.0012,\"side\":\"buy\"}",
     "ask XNAS/BTC%2FUSD/007", UINT64_C(0xe33290dd25a87cff)},
    {"config/feeds/binance-spot.json",
     "{\"e\":\"trade\",\"E\":1723161257687,\"s\":\"BTCUSDT\",\"t\":3735683259,\"p\":\"68123.45\","
     "\"q\":\"0.50\",\"T\":1723161257679,\"m\":true}",
     "ask BINANCE/BTCUSDT/3735683259", UINT64_C(0xec5a2d81c5e79a30)},
};

START_TEST(the_examples_of_the_format_page_come_out)
{
    struct judging judging;

    if (examples[_i].file)
        judging_load(&judging, examples[_i].file);
    else
        judging_builtin(&judging, "canonical");
    ck_assert_str_eq(judging_str(&judging, examples[_i].line), examples[_i].key);
    ck_assert_uint_eq(judging_trade(&judging)->fingerprint, examples[_i].print);
    judging_done(&judging);
}
END_TEST

START_TEST(canonical_needs_an_id_and_nothing_else)
{
    static const char *const lines[][2] = {
        {"{\"id\":12345}", "ask //12345"},
        {"{\"source\":null,\"symbol\":\"AAPL\",\"id\":\"1\"}", "ask /AAPL/1"},
        {"{\"source\":\"X\",\"symbol\":\"Y\"}", "invalid id_missing"},
        {"{\"source\":true,\"id\":1}", "invalid field_type"},
        {"{\"ID\":1}", "invalid id_missing"},
        {"\"text\"", "invalid not_a_trade_object"},
    };
    struct judging judging;

    judging_builtin(&judging, "canonical");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_str_eq(judging_str(&judging, lines[i][0]), lines[i][1]);
    judging_done(&judging);
}
END_TEST

START_TEST(the_message_of_a_trade_is_its_own_span)
{
    static const char line[] = "{\"d\":[ {\"id\":1} , {\"id\":2} ]}";
    struct judging judging;

    judging_parse(&judging, P("\"trades\":\"/d/*\"," KEY));
    ck_assert_str_eq(judging_str(&judging, line), "[ask 1, ask 2]");
    const struct batch_trade *trade = judging_trade(&judging) + 1;

    ck_assert_uint_eq(trade->message_at, (size_t)(strstr(line, "{\"id\":2") - line));
    ck_assert_uint_eq(trade->message_len, 8);
    ck_assert_str_eq(judging_str(&judging, " {\"d\":[]} "), "ignored");
    ck_assert_uint_eq(judging_trade(&judging)->message_at, 0);
    ck_assert_uint_eq(judging_trade(&judging)->message_len, 10);
    judging_done(&judging);
}
END_TEST

START_TEST(a_detail_says_what_is_missing)
{
    struct judging judging;

    judging_parse(&judging, P("\"key\":[[\"/s\",\"/sym\"],\"/id\"]"));
    judging_str(&judging, "{\"s\":\"X\"}");
    const struct batch_trade *trade = judging_trade(&judging);

    ck_assert_int_eq(strncmp(judging.batch->arena.at + trade->detail_at, "no member /id", 13), 0);
    judging_str(&judging, "{\"id\":1}");
    trade = judging_trade(&judging);
    ck_assert_int_eq(
        strncmp(judging.batch->arena.at + trade->detail_at, "no member /s or /sym", trade->detail_len),
        0);
    judging_str(&judging, "{\"id\":x}");
    trade = judging_trade(&judging);
    ck_assert_int_eq(
        strncmp(judging.batch->arena.at + trade->detail_at, "not JSON at byte 6", trade->detail_len),
        0);
    judging_done(&judging);
}
END_TEST

START_TEST(max_key_bytes_bounds_the_key_as_written)
{
    struct judging judging;

    judging_parse(&judging, P("\"key\":[{\"const\":\"AB\"},\"/id\"]"));
    judging.context.max_key_bytes = 6;
    ck_assert_str_eq(judging_str(&judging, "{\"id\":123}"), "ask AB/123");
    ck_assert_str_eq(judging_str(&judging, "{\"id\":1234}"), "invalid id_too_long");
    ck_assert_str_eq(judging_str(&judging, "{\"id\":\"/\"}"), "ask AB/%2F");
    ck_assert_str_eq(judging_str(&judging, "{\"id\":\"a/\"}"), "invalid id_too_long");
    judging_done(&judging);
}
END_TEST

START_TEST(more_trades_than_allowed_make_the_whole_line_invalid)
{
    struct judging judging;

    judging_parse(&judging, P("\"trades\":\"/*\",\"match\":{\"/e\":{\"present\":false}}," KEY));
    judging.context.max_trades_per_line = 3;
    ck_assert_str_eq(judging_str(&judging, "[{\"id\":1},{\"e\":1},{\"id\":3}]"),
                     "[ask 1, ignored, ask 3]");
    ck_assert_str_eq(judging_str(&judging, "[{\"id\":1},{\"e\":1},{\"id\":3},{\"e\":1}]"),
                     "invalid too_many_trades");
    ck_assert_uint_eq(judging_trade(&judging)->message_len, 35);
    judging_done(&judging);
}
END_TEST

/* An arena that holds so many bytes already, all but a page or two never touched. */
static void map_arena(struct batch *batch, size_t len)
{
    size_t cap = len + 65536;
    void *pages =
        mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    ck_assert_ptr_ne(pages, MAP_FAILED);
    text_done(&batch->arena);
    batch->arena = (struct text){.at = pages, .len = len, .cap = cap};
}

static void unmap_arena(struct batch *batch)
{
    munmap(batch->arena.at, batch->arena.cap);
    batch->arena = (struct text){0};
}

START_TEST(keys_beyond_the_32_bits_of_an_arena_make_the_whole_line_invalid)
{
    static const char line[] = "[{\"id\":\"%0400d\"},{\"id\":2}]";
    size_t first = UINT32_MAX - 1000; /* one key of 400 bytes and room for the longest behind it */
    struct judging judging;

    judging_parse(&judging, P("\"trades\":\"/*\"," KEY));
    struct batch *batch = judging.batch;

    map_arena(batch, first);
    text_add_format(&batch->bytes, line, 1);
    feed_judge(judging.feed, &judging.context, batch, 0, batch->bytes.len, 1);
    ck_assert_uint_eq(batch->trades_n, 1);
    ck_assert_uint_eq(batch->lines[0].trades_n, 1);
    ck_assert_int_eq(batch->trades[0].reason, REASON_TOO_MANY_TRADES);
    ck_assert_uint_eq(batch->trades[0].detail_at, first);
    ck_assert_uint_eq(batch->trades[0].message_len, batch->bytes.len);
    unmap_arena(batch);
    judging_done(&judging);
}
END_TEST

START_TEST(a_replayed_key_beyond_the_32_bits_of_an_arena_is_refused)
{
    static const char line[] = "{\"key\":\"A\",\"feed\":\"x\",\"fingerprint\":\"00ff0123456789ab\"}";
    struct judging judging;

    judging_builtin(&judging, "replay");
    struct batch *batch = judging.batch;

    map_arena(batch, UINT32_MAX - 400);
    text_add_str(&batch->bytes, line);
    feed_judge(judging.feed, &judging.context, batch, 0, batch->bytes.len, 1);
    ck_assert_uint_eq(batch->trades_n, 1);
    ck_assert_int_eq(batch->trades[0].reason, REASON_TOO_MANY_TRADES);
    unmap_arena(batch);
    judging_done(&judging);
}
END_TEST

START_TEST(depth_64_is_judged_and_65_is_too_deep)
{
    struct judging judging;
    char line[160] = "{\"id\":1,\"x\":";

    judging_builtin(&judging, "canonical");
    size_t at = strlen(line);

    memset(line + at, '[', 63);
    memset(line + at + 63, ']', 63);
    line[at + 126] = '}';
    ck_assert_str_eq(judging_line(&judging, line, at + 127), "ask //1");
    memset(line + at, '[', 64);
    memset(line + at + 64, ']', 64);
    line[at + 128] = '}';
    ck_assert_str_eq(judging_line(&judging, line, at + 129), "invalid too_deep");
    judging_done(&judging);
}
END_TEST

START_TEST(thousands_of_trades_and_700_kilobytes_are_one_line)
{
    struct judging judging;
    struct text line = {0};

    judging_parse(&judging, P("\"trades\":\"/data/*\"," KEY ",\"content\":[{\"decimal\":\"/price\"}]"));
    text_add_str(&line, "{\"table\":\"trade\",\"data\":[");
    for (unsigned i = 0; i < 7000; i++)
        text_add_format(&line,
                        "%s{\"timestamp\":\"2021-07-22T22:36:10.014Z\",\"symbol\":\"UNIUSDT\","
                        "\"price\":17.297,\"id\":\"%08x-c20e-44ba-8cc8\"}",
                        i ? "," : "", i);
    text_add_str(&line, "]}");
    ck_assert_uint_gt(line.len, 700000);
    judging_line(&judging, line.at, line.len);
    ck_assert_uint_eq(judging.batch->trades_n, 7000);
    for (unsigned i = 0; i < 7000; i++) {
        const struct batch_trade *trade = &judging.batch->trades[i];
        char key[32];

        ck_assert_int_eq(trade->verdict, VERDICT_NONE);
        snprintf(key, sizeof key, "%08x-c20e-44ba-8cc8", i);
        ck_assert_int_eq(strncmp(batch_key(judging.batch, trade), key, trade->key_len), 0);
    }
    judging_done(&judging);
    text_done(&line);
}
END_TEST

START_TEST(a_line_in_the_middle_of_a_batch_is_judged_on_its_own)
{
    struct judging judging;

    judging_builtin(&judging, "canonical");
    judging_str(&judging, "{\"id\":1}{\"id\":2,\"id\":3}{\"id\":4}");
    batch_reset(judging.batch);
    text_add_str(&judging.batch->bytes, "{\"id\":1}{\"id\":2,\"id\":3}{\"id\":4}");
    feed_judge(judging.feed, &judging.context, judging.batch, 0, 8, 1);
    feed_judge(judging.feed, &judging.context, judging.batch, 8, 15, 2);
    feed_judge(judging.feed, &judging.context, judging.batch, 23, 8, 3);
    ck_assert_uint_eq(judging.batch->trades_n, 3);
    ck_assert_uint_eq(judging.batch->lines[2].trades_first, 2);
    ck_assert_int_eq(judging.batch->trades[1].reason, REASON_DUPLICATE_MEMBER);
    ck_assert_int_eq(strncmp(batch_key(judging.batch, &judging.batch->trades[2]), "//4", 3), 0);
    judging_done(&judging);
}
END_TEST

#define REPLAY(key, feed, print, more)                                                                 \
    "{\"seq\":1,\"key\":" key ",\"feed\":" feed ",\"fingerprint\":" print ",\"received\":\"x\"" more "}"
#define PRINT "\"00fF0123456789aB\""

static const struct {
    const char *line, *outcome;
} replays[] = {
    {REPLAY("\"A/b%2Fc/1\"", "\"canonical\"", PRINT, ",\"message\":{\"a\": 1}"), "ask A/b%2Fc/1"},
    {REPLAY("\"A%zz\\u0042\"", "\"x\"", PRINT, ",\"message\":null"), "ask A%zzB"},
    {REPLAY("\"12345678901234567890\"", "\"x\"", PRINT, ""), "ask 12345678901234567890"},
    {REPLAY("\"123456789012345678901\"", "\"x\"", PRINT, ""), "invalid id_too_long"},
    {REPLAY("\"\"", "\"x\"", PRINT, ""), "invalid id_missing"},
    {REPLAY("null", "\"x\"", PRINT, ""), "invalid id_missing"},
    {REPLAY("5", "\"x\"", PRINT, ""), "invalid id_type"},
    {REPLAY("\"a\\n\"", "\"x\"", PRINT, ""), "invalid id_control_char"},
    {REPLAY("\"\\ud800\"", "\"x\"", PRINT, ""), "invalid bad_utf8"},
    {REPLAY("\"A\"", "null", PRINT, ""), "invalid field_missing"},
    {REPLAY("\"A\"", "\"\"", PRINT, ""), "invalid field_missing"},
    {REPLAY("\"A\"", "7", PRINT, ""), "invalid field_type"},
    {REPLAY("\"A\"", "\"a\\u0000\"", PRINT, ""), "invalid field_control_char"},
    {REPLAY("\"A\"", "\"\\ud800\"", PRINT, ""), "invalid bad_utf8"},
    {REPLAY("\"A\"", "\"x\"", "null", ""), "invalid field_missing"},
    {REPLAY("\"A\"", "\"x\"", "\"00ff0123456789a\"", ""), "invalid field_type"},
    {REPLAY("\"A\"", "\"x\"", "\"00ff0123456789ag\"", ""), "invalid field_type"},
    {REPLAY("\"A\"", "\"x\"", "\"00ff0123456789abc\"", ""), "invalid field_type"},
    {REPLAY("\"A\"", "\"x\"", "1", ""), "invalid field_type"},
    {REPLAY("\"A\"", "\"x\"", PRINT, ",\"key\":\"A\""), "invalid duplicate_member"},
    {REPLAY("\"A\"", "\"x\"", PRINT, ",\"message\":1,\"message\":1"), "invalid duplicate_member"},
    {REPLAY("\"A\"", "\"x\"", PRINT, ",\"seq\":2"), "ask A"},
    {"{}", "invalid id_missing"},
    {"[]", "invalid id_missing"},
    {"5", "invalid not_a_trade_object"},
    {"{", "invalid bad_json"},
};

START_TEST(replay_takes_what_an_export_holds_and_refuses_the_rest)
{
    struct judging judging;

    judging_builtin(&judging, "replay");
    judging.context.max_key_bytes = 20;
    ck_assert_str_eq(judging_str(&judging, replays[_i].line), replays[_i].outcome);
    judging_done(&judging);
}
END_TEST

START_TEST(replay_passes_feed_fingerprint_and_message_on)
{
    struct judging judging;

    judging_builtin(&judging, "replay");
    judging_str(&judging, replays[0].line);
    const struct batch *batch = judging.batch;
    const struct batch_trade *trade = judging_trade(&judging);

    ck_assert_uint_eq(trade->fingerprint, UINT64_C(0x00ff0123456789ab));
    ck_assert_uint_eq(trade->feed_len, 9);
    ck_assert_int_eq(strncmp(batch->arena.at + trade->feed_at, "canonical", 9), 0);
    ck_assert_uint_eq(trade->message_len, 8);
    ck_assert_int_eq(strncmp(batch->bytes.at + trade->message_at, "{\"a\": 1}", 8), 0);
    judging_str(&judging, replays[1].line);
    ck_assert_uint_eq(judging_trade(&judging)->message_len, 0);
    judging_done(&judging);
}
END_TEST

START_TEST(a_feed_name_of_65_bytes_in_a_replay_is_refused)
{
    struct judging judging;
    char line[256];

    judging_builtin(&judging, "replay");
    for (int n = 64; n <= 65; n++) {
        snprintf(line, sizeof line, "{\"key\":\"A\",\"feed\":\"%0*d\",\"fingerprint\":" PRINT "}", n,
                 0);
        ck_assert_str_eq(judging_str(&judging, line), n == 64 ? "ask A" : "invalid field_type");
    }
    judging_done(&judging);
}
END_TEST

START_TEST(a_feed_has_a_name_of_its_file_and_says_whether_it_needs_a_source)
{
    static const char json[] = "{\"key\":[{\"source\":true},\"/id\"]}";
    struct feed *feed = NULL;
    struct err err;

    ck_assert_int_eq(feed_parse(&feed, "a b", json, sizeof json - 1, &err), ERR_CONFIG);
    ck_assert_int_eq(feed_parse(&feed, "", json, sizeof json - 1, &err), ERR_CONFIG);
    ck_assert_int_eq(feed_parse(&feed, "A-1_b.c", json, sizeof json - 1, &err), 0);
    ck_assert_str_eq(feed_name(feed), "A-1_b.c");
    ck_assert(feed_uses_source(feed));
    feed_close(feed);
    ck_assert_int_eq(feed_load(&feed, "config/feeds/kraken.json", &err), 0);
    ck_assert_str_eq(feed_name(feed), "kraken");
    ck_assert(!feed_uses_source(feed));
    feed_close(feed);
    ck_assert_int_eq(feed_load(&feed, "config/feeds/no-such.json", &err), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.text, "config/feeds/no-such.json: "));
    ck_assert_int_eq(feed_load(&feed, "config/feeds", &err), ERR_CONFIG);
    ck_assert_ptr_null(feed_builtin("other"));
    feed_close(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("feed");
    TCase *tcase = tcase_create("feed");

    tcase_add_loop_test(tcase, a_bad_profile_is_refused_with_path_and_reason, 0,
                        (int)(sizeof refusals / sizeof *refusals));
    tcase_add_test(tcase, a_profile_with_more_steps_than_a_trie_holds_is_refused);
    tcase_add_loop_test(tcase, a_line_becomes_what_the_profile_says, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tcase, contents_are_equal_by_value_and_no_further);
    tcase_add_test(tcase, of_a_content_list_the_first_present_counts_and_null_is_present);
    tcase_add_loop_test(tcase, the_examples_of_the_format_page_come_out, 0,
                        (int)(sizeof examples / sizeof *examples));
    tcase_add_test(tcase, canonical_needs_an_id_and_nothing_else);
    tcase_add_test(tcase, the_message_of_a_trade_is_its_own_span);
    tcase_add_test(tcase, a_detail_says_what_is_missing);
    tcase_add_test(tcase, max_key_bytes_bounds_the_key_as_written);
    tcase_add_test(tcase, more_trades_than_allowed_make_the_whole_line_invalid);
    tcase_add_test(tcase, keys_beyond_the_32_bits_of_an_arena_make_the_whole_line_invalid);
    tcase_add_test(tcase, a_replayed_key_beyond_the_32_bits_of_an_arena_is_refused);
    tcase_add_test(tcase, depth_64_is_judged_and_65_is_too_deep);
    tcase_add_test(tcase, thousands_of_trades_and_700_kilobytes_are_one_line);
    tcase_add_test(tcase, a_line_in_the_middle_of_a_batch_is_judged_on_its_own);
    tcase_add_loop_test(tcase, replay_takes_what_an_export_holds_and_refuses_the_rest, 0,
                        (int)(sizeof replays / sizeof *replays));
    tcase_add_test(tcase, replay_passes_feed_fingerprint_and_message_on);
    tcase_add_test(tcase, a_feed_name_of_65_bytes_in_a_replay_is_refused);
    tcase_add_test(tcase, a_feed_has_a_name_of_its_file_and_says_whether_it_needs_a_source);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
