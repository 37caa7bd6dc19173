/* seal: from closed to sealed. One thread takes one closed segment at a time and makes of it
 *
 *   SEGMENT.keys   SQLite: key -> seq, PRIMARY KEY (key), WITHOUT ROWID, filled in key order. UNIQUE over
 *                  the key alone proves that no key stands in the segment twice, and makes every later
 *                  check one lookup. The row itself stays where it is.
 *   SEGMENT.bloom  a classic filter for exactly these keys
 *
 * No sorter, no spill: the rows of each generation stand in key order in the segment's UNIQUE index,
 * so the thread merges the generations' cursors, which reads the index and never the rows.
 *
 * A key that stands twice does not stop it: the lowest seq stands, the other goes to the table `twice`
 * and is reported as a false negative found late. Killable at any moment: both files appear by rename,
 * whole or not at all, and are made anew from the segment whenever they cannot be trusted. It rests as
 * long as it works, so that ingest keeps its rate, unless it is told to hurry. */
#ifndef STORE_SEAL_H
#define STORE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/bloom.h"
#include "store/segment.h"

/* ---- the sealed file, opened read-only by the store thread ---- */

struct sealed;

/* ERR_CORRUPT: not a sealed file of this segment with so many rows (or damaged): make it anew. */
int sealed_open(struct sealed **ret, const char *dir, const char *name,
                const unsigned char segment_id[SEGMENT_ID_BYTES], uint64_t rows, struct err *err);

/* The same as segment_open_still does it, of however many rows. */
int sealed_open_still(struct sealed **ret, const char *dir, const char *name,
                      const unsigned char segment_id[SEGMENT_ID_BYTES], struct err *err);
void sealed_close(struct sealed *sealed);           /* NULL is fine */
uint64_t sealed_rows(const struct sealed *sealed);  /* of the segment when it was sealed */
uint64_t sealed_twice(const struct sealed *sealed); /* keys that stood in the segment twice */

int sealed_find(struct sealed *sealed, const char *key, size_t len, bool *ret_found, int64_t *ret_seq,
                struct err *err);

/* Every key, in key order; on_key stops the scan by returning other than 0, which is then returned. */
int sealed_scan(struct sealed *sealed,
                int (*on_key)(void *arg, const char *key, size_t len, struct err *err), void *arg,
                struct err *err);

int sealed_open_keys(struct sealed *sealed, struct key_cursor *ret, struct err *err);
int sealed_check(struct sealed *sealed, void (*on_fault)(void *arg, const char *text), void *arg,
                 struct err *err); /* as segment_check */

/* ---- the thread ---- */

struct seal_job {
    char name[SEGMENT_NAME_MAX];
    struct segment_meta meta;
    uint64_t rows;
    uint32_t generations;
    struct bloom_shape shape; /* of the classic filter */
    uint64_t reserve_bytes;   /* of the disk, to be left alone */
    unsigned char secret[BLOOM_KEY_BYTES];
};

struct seal_result {
    char name[SEGMENT_NAME_MAX];
    int code; /* 0, or what stopped it: err */
    struct err err;
    struct bloom bloom; /* when 0: the filter, now the taker's */
};

struct sealer;

/* Starts the thread, idle. dir must outlive it. */
int sealer_start(struct sealer **ret, const char *dir, struct err *err);

/* Store thread. */
bool sealer_is_idle(struct sealer *sealer);                 /* no job under way, no result waiting */
bool sealer_holds(struct sealer *sealer, const char *name); /* this one is under way or waiting */
void sealer_submit(struct sealer *sealer, const struct seal_job *job); /* only when idle */
void sealer_hurry(struct sealer *sealer, bool hurry); /* true: another waits, so work without rests */
bool sealer_take(struct sealer *sealer, struct seal_result *ret); /* false: none is ready */
bool sealer_wait(struct sealer *sealer, struct seal_result *ret); /* blocks; false: none under way */

/* Interrupts the job under way and joins. NULL is fine. */
void sealer_stop(struct sealer *sealer);

#endif
