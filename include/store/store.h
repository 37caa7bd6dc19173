/* store: segments, screen and the exact check put together. Store thread only.
 *
 * One question is settled here: is this key stored within the window? absent -> insert under UNIQUE;
 * maybe -> look in the candidates; never a verdict by the filter's word (design.md). */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/batch.h"
#include "store/figures.h"
#include "store/view.h"

enum store_event_level { STORE_INFO, STORE_WARNING, STORE_CRITICAL };

struct store_config {
    const char *data_dir; /* exists, is ours (daemon/main holds the lock) */
    bool keep_message;
    uint32_t generation_keys; /* new trades of a generation, 1 and more */
    uint64_t segment_rows;    /* a segment is rolled before it would pass this */
    uint64_t reject_rows, reject_bytes;
    uint64_t disk_reserve_bytes;
    double false_positive_rate; /* of the whole screen at capacity */
    uint64_t capacity;          /* keys */
    int retention_days;         /* whole segments older than this go; 0: never */
    int snapshot_interval_s;    /* a filter snapshot so often; 0: only after rows and on a stop */
    uint64_t snapshot_rows;     /* and after so many new rows; 0: only by time */
    /* Something an operator should know; called on the store thread. Progress of long work too. */
    void (*on_event)(void *arg, enum store_event_level level, const char *text);
    void (*on_progress)(void *arg, uint64_t keys); /* read into filters since it was called last */
    void *arg;
};

/* The answer about one key, for /check. */
struct store_candidate {
    char segment[SEGMENT_NAME_MAX];
    int64_t generation; /* -1: a sealed segment */
};

struct store_filter_answer {
    char segment[SEGMENT_NAME_MAX];
    bool bank; /* else a sealed segment's classic filter */
    uint64_t bits;
    uint32_t hashes;
    uint64_t *positions; /* hashes of them, owned */
    int zero;            /* index of the position that rules it out, -1: none does */
};

struct store_answer {
    enum screen_answer screen;
    bool present;             /* the exact store's word */
    int64_t seq, received_us; /* when present */
    struct store_candidate *candidates;
    size_t candidates_n;
    struct store_filter_answer *filters;
    size_t filters_n;
};
void store_answer_done(struct store_answer *answer);

struct store;

/* Opens or creates what is in data_dir and makes the screen hold every key. */
int store_open(struct store **ret, const struct store_config *config, struct err *err);

/* Below the disk reserve right now? */
bool store_is_full(struct store *store);

/* One transaction: begin, any number of judged batches, commit. judge fills in the verdicts of all
 * trades that are NONE (they count only after commit). Before a batch that would overflow the
 * segment, or belongs to another day, store_must_roll is true: commit, roll, begin again.
 * Errors: ERR_FULL, ERR_BUSY: roll back, nothing was stored. ERR_IO, ERR_CORRUPT, ERR_SYSTEM: stop. */
int store_begin(struct store *store, struct err *err);
int store_judge(struct store *store, struct batch *batch, struct err *err);
int store_commit(struct store *store, struct err *err);
void store_rollback(struct store *store);
bool store_must_roll(const struct store *store, const struct batch *batch);
int store_roll(struct store *store, int64_t received_us, struct err *err);

/* Between transactions. */
/* A slice of whatever is due: rebuild, hand-over of a sealed segment, checkpoint, snapshot, expiry. */
int store_maintain(struct store *store, struct err *err);

/* Waits until every closed segment is sealed: for tools and tests. */
int store_settle(struct store *store, struct err *err);
int store_self_test(struct store *store, struct err *err);
int store_check(struct store *store, const char *key, size_t len, struct store_answer *ret,
                struct err *err);
/* ret says which filter and which of its bits, and is then filled; view_done it. */
void store_view(struct store *store, struct view *ret);
void store_fill_figures(struct store *store, struct figures *ret); /* reuses ret's lists */

/* On a clean stop: writes the active filter's snapshot whole, unless the one on the disk holds every row.
 * A failure costs the next start time only. */
int store_save_filters(struct store *store, struct err *err);

/* Checkpoints and closes; what is half open is fine. */
void store_close(struct store *store);

#endif
