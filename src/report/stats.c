#include "report/stats.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"

void stats_init(struct stats *stats)
{
    memset(&stats->values, 0, sizeof stats->values);
    pthread_mutex_init(&stats->lock, NULL);
    stats->values.started_mono_us = clock_mono_us();
    stats->values.loop_progress_us = stats->values.started_mono_us;
}

void stats_done(struct stats *stats)
{
    pthread_mutex_destroy(&stats->lock);
}

static struct stats_values *lock_values(struct stats *stats)
{
    pthread_mutex_lock(&stats->lock);
    return &stats->values;
}

static void unlock_values(struct stats *stats)
{
    pthread_mutex_unlock(&stats->lock);
}

unsigned stats_add_feed(struct stats *stats, const char *name)
{
    struct stats_values *values = lock_values(stats);
    unsigned i = 0;

    while (i < values->feeds_n && strcmp(values->feeds[i].name, name) != 0)
        i++;
    if (i == values->feeds_n) {
        assert(values->feeds_n < STATS_FEEDS_MAX);
        values->feeds[values->feeds_n++].name = name;
    }
    unlock_values(stats);
    return i;
}

void stats_count_lines(struct stats *stats, uint64_t received, uint64_t truncated)
{
    struct stats_values *values = lock_values(stats);

    values->lines_received += received;
    values->lines_truncated += truncated;
    unlock_values(stats);
}

void stats_count_received(struct stats *stats, const struct batch *batch)
{
    struct stats_values *values = lock_values(stats);

    assert(batch->feed_index < values->feeds_n);
    values->received += batch->trades_n;
    values->feeds[batch->feed_index].received += batch->trades_n;
    unlock_values(stats);
}

void stats_count_verdicts(struct stats *stats, const struct batch *batch)
{
    uint64_t tally[VERDICT_COUNT] = {0};

    for (size_t i = 0; i < batch->trades_n; i++) {
        assert(batch->trades[i].verdict < VERDICT_COUNT);
        tally[batch->trades[i].verdict]++;
    }
    tally[VERDICT_NONE] = 0; /* the store failed: these stay unanswered */

    struct stats_values *values = lock_values(stats);

    assert(batch->feed_index < values->feeds_n);
    for (size_t v = 0; v < VERDICT_COUNT; v++) {
        values->verdicts[v] += tally[v];
        values->feeds[batch->feed_index].verdicts[v] += tally[v];
    }
    if (tally[VERDICT_CONFLICT])
        values->conflict_mono_us = clock_mono_us();
    unlock_values(stats);
}

void stats_count_ack(struct stats *stats, int64_t us, uint64_t trades)
{
    struct stats_values *values = lock_values(stats);

    histogram_add(&values->ack, us, trades);
    unlock_values(stats);
}

void stats_set_connections(struct stats *stats, uint64_t open, uint64_t accepted, uint64_t paused,
                           uint64_t refused)
{
    struct stats_values *values = lock_values(stats);

    values->connections_open = open;
    values->connections_accepted = accepted;
    values->connections_paused = paused;
    values->connections_refused = refused;
    unlock_values(stats);
}

void stats_set_draining(struct stats *stats)
{
    lock_values(stats)->draining = true;
    unlock_values(stats);
}

void stats_tick(struct stats *stats)
{
    int64_t now_us = clock_mono_us();

    lock_values(stats)->loop_progress_us = now_us;
    unlock_values(stats);
}

void stats_copy(struct stats *stats, struct stats_values *ret)
{
    *ret = *lock_values(stats);
    unlock_values(stats);
}

const char *stats_state(const struct stats_values *values, enum store_state store)
{
    if (store == STORE_FAILED)
        return "failed";
    if (values->draining)
        return "draining";
    switch (store) {
    case STORE_READY:
        return "ready";
    case STORE_FULL:
        return "store_full";
    case STORE_FAILED:
    case STORE_STARTING:
        break;
    }
    return "starting";
}

uint64_t stats_unanswered(const struct stats_values *values)
{
    uint64_t unanswered = values->received;

    for (int v = VERDICT_NEW; v < VERDICT_COUNT; v++)
        unanswered -= values->verdicts[v];
    return unanswered;
}
