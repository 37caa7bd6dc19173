/* view: one Bloom filter as it is at one moment between two commits: a copy of its bits, or of some, with
 * what it was made of. Made on the store thread, read on any. */
#ifndef STORE_VIEW_H
#define STORE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "store/bloom.h"
#include "store/figures.h"

enum {
    VIEW_BITS_MAX = 1 << 22, /* copied at a time: some milliseconds */
    VIEW_NEWEST = -1,        /* as a generation: the newest, or the sealed segment's filter */
};

struct view {
    char segment[SEGMENT_NAME_MAX]; /* "" asks for the active one */
    int64_t generation;             /* -1 in an answer: the one filter of a sealed segment */
    uint64_t from, to;              /* bits [from, to), cut to what there is and to VIEW_BITS_MAX */
    /* the answer */
    const char *missing; /* why there is no such filter, static; NULL: what follows is filled */
    bool growing;        /* it takes keys still */
    struct bloom_shape shape;
    uint64_t keys, bits_set;
    uint64_t sized_for;                    /* keys at which it is full */
    int64_t first_seq, end_seq;            /* its stored keys are the rows [first, end) */
    unsigned char secret[BLOOM_KEY_BYTES]; /* of the hash */
    int64_t taken_us;                      /* wall clock */
    uint64_t *words;                       /* bit i of them is bit from + i; owned */
};

void view_done(struct view *view);

static inline bool view_bit(const struct view *view, uint64_t bit)
{
    return view->words[(bit - view->from) / 64] >> (bit - view->from) % 64 & 1;
}

/* How many of its bits [from, to) are 1. */
uint64_t view_count(const struct view *view, uint64_t from, uint64_t to);

#endif
