/* store_state: the inside of struct store, shared by store.c (life of the segments), judge.c
 * (transactions and verdicts) and examine.c (self-test and questions). Nobody else includes it but
 * tests that damage a filter on purpose. */
#ifndef STORE_STORE_STATE_H
#define STORE_STORE_STATE_H

#include "store/catalog.h"
#include "store/screen.h"
#include "store/segment.h"
#include "store/store.h"

enum {
    STORE_OPEN_SEGMENTS_MAX = 32,     /* closed segments whose file is held open */
    STORE_CHECKPOINT_BYTES = 4 << 20, /* WAL size that is moved into the file between commits */
    STORE_WAL_LIMIT_BYTES = 64 << 20, /* a reader that pins more makes the segment roll */
};

enum store_segment_state {
    SEGMENT_ACTIVE,   /* the last one: being written */
    SEGMENT_DRAINING, /* closed, but a reader keeps its WAL: tried again */
    SEGMENT_CLOSED,   /* a plain SQLite file, read-only */
};

struct store_segment {
    char name[SEGMENT_NAME_MAX];
    uint64_t number; /* orders the segments */
    struct segment_meta meta;
    enum store_segment_state state;
    struct segment *db;            /* open file; may be NULL when closed */
    uint64_t last_use;             /* tick of the last use of db */
    uint64_t rows;                 /* committed and, inside a transaction, inserted */
    int64_t first_received_us;     /* of its oldest row, 0: none */
    int64_t *generation_first_seq; /* a generation's rows are [first of it, first of the next) */
    uint32_t generations_n;
    uint64_t conflicts, rejects, reject_bytes;
    uint64_t closed_bytes; /* on disk, once closed */
    bool rebuild;          /* its filter is not to be trusted */
};

/* What a rollback takes back. Filter bits and loads stay: ghosts. */
struct store_savepoint {
    uint64_t rows, conflicts, rejects, reject_bytes;
    int64_t first_received_us;
};

struct store {
    struct store_config config;
    char *data_dir;
    struct screen screen;           /* part i belongs to segments[i] */
    struct store_segment *segments; /* in order; the last is active */
    size_t segments_n;
    struct bloom_hash *hashes; /* of the batch being judged */
    size_t hashes_cap;
    struct store_savepoint saved;
    bool distrust;    /* some filter waits for its rebuild: every key is checked exactly */
    bool roll_wanted; /* a reader pins the WAL */
    uint64_t use_tick;
    uint64_t false_negatives;
    uint64_t members_asked, members_maybe, strangers_asked, strangers_maybe;
    double strangers_expected; /* sum of predictions over strangers_asked */
    uint64_t self_test_cursor; /* where the next self-test goes on */
    bool figures_whole;        /* the lists of the figures must be written anew */
};

/* The open file of segment i, opened now if need be. NULL on failure. */
struct segment *store_segment_db(struct store *store, size_t i, struct err *err);

static inline struct store_segment *store_active(struct store *store)
{
    return &store->segments[store->segments_n - 1];
}

static inline int64_t store_next_seq(const struct store_segment *segment)
{
    return segment->meta.first_seq + (int64_t)segment->rows;
}

/* Notes that a generation begins with the next row. */
void store_note_generation(struct store_segment *segment, uint32_t generation);

/* A stored key was answered absent: counted, reported, its part marked for a rebuild. */
void store_false_negative(struct store *store, size_t part, const char *found_by);

void store_event(const struct store *store, enum store_event_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
