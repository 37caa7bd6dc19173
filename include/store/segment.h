/* segment: one SQLite file of consecutive trades. The only room, with seal, that knows sqlite3.h.
 *
 * One connection writes and checkpoints the active segment; closed ones are opened read-only.
 * Store thread only. Every failure of SQLite is an error of the call, never "not found":
 *   ERR_FULL     SQLITE_FULL, in a COMMIT too: roll back, nothing was stored
 *   ERR_BUSY     somebody else held the file too long: roll back, nothing was stored
 *   ERR_CORRUPT  CORRUPT, NOTADB, a foreign application_id, a newer user_version, a broken rule
 *   ERR_SYSTEM   NOMEM, CANTOPEN, PERM, READONLY
 *   ERR_IO       all else, a page that the disk refuses too; after a COMMIT the outcome is unknown
 *
 * What a crash can leave: of create, a file NAME.db.new (removed at the next start); of a commit, a
 * WAL that the next open plays back; of close_writes, a WAL beside a closed segment (closed again). */
#ifndef STORE_SEGMENT_H
#define STORE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/figures.h"

enum {
    SEGMENT_APPLICATION_ID = 0x54535631, /* "TSV1" */
    SEGMENT_USER_VERSION = 1,
    SEGMENT_ID_BYTES = 16,
};

struct segment;

struct segment_meta {
    unsigned char id[SEGMENT_ID_BYTES]; /* random: ties derived files to this one */
    int64_t first_seq;                  /* of its first row, whether it is there yet or not */
    int64_t created_us;
    int64_t day;              /* UTC day of its name, days since 1970 */
    uint32_t generation_keys; /* load at which its generations close */
};

struct segment_row {
    int64_t seq;
    uint32_t generation;
    const char *key;
    size_t key_len;
    int64_t received_us;
    const char *feed;
    size_t feed_len;
    uint64_t fingerprint;
    const char *message; /* NULL: not kept */
    size_t message_len;
};

struct segment_found {
    int64_t seq;
    int64_t received_us;
    uint64_t fingerprint;
};

struct segment_reject {
    int64_t received_us;
    const char *feed;
    const char *error;
    const char *line; /* as received; any bytes */
    size_t line_len;
};

struct segment_totals {
    int64_t last_seq;          /* first_seq - 1 when empty */
    uint32_t last_generation;  /* 0 when empty */
    int64_t first_received_us; /* 0 when empty */
    int64_t last_received_us;  /* of its newest row among the first and the last 10,000; 0 when empty */
    uint64_t conflicts, rejects, reject_bytes;
};

/* Makes DIR/NAME.db, whole or not at all: temporary name, one transaction, fsync, rename, fsync of the
 * directory. meta->id and created_us are the caller's. */
int segment_create(const char *dir, const char *name, const struct segment_meta *meta, struct err *err);

/* Opens DIR/NAME.db, checks that it is ours and reads its meta row. writable: plays back and checkpoints
 * the WAL, then commits one row of table run with FULL, whose sync covers whatever the page cache held. */
int segment_open(struct segment **ret, const char *dir, const char *name, bool writable,
                 struct segment_meta *ret_meta, struct err *err);

/* Opens a segment that nobody writes, or read-only one that the daemon writes (segment_open), so that
 * nothing in its directory changes: no file is made, moved or removed, and a WAL that a kill left is read
 * where it lies, with its index in our memory. */
int segment_open_still(struct segment **ret, const char *dir, const char *name,
                       struct segment_meta *ret_meta, struct err *err);
void segment_close(struct segment *segment); /* NULL is fine */

/* The random token of this run, 0 when opened read-only; and whether the rows up to last_seq are what
 * they were in some run: it stands in table run, and every later one began with at least last_seq. A
 * database that was restored from a copy and ingested on says no to a snapshot of the time between. */
int64_t segment_run(const struct segment *segment);
int segment_run_holds(struct segment *segment, int64_t run, int64_t last_seq, bool *ret,
                      struct err *err);

/* Needs no scan of the table. */
int segment_totals(struct segment *segment, struct segment_totals *ret, struct err *err);

int segment_begin(struct segment *segment, bool *ret_foreign_write, struct err *err);
int segment_commit(struct segment *segment, struct err *err);
void segment_rollback(struct segment *segment);

/* *ret_inserted false: UNIQUE (generation, key) refused it, the row is there already. */
int segment_insert(struct segment *segment, const struct segment_row *row, bool *ret_inserted,
                   struct err *err);
int segment_find(struct segment *segment, int64_t generation, const char *key, size_t len,
                 bool *ret_found, struct segment_found *ret, struct err *err);

/* The row of a seq: what sealed_find does not know. ERR_CORRUPT when there is none with this key. */
int segment_find_seq(struct segment *segment, int64_t seq, const char *key, size_t len,
                     struct segment_found *ret, struct err *err);

/* Whether this version of trade seq is kept already; keeping it. */
int segment_has_conflict(struct segment *segment, int64_t seq, uint64_t fingerprint, bool *ret,
                         struct err *err);
int segment_add_conflict(struct segment *segment, const struct segment_row *version, struct err *err);

int segment_add_reject(struct segment *segment, const struct segment_reject *reject, struct err *err);

/* Deletes the oldest reject; *ret_bytes is what its line held, -1 when there was none. */
int segment_drop_reject(struct segment *segment, int64_t *ret_bytes, struct err *err);

/* Rows in seq order from from_seq on; on_row stops the scan by returning other than 0, which is then
 * returned. Pointers live during the call. Only seq, generation, key and key_len are filled. */
int segment_scan(struct segment *segment, int64_t from_seq,
                 int (*on_row)(void *arg, const struct segment_row *row, struct err *err), void *arg,
                 struct err *err);

/* Whole rows from from_seq to to_seq, likewise. */
int segment_read(struct segment *segment, int64_t from_seq, int64_t to_seq,
                 int (*on_row)(void *arg, const struct segment_row *row, struct err *err), void *arg,
                 struct err *err);

/* Conflicting versions in the order of (seq of their trade, fingerprint as a signed number), those
 * after the given one, likewise; generation is 0. */
int segment_read_conflicts(struct segment *segment, int64_t after_seq, uint64_t after_fingerprint,
                           int (*on_row)(void *arg, const struct segment_row *row, struct err *err),
                           void *arg, struct err *err);

/* Every reject in the order of arrival, likewise. */
int segment_scan_rejects(struct segment *segment,
                         int (*on_reject)(void *arg, const struct segment_reject *reject,
                                          struct err *err),
                         void *arg, struct err *err);

/* SQLite's own judgement of the whole file: on_fault for each of the first 100 faults. */
int segment_check(struct segment *segment, void (*on_fault)(void *arg, const char *text), void *arg,
                  struct err *err);

/* The next generation after one (-1: the first) that has rows; *ret is -1 when there is none. */
int segment_next_generation(struct segment *segment, int64_t after, int64_t *ret, struct err *err);

/* Gives cached pages back and keeps few from now on: for a reader of many segments at once. */
void segment_trim(struct segment *segment);

/* The key at seq, copied into key (at most key_max bytes). *ret_found false: no such row. */
int segment_key_at(struct segment *segment, int64_t seq, char *key, size_t key_max, size_t *ret_len,
                   uint32_t *ret_generation, bool *ret_found, struct err *err);

/* Moves what it can of the WAL into the file, without waiting for readers. *ret_rest: bytes of WAL that
 * could not be moved. */
int segment_checkpoint(struct segment *segment, uint64_t *ret_rest, struct err *err);
uint64_t segment_wal_bytes(const struct segment *segment); /* in use, as of the last commit */

/* No more writes: moves the whole WAL into the file and takes the file out of WAL mode. *ret_done
 * false: a reader is in the way, try again later. */
int segment_close_writes(struct segment *segment, bool *ret_done, struct err *err);
bool segment_in_wal_mode(struct segment *segment);

/* ---- what seal shares ---- */

struct sqlite3;
struct sqlite3_stmt;

/* Keys one by one in key order, straight from an index: of one generation, or of a sealed file. */
struct key_cursor {
    struct sqlite3_stmt *statement;
    const char *key; /* of the row it stands on; lives until it is stepped. NULL: at its end */
    size_t len;
    int64_t seq;
    size_t owner; /* the caller's */
};

/* Steps to the first row of a statement that selects key and seq, which it takes over; to the next. On failure it must
 * be closed still. */
int key_cursor_begin(struct key_cursor *cursor, struct sqlite3_stmt *statement, struct err *err);
int key_cursor_next(struct key_cursor *cursor, struct err *err);
void key_cursor_close(struct key_cursor *cursor);

int segment_open_keys(struct segment *segment, int64_t generation, struct key_cursor *ret,
                      struct err *err);

/* segment_open_keys, and segment_check, of a file that seal has opened. */
int segment_open_keys_of(struct sqlite3 *db, const char *name, int64_t generation,
                         struct key_cursor *ret, struct err *err);
int segment_check_database(struct sqlite3 *db, const char *name, const char *suffix,
                           void (*on_fault)(void *arg, const char *text), void *arg, struct err *err);

/* Opens DIR/NAME + suffix as segment_open_still does. Returns SQLite's result; *ret must be closed after a failure
 * too. */
int segment_open_database_still(const char *dir, const char *name, const char *suffix,
                                struct sqlite3 **ret);

/* Puts a failed SQLite call's text and enum err_code, as listed above, into err; returns the code. db may be
 * NULL. */
int segment_error(struct sqlite3 *db, int sqlite_result, struct err *err);

/* Once, before any other call and any thread: without it SQLite takes a lock at every allocation to
 * count memory that nobody asks about. */
void segment_start_library(void);

const char *segment_sqlite_version(void);

#endif
