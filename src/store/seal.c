#include "store/seal.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/catalog.h"
#include "store/merge.h"
#include "store/snapshot.h"

enum {
    APPLICATION_ID = 0x54534b31, /* "TSK1" */
    USER_VERSION = 1,
    PAGE_BYTES = 8192,   /* a look-up reads one leaf; the inner pages fit twice into a reader's cache */
    CHUNK_KEYS = 131072, /* keys a transaction: its sync spreads the writing out */
    BUILD_CACHE_KIB = 8 * 1024,
    READ_CACHE_KIB = 8 * 1024,
    SPACE_PER_KEY_BYTES = 24, /* of SEGMENT.keys besides the key itself, with slack */
    SPACE_SLACK_BYTES = 1 << 20,
    NICE = 10,           /* of the thread: ingest goes first */
    PACE_KEYS = 4096,    /* keys between two rests */
    REST_US_MAX = 50000, /* longest rest: an interruption waits for it */
    ADD_BEHIND = 16,     /* keys whose words are on their way to the cache before they are added */
};

static const char schema[] =
    "CREATE TABLE meta (segment_id BLOB NOT NULL, rows INTEGER NOT NULL, twice INTEGER NOT NULL) "
    "STRICT;"
    "CREATE TABLE key (key TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE twice (seq INTEGER PRIMARY KEY, key TEXT NOT NULL, stands INTEGER NOT NULL) STRICT;";

static int fail(sqlite3 *db, int rc, const char *name, const char *suffix, struct err *err)
{
    segment_error(db, rc, err);
    return err_prefix(err, "%s%s", name, suffix);
}

/* ---- the sealed file ---- */

struct sealed {
    char name[SEGMENT_NAME_MAX];
    sqlite3 *db;
    sqlite3_stmt *find;
    uint64_t rows, twice;
};

/* rows NULL: however many. */
static int check_sealed(struct sealed *sealed, const unsigned char segment_id[SEGMENT_ID_BYTES],
                        const uint64_t *rows, struct err *err)
{
    sqlite3_stmt *meta = NULL;
    int rc =
        sqlite3_prepare_v2(sealed->db,
                           "SELECT segment_id, rows, twice, (SELECT application_id FROM"
                           " pragma_application_id), (SELECT user_version FROM pragma_user_version)"
                           " FROM meta",
                           -1, &meta, NULL);
    bool ours = false;

    if (rc == SQLITE_OK)
        rc = sqlite3_step(meta);
    if (rc == SQLITE_ROW) {
        sealed->rows = (uint64_t)sqlite3_column_int64(meta, 1);
        sealed->twice = (uint64_t)sqlite3_column_int64(meta, 2);
        ours = sqlite3_column_bytes(meta, 0) == SEGMENT_ID_BYTES &&
               memcmp(sqlite3_column_blob(meta, 0), segment_id, SEGMENT_ID_BYTES) == 0 &&
               (!rows || sealed->rows == *rows) && sqlite3_column_int(meta, 3) == APPLICATION_ID &&
               sqlite3_column_int(meta, 4) == USER_VERSION;
    }
    int ret =
        rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : fail(sealed->db, rc, sealed->name, ".keys", err);

    sqlite3_finalize(meta);
    if (ret == 0 && !ours)
        ret = err_set(err, ERR_CORRUPT, "%s.keys: not the sealed keys of this segment", sealed->name);
    return ret;
}

static int begin_sealed(struct sealed *sealed, int rc, const unsigned char segment_id[SEGMENT_ID_BYTES],
                        const uint64_t *rows, struct sealed **ret, struct err *err)
{
    char cache[64];

    snprintf(cache, sizeof cache, "PRAGMA cache_size=-%d", READ_CACHE_KIB);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(sealed->db, cache, NULL, NULL, NULL);
    if (rc == SQLITE_OK) /* for as long as it is open, as segment.c holds a closed file */
        rc = sqlite3_exec(sealed->db, "BEGIN", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        fail(sealed->db, rc, sealed->name, ".keys", err);
    else if (check_sealed(sealed, segment_id, rows, err) == 0) {
        rc = sqlite3_prepare_v3(sealed->db, "SELECT seq FROM key WHERE key = ?1", -1,
                                SQLITE_PREPARE_PERSISTENT, &sealed->find, NULL);
        if (rc == SQLITE_OK) {
            *ret = sealed;
            return 0;
        }
        fail(sealed->db, rc, sealed->name, ".keys", err);
    }
    sealed_close(sealed);
    return err->code;
}

int sealed_open(struct sealed **ret, const char *dir, const char *name,
                const unsigned char segment_id[SEGMENT_ID_BYTES], uint64_t rows, struct err *err)
{
    struct sealed *sealed = mem_zalloc(1, sizeof *sealed);
    char path[CATALOG_PATH_MAX];

    snprintf(sealed->name, sizeof sealed->name, "%s", name);
    catalog_path(path, dir, name, ".keys");
    int rc = sqlite3_open_v2(path, &sealed->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);

    return begin_sealed(sealed, rc, segment_id, &rows, ret, err);
}

int sealed_open_still(struct sealed **ret, const char *dir, const char *name,
                      const unsigned char segment_id[SEGMENT_ID_BYTES], struct err *err)
{
    struct sealed *sealed = mem_zalloc(1, sizeof *sealed);

    snprintf(sealed->name, sizeof sealed->name, "%s", name);
    int rc = segment_open_database_still(dir, name, ".keys", &sealed->db);

    return begin_sealed(sealed, rc, segment_id, NULL, ret, err);
}

int sealed_check(struct sealed *sealed, void (*on_fault)(void *arg, const char *text), void *arg,
                 struct err *err)
{
    return segment_check_database(sealed->db, sealed->name, ".keys", on_fault, arg, err);
}

int sealed_open_keys(struct sealed *sealed, struct key_cursor *ret, struct err *err)
{
    sqlite3_stmt *select = NULL;
    int rc = sqlite3_prepare_v2(sealed->db, "SELECT key, seq FROM key ORDER BY key", -1, &select, NULL);

    *ret = (struct key_cursor){0};
    if (rc != SQLITE_OK)
        return fail(sealed->db, rc, sealed->name, ".keys", err);
    return key_cursor_begin(ret, select, err);
}

void sealed_close(struct sealed *sealed)
{
    if (!sealed)
        return;
    sqlite3_finalize(sealed->find);
    sqlite3_close(sealed->db);
    free(sealed);
}

uint64_t sealed_rows(const struct sealed *sealed)
{
    return sealed->rows;
}

uint64_t sealed_twice(const struct sealed *sealed)
{
    return sealed->twice;
}

int sealed_find(struct sealed *sealed, const char *key, size_t len, bool *ret_found, int64_t *ret_seq,
                struct err *err)
{
    int ret = 0;

    sqlite3_bind_text64(sealed->find, 1, key, len, SQLITE_STATIC, SQLITE_UTF8);
    int rc = sqlite3_step(sealed->find);

    *ret_found = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW)
        *ret_seq = sqlite3_column_int64(sealed->find, 0);
    else if (rc != SQLITE_DONE)
        ret = fail(sealed->db, rc, sealed->name, ".keys", err);
    sqlite3_reset(sealed->find);
    return ret;
}

int sealed_scan(struct sealed *sealed,
                int (*on_key)(void *arg, const char *key, size_t len, struct err *err), void *arg,
                struct err *err)
{
    sqlite3_stmt *scan = NULL;
    int rc = sqlite3_prepare_v2(sealed->db, "SELECT key FROM key", -1, &scan, NULL);
    int ret = rc == SQLITE_OK ? 0 : fail(sealed->db, rc, sealed->name, ".keys", err);

    while (ret == 0 && (rc = sqlite3_step(scan)) == SQLITE_ROW) {
        const char *key = sqlite3_column_blob(scan, 0);

        ret = key ? on_key(arg, key, (size_t)sqlite3_column_bytes(scan, 0), err)
                  : fail(sealed->db, SQLITE_NOMEM, sealed->name, ".keys", err);
    }
    if (ret == 0 && rc != SQLITE_DONE)
        ret = fail(sealed->db, rc, sealed->name, ".keys", err);
    sqlite3_finalize(scan);
    return ret;
}

struct sealer {
    const char *dir;
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    enum { IDLE, SUBMITTED, DONE } state;
    bool stop;
    atomic_bool interrupted; /* give up the job under way */
    atomic_bool hurry;       /* take no rests */
    struct seal_job job;
    struct seal_result result;
};

/* ---- sealing: a merge of the generations' cursors ---- */

struct sealing {
    const struct seal_job *job;
    struct sealer *sealer; /* says when to hurry and when to stop */
    sqlite3 *from;         /* the segment, read-only */
    sqlite3 *to;           /* SEGMENT.keys.new */
    sqlite3_stmt *insert, *insert_twice;
    struct merge merge; /* of the generations' keys */
    struct bloom bloom;
    struct bloom_hash added[ADD_BEHIND]; /* ring of the last keys: prefetched, not yet in bloom */
    char *last;                          /* the key that was written last */
    size_t last_len, last_cap;
    int64_t last_seq;
    uint64_t keys, twice;
};

static int open_cursors(struct sealing *sealing, struct err *err)
{
    for (uint32_t g = 0; g < sealing->job->generations; g++) {
        struct key_cursor cursor;

        if (segment_open_keys_of(sealing->from, sealing->job->name, g, &cursor, err) < 0) {
            key_cursor_close(&cursor);
            return err->code;
        }
        merge_add(&sealing->merge, &cursor);
    }
    merge_order(&sealing->merge);
    return 0;
}

static int write_row(struct sealing *sealing, sqlite3_stmt *statement, struct err *err)
{
    int rc = sqlite3_step(statement);

    sqlite3_reset(statement);
    return rc == SQLITE_DONE ? 0 : fail(sealing->to, rc, sealing->job->name, ".keys", err);
}

static int write_twice(struct sealing *sealing, const struct key_cursor *cursor, struct err *err)
{
    sealing->twice++;
    sqlite3_bind_int64(sealing->insert_twice, 1, cursor->seq);
    sqlite3_bind_text(sealing->insert_twice, 2, cursor->key, (int)cursor->len, SQLITE_STATIC);
    sqlite3_bind_int64(sealing->insert_twice, 3, sealing->last_seq);
    return write_row(sealing, sealing->insert_twice, err);
}

static void add_to_filter(struct sealing *sealing, struct bloom_hash hash)
{
    struct bloom_hash *slot = &sealing->added[sealing->keys % ADD_BEHIND];

    if (sealing->keys++ >= ADD_BEHIND)
        bloom_add(&sealing->bloom, *slot);
    bloom_prefetch_add(&sealing->bloom, hash);
    *slot = hash;
}

static void finish_filter(struct sealing *sealing)
{
    for (uint64_t i = sealing->keys > ADD_BEHIND ? sealing->keys - ADD_BEHIND : 0; i < sealing->keys;
         i++)
        bloom_add(&sealing->bloom, sealing->added[i % ADD_BEHIND]);
}

static int write_key(struct sealing *sealing, const struct key_cursor *cursor, struct err *err)
{
    size_t len = cursor->len;

    if (sealing->keys && len == sealing->last_len && memcmp(cursor->key, sealing->last, len) == 0)
        return write_twice(sealing, cursor, err);
    if (sealing->last_cap < len) {
        sealing->last_cap = len * 2;
        sealing->last = mem_realloc(sealing->last, sealing->last_cap, 1);
    }
    memcpy(sealing->last, cursor->key, len);
    sealing->last_len = len;
    sealing->last_seq = cursor->seq;
    add_to_filter(sealing, bloom_hash(sealing->job->secret, cursor->key, len));
    sqlite3_bind_text(sealing->insert, 1, cursor->key, (int)cursor->len, SQLITE_STATIC);
    sqlite3_bind_int64(sealing->insert, 2, cursor->seq);
    return write_row(sealing, sealing->insert, err);
}

static int execute(struct sealing *sealing, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(sealing->to, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : fail(sealing->to, rc, sealing->job->name, ".keys", err);
}

/* As long a rest as the work took: half a core at most goes to sealing, and what it does to caches and
 * memory is spread out, unless another segment waits already. */
static void rest(const struct sealing *sealing, int64_t *worked_us)
{
    int64_t now_us = clock_thread_us();
    int64_t us = now_us - *worked_us < REST_US_MAX ? now_us - *worked_us : REST_US_MAX;

    *worked_us = now_us;
    if (!atomic_load(&sealing->sealer->hurry))
        usleep((useconds_t)us);
}

/* Writes the smallest key again and again, a transaction every CHUNK_KEYS. */
static int write_keys(struct sealing *sealing, struct err *err)
{
    int64_t worked_us = clock_thread_us();
    uint64_t written = 0;

    while (merge_first(&sealing->merge)) {
        if (written % CHUNK_KEYS == 0 && execute(sealing, "COMMIT; BEGIN", err) < 0)
            return err->code;
        if (++written % PACE_KEYS == 0)
            rest(sealing, &worked_us);
        if (atomic_load(&sealing->sealer->interrupted))
            return err_set(err, ERR_BUSY, "%s: sealing was interrupted", sealing->job->name);
        if (write_key(sealing, merge_first(&sealing->merge), err) < 0 ||
            merge_next(&sealing->merge, err) < 0)
            return err->code;
    }
    finish_filter(sealing);
    if (sealing->keys + sealing->twice != sealing->job->rows)
        return err_set(err, ERR_CORRUPT, "%s.db: its index names %llu rows where %llu should stand",
                       sealing->job->name, (unsigned long long)(sealing->keys + sealing->twice),
                       (unsigned long long)sealing->job->rows);
    return 0;
}

static int open_files(struct sealing *sealing, const char *dir, struct err *err)
{
    char path[CATALOG_PATH_MAX], pragmas[256];

    catalog_path(path, dir, sealing->job->name, ".db");
    int rc = sqlite3_open_v2(path, &sealing->from, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc != SQLITE_OK)
        return fail(sealing->from, rc, sealing->job->name, ".db", err);
    snprintf(pragmas, sizeof pragmas, "PRAGMA cache_size=-%d", BUILD_CACHE_KIB);
    sqlite3_exec(sealing->from, pragmas, NULL, NULL, NULL);
    catalog_path(path, dir, sealing->job->name, ".keys.new");
    unlink(path);
    rc = sqlite3_open_v2(path, &sealing->to,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK)
        return fail(sealing->to, rc, sealing->job->name, ".keys", err);
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA page_size=%d; PRAGMA journal_mode=OFF; PRAGMA synchronous=NORMAL; PRAGMA "
             "cache_size=-%d;"
             "PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN;",
             PAGE_BYTES, BUILD_CACHE_KIB, APPLICATION_ID, USER_VERSION);
    if (execute(sealing, pragmas, err) < 0 || execute(sealing, schema, err) < 0)
        return err->code;
    rc = sqlite3_prepare_v2(sealing->to, "INSERT INTO key VALUES (?1, ?2)", -1, &sealing->insert, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(sealing->to, "INSERT INTO twice VALUES (?1, ?2, ?3)", -1,
                                &sealing->insert_twice, NULL);
    return rc == SQLITE_OK ? 0 : fail(sealing->to, rc, sealing->job->name, ".keys", err);
}

static int write_meta(struct sealing *sealing, struct err *err)
{
    sqlite3_stmt *insert = NULL;
    int rc = sqlite3_prepare_v2(sealing->to, "INSERT INTO meta VALUES (?1, ?2, ?3)", -1, &insert, NULL);

    if (rc != SQLITE_OK)
        return fail(sealing->to, rc, sealing->job->name, ".keys", err);
    sqlite3_bind_blob(insert, 1, sealing->job->meta.id, SEGMENT_ID_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, (int64_t)sealing->job->rows);
    sqlite3_bind_int64(insert, 3, (int64_t)sealing->twice);
    int ret = write_row(sealing, insert, err);

    sqlite3_finalize(insert);
    return ret < 0 ? ret : execute(sealing, "COMMIT", err);
}

static void close_files(struct sealing *sealing)
{
    merge_done(&sealing->merge);
    sqlite3_finalize(sealing->insert);
    sqlite3_finalize(sealing->insert_twice);
    sqlite3_close(sealing->from);
    sqlite3_close(sealing->to);
    free(sealing->last);
}

/* The last row's hash, by which a start knows that the filter belongs to these rows. */
static int find_origin(struct sealing *sealing, struct snapshot_origin *ret, struct err *err)
{
    sqlite3_stmt *last = NULL;
    int rc = sqlite3_prepare_v2(sealing->from, "SELECT key, seq FROM trade ORDER BY seq DESC LIMIT 1",
                                -1, &last, NULL);

    memcpy(ret->segment_id, sealing->job->meta.id, SEGMENT_ID_BYTES);
    memcpy(ret->secret, sealing->job->secret, BLOOM_KEY_BYTES);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(last);
    if (rc == SQLITE_ROW) {
        ret->last_seq = sqlite3_column_int64(last, 1);
        ret->last_hash = bloom_hash(sealing->job->secret, sqlite3_column_blob(last, 0),
                                    (size_t)sqlite3_column_bytes(last, 0))
                             .x;
    } else if (rc == SQLITE_DONE) {
        ret->last_seq = sealing->job->meta.first_seq - 1;
        ret->last_hash = 0;
    }
    int result = rc == SQLITE_ROW || rc == SQLITE_DONE
                     ? 0
                     : fail(sealing->from, rc, sealing->job->name, ".db", err);

    sqlite3_finalize(last);
    return result;
}

static int check_space(const char *dir, const struct seal_job *job, struct err *err)
{
    uint64_t need = job->rows * SPACE_PER_KEY_BYTES + job->shape.bits / 8 + SPACE_SLACK_BYTES +
                    catalog_bytes(dir, job->name, ".db") / 4; /* keys: about a quarter of a row */
    uint64_t free_bytes;

    if (catalog_free_bytes(dir, &free_bytes, err) < 0)
        return err->code;
    need += job->reserve_bytes;
    if (free_bytes < need)
        return err_set(err, ERR_FULL, "%s: sealing needs %llu MiB, %llu are free", job->name,
                       (unsigned long long)need >> 20, (unsigned long long)free_bytes >> 20);
    return 0;
}

static int seal(struct sealer *sealer, const struct seal_job *job, struct bloom *ret, struct err *err)
{
    struct sealing sealing = {.job = job, .sealer = sealer};
    struct snapshot_origin origin;
    const char *dir = sealer->dir;
    char path[CATALOG_PATH_MAX];

    if (check_space(dir, job, err) < 0)
        return err->code;
    bloom_init(&sealing.bloom, job->shape);
    int code = open_files(&sealing, dir, err);

    if (code == 0)
        code = open_cursors(&sealing, err);
    if (code == 0)
        code = write_keys(&sealing, err);
    if (code == 0)
        code = write_meta(&sealing, err);
    if (code == 0)
        code = find_origin(&sealing, &origin, err);
    close_files(&sealing);
    if (code == 0)
        code = catalog_publish(dir, job->name, ".keys.new", ".keys", err);
    if (code == 0)
        code = snapshot_write_classic(dir, job->name, &origin, &sealing.bloom, err);
    if (code == 0) {
        *ret = sealing.bloom;
        return 0;
    }
    bloom_done(&sealing.bloom);
    catalog_path(path, dir, job->name, ".keys.new");
    unlink(path);
    return code;
}

/* ---- the thread ---- */

static void *run(void *arg)
{
    struct sealer *sealer = arg;

    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE); /* a wish: sealing works without it */
    pthread_mutex_lock(&sealer->lock);
    for (;;) {
        while (!sealer->stop && sealer->state != SUBMITTED)
            pthread_cond_wait(&sealer->changed, &sealer->lock);
        if (sealer->stop)
            break;
        struct seal_job job = sealer->job;
        struct seal_result result = {0};

        pthread_mutex_unlock(&sealer->lock);
        memcpy(result.name, job.name, sizeof result.name);
        result.code = seal(sealer, &job, &result.bloom, &result.err);
        pthread_mutex_lock(&sealer->lock);
        sealer->result = result;
        sealer->state = DONE;
        pthread_cond_broadcast(&sealer->changed);
    }
    pthread_mutex_unlock(&sealer->lock);
    return NULL;
}

int sealer_start(struct sealer **ret, const char *dir, struct err *err)
{
    struct sealer *sealer = mem_zalloc(1, sizeof *sealer);

    sealer->dir = dir;
    pthread_mutex_init(&sealer->lock, NULL);
    pthread_cond_init(&sealer->changed, NULL);
    int rc = pthread_create(&sealer->thread, NULL, run, sealer);

    if (rc != 0) {
        free(sealer);
        return err_set(err, ERR_SYSTEM, "seal thread: %s", strerror(rc));
    }
    *ret = sealer;
    return 0;
}

bool sealer_is_idle(struct sealer *sealer)
{
    pthread_mutex_lock(&sealer->lock);
    bool idle = sealer->state == IDLE;
    pthread_mutex_unlock(&sealer->lock);
    return idle;
}

bool sealer_holds(struct sealer *sealer, const char *name)
{
    pthread_mutex_lock(&sealer->lock);
    bool holds = sealer->state != IDLE && strcmp(sealer->job.name, name) == 0;
    pthread_mutex_unlock(&sealer->lock);
    return holds;
}

void sealer_submit(struct sealer *sealer, const struct seal_job *job)
{
    pthread_mutex_lock(&sealer->lock);
    sealer->job = *job;
    sealer->state = SUBMITTED;
    pthread_cond_broadcast(&sealer->changed);
    pthread_mutex_unlock(&sealer->lock);
}

void sealer_hurry(struct sealer *sealer, bool hurry)
{
    atomic_store(&sealer->hurry, hurry);
}

static bool take(struct sealer *sealer, struct seal_result *ret, bool wait)
{
    pthread_mutex_lock(&sealer->lock);
    while (wait && sealer->state == SUBMITTED)
        pthread_cond_wait(&sealer->changed, &sealer->lock);
    bool done = sealer->state == DONE;

    if (done) {
        *ret = sealer->result;
        sealer->state = IDLE;
    }
    pthread_mutex_unlock(&sealer->lock);
    return done;
}

bool sealer_take(struct sealer *sealer, struct seal_result *ret)
{
    return take(sealer, ret, false);
}

bool sealer_wait(struct sealer *sealer, struct seal_result *ret)
{
    return take(sealer, ret, true);
}

void sealer_stop(struct sealer *sealer)
{
    if (!sealer)
        return;
    atomic_store(&sealer->interrupted, true);
    pthread_mutex_lock(&sealer->lock);
    sealer->stop = true;
    pthread_cond_broadcast(&sealer->changed);
    pthread_mutex_unlock(&sealer->lock);
    pthread_join(sealer->thread, NULL);
    if (sealer->state == DONE && sealer->result.code == 0)
        bloom_done(&sealer->result.bloom);
    pthread_cond_destroy(&sealer->changed);
    pthread_mutex_destroy(&sealer->lock);
    free(sealer);
}
