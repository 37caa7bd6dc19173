/* snapshot: a filter on disk, SEGMENT.bloom: what lets a start skip the scan of every row.
 *
 * A snapshot is believed only when everything fits: checksum, format, shape, secret, segment ID, the
 * segment knows the run that wrote it and has had its rows ever since (segment_run_holds), and the row
 * at its last seq has the key hash that it noted (so that a restored database beside a newer snapshot
 * is found out). Rows after its last seq are replayed by the caller. Whatever does not fit is
 * "not usable", never an error: the filter is then built from the rows.
 *
 * A bank is written in slices between commits, so that ingest never waits for all of it. Bits that
 * are set while the slices are written are bits of rows that will be replayed: extra, never missing.
 * docs/format.md gives the bytes. Store thread; the classic filter's is written on the seal thread. */
#ifndef STORE_SNAPSHOT_H
#define STORE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/bank.h"
#include "store/bloom.h"
#include "store/segment.h"

enum { SNAPSHOT_SLICE_BYTES = 256 * 1024 }; /* of a bank, written at one go */

/* What a snapshot says of the segment that it belongs to. */
struct snapshot_origin {
    unsigned char segment_id[SEGMENT_ID_BYTES];
    unsigned char secret[BLOOM_KEY_BYTES]; /* only a hash of it is written */
    int64_t last_seq;                      /* every row up to it is in the filter */
    uint64_t last_hash;                    /* x of the hash of that row's key; 0 when there is none */
    int64_t run;                           /* token of the run that wrote it; 0 for a sealed filter */
};

/* ---- a bank, slice by slice ---- */

struct snapshot_writer;

/* Begins NAME.bloom.new. The bank must live, may take keys, and must not widen until the last step. first_seqs: of each
 * begun column's first row. NULL on failure. */
struct snapshot_writer *snapshot_begin(const char *dir, const char *name,
                                       const struct snapshot_origin *origin, const struct bank *bank,
                                       const int64_t *first_seqs, struct err *err);

/* Writes the next slice, and has the disk begin with it, so that no later sync meets all of the file at
 * once; *ret_done when none is left. */
int snapshot_step(struct snapshot_writer *writer, bool *ret_done, struct err *err);

/* After the last step: fsync, rename, fsync of the directory; frees the writer whatever happens. May
 * run on another thread. */
int snapshot_finish(struct snapshot_writer *writer, struct err *err);
void snapshot_abandon(struct snapshot_writer *writer); /* NULL is fine */

/* ---- whole ---- */

int snapshot_write_classic(const char *dir, const char *name, const struct snapshot_origin *origin,
                           const struct bloom *bloom, struct err *err);

/* true: *ret is the filter and owned by the caller, origin's last_seq, last_hash and run are filled in (its ID
 * and secret are compared). false: not usable, `why` says it in a few words. expected: the shape that
 * the configuration gives; of 0 bits: any. For a bank the first seqs come back in *ret_first_seqs (free() it); the
 * columns from the last on count their bits anew once the replay is over (bank_count_bits). */
bool snapshot_read_bank(const char *dir, const char *name, struct snapshot_origin *origin,
                        struct bloom_shape expected, struct bank *ret, int64_t **ret_first_seqs,
                        const char **why);
bool snapshot_read_classic(const char *dir, const char *name, struct snapshot_origin *origin,
                           struct bloom_shape expected, struct bloom *ret, const char **why);

#endif
