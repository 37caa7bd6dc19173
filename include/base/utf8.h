/* utf8: well-formed UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, at most U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of the well-formed character that [at, at + len) begins with, 1 to 4; 0 if there is none. */
static inline size_t utf8_length(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;

    if (!len)
        return 0;
    if (at[0] < 0x80)
        return 1;
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 0;
    if (at[0] < 0xe0)
        return len >= 2 && (at[1] & 0xc0) == 0x80 ? 2 : 0;
    if (len < 3 || (at[1] & 0xc0) != 0x80 || (at[2] & 0xc0) != 0x80)
        return 0;
    if (at[0] < 0xf0)
        return (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ? 0 : 3;
    if (len < 4 || (at[3] & 0xc0) != 0x80)
        return 0;
    return (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f) ? 0 : 4;
}

/* Writes the code point (at most U+10FFFF; a lone surrogate gets its generalised three bytes) to
 * ret[0..3]; returns how many bytes. */
static inline size_t utf8_encode(uint32_t code, char *ret)
{
    if (code < 0x80) {
        ret[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        ret[0] = (char)(0xc0 | code >> 6);
        ret[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        ret[0] = (char)(0xe0 | code >> 12);
        ret[1] = (char)(0x80 | (code >> 6 & 0x3f));
        ret[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    ret[0] = (char)(0xf0 | code >> 18);
    ret[1] = (char)(0x80 | (code >> 12 & 0x3f));
    ret[2] = (char)(0x80 | (code >> 6 & 0x3f));
    ret[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

#endif
