/* jsonc: JSON with comments, as configuration and profiles may have them. Pure; any thread. */
#ifndef BASE_JSONC_H
#define BASE_JSONC_H

#include <stddef.h>

#include "base/err.h"

/* Blanks // and slash-star comments outside strings with spaces, in place; line feeds stay, so that
 * offsets and line numbers do too. ERR_CONFIG with the line of a comment that does not end. */
int jsonc_blank_comments(char *text, size_t len, struct err *err);

/* The number, from 1, of the line in which text[at] stands, or ends if at is the end. */
int jsonc_line_at(const char *text, size_t at);

/* ERR_CONFIG for text, its comments blanked, that is `what` ("not JSON") at text[at]: with line, column
 * (in characters, from 1) and what stands there, or that the file is empty. Returns the code. */
int jsonc_refuse(const char *text, size_t len, size_t at, const char *what, struct err *err);

#endif
