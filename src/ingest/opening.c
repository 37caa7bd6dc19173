#include "ingest/opening.h"

#include <stdbool.h>
#include <string.h>

#include "ingest/scan.h"

static bool is_opening_name(const struct scan_value *name)
{
    return scan_string_is(name, "tradesieve", strlen("tradesieve"));
}

/* The value of the only member of an accepted object, and its name; false if it has none or several. */
static bool only_member(const struct scan_value *object, struct scan_value *ret_name,
                        struct scan_value *ret_value)
{
    struct scan_value name, value;
    size_t cursor = 0;

    return scan_next_member(object, &cursor, ret_name, ret_value) &&
           !scan_next_member(object, &cursor, &name, &value);
}

static bool read_mode(const struct scan_value *value, enum ack_mode *ret)
{
    if (value->kind != SCAN_STRING)
        return false;
    for (enum ack_mode mode = ACK_EACH; mode <= ACK_NONE; mode++) {
        const char *name = ack_mode_name(mode);

        if (scan_string_is(value, name, strlen(name))) {
            *ret = mode;
            return true;
        }
    }
    return false;
}

enum opening_result opening_read(const char *line, size_t len, enum ack_mode *ret_mode,
                                 const char **ret_detail)
{
    struct scan_value root, name, value, ack;
    struct scan_want want;

    scan_want_init(&want);
    if (scan_text(line, len, &want, &root, NULL) != SCAN_OK || root.kind != SCAN_OBJECT ||
        !only_member(&root, &name, &value) || !is_opening_name(&name))
        return OPENING_NONE;
    if (value.kind != SCAN_OBJECT || !only_member(&value, &name, &ack) ||
        !scan_string_is(&name, "ack", strlen("ack"))) {
        *ret_detail = "tradesieve is not an object with the member ack alone";
        return OPENING_BAD;
    }
    if (!read_mode(&ack, ret_mode)) {
        *ret_detail = "ack is none of each, batch, none";
        return OPENING_BAD;
    }
    return OPENING_GOOD;
}

void opening_add_reply(struct text *out, enum ack_mode mode, const char *feed)
{
    text_add_str(out, "{\"tradesieve\":{\"version\":\"" TRADESIEVE_VERSION "\",\"ack\":\"");
    text_add_str(out, ack_mode_name(mode));
    text_add_str(out, "\",\"feed\":");
    text_add_json(out, feed, strlen(feed));
    text_add_str(out, "}}");
}

void opening_add_refusal(struct text *out, uint64_t line_number, const char *detail)
{
    text_add_str(out, "{\"line\":");
    text_add_u64(out, line_number);
    text_add_str(out, ",\"verdict\":\"invalid\",\"error\":\"");
    text_add_str(out, reason_name(REASON_BAD_OPENING));
    text_add_str(out, "\",\"detail\":");
    text_add_json(out, detail, strlen(detail));
    text_add_char(out, '}');
}
