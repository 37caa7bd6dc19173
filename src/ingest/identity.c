#include "ingest/identity.h"

#include <string.h>

#include "ingest/day.h"
#include "ingest/trade.h"

/* Parts are built with the ID_* codes; a part that is not the last, the ID, has FIELD_* codes instead
 * (field_reason). */

static enum reason add_part(struct text *arena, const struct profile_part *part,
                            const struct feed_context *context, bool first,
                            const struct scan_value *value);
static void explain(const struct profile_part *part, const struct scan_value *value, bool last,
                    enum reason reason, struct identity_fault *ret);

enum reason identity_add_key(struct text *arena, const struct profile *profile,
                             const struct feed_context *context, const struct profile_values *values,
                             struct identity_fault *ret_fault)
{
    size_t at = arena->len;

    for (unsigned i = 0; i < profile->parts_n; i++) {
        const struct profile_part *part = &profile->parts[i];
        const struct scan_value *value = profile_choose(&part->from, values, true);
        bool last = i + 1 == profile->parts_n;
        size_t part_at = arena->len + (i > 0);
        enum reason reason = add_part(arena, part, context, !i, value);

        if (!reason && last && arena->len == part_at)
            reason = REASON_ID_MISSING;
        if (reason) {
            arena->len = at;
            explain(part, value, last, reason, ret_fault);
            return ret_fault->reason;
        }
    }
    if (arena->len - at <= context->max_key_bytes)
        return REASON_NONE;
    arena->len = at;
    *ret_fault =
        (struct identity_fault){REASON_ID_TOO_LONG, "the key is longer than max_key_bytes", ""};
    return REASON_ID_TOO_LONG;
}

static enum reason add_chosen(struct text *arena, const struct profile_part *part, bool first,
                              const struct scan_value *value)
{
    if (part->text.at && (value->kind == SCAN_NOTHING || value->kind == SCAN_NULL))
        return trade_add_part_bytes(arena, first, part->text.at, part->text.len);
    return trade_add_part(arena, first, value);
}

static bool is_inside_character(const char *text, size_t len, size_t at)
{
    return at < len && ((unsigned char)text[at] & 0xc0) == 0x80;
}

static enum reason add_prefix(struct text *arena, const struct profile_part *part, bool first,
                              const struct scan_value *value)
{
    if (!first)
        text_add_char(arena, '/');
    size_t at = arena->len;
    enum reason reason = trade_add_part_text(arena, value);

    if (reason)
        return reason;
    if (arena->len - at < part->prefix_bytes)
        return REASON_ID_MISSING;
    if (is_inside_character(arena->at + at, arena->len - at, part->prefix_bytes))
        return REASON_ID_TYPE;
    arena->len = at + part->prefix_bytes;
    return trade_end_part(arena, at);
}

static enum reason add_day(struct text *arena, const struct profile_part *part, bool first,
                           const struct scan_value *value)
{
    size_t at = arena->len;
    char day[DAY_TEXT_BYTES];
    enum reason reason = trade_add_part_text(arena, value);

    if (reason)
        return reason;
    bool found = arena->len > at && (value->kind == SCAN_STRING || part->unit != DAY_RFC3339) &&
                 day_of_text(arena->at + at, arena->len - at, part->unit, part->shift_h, day);

    arena->len = at;
    return found ? trade_add_part_bytes(arena, first, day, sizeof day) : REASON_ID_TYPE;
}

/* value: what the part's paths found. */
static enum reason add_part(struct text *arena, const struct profile_part *part,
                            const struct feed_context *context, bool first,
                            const struct scan_value *value)
{
    if (value->twice)
        return REASON_DUPLICATE_MEMBER;
    switch (part->kind) {
    case PART_PATH:
        return add_chosen(arena, part, first, value);
    case PART_CONST:
        return trade_add_part_bytes(arena, first, part->text.at, part->text.len);
    case PART_SOURCE:
        return trade_add_part_bytes(arena, first, context->source, strlen(context->source));
    case PART_PREFIX:
        return add_prefix(arena, part, first, value);
    case PART_UTC_DAY:
        return add_day(arena, part, first, value);
    }
    return REASON_ID_TYPE;
}

/* The codes of parts that are not the ID. */
static enum reason field_reason(enum reason reason)
{
    switch (reason) {
    case REASON_ID_MISSING:
        return REASON_FIELD_MISSING;
    case REASON_ID_TYPE:
        return REASON_FIELD_TYPE;
    case REASON_ID_NOT_INTEGER:
        return REASON_FIELD_NOT_INTEGER;
    case REASON_ID_CONTROL_CHAR:
        return REASON_FIELD_CONTROL_CHAR;
    default:
        return reason;
    }
}

/* What is wrong with a part, in words that its path follows. */
static const char *part_sentence(const struct profile_part *part, const struct scan_value *value,
                                 enum reason reason)
{
    switch (reason) {
    case REASON_ID_MISSING:
        if (value->kind == SCAN_NOTHING)
            return "no member ";
        if (value->kind == SCAN_NULL)
            return "null at ";
        return part->kind == PART_PREFIX ? "too short for its prefix: " : "an empty string at ";
    case REASON_ID_TYPE:
        if (part->kind == PART_UTC_DAY)
            return "no time of the years 1 to 9999 at ";
        if (part->kind == PART_PREFIX && value->kind == SCAN_STRING)
            return "the prefix ends inside a character at ";
        return "neither a string nor an integer at ";
    case REASON_ID_NOT_INTEGER:
        return "a number that is no integer at ";
    case REASON_ID_CONTROL_CHAR:
        return "a control character at ";
    case REASON_DUPLICATE_MEMBER:
        return "it stands twice: ";
    default:
        return "half a surrogate pair at ";
    }
}

static void explain(const struct profile_part *part, const struct scan_value *value, bool last,
                    enum reason reason, struct identity_fault *ret)
{
    ret->reason = last ? reason : field_reason(reason);
    ret->sentence = part_sentence(part, value, reason);
    ret->label = part->from.label ? part->from.label : "the source";
}

enum reason identity_fingerprint(struct text *arena, const struct profile *profile,
                                 const struct profile_values *values, uint64_t *ret,
                                 struct identity_fault *ret_fault)
{
    size_t at = arena->len;

    for (unsigned i = 0; i < profile->content_n; i++) {
        const struct profile_content *content = &profile->content[i];
        const struct scan_value *value = profile_choose(&content->from, values, false);

        if (value->twice) {
            arena->len = at;
            *ret_fault = (struct identity_fault){REASON_DUPLICATE_MEMBER,
                                                 "it stands twice: ", content->from.label};
            return REASON_DUPLICATE_MEMBER;
        }
        if (content->decimal)
            trade_add_content_decimal(arena, value);
        else
            trade_add_content(arena, value);
    }
    *ret = trade_fingerprint(arena->at + at, arena->len - at);
    arena->len = at;
    return REASON_NONE;
}
