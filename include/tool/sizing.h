/* sizing: how large filters must be for so many keys at such a rate: one filter for all of them, and what
 * the daemon sets up with them as filter.capacity and filter.false_positive_rate. Pure: the mathematics
 * is bloom.h's, the division of the rate among segments screen.h's. */
#ifndef TOOL_SIZING_H
#define TOOL_SIZING_H

#include <stdbool.h>
#include <stdint.h>

#include "store/bloom.h"

/* The highest rate: more asks for less than one position a key. */
#define SIZING_RATE_MAX 0.5
#define SIZING_KEYS_MAX UINT64_C(1000000000000000)

/* What the daemon takes in its configuration. */
enum { SIZING_GENERATIONS_MAX = 65536 }; /* of a segment */
#define SIZING_DAEMON_RATE_MIN 3e-9
#define SIZING_DAEMON_KEYS_MAX (UINT64_C(1) << 40)

/* Some of the daemon's filters, all of one shape. */
struct sizing_part {
    uint32_t hashes;
    double bits_per_key; /* for a full segment */
    uint64_t bytes;
};

struct sizing {
    uint64_t keys;
    double rate; /* in (0, SIZING_RATE_MAX] */
    struct bloom_shape shape;
    uint64_t bytes;
    double predicted;          /* of this shape: the formula for k is rounded to a whole number */
    bool fits_daemon;          /* both within the above; else the parts are empty */
    struct sizing_part active; /* the segment that is being written */
    struct sizing_part
        sealed; /* all keys, in sealed segments; their hashes and bits are a full one's */
};

/* segment_rows, generation_keys: store.segment_rows and store.generation_keys. */
struct sizing sizing_make(uint64_t keys, double rate, uint64_t segment_rows, uint32_t generation_keys);

/* At capacity: everything sealed, an empty segment to write to; and while a segment is being sealed, whose
 * filters of both kinds then stand side by side. */
uint64_t sizing_bytes(const struct sizing *sizing);
uint64_t sizing_bytes_max(const struct sizing *sizing);

#endif
