/* keysets: the hashes of the keys that a filter holds, in seq order, read from SQLite when somebody asks and kept.
 *
 * Read-only connections of our own, opened for one reading, in transactions of some thousand rows, so that no checkpoint
 * waits for long. What is there already is never read again: a growing filter's set grows behind it. One thread at a
 * time. */
#ifndef REPORT_KEYSETS_H
#define REPORT_KEYSETS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/view.h"

enum {
    KEYSETS_KEPT = 4,
    KEYSETS_KEYS_MAX = 1 << 20, /* of one filter; 16 bytes each */
    KEYSETS_READ_MS = 2000,     /* a reading ends then, and goes on with the next question */
};

struct keyset {
    char segment[SEGMENT_NAME_MAX];
    int64_t generation;
    int64_t first_seq; /* hashes[i] is of the trade first_seq + i */
    struct bloom_hash *hashes;
    size_t n, cap;
    uint64_t last_use;
};

struct keysets {
    const char *data_dir;
    const _Atomic bool *stop; /* a reading is to end */
    struct keyset kept[KEYSETS_KEPT];
    uint64_t use_tick;
};

void keysets_init(struct keysets *keysets, const char *data_dir, const _Atomic bool *stop);
void keysets_done(struct keysets *keysets);

/* The hashes of a filter's stored keys, *ret_n of them, all up to view->end_seq unless a bound was met. They live until the
 * next call. ERR_BUSY, ERR_CORRUPT, ERR_IO, ERR_SYSTEM. */
int keysets_read(struct keysets *keysets, const struct view *view, const struct bloom_hash **ret,
                 size_t *ret_n, struct err *err);

#endif
