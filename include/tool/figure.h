/* figure: numbers and foreign text as people read them in a terminal. Pure. */
#ifndef TOOL_FIGURE_H
#define TOOL_FIGURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* 1,234,567, right-aligned in `width` columns (0: as wide as it is). */
void figure_add_count(struct text *out, uint64_t n, unsigned width);

/* 999, 1.23k, 98.1k, 1.23M, ...: three significant digits, at most five characters. */
void figure_add_short(struct text *out, double n);

/* A rate from 0 to 1 as a percentage with three significant digits: 0.0123 %, 12.3 %, 0 %; below the
 * millionth part of a percent: < 0.000001 %. */
void figure_add_percent(struct text *out, double rate);

/* 512 B, 1.5 KiB, 34.0 MiB, ... */
void figure_add_bytes(struct text *out, double bytes);

/* 120 B, 1.20 KB, 34.0 MB, ...: powers of 1000, three significant digits, as textbooks count memory. */
void figure_add_decimal_bytes(struct text *out, double bytes);

/* 12.5 s, 3 min 20 s, 4 h 10 min, 2 d 3 h. */
void figure_add_duration(struct text *out, double seconds);

/* [######......], `fraction` (0 to 1) of `cells` filled. */
void figure_add_bar(struct text *out, double fraction, unsigned cells);

/* Moves what was added since `begin`, ASCII, to the right end of `width` columns. */
void figure_align_right(struct text *out, size_t begin, size_t width);

/* Text from elsewhere, so that it cannot steer the terminal: control characters, C1 ones included, are
 * written \xNN, and so are bytes that are no UTF-8. */
void figure_add_foreign(struct text *out, const char *at, size_t len);

#endif
