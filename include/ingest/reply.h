/* reply: the text of replies from batches that came back. Pure; loop thread. */
#ifndef INGEST_REPLY_H
#define INGEST_REPLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "store/batch.h"

enum ack_mode { ACK_EACH, ACK_BATCH, ACK_NONE };

/* What a connection in mode batch has still to be told. Zero bytes are nothing. */
struct reply_progress {
    uint64_t through;                 /* number of the last line that was answered, 0: none */
    uint64_t verdicts[VERDICT_COUNT]; /* of the trades since the last "through" line */
};

/* "each", "batch", "none"; -1 for any other text. */
int ack_mode_of(const char *text, size_t len);
const char *ack_mode_name(enum ack_mode mode);

/* Appends what the mode owes for this batch: a line for every line (each); the lines that hold a
 * conflict, invalid or retry, the rest goes into progress (batch); nothing (none). */
void reply_add(struct text *out, enum ack_mode mode, const struct batch *batch,
               struct reply_progress *progress);

/* Appends one "through" line for the batches since the last, if there is progress, and clears it. */
void reply_add_progress(struct text *out, struct reply_progress *progress);

#endif
