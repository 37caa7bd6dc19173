/* text: a growing byte string, for replies, keys and JSON.
 *
 * The caller owns the struct (zero bytes are an empty text) and calls text_done. Appending grows the
 * buffer by doubling and never fails (mem.h). Not shared between threads. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
    char *at;   /* bytes [0, len) are filled; not terminated unless text_terminate was called */
    size_t len; /* bytes filled */
    size_t cap; /* bytes allocated */
};

void text_done(struct text *text); /* frees the buffer; the struct is an empty text again */

/* Makes room for `more` bytes behind len; returns where they start. */
char *text_reserve(struct text *text, size_t more);

void text_add(struct text *text, const void *bytes, size_t len);
void text_add_str(struct text *text, const char *str);
void text_add_char(struct text *text, char c);
void text_add_u64(struct text *text, uint64_t n);
void text_add_i64(struct text *text, int64_t n);
void text_add_double(struct text *text, double value); /* fewest digits that read back; finite */
void text_add_hex64(struct text *text, uint64_t n);    /* 16 lower-case digits */
void text_add_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The last n decimal digits of value, which is not negative, at [at, at + n): zeros before it. */
void text_put_digits(char *at, int n, int64_t value);

/* The value of a hexadecimal digit of either case, -1 for any other character. */
static inline int text_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A JSON string, quotes included; control characters escaped, bytes that are no UTF-8 become U+FFFD. */
void text_add_json(struct text *text, const char *bytes, size_t len);

/* 2026-12-01T14:30:00.123456Z from microseconds since the epoch, UTC. */
void text_add_time_us(struct text *text, int64_t us);

/* Puts a NUL behind len (not counted) and returns the C string, valid until the next append. */
const char *text_terminate(struct text *text);

#endif
