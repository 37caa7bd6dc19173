/* store_state: the inside of struct store, shared by store.c (life of the segments), load.c (filters
 * from snapshots and rows), judge.c (transactions and verdicts), upkeep.c (what is done between
 * transactions) and examine.c (self-test and questions). Nobody else includes it but tests that damage
 * a filter on purpose. */
#ifndef STORE_STORE_STATE_H
#define STORE_STORE_STATE_H

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>

#include "store/catalog.h"
#include "store/screen.h"
#include "store/seal.h"
#include "store/segment.h"
#include "store/snapshot.h"
#include "store/store.h"

enum {
    STORE_OPEN_SEGMENTS_MAX = 16,      /* closed segments whose files are held open */
    STORE_CHECKPOINT_BYTES = 16 << 20, /* WAL size that is moved into the file between commits */
    STORE_SUM_BYTES = 32,              /* of the checksum of a sealed filter's bits */
    STORE_KEY_BYTES_MAX = 65536,       /* longest stored key that is read back */
    STORE_SWEEP_BYTES = 8 << 20,       /* of sealed filters, summed in one self-test */
    STORE_WAL_LIMIT_BYTES = 64 << 20,  /* a reader that pins more makes the segment roll */
};

enum store_segment_state {
    SEGMENT_ACTIVE,   /* the last one: being written */
    SEGMENT_DRAINING, /* closed, but a reader keeps its WAL: tried again */
    SEGMENT_CLOSED,   /* a plain SQLite file, read-only; its bank still answers */
    SEGMENT_SEALED,   /* its sealed file and classic filter answer */
};

struct store_segment {
    char name[SEGMENT_NAME_MAX];
    uint64_t number; /* orders the segments */
    struct segment_meta meta;
    enum store_segment_state state;
    struct segment *db;            /* open file; may be NULL when closed */
    struct sealed *keys;           /* open sealed file; NULL unless sealed, and may be NULL then */
    uint64_t last_use;             /* tick of the last use of db or keys */
    uint64_t rows;                 /* committed and, inside a transaction, inserted */
    int64_t first_received_us;     /* of its oldest row, 0: none */
    int64_t last_received_us;      /* of its newest row, 0: none */
    int64_t *generation_first_seq; /* a generation's rows are [first of it, first of the next) */
    uint32_t generations_n;
    uint64_t conflicts, rejects, reject_bytes;
    uint64_t bytes;        /* on disk, derived files included; of an unclosed one as of the last look */
    bool rebuild;          /* its filter is not to be trusted */
    int64_t seal_after_us; /* sealing failed: not tried before (monotonic) */
    unsigned char filter_sum[STORE_SUM_BYTES]; /* of its sealed filter's bits, for the sweep */
};

/* What a rollback takes back. Filter bits and loads stay: ghosts. */
struct store_savepoint {
    uint64_t rows, conflicts, rejects, reject_bytes;
    int64_t first_received_us, last_received_us;
    uint64_t absent, true_positive, false_positive; /* of the screen: asked again, counted once */
    uint64_t lookups;
    double expected_sum;
};

/* The snapshot of the active bank that is being written, slice by slice. */
struct store_snapshot {
    struct snapshot_writer *writer; /* NULL: none */
    pthread_t finisher;             /* syncs and renames it when all slices are written */
    bool finishing;                 /* finisher runs */
    _Atomic bool finished;          /* finisher is done: join it */
    struct err err;                 /* of finisher: code 0 when all went well */
    uint64_t rows_saved;            /* rows of the active segment in the last one begun */
    uint64_t rows_on_disk;          /* rows of the active segment in its file; 0: it has none */
    int64_t next_us;                /* when the next is due (monotonic) */
    int64_t slice_us;               /* when the next slice may be written (monotonic) */
};

/* The sweep of sealed filters against their checksums. */
struct store_sweep {
    size_t part; /* which one, */
    size_t at;   /* how many bytes of it are summed */
    crypto_generichash_state sum;
};

struct store {
    struct store_sweep sweep; /* first: it is aligned to a cache line */
    struct store_config config;
    char *data_dir;
    struct screen screen;           /* part i belongs to segments[i] */
    struct store_segment *segments; /* in order; the last is active */
    size_t segments_n;
    struct bloom_hash *hashes; /* of the batch being judged */
    size_t hashes_cap;
    struct store_savepoint saved;
    struct sealer *sealer;
    struct store_snapshot snapshot;
    int64_t clock_offset_us;  /* wall - monotonic at the start */
    bool expiry_held;         /* the clock was suspiciously late at the start: nothing expires */
    bool clocks_apart;        /* wall and monotonic clock have moved against each other: likewise */
    uint64_t disk_free_bytes; /* at the last look */
    int64_t expire_next_us;   /* when expiry is looked at next (monotonic) */
    bool distrust;            /* some filter waits for its rebuild: every key is checked exactly */
    bool roll_wanted;         /* a reader pins the WAL */
    uint64_t use_tick;
    uint64_t false_negatives;
    uint64_t members_asked, members_maybe, strangers_asked, strangers_maybe;
    double strangers_expected; /* sum of predictions over strangers_asked */
    uint64_t self_test_cursor; /* where the next self-test goes on */
    bool figures_whole;        /* the lists of the figures must be written anew */
};

/* The open file of segment i, or its sealed file, opened now if need be. NULL on failure. */
struct segment *store_segment_db(struct store *store, size_t i, struct err *err);
struct sealed *store_segment_keys(struct store *store, size_t i, struct err *err);

/* Looks a key up where a candidate of the screen says. */
int store_find(struct store *store, const struct screen_candidate *candidate, const char *key,
               size_t len, bool *ret_found, struct segment_found *ret, struct err *err);

/* Closes what a segment holds open; db too when it is not the active one's. */
void store_release(struct store_segment *segment);

/* Takes a closed file out of WAL mode, when no reader is in the way, and lets go of it. */
int store_try_close(struct store *store, struct store_segment *segment, struct err *err);

/* load.c: makes part i hold every key of its segment, from a snapshot and the rows after it, or from
 * the rows alone. rebuild: never from a snapshot. */
int store_load_part(struct store *store, size_t i, uint32_t generations, struct err *err);
int store_rebuild_part(struct store *store, size_t i, struct err *err);
/* x of the hash of the last row's key, by which a snapshot knows its rows; 0 when there is none. */
int store_last_hash(struct store *store, size_t i, uint64_t *ret, struct err *err);

void store_sum_filter(struct store *store, size_t i); /* filter_sum of a sealed part */

/* upkeep.c */
void store_judge_clock(struct store *store); /* at the start: holds expiry when the clock looks wrong */
void store_stop_snapshot(struct store *store); /* waits for one that is being finished, drops another */
struct snapshot_origin store_origin(const struct store *store, size_t i);

static inline struct store_segment *store_active(struct store *store)
{
    return &store->segments[store->segments_n - 1];
}

static inline int64_t store_next_seq(const struct store_segment *segment)
{
    return segment->meta.first_seq + (int64_t)segment->rows;
}

/* Looks at how many bytes a segment's files have. */
void store_note_bytes(const struct store *store, struct store_segment *segment);

/* Notes that a generation begins with the next row. */
void store_note_generation(struct store_segment *segment, uint32_t generation);

/* The filter of a part is not to be believed, for a reason that is reported: rebuilt when between
 * transactions; until then every key is checked exactly. */
void store_distrust(struct store *store, size_t part, const char *reason);

/* A stored key was answered absent: counted, reported, its part marked for a rebuild. */
void store_false_negative(struct store *store, size_t part, const char *found_by);

/* Long work goes on; keys: that were read into filters meanwhile. */
void store_tell_progress(const struct store *store, uint64_t keys);

void store_event(const struct store *store, enum store_event_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
