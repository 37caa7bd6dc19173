/* A connection without its socket: bytes to lines, lines to trades, trades to replies.
 *
 *   1. the first letter picks the profile, the second the limits; the rest is what a peer sends
 *   2. the stream is cut into reads, each read's complete lines become a batch, the rest moves on, as in
 *      connection.c; a store of a few lines judges the trades
 *   3. the replies of one read, of single bytes and of two random splits are the same, byte for byte
 *   4. every line of the one read is as judged.h has it */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "ingest/feed.h"
#include "ingest/frame.h"
#include "ingest/opening.h"
#include "ingest/reply.h"
#include "judged.h"
#include "profiles.h"

enum { PROLOGUE_BYTES = 2, SPLITS = 4, BATCH_TRADES = 3 };

struct stored {
    char *key; /* owned */
    size_t len;
    uint64_t print;
};

struct peer {
    const struct feed *feed;
    struct feed_context context;
    struct frame frame;
    struct batch *batch;
    enum ack_mode ack;
    bool begun, over;
    bool checked;          /* every line is to be as judged.h has it */
    struct stored *stored; /* in order of seq, which begins at 1 */
    size_t stored_n;
    struct text replies;
    struct reply_progress progress;
};

/* As a read has it: there is a buffer, even if nothing stands in it. */
static struct batch *open_batch(void)
{
    struct batch *batch = batch_open();

    text_reserve(&batch->bytes, 1);
    return batch;
}

/* ---- the store ---- */

static bool is_same_key(const struct stored *stored, const char *key, size_t len)
{
    return stored->len == len && memcmp(stored->key, key, len) == 0;
}

static void judge(struct peer *peer, struct batch_trade *trade)
{
    const char *key = batch_key(peer->batch, trade);
    size_t i = 0;

    while (i < peer->stored_n && !is_same_key(&peer->stored[i], key, trade->key_len))
        i++;
    trade->seq = (int64_t)i + 1;
    trade->screen = i < peer->stored_n ? SCREEN_MAYBE : SCREEN_ABSENT;
    if (i < peer->stored_n) {
        trade->verdict =
            peer->stored[i].print == trade->fingerprint ? VERDICT_DUPLICATE : VERDICT_CONFLICT;
        return;
    }
    trade->verdict = VERDICT_NEW;
    peer->stored = mem_realloc(peer->stored, i + 1, sizeof *peer->stored);
    peer->stored[i] = (struct stored){mem_alloc(trade->key_len), trade->key_len, trade->fingerprint};
    memcpy(peer->stored[i].key, key, trade->key_len);
    peer->stored_n++;
}

/* ---- the connection ---- */

static void take_reply(struct peer *peer, void (*add)(struct text *, enum ack_mode, const char *),
                       enum ack_mode mode)
{
    struct batch_line *line = batch_add_line(peer->batch);

    line->number = peer->frame.line;
    line->form = LINE_OPENING;
    line->reply_at = (uint32_t)peer->batch->arena.len;
    add(&peer->batch->arena, mode, "fuzz");
    line->reply_len = (uint32_t)peer->batch->arena.len - line->reply_at;
}

static bool take_opening(struct peer *peer, const char *line, size_t len)
{
    const char *detail;
    enum opening_result result = opening_read(line, len, &peer->ack, &detail);

    if (result == OPENING_NONE)
        return false;
    take_reply(peer, opening_add_reply, peer->ack);
    peer->over = result == OPENING_BAD;
    return true;
}

static void take_line(struct peer *peer, size_t at, size_t len)
{
    bool first = !peer->begun;

    peer->begun = true;
    if (first && take_opening(peer, peer->batch->bytes.at + at, len))
        return;
    feed_judge(peer->feed, &peer->context, peer->batch, at, len, peer->frame.line);
    FUZZ_REQUIRE(peer->batch->lines[peer->batch->lines_n - 1].number == peer->frame.line);
    if (peer->checked)
        judged_check(peer->batch, at, len, &peer->context, peer->feed == profiles_feed(1));
}

/* The batch to the store and back; what follows its lines moves into another. */
static void submit(struct peer *peer)
{
    struct batch *batch = peer->batch, *next;

    for (size_t i = 0; i < batch->trades_n; i++)
        if (batch->trades[i].verdict == VERDICT_NONE)
            judge(peer, &batch->trades[i]);
    reply_add(&peer->replies, peer->ack, batch, &peer->progress);
    next = open_batch();
    text_add(&next->bytes, batch->bytes.at + peer->frame.at, batch->bytes.len - peer->frame.at);
    frame_rebase(&peer->frame);
    batch_close(batch);
    peer->batch = next;
}

/* No complete line: what is there of the next one goes to the front. */
static void keep_partial(struct peer *peer)
{
    struct text *bytes = &peer->batch->bytes;

    bytes->len -= peer->frame.at;
    memmove(bytes->at, bytes->at + peer->frame.at, bytes->len);
    frame_rebase(&peer->frame);
}

static void take_lines(struct peer *peer)
{
    enum frame_result result = FRAME_LINE;
    size_t at, len;

    while (!peer->over && result == FRAME_LINE) {
        while (!peer->over && peer->batch->trades_n < BATCH_TRADES && result == FRAME_LINE) {
            result = frame_next(&peer->frame, peer->batch->bytes.at, peer->batch->bytes.len, &at, &len);
            if (result == FRAME_LINE)
                take_line(peer, at, len);
        }
        if (peer->batch->lines_n > 0)
            submit(peer);
        else
            keep_partial(peer);
    }
    peer->over |= result == FRAME_TOO_LONG;
}

static void take_end(struct peer *peer)
{
    size_t at, len;

    if (!peer->over && frame_last(&peer->frame, peer->batch->bytes.at, peer->batch->bytes.len, &at,
                                  &len) == FRAME_LINE)
        take_line(peer, at, len);
    peer->frame.at = peer->batch->bytes.len;
    submit(peer);
    reply_add_progress(&peer->replies, &peer->progress);
}

/* ---- splits ---- */

static const struct feed_context limits[] = {
    {.source = "S/1", .max_key_bytes = 512, .max_trades_per_line = 1000},
    {.source = "", .max_key_bytes = 16, .max_trades_per_line = 2},
};

static void open_peer(struct peer *peer, const uint8_t *prologue)
{
    *peer = (struct peer){
        .feed = profiles_feed((prologue[0] - 'a') % PROFILES),
        .context = limits[prologue[1] & 1],
        .batch = open_batch(),
    };
    frame_init(&peer->frame, prologue[1] & 2 ? 32 : 4096);
}

/* Returns what the peer was told, and in *ret_line how many lines there were. Split 0 is one read, 1 is
 * single bytes, every other one is random. */
static struct text converse(const uint8_t *data, size_t size, int split, uint64_t *ret_line)
{
    uint64_t random = fuzz_seed(data, size) + (uint64_t)split;
    struct peer peer;

    open_peer(&peer, data);
    peer.checked = split == 0;
    for (size_t at = PROLOGUE_BYTES, n; at < size && !peer.over; at += n) {
        size_t rest = size - at;

        n = split == 0 ? rest : split == 1 ? 1 : 1 + fuzz_below(&random, rest < 40 ? rest : 40);
        text_add(&peer.batch->bytes, data + at, n);
        take_lines(&peer);
    }
    take_end(&peer);
    *ret_line = peer.frame.line;
    batch_close(peer.batch);
    for (size_t i = 0; i < peer.stored_n; i++)
        free(peer.stored[i].key);
    free(peer.stored);
    return peer.replies;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t line, other_line;

    if (size < PROLOGUE_BYTES || data[0] < 'a')
        return 0;
    struct text whole = converse(data, size, 0, &line);

    for (int split = 1; split < SPLITS; split++) {
        struct text other = converse(data, size, split, &other_line);

        FUZZ_REQUIRE(line == other_line);
        FUZZ_REQUIRE(whole.len == other.len && (!whole.len || !memcmp(whole.at, other.at, whole.len)));
        text_done(&other);
    }
    text_done(&whole);
    return 0;
}
