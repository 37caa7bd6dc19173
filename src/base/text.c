#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { TEXT_FIRST_BYTES = 256 };

void text_done(struct text *text)
{
    free(text->at);
    *text = (struct text){0};
}

char *text_reserve(struct text *text, size_t more)
{
    if (text->cap - text->len < more) {
        size_t cap = text->cap ? text->cap : TEXT_FIRST_BYTES;

        while (cap - text->len < more)
            cap *= 2;
        text->at = mem_realloc(text->at, cap, 1);
        text->cap = cap;
    }
    return text->at + text->len;
}

void text_add(struct text *text, const void *bytes, size_t len)
{
    if (!len)
        return;
    memcpy(text_reserve(text, len), bytes, len);
    text->len += len;
}

void text_add_str(struct text *text, const char *str)
{
    text_add(text, str, strlen(str));
}

void text_add_char(struct text *text, char c)
{
    *text_reserve(text, 1) = c;
    text->len++;
}

void text_add_u64(struct text *text, uint64_t n)
{
    char digits[20];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    text_add(text, digits + at, sizeof digits - at);
}

void text_add_i64(struct text *text, int64_t n)
{
    if (n < 0)
        text_add_char(text, '-');
    text_add_u64(text, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void text_add_double(struct text *text, double value)
{
    char digits[40];

    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_add_str(text, digits);
}

void text_add_hex64(struct text *text, uint64_t n)
{
    char *at = text_reserve(text, 16);

    for (int i = 15; i >= 0; i--, n >>= 4)
        at[i] = "0123456789abcdef"[n & 15];
    text->len += 16;
}

void text_add_format(struct text *text, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(text_reserve(text, TEXT_FIRST_BYTES), TEXT_FIRST_BYTES, format, args);

    va_end(args);
    if (n >= TEXT_FIRST_BYTES)
        vsnprintf(text_reserve(text, (size_t)n + 1), (size_t)n + 1, format, again);
    va_end(again);
    text->len += n > 0 ? (size_t)n : 0;
}

static void add_escaped(struct text *text, unsigned char c)
{
    switch (c) {
    case '"':
        text_add(text, "\\\"", 2);
        return;
    case '\\':
        text_add(text, "\\\\", 2);
        return;
    case '\n':
        text_add(text, "\\n", 2);
        return;
    case '\r':
        text_add(text, "\\r", 2);
        return;
    case '\t':
        text_add(text, "\\t", 2);
        return;
    default:
        text_add_format(text, "\\u%04x", c);
    }
}

void text_add_json(struct text *text, const char *bytes, size_t len)
{
    size_t at = 0;

    text_add_char(text, '"');
    while (at < len) {
        unsigned char c = (unsigned char)bytes[at];

        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) {
            add_escaped(text, c);
            at++;
            continue;
        }
        size_t n = utf8_length(bytes + at, len - at);

        if (n)
            text_add(text, bytes + at, n);
        else
            text_add(text, "\xef\xbf\xbd", 3);
        at += n ? n : 1;
    }
    text_add_char(text, '"');
}

void text_put_digits(char *at, int n, int64_t value)
{
    for (int i = n - 1; i >= 0; i--, value /= 10)
        at[i] = (char)('0' + value % 10);
}

void text_add_time_us(struct text *text, int64_t us)
{
    int64_t days = clock_day_of_us(us);
    int64_t rest = us - days * 86400000000;
    char *at = text_reserve(text, 27);
    int year, month, day;

    clock_date_from_days(days, &year, &month, &day);
    memcpy(at, "0000-00-00T00:00:00.000000Z", 27);
    text_put_digits(at, 4, year);
    text_put_digits(at + 5, 2, month);
    text_put_digits(at + 8, 2, day);
    text_put_digits(at + 11, 2, rest / 3600000000);
    text_put_digits(at + 14, 2, rest / 60000000 % 60);
    text_put_digits(at + 17, 2, rest / 1000000 % 60);
    text_put_digits(at + 20, 6, rest % 1000000);
    text->len += 27;
}

const char *text_terminate(struct text *text)
{
    *text_reserve(text, 1) = '\0';
    return text->at;
}
