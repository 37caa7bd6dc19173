/* batch: the unit that flows: the complete lines of one read from one connection, with their trades
 * and, later, their verdicts.
 *
 * A batch belongs to exactly one holder at a time: its connection (loop thread) while it is filled,
 * the queue, the store thread while it is judged, the return queue, its connection again while the
 * replies are written. Offsets, not pointers, because both buffers move while they grow. There is no
 * allocation per trade: the arrays grow by doubling and batches are used again. */
#ifndef STORE_BATCH_H
#define STORE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* name, text on the wire and in metrics. NONE: the store has not spoken yet. */
#define VERDICT_TABLE(X)                                                                               \
    X(VERDICT_NONE, "none")                                                                            \
    X(VERDICT_NEW, "new")                                                                              \
    X(VERDICT_DUPLICATE, "duplicate")                                                                  \
    X(VERDICT_CONFLICT, "conflict")                                                                    \
    X(VERDICT_INVALID, "invalid")                                                                      \
    X(VERDICT_IGNORED, "ignored")                                                                      \
    X(VERDICT_RETRY, "retry")

/* name, text of "error" in a reply (interface.md). */
#define REASON_TABLE(X)                                                                                \
    X(REASON_NONE, "none")                                                                             \
    X(REASON_BAD_JSON, "bad_json")                                                                     \
    X(REASON_BAD_UTF8, "bad_utf8")                                                                     \
    X(REASON_TOO_DEEP, "too_deep")                                                                     \
    X(REASON_DUPLICATE_MEMBER, "duplicate_member")                                                     \
    X(REASON_NOT_A_TRADE_OBJECT, "not_a_trade_object")                                                 \
    X(REASON_ID_MISSING, "id_missing")                                                                 \
    X(REASON_ID_TYPE, "id_type")                                                                       \
    X(REASON_ID_NOT_INTEGER, "id_not_integer")                                                         \
    X(REASON_ID_CONTROL_CHAR, "id_control_char")                                                       \
    X(REASON_ID_TOO_LONG, "id_too_long")                                                               \
    X(REASON_FIELD_MISSING, "field_missing")                                                           \
    X(REASON_FIELD_TYPE, "field_type")                                                                 \
    X(REASON_FIELD_NOT_INTEGER, "field_not_integer")                                                   \
    X(REASON_FIELD_CONTROL_CHAR, "field_control_char")                                                 \
    X(REASON_TOO_MANY_TRADES, "too_many_trades")                                                       \
    X(REASON_BAD_OPENING, "bad_opening")                                                               \
    X(REASON_LINE_TOO_LONG, "line_too_long")                                                           \
    X(REASON_STORE_FULL, "store_full")

#define X(name, text) name,
enum verdict { VERDICT_TABLE(X) VERDICT_COUNT };
enum reason { REASON_TABLE(X) REASON_COUNT };
#undef X

enum screen_answer { SCREEN_NOT_ASKED, SCREEN_ABSENT, SCREEN_MAYBE };

/* What one reply line is made of. */
enum line_form {
    LINE_SINGLE,  /* one verdict for the line: trades[first], trades_n is 1 */
    LINE_TRADES,  /* {"line":n,"trades":[...]}: trades_n elements */
    LINE_OPENING, /* the opening line: its reply stands ready in arena; no trades */
};

struct batch_trade {
    uint32_t key_at;      /* the key in arena; only when the store is to be asked */
    uint32_t key_len;     /* bytes, at least 1 */
    uint32_t message_at;  /* the trade as received, in bytes */
    uint32_t message_len; /* bytes; 0: none (a replay of a trade whose message was not kept) */
    uint32_t detail_at;   /* for invalid: a sentence for people, in arena */
    uint32_t detail_len;  /* bytes; 0: no detail */
    uint32_t feed_at;     /* replay only: the feed's name, in arena */
    uint32_t feed_len;    /* bytes; 0: the batch's feed */
    uint64_t fingerprint; /* of the content */
    int64_t seq;          /* new: its own; duplicate, conflict: the stored trade's */
    int64_t received_us;  /* duplicate, conflict: when the stored trade came */
    uint8_t verdict;      /* enum verdict; NONE when it leaves the loop: ask the store */
    uint8_t reason;       /* enum reason, for invalid and retry */
    uint8_t screen;       /* enum screen_answer */
};

struct batch_line {
    uint64_t number;       /* of the line in its connection, from 1, blank lines counted */
    uint32_t trades_first; /* index of its first trade */
    uint32_t trades_n;     /* how many */
    uint32_t reply_at;     /* LINE_OPENING: the reply, without line feed, in arena */
    uint32_t reply_len;    /* bytes; 0: no reply */
    uint8_t form;          /* enum line_form */
};

struct batch {
    struct batch *next;   /* in whatever list holds it */
    void *owner;          /* the connection that gets it back; means nothing to the store */
    const char *feed;     /* the listener's feed name; outlives every batch */
    unsigned feed_index;  /* the feed's number in the statistics */
    int64_t received_us;  /* wall clock when its bytes were read; what the store records */
    int64_t read_mono_us; /* monotonic clock of the same moment, for the latency */
    struct text bytes;    /* the lines as received; a part of a next line may follow them */
    struct text arena;    /* keys, details, feed names, opening reply */
    struct batch_line *lines;
    struct batch_trade *trades;
    size_t lines_n, lines_cap;
    size_t trades_n, trades_cap;
    size_t ask_n; /* trades whose verdict was NONE when the batch was submitted */
};

struct batch *batch_open(void);
void batch_close(struct batch *batch); /* NULL is fine */

/* Empties a batch for another use; keeps buffers up to a bound, so that one huge message does not
 * stay in memory for ever. */
void batch_reset(struct batch *batch);

/* Append one, zeroed; the pointer lives until the next append. */
struct batch_line *batch_add_line(struct batch *batch);
struct batch_trade *batch_add_trade(struct batch *batch);

/* Memory that the batch holds, in bytes: what a queue's bound counts. */
size_t batch_memory(const struct batch *batch);

static inline const char *batch_key(const struct batch *batch, const struct batch_trade *trade)
{
    return batch->arena.at + trade->key_at;
}

const char *verdict_name(enum verdict verdict);
const char *reason_name(enum reason reason);

#endif
