/* copies: bits of filters as they are at one moment, asked of the store thread and kept a while.
 *
 * The store thread gets to rest COPIES_REST times as long as each copy took it, so that pages cost ingest half a percent at
 * most. One thread at a time. */
#ifndef REPORT_COPIES_H
#define REPORT_COPIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/view.h"
#include "store/writer.h"

enum {
    COPIES_KEPT = 8, /* whole filters of up to VIEW_BITS_MAX bits: half a megabyte each */
    COPIES_REST = 200,
    COPIES_DEADLINE_MS = 2000,        /* for the store thread to answer */
    COPIES_AGE_MAX_US = 60 * 1000000, /* of any: bits that went bad, or were mended, count no keys */
};

struct copy {
    struct view view;
    int64_t taken_mono_us;
    uint64_t last_use;
};

struct copies {
    struct writer *writer;
    const _Atomic bool *stop; /* whoever waits is to give up */
    struct copy kept[COPIES_KEPT];
    uint64_t use_tick;
    int64_t rest_until_us; /* monotonic */
};

void copies_init(struct copies *copies, struct writer *writer, const _Atomic bool *stop);
void copies_done(struct copies *copies);

/* What the filter that *view names is now, without bits (view->missing: there is none). ERR_BUSY. */
int copies_look(struct copies *copies, struct view *view, struct err *err);

/* All bits of a filter that was looked at, at most VIEW_BITS_MAX of them; one that grows may be age_max_us old. *ret lives until
 * the next call. ERR_BUSY. */
int copies_whole(struct copies *copies, const struct view *looked, int64_t age_max_us,
                 const struct view **ret, struct err *err);

/* Bits [from, to) of it, or as many as are copied at a time; view_done *ret. ERR_BUSY, also when it is no
 * longer the same filter. */
int copies_piece(struct copies *copies, const struct view *looked, uint64_t from, uint64_t to,
                 struct view *ret, struct err *err);

#endif
