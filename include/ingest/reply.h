/* reply: the text of replies from a batch that came back. Pure; loop thread. */
#ifndef INGEST_REPLY_H
#define INGEST_REPLY_H

#include <stdint.h>

#include "base/text.h"
#include "store/batch.h"

enum ack_mode { ACK_EACH, ACK_BATCH, ACK_NONE };

/* "each", "batch", "none"; -1 for any other text. */
int ack_mode_of(const char *text, size_t len);
const char *ack_mode_name(enum ack_mode mode);

/* Appends what the mode owes for this batch: a line for every line (each); the lines that hold a
 * conflict, invalid or retry and then one "through" line (batch); nothing (none). */
void reply_add(struct text *out, enum ack_mode mode, const struct batch *batch);

#endif
