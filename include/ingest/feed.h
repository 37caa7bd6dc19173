/* feed: a profile, compiled: which elements of a message are trades, which messages are not, which
 * parts make the key and the content (interface.md, "Feed profiles" and "Identity rules").
 *
 * Loaded once (profile.h), then immutable: any number of listeners share one. Judging a
 * line appends to a batch and allocates only when the batch grows. Loop thread. */
#ifndef INGEST_FEED_H
#define INGEST_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/batch.h"

enum {
    FEED_NAME_MAX = 64,      /* bytes of a name: letters, digits, '-', '_', '.' */
    FEED_FILE_MAX = 1 << 20, /* bytes of a profile file */
    FEED_PARTS_MAX = 8,      /* key parts */
};

struct feed;

/* What a listener adds to a profile. */
struct feed_context {
    const char *source;   /* the listener's "source", or NULL */
    size_t max_key_bytes; /* of the whole key as written */
    uint32_t max_trades_per_line;
};

/* Compiles a profile from JSON text (// and slash-star comments allowed). ERR_CONFIG names the path. */
int feed_parse(struct feed **ret, const char *name, const char *json, size_t len, struct err *err);

/* Loads feeds_dir/NAME.json; ERR_CONFIG names file, path and reason. */
int feed_load(struct feed **ret, const char *file, struct err *err);

/* The built-in profiles, `canonical` and `replay`; NULL for any other name. */
struct feed *feed_builtin(const char *name);

void feed_close(struct feed *feed); /* NULL is fine */

const char *feed_name(const struct feed *feed);
bool feed_uses_source(const struct feed *feed); /* then a listener without one is refused */

/* Bytes that a line may have where a message may have message_bytes: a replay's line holds one. */
size_t feed_line_bytes(const struct feed *feed, const struct feed_context *context,
                       size_t message_bytes);

/* Judges the line that stands at batch->bytes.at[at, at + len), without its line end, and appends one
 * batch_line with its trades: verdict NONE for what the store must answer, INVALID or IGNORED for
 * the rest. Bytes are never changed. */
void feed_judge(const struct feed *feed, const struct feed_context *context, struct batch *batch,
                size_t at, size_t len, uint64_t line_number);

#endif
