#include "ingest/trade.h"

#include <sodium.h>
#include <string.h>

/* docs/format.md, "Identity", says byte by byte what this file writes. Both forms are on disks: they
 * do not change. */

enum piece_tag { PIECE_ABSENT = 'a', PIECE_TEXT = 't', PIECE_DECIMAL = 'd' };

enum {
    PIECE_HEADER_BYTES = 5,   /* tag, length */
    DECIMAL_EXTRA_BYTES = 32, /* sign, 'e' and exponent of a canonical decimal at most */
    EXPONENT_DIGITS_MAX = 18, /* more do not fit the arithmetic: such a decimal is a text */
};

static const unsigned char print_key[crypto_shorthash_KEYBYTES + 1] = "tradesieve-print";

/* Keys */

enum reason trade_check_text(const char *text, size_t len, size_t *ret_escapes)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t escapes = 0;

    for (size_t i = 0; i < len; i++) {
        if (at[i] < 0x20 || at[i] == 0x7f)
            return REASON_ID_CONTROL_CHAR;
        if (at[i] == 0xed && i + 1 < len && at[i + 1] >= 0xa0)
            return REASON_BAD_UTF8; /* the generalised bytes of a lone surrogate */
        escapes += at[i] == '%' || at[i] == '/';
    }
    if (ret_escapes)
        *ret_escapes = escapes;
    return REASON_NONE;
}

/* Widens [at, len) from its end, so that it can stay where it is. */
static void escape_in_place(struct text *out, size_t at, size_t escapes)
{
    size_t from = out->len;

    text_reserve(out, escapes * 2);
    out->len += escapes * 2;
    for (size_t to = out->len; from > at;) {
        char c = out->at[--from];

        if (c == '%' || c == '/') {
            to -= 3;
            memcpy(out->at + to, c == '%' ? "%25" : "%2F", 3);
        } else {
            out->at[--to] = c;
        }
    }
}

enum reason trade_end_part(struct text *out, size_t at)
{
    size_t escapes = 0;

    if (at == out->len)
        return REASON_NONE;
    enum reason reason = trade_check_text(out->at + at, out->len - at, &escapes);

    if (!reason && escapes)
        escape_in_place(out, at, escapes);
    return reason;
}

static bool is_integer(const struct scan_value *number)
{
    size_t i = number->at[0] == '-';

    if (i && number->at[1] == '0')
        return false; /* -0, and -0.5 */
    while (i < number->len && number->at[i] >= '0' && number->at[i] <= '9')
        i++;
    return i == number->len;
}

enum reason trade_add_part_text(struct text *out, const struct scan_value *value)
{
    switch (value->kind) {
    case SCAN_NOTHING:
    case SCAN_NULL:
        return REASON_ID_MISSING;
    case SCAN_STRING:
        scan_decode(value, out); /* a lone surrogate is found by trade_end_part */
        return REASON_NONE;
    case SCAN_NUMBER:
        if (!is_integer(value))
            return REASON_ID_NOT_INTEGER;
        text_add(out, value->at, value->len);
        return REASON_NONE;
    default:
        return REASON_ID_TYPE;
    }
}

enum reason trade_add_part(struct text *out, bool first, const struct scan_value *value)
{
    size_t before = out->len;

    if (!first)
        text_add_char(out, '/');
    size_t at = out->len;
    enum reason reason = trade_add_part_text(out, value);

    if (!reason)
        reason = trade_end_part(out, at);
    if (reason)
        out->len = before;
    return reason;
}

enum reason trade_add_part_bytes(struct text *out, bool first, const char *bytes, size_t len)
{
    size_t before = out->len;

    if (!first)
        text_add_char(out, '/');
    size_t at = out->len;

    text_add(out, bytes, len);
    enum reason reason = trade_end_part(out, at);

    if (reason)
        out->len = before;
    return reason;
}

/* Content */

static void put_header(char *at, enum piece_tag tag, size_t len)
{
    at[0] = (char)tag;
    for (int i = 1; i < PIECE_HEADER_BYTES; i++, len >>= 8)
        at[i] = (char)(len & 0xff);
}

void trade_add_content(struct text *out, const struct scan_value *value)
{
    size_t header = out->len;

    if (value->kind == SCAN_NOTHING || value->kind == SCAN_NULL) {
        text_add_char(out, PIECE_ABSENT);
        return;
    }
    text_reserve(out, PIECE_HEADER_BYTES);
    out->len += PIECE_HEADER_BYTES;
    if (value->kind == SCAN_STRING)
        scan_decode(value, out);
    else
        text_add(out, value->at, value->len);
    put_header(out->at + header, PIECE_TEXT, out->len - header - PIECE_HEADER_BYTES);
}

/* A number as sign, digits and power of ten: the digits begin and end with a digit that is not 0 and
 * may have one point between them. */
struct decimal {
    bool negative;
    const char *digits; /* first digit that is not 0; NULL: the value is 0 */
    size_t len;         /* bytes up to the last one that is not 0, a point among them counted */
    int64_t exponent;   /* of the last digit */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* [+-]? digits at [at, end), nothing else. False too when the number is too long for arithmetic. */
static bool read_exponent(const char *at, const char *end, int64_t *ret, bool *ret_too_long)
{
    bool negative = at < end && *at == '-';

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at == end)
        return false;
    for (const char *i = at; i < end; i++)
        if (!is_digit(*i))
            return false;
    while (at < end && *at == '0')
        at++;
    *ret_too_long = end - at > EXPONENT_DIGITS_MAX;
    *ret = 0;
    for (; !*ret_too_long && at < end; at++)
        *ret = *ret * 10 + (*at - '0');
    if (negative)
        *ret = -*ret;
    return true;
}

/* Digits with at most one point, up to end or an exponent. Returns where they end, NULL for none. */
static const char *read_mantissa(const char *at, const char *end, struct decimal *ret)
{
    const char *point = NULL, *first = NULL, *last = NULL;
    bool any = false;

    for (; at < end && (is_digit(*at) || (*at == '.' && !point)); at++) {
        if (*at == '.') {
            point = at;
            continue;
        }
        any = true;
        if (*at == '0')
            continue;
        first = first ? first : at;
        last = at;
    }
    ret->digits = first;
    if (first) {
        ret->len = (size_t)(last + 1 - first);
        ret->exponent = !point ? at - last - 1 : point > last ? point - last - 1 : point - last;
    }
    return any ? at : NULL;
}

static bool read_decimal(const char *at, const char *end, struct decimal *ret)
{
    int64_t exponent = 0;
    bool too_long = false;

    *ret = (struct decimal){.negative = at < end && *at == '-'};
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    at = read_mantissa(at, end, ret);
    if (!at)
        return false;
    if (at < end && *at != 'e' && *at != 'E')
        return false;
    if (at < end && !read_exponent(at + 1, end, &exponent, &too_long))
        return false;
    ret->exponent += exponent;
    return !ret->digits || !too_long;
}

/* "0", or sign, digits, 'e' and the power of ten. */
static void add_decimal(struct text *out, const struct decimal *decimal)
{
    if (!decimal->digits) {
        text_add_char(out, '0');
        return;
    }
    if (decimal->negative)
        text_add_char(out, '-');
    char *to = text_reserve(out, decimal->len), *at = to;

    for (size_t i = 0; i < decimal->len; i++)
        if (decimal->digits[i] != '.')
            *at++ = decimal->digits[i];
    out->len += (size_t)(at - to);
    text_add_char(out, 'e');
    text_add_i64(out, decimal->exponent);
}

void trade_add_content_decimal(struct text *out, const struct scan_value *value)
{
    size_t before = out->len;
    struct decimal decimal;

    if (value->kind != SCAN_NUMBER && value->kind != SCAN_STRING) {
        trade_add_content(out, value);
        return;
    }
    /* The text stands behind the room for its canonical form; reserved once, nothing moves. */
    size_t room = PIECE_HEADER_BYTES + value->len + DECIMAL_EXTRA_BYTES;

    text_reserve(out, room + value->len);
    out->len += room;
    if (value->kind == SCAN_STRING)
        scan_decode(value, out);
    else
        text_add(out, value->at, value->len);
    bool is_decimal = read_decimal(out->at + before + room, out->at + out->len, &decimal);

    out->len = before;
    if (!is_decimal) {
        trade_add_content(out, value);
        return;
    }
    out->len += PIECE_HEADER_BYTES;
    add_decimal(out, &decimal);
    put_header(out->at + before, PIECE_DECIMAL, out->len - before - PIECE_HEADER_BYTES);
}

uint64_t trade_fingerprint(const char *content, size_t len)
{
    unsigned char hash[crypto_shorthash_BYTES];
    uint64_t print = 0;

    crypto_shorthash(hash, (const unsigned char *)content, len, print_key);
    for (size_t i = sizeof hash; i-- > 0;)
        print = print << 8 | hash[i];
    return print;
}
