/* measure: what a Bloom filter of given keys says of strangers, found by asking: at every load on the way, and for
 * every number of positions. Pure; no locks.
 *
 * One pass does it. A stranger is answered maybe from the load on at which the last of its positions was set,
 * so the first key of each bit is all that is needed to know its answer at every load; and as the positions
 * of k are the first k of those of k + 1, the smallest k for which a bit is set does the same for every k. */
#ifndef REPORT_MEASURE_H
#define REPORT_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "store/bloom.h"

struct measure_point {
    uint64_t bits_set;
    uint64_t maybe; /* strangers answered maybe */
};

/* The strangers: keys that begin with U+0001, which no stored key does, and a number. */
struct bloom_hash measure_stranger(const unsigned char secret[BLOOM_KEY_BYTES], uint64_t number);

/* Who is asked: strangers 0 to n - 1, or fewer when it takes longer than until_us. */
struct measure_strangers {
    const unsigned char *secret; /* of the hash: BLOOM_KEY_BYTES */
    uint64_t n;
    int64_t until_us; /* monotonic; the first 4,096 are asked whatever the time */
};

/* As keys [0, n) go in: the points at loads[0] < loads[1] < ..., and in *ret_first_maybe the load at which the
 * first stranger was answered maybe, 0 when none was up to n. n < 2^32 - 1. Returns how many were asked. */
uint64_t measure_curve(struct bloom_shape shape, const struct bloom_hash *keys, size_t n,
                       const struct measure_strangers *strangers, const uint64_t *loads, size_t loads_n,
                       struct measure_point *ret, uint64_t *ret_first_maybe);

/* With all n keys and k = 1 to hashes_max positions: ret[k - 1]. Returns how many were asked. */
uint64_t measure_sweep(uint64_t bits, uint32_t hashes_max, const struct bloom_hash *keys, size_t n,
                       const struct measure_strangers *strangers, struct measure_point *ret);

/* How many strangers show a rate well: a hundred maybes expected, within bounds. */
uint64_t measure_strangers_for(double rate);

#endif
