/* replay: takes what `tradesieve export` writes, one trade a line, and passes key, feed, fingerprint
 * and message on as they stand. Pure; loop thread. */
#ifndef INGEST_REPLAY_H
#define INGEST_REPLAY_H

#include "ingest/feed.h"
#include "ingest/outcome.h"

void replay_judge(struct outcome *outcome, const struct feed_context *context);

/* Bytes that stand around the message in a line, at most. */
size_t replay_envelope_bytes(size_t max_key_bytes);

#endif
