/* histogram: durations in log-linear buckets: 8 buckets an octave of microseconds, so that a
 * percentile is off by at most 12.5 %. Plain values; the caller guards them. */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 8 * 40 }; /* up to 2^40 us, 12 days; more counts in the last */

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t n;      /* durations added */
    uint64_t sum_us; /* their sum, microseconds */
    uint64_t max_us; /* the longest, exactly */
};

/* Adds `times` equal durations of us microseconds (negative ones count as 0). */
void histogram_add(struct histogram *h, int64_t us, uint64_t times);

/* The upper edge in microseconds, never above max_us, of the bucket that holds fraction q (0 to 1);
 * 0 when empty. */
double histogram_quantile_us(const struct histogram *h, double q);

/* How many durations were at most `us` microseconds, to bucket precision. */
uint64_t histogram_count_up_to(const struct histogram *h, uint64_t us);

#endif
