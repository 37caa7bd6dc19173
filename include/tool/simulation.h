/* simulation: real filters (bloom.h) filled with random keys, and how they answer.
 *
 * One small filter deviates from the mean, so as many are filled, each with keys of its own, as a bounded
 * amount of work allows: few questions go to each, and the measured rate is that of the mathematics, with an
 * honest interval. The same options give the same figures. Pure; allocates its filter while it runs. */
#ifndef TOOL_SIMULATION_H
#define TOOL_SIMULATION_H

#include <stdint.h>

#include "store/bloom.h"

enum {
    SIMULATION_STEPS = 10,                      /* looks while a filter fills, */
    SIMULATION_ROWS_MAX = SIMULATION_STEPS + 1, /* and one at the load that the shape is best for */
    SIMULATION_FILTERS_MAX = 100000,
    SIMULATION_WORK =
        4 * 1024 * 1024, /* keys to insert, about a second: more than one filter only below */
};
#define SIMULATION_BITS_MAX   (UINT64_C(1) << 36)
#define SIMULATION_INSERT_MAX UINT64_C(10000000000)
#define SIMULATION_PROBE_MAX  UINT64_C(1000000000)

struct simulation_options {
    struct bloom_shape shape; /* 1 to SIMULATION_BITS_MAX bits */
    uint64_t insert;          /* keys, 1 to SIMULATION_INSERT_MAX */
    uint64_t probe; /* strangers asked in each row, over all filters, 1 to SIMULATION_PROBE_MAX */
    uint64_t seed;
    uint64_t work; /* SIMULATION_WORK, or less for less precision */
};

/* What the filters were like, and said, when so many keys were in. */
struct simulation_row {
    uint64_t keys;
    double fill_ratio; /* mean of all filters */
    double predicted;
    uint64_t asked, maybe;      /* strangers: keys that never go in */
    double measured, low, high; /* maybe / asked and its 95 % Wilson interval */
};

struct simulation {
    struct simulation_options options;
    uint64_t filters;
    struct simulation_row rows[SIMULATION_ROWS_MAX]; /* by keys; the last has options.insert */
    uint32_t rows_n;
    uint64_t members_asked, members_maybe; /* keys that are in: equal, or the filter is broken */
    /* Each key is a stranger before it goes in. How many keys were in when the first of them was answered
     * maybe: the least of all filters, and the filter in the middle; 0: none was. */
    uint64_t first_least, first_median;
};

/* The load that the shape is best for, rounded. */
uint64_t simulation_sized_for(struct bloom_shape shape);

void simulation_run(struct simulation *ret, const struct simulation_options *options);

/* Asks for the first n keys of filter number `filter` again; returns how many are answered maybe. */
uint64_t simulation_ask_members(const struct bloom *bloom, uint64_t seed, uint64_t filter, uint64_t n);

#endif
