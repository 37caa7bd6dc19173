/* merge: many streams of keys as one, in the order of (key, seq). Owns the cursors it was given. One
 * thread. Memory: what SQLite holds for each cursor, a page of 16 KiB and a statement. */
#ifndef STORE_MERGE_H
#define STORE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "store/segment.h"

struct merge {
    struct key_cursor *cursors; /* once ordered a binary heap, the smallest first */
    size_t n, cap;
};

void merge_done(struct merge *merge);

/* Takes a cursor over, unless it stands at its end: then it is closed. All before merge_order. */
void merge_add(struct merge *merge, struct key_cursor *cursor);
void merge_order(struct merge *merge);

/* The smallest; NULL when all are over. */
static inline struct key_cursor *merge_first(const struct merge *merge)
{
    return merge->n ? merge->cursors : NULL;
}

/* Steps the smallest. One that fails is closed, and the others go on. */
int merge_next(struct merge *merge, struct err *err);

/* memcmp's order of two keys, the shorter first. */
int merge_compare(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
