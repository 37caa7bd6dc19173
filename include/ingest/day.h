/* day: the UTC day of a trade's time, for IDs that start again each day. Pure; any thread. */
#ifndef INGEST_DAY_H
#define INGEST_DAY_H

#include <stdbool.h>
#include <stddef.h>

enum day_unit { DAY_S, DAY_MS, DAY_US, DAY_NS, DAY_RFC3339 };

enum { DAY_TEXT_BYTES = 10 }; /* 2026-12-01 */

/* "s", "ms", "us", "ns", "rfc3339"; -1 for any other text. */
int day_unit_of(const char *text, size_t len);

/* The day of a moment, moved by shift_h hours: an integer since the epoch (may be negative), or an
 * RFC 3339 date-time with any offset and fraction. False, with ret untouched, when the text is neither
 * or the day is outside the years 0001 to 9999. ret is not terminated. */
bool day_of_text(const char *text, size_t len, enum day_unit unit, int shift_h,
                 char ret[DAY_TEXT_BYTES]);

#endif
