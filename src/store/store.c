/* The life of the segments: open, roll, maintain, close. A start goes through these steps:
 *
 *   1. filter.key: read, or made when missing or damaged
 *   2. list the segments in order; none: create the first. The newest that was noted must be there
 *   3. each file: ours, readable, first_seq = its predecessor's last + 1 (finds lost files and WALs)
 *   4. the last one is opened for writing: its WAL is played back and made durable
 *   5. each filter is made to hold every key (load.c)
 *   6. the newest is noted
 */
#include "store/store.h"

#include <assert.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/store_state.h"

enum { SPOT_CHECKS = 64 }; /* rows of a sealed segment that are asked at the start */

void store_event(const struct store *store, enum store_event_level level, const char *format, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;

    if (!store->config.on_event)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    store->config.on_event(store->config.arg, level, text);
}

void store_note_generation(struct store_segment *segment, uint32_t generation)
{
    while (segment->generations_n <= generation) {
        segment->generation_first_seq =
            mem_realloc(segment->generation_first_seq, segment->generations_n + 1,
                        sizeof *segment->generation_first_seq);
        segment->generation_first_seq[segment->generations_n++] = store_next_seq(segment);
    }
}

void store_note_bytes(const struct store *store, struct store_segment *segment)
{
    static const char *const suffixes[] = {".db", ".db-wal", ".keys", ".bloom"};

    segment->bytes = 0;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        segment->bytes += catalog_bytes(store->data_dir, segment->name, suffixes[i]);
}

/* ---- the files of closed segments are held open in bounded number ---- */

void store_release(struct store_segment *segment)
{
    if (segment->state != SEGMENT_ACTIVE && segment->state != SEGMENT_DRAINING) {
        segment_close(segment->db);
        segment->db = NULL;
    }
    sealed_close(segment->keys);
    segment->keys = NULL;
}

static void release_least_used(struct store *store)
{
    struct store_segment *least = NULL;
    size_t open = 0;

    for (size_t i = 0; i + 1 < store->segments_n; i++) {
        struct store_segment *segment = &store->segments[i];

        if (segment->state < SEGMENT_CLOSED || (!segment->db && !segment->keys))
            continue;
        open++;
        if (!least || segment->last_use < least->last_use)
            least = segment;
    }
    if (open >= STORE_OPEN_SEGMENTS_MAX)
        store_release(least);
}

struct segment *store_segment_db(struct store *store, size_t i, struct err *err)
{
    struct store_segment *segment = &store->segments[i];
    struct segment_meta meta;

    segment->last_use = ++store->use_tick;
    if (!segment->db) {
        release_least_used(store);
        if (segment_open(&segment->db, store->data_dir, segment->name, false, &meta, err) < 0)
            return NULL;
        if (memcmp(meta.id, segment->meta.id, sizeof meta.id) != 0) {
            segment_close(segment->db);
            segment->db = NULL;
            err_set(err, ERR_CORRUPT, "%s.db: replaced by another file while running", segment->name);
        }
    }
    return segment->db;
}

struct sealed *store_segment_keys(struct store *store, size_t i, struct err *err)
{
    struct store_segment *segment = &store->segments[i];

    segment->last_use = ++store->use_tick;
    if (!segment->keys) {
        release_least_used(store);
        if (sealed_open(&segment->keys, store->data_dir, segment->name, segment->meta.id, segment->rows,
                        err) < 0)
            return NULL;
    }
    return segment->keys;
}

/* The row must have the key too: a sealed file that names another one would merge two trades. */
static int find_sealed(struct store *store, size_t part, const char *key, size_t len, bool *ret_found,
                       struct segment_found *ret, struct err *err)
{
    struct sealed *keys = store_segment_keys(store, part, err);
    int64_t seq;

    if (!keys || sealed_find(keys, key, len, ret_found, &seq, err) < 0)
        return err->code;
    if (!*ret_found)
        return 0;
    struct segment *db = store_segment_db(store, part, err);

    return db ? segment_find_seq(db, seq, key, len, ret, err) : err->code;
}

int store_find(struct store *store, const struct screen_candidate *candidate, const char *key,
               size_t len, bool *ret_found, struct segment_found *ret, struct err *err)
{
    size_t part = candidate->part;

    *ret_found = false;
    if (candidate->generation < 0) {
        if (find_sealed(store, part, key, len, ret_found, ret, err) == 0)
            return 0;
        /* Derived: the next start makes it anew from the segment, on other blocks of the disk. */
        if (err->code == ERR_CORRUPT || err->code == ERR_IO)
            catalog_remove(store->data_dir, store->segments[part].name, ".keys");
        return err->code;
    }
    struct segment *db = store_segment_db(store, part, err);

    return db ? segment_find(db, candidate->generation, key, len, ret_found, ret, err) : err->code;
}

void store_distrust(struct store *store, size_t part, const char *reason)
{
    store->segments[part].rebuild = true;
    store->distrust = true;
    store_event(store, STORE_CRITICAL,
                "%s: %s; every key is checked exactly until the filter is rebuilt",
                store->segments[part].name, reason);
}

void store_false_negative(struct store *store, size_t part, const char *found_by)
{
    char reason[128];

    snprintf(reason, sizeof reason, "a stored key was answered absent, found by %s", found_by);
    store->false_negatives++;
    store_distrust(store, part, reason);
}

/* ---- segments ---- */

static struct store_segment *append_segment(struct store *store, const char *name, uint64_t number)
{
    store->segments = mem_realloc(store->segments, store->segments_n + 1, sizeof *store->segments);
    struct store_segment *segment = &store->segments[store->segments_n++];

    *segment = (struct store_segment){.number = number};
    snprintf(segment->name, sizeof segment->name, "%s", name);
    store->figures_whole = true;
    return segment;
}

static int create_segment(struct store *store, uint64_t number, int64_t day, int64_t first_seq,
                          char ret_name[SEGMENT_NAME_MAX], struct err *err)
{
    struct segment_meta meta = {
        .first_seq = first_seq,
        .created_us = clock_wall_us(),
        .day = day,
        .generation_keys = store->config.generation_keys,
    };

    randombytes_buf(meta.id, sizeof meta.id);
    catalog_name(ret_name, day, number);
    return segment_create(store->data_dir, ret_name, &meta, err);
}

/* Opens the file of the last appended segment for writing and gives it its part of the screen. */
static int open_active(struct store *store, struct err *err)
{
    struct store_segment *segment = store_active(store);

    /* A file that is written again, restored from a copy say, has no sealed keys. */
    catalog_remove(store->data_dir, segment->name, ".keys");
    if (segment_open(&segment->db, store->data_dir, segment->name, true, &segment->meta, err) < 0)
        return err->code;
    segment->state = SEGMENT_ACTIVE;
    return 0;
}

int store_try_close(struct store *store, struct store_segment *segment, struct err *err)
{
    bool done;

    segment->state = SEGMENT_DRAINING;
    if (segment_close_writes(segment->db, &done, err) < 0)
        return err->code == ERR_FULL || err->code == ERR_BUSY ? 0 : err->code; /* tried again */
    if (done) {
        segment_close(segment->db);
        segment->db = NULL;
        segment->state = SEGMENT_CLOSED;
        store_note_bytes(store, segment);
        store->figures_whole = true;
    }
    return 0;
}

bool store_must_roll(const struct store *store, const struct batch *batch)
{
    const struct store_segment *active = &store->segments[store->segments_n - 1];

    if (!batch->ask_n)
        return false;
    if (clock_day_of_us(batch->received_us) > active->meta.day)
        return true; /* from an empty one too: its name says the day */
    return active->rows &&
           (store->roll_wanted || active->rows + batch->ask_n > store->config.segment_rows);
}

/* For the next start. Without the note it only finds out less. */
static void note_newest(const struct store *store)
{
    struct err err;

    if (catalog_note_newest(store->data_dir, store->segments[store->segments_n - 1].name, &err) < 0)
        store_event(store, STORE_WARNING, "noting the newest segment: %s", err.text);
}

/* Opens a segment that was just made. Without space for that it goes again, and nothing has happened: the
 * log first, for it must not meet a file of that name made later. */
static int open_next(struct store *store, const char *name, struct segment **ret,
                     struct segment_meta *ret_meta, struct err *err)
{
    static const char *const suffixes[] = {".db-wal", ".db-shm", ".db"};

    if (segment_open(ret, store->data_dir, name, true, ret_meta, err) == 0)
        return 0;
    if (err->code == ERR_FULL)
        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
            catalog_remove(store->data_dir, name, suffixes[i]);
    else if (err->code != ERR_CORRUPT)
        err->code = ERR_IO; /* it stays, empty: the next start goes on in it */
    return err->code;
}

int store_roll(struct store *store, int64_t received_us, struct err *err)
{
    struct store_segment *old = store_active(store);
    int64_t day = clock_day_of_us(received_us);
    char name[SEGMENT_NAME_MAX];
    struct segment_meta meta;
    struct segment *db;

    if (day < old->meta.day)
        day = old->meta.day; /* segments never go backwards in time */
    if (create_segment(store, old->number + 1, day, store_next_seq(old), name, err) < 0 ||
        open_next(store, name, &db, &meta, err) < 0)
        return err_prefix(err, "rolling to a new segment");
    store_stop_snapshot(store);
    struct store_segment *next = append_segment(store, name, old->number + 1);

    next->db = db;
    next->meta = meta;
    screen_add_part(&store->screen, store->config.generation_keys, 0);
    note_newest(store);
    screen_warm(&store->screen);
    store->roll_wanted = false;
    store->snapshot.rows_saved = store->snapshot.rows_on_disk = 0;
    store_event(store, STORE_INFO, "%s begins", name);
    return store_try_close(store, &store->segments[store->segments_n - 2], err);
}

/* ---- open ---- */

static int check_chain(const struct store *store, size_t i, struct err *err)
{
    const struct store_segment *segment = &store->segments[i];

    if (i == 0 || segment->meta.first_seq == store_next_seq(&store->segments[i - 1]))
        return 0;
    return err_set(
        err, ERR_CORRUPT,
        "%s.db begins with seq %lld, but %s.db before it ends with %lld: a file or a WAL is lost",
        segment->name, (long long)segment->meta.first_seq, store->segments[i - 1].name,
        (long long)store_next_seq(&store->segments[i - 1]) - 1);
}

/* What a kill left unfinished in a file: a log, or the journal of leaving WAL mode. Only a connection that
 * may write can play either back. */
static bool is_unfinished(const struct store *store, const char *name)
{
    return catalog_bytes(store->data_dir, name, ".db-wal") > 0 ||
           catalog_bytes(store->data_dir, name, ".db-journal") > 0;
}

/* A closed segment that was still in WAL mode, or on its way out of it, when the daemon ended is closed
 * again. */
static int open_closed(struct store *store, size_t i, struct err *err)
{
    struct store_segment *segment = &store->segments[i];
    bool writable = is_unfinished(store, segment->name);

    segment->state = SEGMENT_CLOSED;
    if (segment_open(&segment->db, store->data_dir, segment->name, writable, &segment->meta, err) < 0)
        return err->code;
    if (!writable && segment_in_wal_mode(segment->db)) {
        segment_close(segment->db);
        segment->db = NULL;
        writable = true;
        if (segment_open(&segment->db, store->data_dir, segment->name, true, &segment->meta, err) < 0)
            return err->code;
    }
    if (writable && (store_try_close(store, segment, err) < 0 || !store_segment_db(store, i, err)))
        return err->code;
    store_note_bytes(store, segment);
    return 0;
}

static int read_totals(struct store *store, size_t i, uint32_t *ret_generations, struct err *err)
{
    struct store_segment *segment = &store->segments[i];
    struct segment_totals totals;

    if (segment_totals(segment->db, &totals, err) < 0)
        return err->code;
    if (totals.last_seq < segment->meta.first_seq - 1)
        return err_set(err, ERR_CORRUPT, "%s.db: rows before its first_seq", segment->name);
    segment->rows = (uint64_t)(totals.last_seq - segment->meta.first_seq + 1);
    segment->first_received_us = totals.first_received_us;
    segment->last_received_us = totals.last_received_us;
    segment->conflicts = totals.conflicts;
    segment->rejects = totals.rejects;
    segment->reject_bytes = totals.reject_bytes;
    *ret_generations = segment->rows ? totals.last_generation + 1 : 0;
    return 0;
}

/* The sealed keys of these rows, not of others that the segment once had: rows of everywhere are asked. */
static int spot_check(struct store *store, size_t i, struct err *err)
{
    struct store_segment *segment = &store->segments[i];
    struct segment *db = store_segment_db(store, i, err);
    char *key = mem_alloc(STORE_KEY_BYTES_MAX);
    int ret = db ? 0 : err->code;

    for (uint64_t n = 0; n < SPOT_CHECKS && segment->rows && ret == 0; n++) {
        int64_t seq = store_next_seq(segment) - 1 - (int64_t)(segment->rows * n / SPOT_CHECKS);
        int64_t found_seq = 0;
        struct segment_found row;
        uint32_t generation;
        bool there, found = false;
        size_t len;

        ret = segment_key_at(db, seq, key, STORE_KEY_BYTES_MAX, &len, &generation, &there, err);
        if (ret == 0 && there)
            ret = sealed_find(segment->keys, key, len, &found, &found_seq, err);
        if (ret == 0 && (!found || found_seq > seq))
            ret = err_set(err, ERR_CORRUPT, "%s.keys: not the keys of these rows", segment->name);
        else if (ret == 0 && found_seq < seq) /* the key stands twice, or the seq is damaged */
            ret = segment_find_seq(db, found_seq, key, len, &row, err);
    }
    free(key);
    return ret;
}

/* Sealed, if its sealed file is there and to be trusted; else that is made anew. */
static int look_for_seal(struct store *store, size_t i, struct err *err)
{
    struct store_segment *segment = &store->segments[i];

    if (catalog_bytes(store->data_dir, segment->name, ".keys") == 0)
        return 0;
    if (store_segment_keys(store, i, err) && spot_check(store, i, err) == 0) {
        segment->state = SEGMENT_SEALED;
        store_note_bytes(store, segment);
        return 0;
    }
    if (err->code != ERR_CORRUPT && err->code != ERR_IO)
        return err->code;
    store_event(store, STORE_WARNING, "%s; it is sealed again", err->text);
    sealed_close(segment->keys);
    segment->keys = NULL;
    catalog_remove(store->data_dir, segment->name, ".keys");
    return 0;
}

static int open_segment(struct store *store, const struct catalog_entry *entry, bool last,
                        struct err *err)
{
    struct store_segment *segment = append_segment(store, entry->name, entry->number);
    size_t i = store->segments_n - 1;
    uint32_t generations = 0;

    if ((last ? open_active(store, err) : open_closed(store, i, err)) < 0 ||
        check_chain(store, i, err) < 0 || read_totals(store, i, &generations, err) < 0 ||
        (segment->state == SEGMENT_CLOSED && look_for_seal(store, i, err) < 0))
        return err->code;
    screen_add_part(&store->screen, segment->meta.generation_keys, generations);
    if (store_load_part(store, i, generations, err) < 0)
        return err->code;
    store_release(segment); /* opened again when a key is looked up in it */
    return 0;
}

/* A lost file in the middle breaks the chain of seq; the last one is missed by its note alone. */
static int check_newest(const struct store *store, const struct catalog_entry *entries, size_t n,
                        struct catalog_entry *ret_noted, struct err *err)
{
    if (catalog_read_newest(store->data_dir, ret_noted, err) < 0)
        store_event(store, STORE_WARNING, "%s; it is written again", err->text);
    if (ret_noted->number <= (n ? entries[n - 1].number : 0))
        return 0;
    return err_set(err, ERR_CORRUPT,
                   "%s.db, the newest segment, is lost: put it back, or delete the file newest to go on"
                   " without its trades",
                   ret_noted->name);
}

static int open_segments(struct store *store, struct err *err)
{
    struct catalog_entry *entries, noted;
    size_t n;

    if (catalog_tidy(store->data_dir, err) < 0 || catalog_list(store->data_dir, &entries, &n, err) < 0)
        return err->code;
    int ret = check_newest(store, entries, n, &noted, err);

    if (ret == 0 && n == 0) {
        entries = mem_zalloc(1, sizeof *entries);
        entries->number = n = 1;
        ret = create_segment(store, 1, clock_day_of_us(clock_wall_us()), 1, entries->name, err);
    }
    for (size_t i = 0; i < n && ret == 0; i++)
        ret = open_segment(store, &entries[i], i + 1 == n, err);
    if (ret == 0 && entries[n - 1].number != noted.number)
        note_newest(store);
    free(entries);
    return ret;
}

static void warn_of_network(const struct store *store)
{
    const char *kind = catalog_network_file_system(store->data_dir);

    if (kind)
        store_event(store, STORE_WARNING,
                    "data directory %s is on %s: what was answered is as durable as that makes it, and"
                    " another machine's writes would go unnoticed; use a local disk",
                    store->data_dir, kind);
}

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

int store_open(struct store **ret, const struct store_config *config, struct err *err)
{
    struct store *store = mem_zalloc_aligned(64, sizeof *store);
    unsigned char secret[CATALOG_SECRET_BYTES];
    bool new_secret;

    store->config = *config;
    store->data_dir = mem_strdup(config->data_dir);
    store->snapshot.next_us = clock_mono_us() + (int64_t)config->snapshot_interval_s * 1000000;
    pthread_once(&library_once, segment_start_library);
    warn_of_network(store);
    if (sodium_init() < 0)
        err_set(err, ERR_SYSTEM, "libsodium cannot start: no randomness");
    else if (catalog_check(store->data_dir, err) == 0 &&
             catalog_secret(store->data_dir, secret, &new_secret, err) == 0) {
        screen_init(&store->screen,
                    &(struct screen_config){
                        .false_positive_rate = config->false_positive_rate,
                        .capacity = config->capacity,
                        .segment_rows = config->segment_rows,
                    },
                    secret);
        if (open_segments(store, err) == 0 && sealer_start(&store->sealer, store->data_dir, err) == 0) {
            store_judge_clock(store);
            screen_warm(&store->screen);
            *ret = store;
            return 0;
        }
    }
    store_close(store);
    return err->code;
}

bool store_is_full(struct store *store)
{
    struct err err;

    return catalog_free_bytes(store->data_dir, &store->disk_free_bytes, &err) == 0 &&
           store->disk_free_bytes < store->config.disk_reserve_bytes;
}

void store_close(struct store *store)
{
    struct err ignored; /* a failed checkpoint is made good by the next start */
    uint64_t rest;

    if (!store)
        return;
    sealer_stop(store->sealer);
    store_stop_snapshot(store);
    if (store->segments_n && store_active(store)->db)
        segment_checkpoint(store_active(store)->db, &rest, &ignored);
    for (size_t i = 0; i < store->segments_n; i++) {
        segment_close(store->segments[i].db);
        sealed_close(store->segments[i].keys);
        free(store->segments[i].generation_first_seq);
    }
    screen_done(&store->screen);
    free(store->segments);
    free(store->hashes);
    free(store->data_dir);
    free(store);
}

/* ---- figures ---- */

static const char *const state_names[] = {
    [SEGMENT_ACTIVE] = "active",
    [SEGMENT_DRAINING] = "draining",
    [SEGMENT_CLOSED] = "closed",
    [SEGMENT_SEALED] = "sealed",
};

static void put_generation(const struct store *store, size_t part, uint32_t generation,
                           struct generation_figures *ret)
{
    ret->generation = generation;
    ret->filter = screen_column_figures(&store->screen, part, generation);
    memcpy(ret->segment, store->segments[part].name, sizeof ret->segment);
}

static void put_segment(const struct store *store, size_t i, struct segment_figures *ret)
{
    struct store_segment *segment = &store->segments[i];

    if (segment->state < SEGMENT_CLOSED)
        store_note_bytes(store, segment);
    memcpy(ret->segment, segment->name, sizeof ret->segment);
    ret->state = state_names[segment->state];
    ret->rows = segment->rows;
    ret->first_seq = segment->meta.first_seq;
    ret->bytes = segment->bytes;
    ret->filter = screen_part_figures(&store->screen, i);
}

/* Closed generations do not change: unless something was rebuilt or rolled, only the list's end is
 * written. */
static void fill_generations(struct store *store, struct figures *ret)
{
    size_t have = store->figures_whole ? 0 : ret->generations_n, total = 0, at = 0;

    for (size_t i = 0; i < store->segments_n; i++)
        total += store->screen.parts[i].bank.columns;
    ret->generations = mem_realloc(ret->generations, total, sizeof *ret->generations);
    ret->generations_n = total;
    for (size_t i = 0; i < store->segments_n; i++)
        for (uint32_t g = 0; g < store->screen.parts[i].bank.columns; g++, at++)
            if (at + 1 >= have)
                put_generation(store, i, g, &ret->generations[at]);
}

static void fill_segments(struct store *store, struct figures *ret)
{
    size_t have = store->figures_whole ? 0 : ret->segments_n;

    ret->segments = mem_realloc(ret->segments, store->segments_n, sizeof *ret->segments);
    ret->segments_n = store->segments_n;
    for (size_t i = 0; i < store->segments_n; i++)
        if (i >= have || store->segments[i].state < SEGMENT_CLOSED)
            put_segment(store, i, &ret->segments[i]);
}

void store_fill_figures(struct store *store, struct figures *ret)
{
    struct err err;

    fill_generations(store, ret);
    fill_segments(store, ret);
    store->figures_whole = false;
    screen_fill_figures(&store->screen, ret);
    ret->false_negative = store->false_negatives;
    ret->members_asked = store->members_asked;
    ret->members_maybe = store->members_maybe;
    ret->strangers_asked = store->strangers_asked;
    ret->strangers_maybe = store->strangers_maybe;
    ret->rows = ret->bytes = ret->conflicts = ret->rejects = 0;
    ret->window_start_us = 0;
    for (size_t i = store->segments_n; i-- > 0;) {
        const struct store_segment *segment = &store->segments[i];

        ret->rows += segment->rows;
        ret->bytes += ret->segments[i].bytes;
        ret->conflicts += segment->conflicts;
        ret->rejects += segment->rejects;
        if (segment->first_received_us)
            ret->window_start_us = segment->first_received_us;
    }
    catalog_free_bytes(store->data_dir, &store->disk_free_bytes, &err); /* as before where it fails */
    ret->wal_bytes = segment_wal_bytes(store_active(store)->db);
    ret->disk_free_bytes = store->disk_free_bytes;
    ret->disk_reserve_bytes = store->config.disk_reserve_bytes;
    ret->expiry_held = store->expiry_held || store->clocks_apart;
    ret->sqlite_version = segment_sqlite_version();
}
