/* stats: counters of the ingest side, written by the loop thread, copied by any.
 *
 * A trade is counted as received when its batch is submitted and by verdict when its batch comes
 * back, before its reply is written. unanswered = received - the verdicts: 0 at rest. */
#ifndef REPORT_STATS_H
#define REPORT_STATS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "store/batch.h"
#include "store/figures.h"

enum { STATS_FEEDS_MAX = 256 };

struct feed_counts {
    const char *name;
    uint64_t received;
    uint64_t verdicts[VERDICT_COUNT];
};

struct stats_values {
    uint64_t lines_received;  /* every line, blank and opening ones too */
    uint64_t lines_truncated; /* last lines without an end that were no JSON */
    uint64_t received;        /* trades; a line that is none counts as one */
    uint64_t verdicts[VERDICT_COUNT];
    int64_t conflict_mono_us; /* when a conflict was last counted, monotonic; 0: never */
    uint64_t connections_open, connections_accepted, connections_paused, connections_refused;
    struct histogram ack; /* read to reply handed to the socket or queued for it, a count a trade */
    struct feed_counts feeds[STATS_FEEDS_MAX];
    unsigned feeds_n;
    bool draining;
    int64_t started_mono_us;
    int64_t loop_progress_us; /* monotonic, when the loop last came round */
};

struct stats {
    pthread_mutex_t lock;
    struct stats_values values;
};

void stats_init(struct stats *stats);
void stats_done(struct stats *stats);

/* The number of a feed in the statistics; the name must outlive stats. Equal names share one. */
unsigned stats_add_feed(struct stats *stats, const char *name);

/* Loop thread. */
void stats_count_lines(struct stats *stats, uint64_t received, uint64_t truncated);
void stats_count_received(struct stats *stats, const struct batch *batch);
void stats_count_verdicts(struct stats *stats, const struct batch *batch);
void stats_count_ack(struct stats *stats, int64_t us, uint64_t trades);
void stats_set_connections(struct stats *stats, uint64_t open, uint64_t accepted, uint64_t paused,
                           uint64_t refused);
void stats_set_draining(struct stats *stats);
void stats_tick(struct stats *stats); /* the loop makes progress */

/* The daemon's state in one word: "starting", "ready", "draining", "store_full" or "failed". One that
 * drains says so whatever its store could still do; only a failure is louder. */
const char *stats_state(const struct stats_values *values, enum store_state store);

/* Trades that are with the store now: received - the verdicts. */
uint64_t stats_unanswered(const struct stats_values *values);

/* Any thread: a consistent copy. */
void stats_copy(struct stats *stats, struct stats_values *ret);

#endif
