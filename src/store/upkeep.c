/* What is done between transactions, a slice at a time, so that ingest never waits long:
 *
 *   rebuild     filters that are not to be trusted, before anything else
 *   expire      segments whose newest row is older than the retention: it needs no space, and makes some
 *   drain       closed files that a reader kept in WAL mode
 *   seal        hand the next closed segment to the seal thread; take over what it has finished
 *   checkpoint  move the WAL into the file when it has grown
 *   snapshot    a slice of the active filter
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/store_state.h"

enum {
    SEAL_RETRY_US = 60 * 1000000, /* after a sealing that failed, for want of space say */
    EXPIRE_INTERVAL_US = 60 * 1000000,
    SLICE_PACE_US = 5000,          /* between two slices of a snapshot: 50 MB a second at most */
    CLOCK_JUMP_US = 300 * 1000000, /* wall and monotonic clock further apart: nothing expires */
};

static const int64_t DAY_US = INT64_C(86400) * 1000000;

/* ---- rebuild and drain ---- */

static int rebuild_marked(struct store *store, struct err *err)
{
    if (!store->distrust)
        return 0;
    for (size_t i = 0; i < store->segments_n; i++)
        if (store->segments[i].rebuild && store_rebuild_part(store, i, err) < 0) {
            /* A half-filled part answers nothing, not even with retry: a start builds it whole. */
            err->code = err->code == ERR_CORRUPT ? ERR_CORRUPT : ERR_IO;
            return err_prefix(err, "rebuilding a filter");
        }
    store->distrust = false;
    return 0;
}

static int drain(struct store *store, struct err *err)
{
    for (size_t i = 0; i + 1 < store->segments_n; i++)
        if (store->segments[i].state == SEGMENT_DRAINING &&
            store_try_close(store, &store->segments[i], err) < 0)
            return err->code;
    return 0;
}

/* ---- seal ---- */

/* How many segments wait for their seal, the one under way included. */
static size_t count_unsealed(const struct store *store)
{
    size_t n = 0;

    for (size_t i = 0; i + 1 < store->segments_n; i++)
        n += store->segments[i].state != SEGMENT_SEALED;
    return n;
}

static void submit_next(struct store *store)
{
    int64_t now_us = clock_mono_us();

    for (size_t i = 0; i + 1 < store->segments_n; i++) {
        const struct store_segment *segment = &store->segments[i];
        struct seal_job job;

        if (segment->state != SEGMENT_CLOSED || now_us < segment->seal_after_us)
            continue;
        job = (struct seal_job){
            .meta = segment->meta,
            .rows = segment->rows,
            .generations = segment->generations_n,
            .shape = screen_sealed_shape(&store->screen, segment->rows),
            .reserve_bytes = store->config.disk_reserve_bytes,
        };
        memcpy(job.name, segment->name, sizeof job.name);
        memcpy(job.secret, store->screen.secret, sizeof job.secret);
        sealer_submit(store->sealer, &job);
        return;
    }
}

static size_t find_segment(const struct store *store, const char *name)
{
    size_t i = 0;

    while (strcmp(store->segments[i].name, name) != 0)
        i++; /* a segment under the seal thread never leaves (expire) */
    return i;
}

/* The sealed file and filter answer from now on; only then the bank goes. */
static int adopt_sealed(struct store *store, size_t i, struct bloom *bloom, struct err *err)
{
    struct store_segment *segment = &store->segments[i];

    store_release(segment);
    if (!store_segment_keys(store, i, err)) {
        bloom_done(bloom);
        return err->code;
    }
    uint64_t twice = sealed_twice(segment->keys);

    screen_seal_part(&store->screen, i, bloom);
    segment->state = SEGMENT_SEALED;
    segment->rebuild = false;
    store_sum_filter(store, i);
    free(segment->generation_first_seq);
    segment->generation_first_seq = NULL;
    segment->generations_n = 0;
    store_note_bytes(store, segment);
    store->figures_whole = true;
    store->false_negatives += twice;
    if (twice)
        store_event(
            store, STORE_CRITICAL,
            "%s: %llu keys stand twice: false negatives found late; the lowest seq of each stands,"
            " see table twice of %s.keys",
            segment->name, (unsigned long long)twice, segment->name);
    store_event(store, STORE_INFO, "%s is sealed: %llu keys", segment->name,
                (unsigned long long)segment->rows);
    return 0;
}

static int take_result(struct store *store, struct seal_result *result, struct err *err)
{
    size_t i = find_segment(store, result->name);

    if (result->code == 0)
        return adopt_sealed(store, i, &result->bloom, err);
    if (result->code == ERR_CORRUPT) { /* of the segment itself */
        *err = result->err;
        return err->code;
    }
    store->segments[i].seal_after_us = clock_mono_us() + SEAL_RETRY_US;
    store_event(store, STORE_WARNING, "sealing: %s; the bank answers meanwhile", result->err.text);
    return 0;
}

static int seal(struct store *store, struct err *err)
{
    struct seal_result result;

    if (sealer_take(store->sealer, &result) && take_result(store, &result, err) < 0)
        return err->code;
    sealer_hurry(store->sealer, count_unsealed(store) > 1);
    if (sealer_is_idle(store->sealer))
        submit_next(store);
    return 0;
}

int store_settle(struct store *store, struct err *err)
{
    struct seal_result result;

    do {
        if (store_maintain(store, err) < 0)
            return err->code;
        sealer_hurry(store->sealer, true);
        if (sealer_wait(store->sealer, &result) && take_result(store, &result, err) < 0)
            return err->code;
        if (sealer_is_idle(store->sealer))
            submit_next(store);
    } while (!sealer_is_idle(store->sealer));
    return 0;
}

/* ---- expire ---- */

static bool clocks_agree(struct store *store)
{
    int64_t apart_us = clock_wall_us() - clock_mono_us() - store->clock_offset_us;

    store->clocks_apart = apart_us >= CLOCK_JUMP_US || apart_us <= -CLOCK_JUMP_US;
    if (!store->clocks_apart)
        return true;
    store_event(
        store, STORE_WARNING,
        "the wall clock has moved %lld s against the monotonic clock: nothing expires until a restart",
        (long long)(apart_us / 1000000));
    return false;
}

/* Out of the directory by rename, out of the screen, then off the disk; a start finishes it. */
static int expire_first(struct store *store, struct err *err)
{
    struct store_segment gone = store->segments[0];

    store_release(&store->segments[0]);
    if (catalog_publish(store->data_dir, gone.name, ".db", ".expired", err) < 0)
        return err_prefix(err, "expiring a segment");
    screen_remove_first(&store->screen);
    free(gone.generation_first_seq);
    store->segments_n--;
    memmove(store->segments, store->segments + 1, store->segments_n * sizeof *store->segments);
    store->sweep.part = store->sweep.at = 0;
    store->figures_whole = true;
    catalog_remove_expired(store->data_dir, gone.name);
    store_event(store, STORE_INFO, "%s has expired: %llu trades", gone.name,
                (unsigned long long)gone.rows);
    return 0;
}

static bool first_is_due(const struct store *store)
{
    const struct store_segment *first = &store->segments[0];
    int64_t now_us = clock_wall_us();

    return store->segments_n > 1 && first->state >= SEGMENT_CLOSED &&
           !sealer_holds(store->sealer, first->name) &&
           first->last_received_us < now_us - store->config.retention_days * DAY_US;
}

void store_judge_clock(struct store *store)
{
    const struct store_segment *active = store_active(store);
    int64_t now_us = clock_wall_us(), newest = 0;
    int64_t ahead_days = active->meta.day - clock_day_of_us(now_us);

    store->clock_offset_us = now_us - clock_mono_us();
    for (size_t i = 0; i < store->segments_n; i++)
        if (newest < store->segments[i].last_received_us)
            newest = store->segments[i].last_received_us;
    store->expiry_held = store->config.retention_days && store->segments_n > 1 && newest &&
                         now_us - newest > store->config.retention_days * DAY_US;
    if (store->expiry_held)
        store_event(store, STORE_WARNING,
                    "the newest trade is %lld days old, so all have expired, or the clock is ahead:"
                    " nothing expires until the next start",
                    (long long)((now_us - newest) / DAY_US));
    if (ahead_days > 1)
        store_event(store, STORE_WARNING,
                    "%s lies %lld days ahead of the clock: until then segments end by rows only",
                    active->name, (long long)ahead_days);
}

static int expire(struct store *store, struct err *err)
{
    int64_t now_us = clock_mono_us();

    if (!store->config.retention_days || store->expiry_held || now_us < store->expire_next_us)
        return 0;
    store->expire_next_us = now_us + EXPIRE_INTERVAL_US;
    if (!first_is_due(store) || !clocks_agree(store))
        return 0;
    while (first_is_due(store))
        if (expire_first(store, err) < 0)
            return err->code;
    return 0;
}

/* ---- checkpoint ---- */

static int checkpoint(struct store *store, struct err *err)
{
    struct store_segment *active = store_active(store);
    uint64_t rest;

    if (segment_wal_bytes(active->db) < STORE_CHECKPOINT_BYTES)
        return 0;
    if (segment_checkpoint(active->db, &rest, err) < 0)
        return err->code;
    if (rest > STORE_WAL_LIMIT_BYTES && !store->roll_wanted) {
        store_event(store, STORE_WARNING,
                    "%s: a reader keeps %llu MiB of WAL from being moved; rolling", active->name,
                    (unsigned long long)rest >> 20);
        store->roll_wanted = true;
    }
    return 0;
}

/* ---- snapshot ---- */

static void *finish_snapshot(void *arg)
{
    struct store_snapshot *snapshot = arg;

    snapshot->err.code = 0;
    snapshot_finish(snapshot->writer, &snapshot->err);
    atomic_store(&snapshot->finished, true);
    return NULL;
}

static void note_finished(struct store_snapshot *snapshot)
{
    snapshot->writer = NULL;
    if (snapshot->err.code == 0)
        snapshot->rows_on_disk = snapshot->rows_saved;
}

static void join_finisher(struct store *store)
{
    struct store_snapshot *snapshot = &store->snapshot;

    pthread_join(snapshot->finisher, NULL);
    snapshot->finishing = false;
    note_finished(snapshot);
    if (snapshot->err.code != 0)
        store_event(store, STORE_WARNING, "filter snapshot: %s", snapshot->err.text);
}

void store_stop_snapshot(struct store *store)
{
    if (store->snapshot.finishing)
        join_finisher(store);
    snapshot_abandon(store->snapshot.writer);
    store->snapshot.writer = NULL;
}

static int begin_snapshot(struct store *store, struct err *err)
{
    size_t last = store->segments_n - 1;
    struct store_segment *active = store_active(store);
    struct snapshot_origin origin = store_origin(store, last);
    struct bank *bank = &store->screen.parts[last].bank;

    if (store_last_hash(store, last, &origin.last_hash, err) < 0)
        return err->code;
    origin.run = segment_run(active->db);
    assert(active->generations_n == bank->columns);
    store->snapshot.writer =
        snapshot_begin(store->data_dir, active->name, &origin, bank, active->generation_first_seq, err);
    if (!store->snapshot.writer)
        return err->code;
    store->snapshot.rows_saved = active->rows;
    store->snapshot.next_us = clock_mono_us() + (int64_t)store->config.snapshot_interval_s * 1000000;
    return 0;
}

static bool snapshot_is_due(const struct store *store)
{
    uint64_t rows = store->segments[store->segments_n - 1].rows;
    uint64_t saved = store->snapshot.rows_saved;

    return rows != saved &&
           ((store->config.snapshot_rows && rows - saved >= store->config.snapshot_rows) ||
            (store->config.snapshot_interval_s && clock_mono_us() >= store->snapshot.next_us));
}

/* A snapshot that fails costs start time, never a trade: it is reported and tried again when due. */
static void snapshot_failed(struct store *store, const struct err *err)
{
    store_event(store, STORE_WARNING, "filter snapshot: %s", err->text);
    store->snapshot.rows_saved = store_active(store)->rows;
    store->snapshot.next_us = clock_mono_us() + (int64_t)store->config.snapshot_interval_s * 1000000;
    store_stop_snapshot(store);
}

static int save_slice(struct store *store, struct err *err)
{
    struct store_snapshot *snapshot = &store->snapshot;
    int64_t now_us = clock_mono_us();
    bool done;

    if (snapshot->finishing && atomic_load(&snapshot->finished))
        join_finisher(store);
    if (snapshot->finishing ||
        (snapshot->writer ? now_us < snapshot->slice_us : !snapshot_is_due(store)))
        return 0;
    snapshot->slice_us = now_us + SLICE_PACE_US;
    if ((!snapshot->writer && begin_snapshot(store, err) < 0) ||
        snapshot_step(snapshot->writer, &done, err) < 0) {
        if (err->code == ERR_CORRUPT) /* the segment, which it reads */
            return err->code;
        snapshot_failed(store, err);
        return 0;
    }
    if (!done)
        return 0;
    atomic_store(&snapshot->finished, false);
    snapshot->finishing = pthread_create(&snapshot->finisher, NULL, finish_snapshot, snapshot) == 0;
    if (!snapshot->finishing)
        store_stop_snapshot(store);
    return 0;
}

int store_save_filters(struct store *store, struct err *err)
{
    struct store_snapshot *snapshot = &store->snapshot;
    bool done = false;

    store_stop_snapshot(store);
    if (store->distrust || snapshot->rows_on_disk == store_active(store)->rows)
        return 0;
    if (begin_snapshot(store, err) < 0)
        return err->code;
    while (!done) {
        if (snapshot_step(snapshot->writer, &done, err) < 0) {
            store_stop_snapshot(store);
            return err->code;
        }
        store_tell_progress(store, 0);
    }
    finish_snapshot(snapshot);
    note_finished(snapshot);
    *err = snapshot->err;
    return err->code;
}

/* ---- */

int store_maintain(struct store *store, struct err *err)
{
    if (rebuild_marked(store, err) < 0 || expire(store, err) < 0 || drain(store, err) < 0 ||
        seal(store, err) < 0 || checkpoint(store, err) < 0)
        return err->code;
    return save_slice(store, err);
}
