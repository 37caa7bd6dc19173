#include "ingest/replay.h"

#include "ingest/trade.h"

/* The members that are read; seq and received are the exporting store's, not ours. */
enum field { FIELD_KEY, FIELD_FEED, FIELD_FINGERPRINT, FIELD_MESSAGE, FIELDS };

static const struct {
    const char *name;
    size_t len;
} fields[FIELDS] = {{"key", 3}, {"feed", 4}, {"fingerprint", 11}, {"message", 7}};

enum {
    FINGERPRINT_DIGITS = 16,
    ENVELOPE_BYTES = 192, /* names, quotes, seq, fingerprint and received, with slack */
};

/* In a key or a feed's name no character takes more than two bytes for its one when it is escaped. */
size_t replay_envelope_bytes(size_t max_key_bytes)
{
    return ENVELOPE_BYTES + 2 * max_key_bytes + 2 * FEED_NAME_MAX;
}

static bool read_fingerprint(const struct scan_value *value, uint64_t *ret)
{
    uint64_t print = 0;

    if (value->kind != SCAN_STRING || value->len != FINGERPRINT_DIGITS + 2)
        return false;
    for (size_t i = 1; i <= FINGERPRINT_DIGITS; i++) {
        int digit = text_hex_digit(value->at[i]);

        if (digit < 0)
            return false;
        print = print << 4 | (uint64_t)digit;
    }
    *ret = print;
    return true;
}

/* Appends the decoded text of a string member; its reason as an ID_* code. */
static enum reason add_string(struct text *out, const struct scan_value *value)
{
    size_t at = out->len;

    if (value->kind == SCAN_NOTHING || value->kind == SCAN_NULL)
        return REASON_ID_MISSING;
    if (value->kind != SCAN_STRING)
        return REASON_ID_TYPE;
    scan_decode(value, out);
    if (at == out->len)
        return REASON_ID_MISSING;
    return trade_check_text(out->at + at, out->len - at, NULL);
}

static bool refuse_key(struct outcome *outcome, enum reason reason)
{
    static const char *const details[REASON_COUNT] = {
        [REASON_ID_MISSING] = "no key",
        [REASON_ID_TYPE] = "key is no string",
        [REASON_ID_CONTROL_CHAR] = "key holds a control character",
        [REASON_BAD_UTF8] = "key holds half a surrogate pair",
    };

    outcome_refuse_line(outcome, reason, "%s", details[reason]);
    return false;
}

static bool refuse_feed(struct outcome *outcome, enum reason reason)
{
    switch (reason) {
    case REASON_ID_MISSING:
        outcome_refuse_line(outcome, REASON_FIELD_MISSING, "no feed");
        break;
    case REASON_ID_CONTROL_CHAR:
        outcome_refuse_line(outcome, REASON_FIELD_CONTROL_CHAR, "feed holds a control character");
        break;
    case REASON_BAD_UTF8:
        outcome_refuse_line(outcome, REASON_BAD_UTF8, "feed holds half a surrogate pair");
        break;
    default:
        outcome_refuse_line(outcome, REASON_FIELD_TYPE, "feed is no string of 1 to %d bytes",
                            FEED_NAME_MAX);
    }
    return false;
}

static bool read_key(struct outcome *outcome, const struct scan_value *value,
                     const struct feed_context *context, struct batch_trade *ret)
{
    struct text *arena = &outcome->batch->arena;
    size_t at = arena->len;
    enum reason reason = add_string(arena, value);

    if (reason)
        return refuse_key(outcome, reason);
    if (arena->len - at > context->max_key_bytes) {
        outcome_refuse_line(outcome, REASON_ID_TOO_LONG, "the key has %zu bytes of at most %zu",
                            arena->len - at, context->max_key_bytes);
        return false;
    }
    ret->key_at = (uint32_t)at;
    ret->key_len = (uint32_t)(arena->len - at);
    return true;
}

static bool read_feed(struct outcome *outcome, const struct scan_value *value, struct batch_trade *ret)
{
    struct text *arena = &outcome->batch->arena;
    size_t at = arena->len;
    enum reason reason = add_string(arena, value);

    if (!reason && arena->len - at > FEED_NAME_MAX)
        reason = REASON_ID_TYPE;
    if (reason)
        return refuse_feed(outcome, reason);
    ret->feed_at = (uint32_t)at;
    ret->feed_len = (uint32_t)(arena->len - at);
    return true;
}

static bool read_trade(struct outcome *outcome, const struct scan_value *values,
                       const struct feed_context *context, struct batch_trade *ret)
{
    const struct scan_value *print = &values[FIELD_FINGERPRINT];

    if (!read_key(outcome, &values[FIELD_KEY], context, ret) ||
        !read_feed(outcome, &values[FIELD_FEED], ret))
        return false;
    if (print->kind == SCAN_NOTHING || print->kind == SCAN_NULL) {
        outcome_refuse_line(outcome, REASON_FIELD_MISSING, "no fingerprint");
        return false;
    }
    if (!read_fingerprint(print, &ret->fingerprint)) {
        outcome_refuse_line(outcome, REASON_FIELD_TYPE, "fingerprint is no string of %d hex digits",
                            FINGERPRINT_DIGITS);
        return false;
    }
    return true;
}

void replay_judge(struct outcome *outcome, const struct feed_context *context)
{
    struct scan_want want;
    struct scan_value values[FIELDS + 1]; /* the line, then the fields in order */
    struct batch_trade read = {0};

    scan_want_init(&want);
    want.depth_max = SCAN_WRAPPED_DEPTH_MAX; /* the message alone was as deep as a line may be */
    for (int i = 0; i < FIELDS; i++)
        scan_want_add(&want, 0, fields[i].name, fields[i].len);
    if (!outcome_scan(outcome, &want, values))
        return;
    if (values->kind != SCAN_OBJECT && values->kind != SCAN_ARRAY) {
        outcome_refuse_line(outcome, REASON_NOT_A_TRADE_OBJECT, "the line is no object");
        return;
    }
    for (int i = 0; i < FIELDS; i++)
        if (values[1 + i].twice) {
            outcome_refuse_line(outcome, REASON_DUPLICATE_MEMBER, "%s stands twice", fields[i].name);
            return;
        }
    if (!outcome_check_room(outcome, context->max_key_bytes + FEED_NAME_MAX) ||
        !read_trade(outcome, values + 1, context, &read))
        return;
    const struct scan_value *message = &values[1 + FIELD_MESSAGE];
    bool kept = message->kind != SCAN_NOTHING && message->kind != SCAN_NULL;
    struct batch_trade *trade = outcome_add(outcome, kept ? message : values);

    read.message_at = trade->message_at;
    read.message_len = kept ? trade->message_len : 0;
    *trade = read;
}
