/* outcome: what becomes of one line, written into its batch: trades for the store, or invalid, or
 * ignored, and a sentence for people. Loop thread; the caller owns struct and batch. */
#ifndef INGEST_OUTCOME_H
#define INGEST_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/scan.h"
#include "store/batch.h"

struct outcome {
    struct batch *batch;
    size_t at, len;      /* the line in batch->bytes */
    size_t line;         /* index of its batch_line */
    size_t trades_first; /* trades in the batch before it */
    size_t arena_first;  /* bytes in the arena before it */
    bool over;           /* the whole line is answered: nothing more of it is wanted */
};

/* Appends a batch_line without trades for the line at batch->bytes.at[at, at + len). */
void outcome_begin(struct outcome *outcome, struct batch *batch, size_t at, size_t len,
                   uint64_t line_number, enum line_form form);

/* How many trades the line has so far. */
size_t outcome_trades(const struct outcome *outcome);

/* Whether the arena, whose offsets have 32 bits, holds what one more trade adds: key_bytes at most, or a
 * detail; false when it does not, and the line is answered. */
bool outcome_check_room(struct outcome *outcome, size_t key_bytes);

/* Checks the line as JSON and fills the values of want; false when it is invalid and answered. */
bool outcome_scan(struct outcome *outcome, const struct scan_want *want, struct scan_value *values);

/* Appends a trade whose message is the value's span. The pointer lives until the next append. */
struct batch_trade *outcome_add(struct outcome *outcome, const struct scan_value *value);
void outcome_add_ignored(struct outcome *outcome, const struct scan_value *value);
void outcome_add_invalid(struct outcome *outcome, const struct scan_value *value, enum reason reason,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* One verdict for the whole line; trades that it had are taken back. */
void outcome_ignore_line(struct outcome *outcome);
void outcome_refuse_line(struct outcome *outcome, enum reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
