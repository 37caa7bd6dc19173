/* figures: what the store side knows about itself, as plain values to be copied between threads. */
#ifndef STORE_FIGURES_H
#define STORE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/histogram.h"

enum { SEGMENT_NAME_MAX = 40 }; /* "trades-20261201-000001" and its NUL */

enum store_state { STORE_STARTING, STORE_READY, STORE_FULL, STORE_FAILED };

/* One live Bloom filter: a column of a bank (generation >= 0) or a sealed segment's (-1). */
struct filter_figures {
    uint64_t bits; /* m */
    uint64_t bits_set;
    uint64_t keys;        /* added, ghosts of rolled-back transactions included: the load */
    uint32_t hashes;      /* k */
    double predicted_fpr; /* (1 - e^(-kn/m))^k */
};

struct generation_figures {
    char segment[SEGMENT_NAME_MAX];
    uint32_t generation;
    struct filter_figures filter;
};

struct segment_figures {
    char segment[SEGMENT_NAME_MAX];
    const char *state; /* "active", "closed", "draining", "sealed" */
    uint64_t rows;
    int64_t first_seq;
    uint64_t bytes;               /* on disk, derived files included */
    struct filter_figures filter; /* sums over the columns; hashes of one */
};

struct figures {
    enum store_state state;
    char reason[ERR_TEXT_MAX]; /* why it is not ready, one line; "" when ready */
    /* the screen, whole */
    uint64_t bits, bits_set, keys, capacity, memory_bytes;
    uint32_t hashes;       /* of the current generation's filter */
    double optimal_hashes; /* (m/n) ln 2 for the current generation when full */
    double fullest;        /* highest fill ratio of one filter */
    double target_fpr, predicted_fpr;
    double expected_sum; /* sum of predictions over the questions whose answer was no member */
    uint64_t absent, maybe, true_positive, false_positive, false_negative;
    uint64_t lookups; /* exact look-ups in the candidates of the maybes */
    uint64_t recent_absent_asked, recent_false_positive; /* over the last 100,000 absent keys */
    uint64_t members_asked, members_maybe, strangers_asked, strangers_maybe; /* self-test */
    /* the store */
    uint64_t rows, bytes, wal_bytes, commits, conflicts, rejects;
    uint64_t disk_free_bytes, disk_reserve_bytes;
    bool expiry_held;           /* a clock is not believed: nothing expires */
    int64_t window_start_us;    /* received of the oldest stored trade; 0: nothing stored */
    const char *sqlite_version; /* static; NULL until the store is open */
    struct histogram commit;    /* duration of a group commit: begin to durable */
    struct generation_figures *generations;
    size_t generations_n;
    struct segment_figures *segments;
    size_t segments_n;
};

/* The rates that follow from the counters. NAN: nothing is known of it yet. */
struct figures_rates {
    double measured;                    /* false positives of those and true negatives */
    double measured_low, measured_high; /* its 95 % Wilson interval */
    double expected;                    /* mean prediction over the same questions */
    double recent;                      /* measured over the last 100,000 absent keys */
    double false_discovery;             /* false positives of all maybes */
};
struct figures_rates figures_rates(const struct figures *figures);

/* Deep copy; ret is overwritten and then owns its lists. */
void figures_copy(struct figures *ret, const struct figures *from);
void figures_done(struct figures *figures);

#endif
