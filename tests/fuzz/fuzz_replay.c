/* Lines for the feed `replay`, against the same rules written over the second reader's tree; and what is
 * accepted, written as an export writes it, is accepted again as the same. */
#include <inttypes.h>
#include <string.h>

#include "fuzz.h"
#include "ingest/feed.h"
#include "judged.h"
#include "profiles.h"
#include "second.h"

enum { REPLAY = 1 };

static const struct feed_context context = {.max_key_bytes = 40, .max_trades_per_line = 1};
static const char *const names[] = {"key", "feed", "fingerprint", "message"};
enum { NAMES = sizeof names / sizeof *names };

/* What becomes of a line: a reason, or the values. */
struct expected {
    enum reason reason;
    const struct second_value *values[NAMES];
};

/* Why a value is no text without control characters, as if it were an ID. */
static enum reason judge_string(const struct second_value *value)
{
    if (!value || value->kind == SECOND_NULL)
        return REASON_ID_MISSING;
    if (value->kind != SECOND_STRING)
        return REASON_ID_TYPE;
    if (!value->text.len)
        return REASON_ID_MISSING;
    for (size_t i = 0; i < value->text.len; i++) {
        unsigned char c = (unsigned char)value->text.at[i];

        if (c < 0x20 || c == 0x7f)
            return REASON_ID_CONTROL_CHAR;
        if (c == 0xed && (unsigned char)value->text.at[i + 1] >= 0xa0)
            return REASON_BAD_UTF8;
    }
    return REASON_NONE;
}

static enum reason as_field(enum reason reason)
{
    switch (reason) {
    case REASON_ID_MISSING:
        return REASON_FIELD_MISSING;
    case REASON_ID_TYPE:
        return REASON_FIELD_TYPE;
    case REASON_ID_CONTROL_CHAR:
        return REASON_FIELD_CONTROL_CHAR;
    default:
        return reason;
    }
}

static enum reason judge_print(const struct second_value *value)
{
    if (!value || value->kind == SECOND_NULL)
        return REASON_FIELD_MISSING;
    /* Written without escapes: the raw span is as long as the text. */
    if (value->kind != SECOND_STRING || value->len != 18 || value->text.len != 16 ||
        strspn(value->text.at, "0123456789abcdefABCDEF") < 16)
        return REASON_FIELD_TYPE;
    return REASON_NONE;
}

static enum reason judge_members(const struct second_value *root, struct expected *expected)
{
    const struct second_value **values = expected->values;
    size_t n;

    if (root->kind != SECOND_OBJECT && root->kind != SECOND_ARRAY)
        return REASON_NOT_A_TRADE_OBJECT;
    for (size_t i = 0; i < NAMES && root->kind == SECOND_OBJECT; i++) {
        values[i] = second_member(root, names[i], strlen(names[i]), &n);
        if (n > 1)
            return REASON_DUPLICATE_MEMBER;
    }
    enum reason reason = judge_string(values[0]);

    if (!reason && values[0]->text.len > context.max_key_bytes)
        reason = REASON_ID_TOO_LONG;
    if (!reason)
        reason = as_field(judge_string(values[1]));
    if (!reason && values[1]->text.len > FEED_NAME_MAX)
        reason = REASON_FIELD_TYPE;
    return reason ? reason : judge_print(values[2]);
}

static struct expected expect(const struct second *second)
{
    static const enum reason reasons[] = {
        [SECOND_BAD_JSON] = REASON_BAD_JSON,
        [SECOND_BAD_UTF8] = REASON_BAD_UTF8,
        [SECOND_TOO_DEEP] = REASON_TOO_DEEP,
    };
    struct expected expected = {.reason = reasons[second->result]};

    if (second->result == SECOND_OK)
        expected.reason = judge_members(second->root, &expected);
    return expected;
}

static struct batch *judge(const char *line, size_t len)
{
    struct batch *batch = batch_open();

    text_reserve(&batch->bytes, 1);
    text_add(&batch->bytes, line, len);
    feed_judge(profiles_feed(REPLAY), &context, batch, 0, len, 1);
    judged_check(batch, 0, len, &context, true);
    return batch;
}

static void check_text(const struct batch *batch, size_t at, size_t len, const struct second_text *text)
{
    FUZZ_REQUIRE(len == text->len && memcmp(batch->arena.at + at, text->at, len) == 0);
}

static void check_accepted(const char *line, const struct batch *batch, const struct expected *expected)
{
    const struct batch_trade *trade = &batch->trades[0];
    const struct second_value *message = expected->values[3];
    bool kept = message && message->kind != SECOND_NULL;

    check_text(batch, trade->key_at, trade->key_len, &expected->values[0]->text);
    check_text(batch, trade->feed_at, trade->feed_len, &expected->values[1]->text);
    FUZZ_REQUIRE(trade->fingerprint == strtoull(expected->values[2]->text.at, NULL, 16));
    FUZZ_REQUIRE(trade->message_len == (kept ? message->len : 0));
    if (kept)
        FUZZ_REQUIRE(!memcmp(batch->bytes.at + trade->message_at, line + message->at, message->len));
}

static void add_export(struct text *out, const struct batch *batch)
{
    const struct batch_trade *trade = &batch->trades[0];

    text_add_str(out, "{\"seq\":1,\"key\":");
    text_add_json(out, batch_key(batch, trade), trade->key_len);
    text_add_str(out, ",\"feed\":");
    text_add_json(out, batch->arena.at + trade->feed_at, trade->feed_len);
    text_add_format(out, ",\"fingerprint\":\"%016" PRIx64 "\",\"message\":", trade->fingerprint);
    if (trade->message_len)
        text_add(out, batch->bytes.at + trade->message_at, trade->message_len);
    else
        text_add_str(out, "null");
    text_add_char(out, '}');
}

static void check_again(const struct batch *batch)
{
    const struct batch_trade *trade = &batch->trades[0];
    struct text line = {0};

    add_export(&line, batch);
    struct batch *again = judge(line.at, line.len);
    const struct batch_trade *other = &again->trades[0];

    FUZZ_REQUIRE(other->verdict == VERDICT_NONE && other->fingerprint == trade->fingerprint);
    FUZZ_REQUIRE(other->key_len == trade->key_len && other->feed_len == trade->feed_len);
    FUZZ_REQUIRE(!memcmp(batch_key(again, other), batch_key(batch, trade), trade->key_len));
    FUZZ_REQUIRE(other->message_len == trade->message_len);
    batch_close(again);
    text_done(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *line = (const char *)data;
    struct second second = second_read(line, size, SECOND_EXPORT_LEVELS);
    struct expected expected = expect(&second);
    struct batch *batch = judge(line, size);

    FUZZ_REQUIRE(batch->trades[0].reason == expected.reason);
    if (!expected.reason) {
        check_accepted(line, batch, &expected);
        check_again(batch);
    }
    batch_close(batch);
    second_done(&second);
    return 0;
}
