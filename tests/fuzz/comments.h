/* comments: what must hold of jsonc, which configuration and profiles share. */
#ifndef TESTS_FUZZ_COMMENTS_H
#define TESTS_FUZZ_COMMENTS_H

#include <stddef.h>

#include "base/err.h"
#include "base/text.h"

/* Blanks a copy of the text, against the obvious way to do it. Returns it, or an empty text and in
 * *ret_bad that a comment does not end. */
struct text comments_blank(const char *text, size_t len, int *ret_bad);

/* The text between two comments: means the same. */
struct text comments_wrap(const char *text, size_t len);

/* A refusal: a code, and one line that says why. */
void comments_check_refusal(int code, const struct err *err);

#endif
