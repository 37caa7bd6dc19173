#include "base/histogram.h"

/* Values below 8 have a bucket each; above, the top bit picks the octave and the next three bits
 * one of its eight buckets. */
static unsigned bucket_of(uint64_t us)
{
    if (us < 8)
        return (unsigned)us;
    unsigned octave = 63 - (unsigned)__builtin_clzll(us);
    unsigned bucket = (octave - 2) * 8 + (unsigned)(us >> (octave - 3) & 7);

    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* The largest value that bucket b holds. */
static uint64_t upper_edge(unsigned b)
{
    if (b < 8)
        return b;
    unsigned octave = b / 8 + 2;

    return ((uint64_t)(8 + b % 8 + 1) << (octave - 3)) - 1;
}

void histogram_add(struct histogram *h, int64_t us, uint64_t times)
{
    uint64_t value = us < 0 ? 0 : (uint64_t)us;

    h->counts[bucket_of(value)] += times;
    h->n += times;
    h->sum_us += value * times;
    if (times && value > h->max_us)
        h->max_us = value;
}

double histogram_quantile_us(const struct histogram *h, double q)
{
    double rank = q * (double)h->n;
    uint64_t seen = 0;

    for (unsigned b = 0; b < HISTOGRAM_BUCKETS && h->n; b++) {
        seen += h->counts[b];
        if (seen && (double)seen >= rank) {
            uint64_t edge = upper_edge(b);

            return (double)(edge < h->max_us ? edge : h->max_us);
        }
    }
    return 0;
}

uint64_t histogram_count_up_to(const struct histogram *h, uint64_t us)
{
    uint64_t seen = 0;

    for (unsigned b = 0; b < HISTOGRAM_BUCKETS && upper_edge(b) <= us; b++)
        seen += h->counts[b];
    return seen;
}
