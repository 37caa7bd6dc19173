/* Transactions and verdicts. For each trade of a batch, in order:
 *
 *   absent                      -> insert under UNIQUE (generation, key): new
 *   maybe, found in a candidate -> same fingerprint: duplicate; other: conflict, kept once beside it
 *   maybe, found nowhere        -> a false positive, counted; insert: new
 *   refused by UNIQUE           -> a false negative: counted, reported, settled by the row that is there
 *
 * Keys enter the filter as they are inserted, before the commit: twins in one batch see each other, and
 * a rollback leaves ghosts (extra bits), never missing ones. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "store/store_state.h"

enum {
    FOREIGN_WRITES_MAX = 4, /* verifications in a row before a transaction is given up */
    REJECT_SHARE = 16,      /* a segment may keep this part of the bound whatever the others hold */
    PREFETCH_AHEAD = 8,     /* trades whose rows are on their way to the cache while one is judged */
    GHOST_GENERATIONS_MAX = 16, /* last ones with no key but rolled-back ones: more are rebuilt away */
};

int store_begin(struct store *store, struct err *err)
{
    bool foreign_write;

    for (int i = 0; i < FOREIGN_WRITES_MAX; i++) {
        struct store_segment *active = store_active(store);

        if (segment_begin(active->db, &foreign_write, err) < 0)
            return err->code;
        store->saved = (struct store_savepoint){
            .rows = active->rows,
            .conflicts = active->conflicts,
            .rejects = active->rejects,
            .reject_bytes = active->reject_bytes,
            .first_received_us = active->first_received_us,
            .last_received_us = active->last_received_us,
            .absent = store->screen.absent,
            .true_positive = store->screen.true_positive,
            .false_positive = store->screen.false_positive,
            .lookups = store->screen.lookups,
            .expected_sum = store->screen.expected_sum,
        };
        if (!foreign_write)
            return 0;
        segment_rollback(active->db);
        store_event(store, STORE_WARNING, "%s.db was written by another program: verifying",
                    active->name);
        active->rebuild = store->distrust = true;
        if (store_maintain(store, err) < 0)
            return err->code;
    }
    return err_set(err, ERR_BUSY, "%s.db: another program goes on writing it",
                   store_active(store)->name);
}

int store_commit(struct store *store, struct err *err)
{
    return segment_commit(store_active(store)->db, err);
}

void store_rollback(struct store *store)
{
    struct store_segment *active = store_active(store);

    segment_rollback(active->db);
    active->rows = store->saved.rows;
    active->conflicts = store->saved.conflicts;
    active->rejects = store->saved.rejects;
    active->reject_bytes = store->saved.reject_bytes;
    active->first_received_us = store->saved.first_received_us;
    active->last_received_us = store->saved.last_received_us;
    store->screen.absent = store->saved.absent;
    store->screen.true_positive = store->saved.true_positive;
    store->screen.false_positive = store->saved.false_positive;
    store->screen.lookups = store->saved.lookups;
    store->screen.expected_sum = store->saved.expected_sum;
    uint32_t g = active->generations_n;

    while (g > 0 && active->generation_first_seq[g - 1] >= store_next_seq(active))
        active->generation_first_seq[--g] = store_next_seq(active);
    if (active->generations_n - g > GHOST_GENERATIONS_MAX)
        active->rebuild = store->distrust = true;
}

static struct segment_row row_of(const struct batch *batch, const struct batch_trade *trade)
{
    return (struct segment_row){
        .key = batch_key(batch, trade),
        .key_len = trade->key_len,
        .received_us = batch->received_us,
        .feed = trade->feed_len ? batch->arena.at + trade->feed_at : batch->feed,
        .feed_len = trade->feed_len ? trade->feed_len : strlen(batch->feed),
        .fingerprint = trade->fingerprint,
        .message = trade->message_len ? batch->bytes.at + trade->message_at : NULL,
        .message_len = trade->message_len,
    };
}

/* Where a version of this trade may have been kept: in its own segment or in a later one. */
static int keep_conflict(struct store *store, const struct batch *batch,
                         const struct batch_trade *trade, size_t part, struct err *err)
{
    struct segment_row version = row_of(batch, trade);
    bool kept = false;

    version.seq = trade->seq;
    for (size_t i = part; i < store->segments_n && !kept; i++) {
        if (!store->segments[i].conflicts)
            continue;
        struct segment *db = store_segment_db(store, i, err);

        if (!db || segment_has_conflict(db, version.seq, version.fingerprint, &kept, err) < 0)
            return err->code;
    }
    if (kept)
        return 0;
    store_active(store)->conflicts++;
    return segment_add_conflict(store_active(store)->db, &version, err);
}

/* The key is stored: same content or another? */
static int settle(struct store *store, const struct batch *batch, struct batch_trade *trade,
                  const struct segment_found *found, size_t part, struct err *err)
{
    trade->seq = found->seq;
    trade->received_us = found->received_us;
    if (found->fingerprint == trade->fingerprint) {
        trade->verdict = VERDICT_DUPLICATE;
        return 0;
    }
    trade->verdict = VERDICT_CONFLICT;
    return keep_conflict(store, batch, trade, part, err);
}

/* Asks SQLite in each candidate of the screen, newest first. */
static int find_in_candidates(struct store *store, const struct batch *batch,
                              const struct batch_trade *trade, bool *ret_found, size_t *ret_part,
                              struct segment_found *ret, struct err *err)
{
    *ret_found = false;
    for (size_t i = 0; i < store->screen.candidates_n && !*ret_found; i++) {
        *ret_part = store->screen.candidates[i].part;
        store->screen.lookups++;
        if (store_find(store, &store->screen.candidates[i], batch_key(batch, trade), trade->key_len,
                       ret_found, ret, err) < 0)
            return err->code;
    }
    return 0;
}

/* UNIQUE refused what the screen called absent: the row is in the current generation. */
static int settle_refused(struct store *store, const struct batch *batch, struct batch_trade *trade,
                          uint32_t generation, struct err *err)
{
    struct store_segment *active = store_active(store);
    struct segment_found found;
    bool there;

    if (segment_find(active->db, generation, batch_key(batch, trade), trade->key_len, &there, &found,
                     err) < 0)
        return err->code;
    if (!there)
        return err_set(err, ERR_CORRUPT, "%s.db: UNIQUE refuses a key that is not there", active->name);
    screen_count(&store->screen, trade->screen, true);
    store_false_negative(store, store->segments_n - 1, "the UNIQUE constraint");
    return settle(store, batch, trade, &found, store->segments_n - 1, err);
}

static int insert(struct store *store, const struct batch *batch, struct batch_trade *trade,
                  struct bloom_hash hash, struct err *err)
{
    struct store_segment *active = store_active(store);
    struct segment_row row = row_of(batch, trade);
    bool inserted;

    if (screen_will_widen(&store->screen))
        store_stop_snapshot(store); /* it reads the bank where it is */
    row.generation = screen_current_generation(&store->screen);
    row.seq = store_next_seq(active);
    if (!store->config.keep_message)
        row.message = NULL;
    store_note_generation(active, row.generation);
    if (segment_insert(active->db, &row, &inserted, err) < 0)
        return err->code;
    if (!inserted)
        return settle_refused(store, batch, trade, row.generation, err);
    screen_count(&store->screen, trade->screen, false);
    screen_insert(&store->screen, hash);
    if (!active->rows++)
        active->first_received_us = batch->received_us;
    if (active->last_received_us < batch->received_us)
        active->last_received_us = batch->received_us;
    trade->seq = row.seq;
    trade->verdict = VERDICT_NEW;
    return 0;
}

static int judge_trade(struct store *store, const struct batch *batch, struct batch_trade *trade,
                       struct bloom_hash hash, struct err *err)
{
    struct segment_found found;
    bool is_stored;
    size_t part = 0;

    trade->screen = (uint8_t)screen_ask(&store->screen, hash);
    if (store->distrust)
        screen_suspect_all(&store->screen);
    if (find_in_candidates(store, batch, trade, &is_stored, &part, &found, err) < 0)
        return err->code;
    if (!is_stored)
        return insert(store, batch, trade, hash, err);
    screen_count(&store->screen, trade->screen, true);
    if (trade->screen == SCREEN_ABSENT)
        store_false_negative(store, part, "the exact check");
    return settle(store, batch, trade, &found, part, err);
}

static uint64_t share_of(uint64_t bound, uint64_t others)
{
    uint64_t rest = bound > others ? bound - others : 0;

    return rest > bound / REJECT_SHARE ? rest : bound / REJECT_SHARE;
}

/* Rejects are bounded over all segments; room is made by dropping this segment's oldest. Those of earlier
 * segments stay until they expire, so each segment has a share of its own: the newest are always kept. */
static int make_reject_room(struct store *store, uint64_t bytes, bool *ret_room, struct err *err)
{
    struct store_segment *active = store_active(store);
    uint64_t other_rows = 0, other_bytes = 0;
    int64_t dropped;

    for (size_t i = 0; i + 1 < store->segments_n; i++) {
        other_rows += store->segments[i].rejects;
        other_bytes += store->segments[i].reject_bytes;
    }
    uint64_t rows_max = share_of(store->config.reject_rows, other_rows);
    uint64_t bytes_max = share_of(store->config.reject_bytes, other_bytes);

    while (active->rejects >= rows_max || active->reject_bytes + bytes > bytes_max) {
        if (!active->rejects) {
            *ret_room = false;
            return 0;
        }
        if (segment_drop_reject(active->db, &dropped, err) < 0)
            return err->code;
        if (dropped < 0)
            return err_set(err, ERR_CORRUPT, "%s.db: fewer rejects than counted", active->name);
        active->rejects--;
        active->reject_bytes -= (uint64_t)dropped;
    }
    *ret_room = true;
    return 0;
}

static int keep_reject(struct store *store, const struct batch *batch, const struct batch_trade *trade,
                       struct err *err)
{
    struct store_segment *active = store_active(store);
    struct segment_reject reject = {
        .received_us = batch->received_us,
        .feed = batch->feed,
        .error = reason_name(trade->reason),
        .line = batch->bytes.at + trade->message_at,
        .line_len = trade->message_len,
    };
    bool room = false;

    if (!store->config.reject_rows || reject.line_len > store->config.reject_bytes)
        return 0;
    if (make_reject_room(store, reject.line_len, &room, err) < 0 ||
        (room && segment_add_reject(active->db, &reject, err) < 0))
        return err->code;
    active->rejects += room;
    active->reject_bytes += room ? reject.line_len : 0;
    return 0;
}

static void hash_keys(struct store *store, const struct batch *batch)
{
    if (store->hashes_cap < batch->trades_n) {
        store->hashes_cap = batch->trades_cap;
        store->hashes = mem_realloc(store->hashes, store->hashes_cap, sizeof *store->hashes);
    }
    for (size_t i = 0; i < batch->trades_n; i++)
        if (batch->trades[i].verdict == VERDICT_NONE)
            store->hashes[i] = screen_hash(&store->screen, batch_key(batch, &batch->trades[i]),
                                           batch->trades[i].key_len);
}

int store_judge(struct store *store, struct batch *batch, struct err *err)
{
    hash_keys(store, batch);
    for (size_t i = 0; i < batch->trades_n; i++) {
        struct batch_trade *trade = &batch->trades[i];
        int ret = 0;

        if (i + PREFETCH_AHEAD < batch->trades_n &&
            batch->trades[i + PREFETCH_AHEAD].verdict == VERDICT_NONE)
            screen_prefetch(&store->screen, store->hashes[i + PREFETCH_AHEAD]);
        if (trade->verdict == VERDICT_NONE)
            ret = judge_trade(store, batch, trade, store->hashes[i], err);
        else if (trade->verdict == VERDICT_INVALID)
            ret = keep_reject(store, batch, trade, err);
        if (ret < 0)
            return ret;
    }
    return 0;
}
