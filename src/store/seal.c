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
    return err_set(err, (enum err_code)segment_error_code(rc), "%s%s: %s", name, suffix,
                   db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

/* ---- the sealed file ---- */

struct sealed {
    char name[SEGMENT_NAME_MAX];
    sqlite3 *db;
    sqlite3_stmt *find;
    uint64_t twice;
};

static int check_sealed(struct sealed *sealed, const unsigned char segment_id[SEGMENT_ID_BYTES],
                        uint64_t rows, struct err *err)
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
        sealed->twice = (uint64_t)sqlite3_column_int64(meta, 2);
        ours = sqlite3_column_bytes(meta, 0) == SEGMENT_ID_BYTES &&
               memcmp(sqlite3_column_blob(meta, 0), segment_id, SEGMENT_ID_BYTES) == 0 &&
               (uint64_t)sqlite3_column_int64(meta, 1) == rows &&
               sqlite3_column_int(meta, 3) == APPLICATION_ID &&
               sqlite3_column_int(meta, 4) == USER_VERSION;
    }
    int ret =
        rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : fail(sealed->db, rc, sealed->name, ".keys", err);

    sqlite3_finalize(meta);
    if (ret == 0 && !ours)
        ret = err_set(err, ERR_CORRUPT, "%s.keys: not the sealed keys of this segment", sealed->name);
    return ret;
}

int sealed_open(struct sealed **ret, const char *dir, const char *name,
                const unsigned char segment_id[SEGMENT_ID_BYTES], uint64_t rows, struct err *err)
{
    struct sealed *sealed = mem_zalloc(1, sizeof *sealed);
    char path[CATALOG_PATH_MAX], cache[64];

    snprintf(sealed->name, sizeof sealed->name, "%s", name);
    snprintf(cache, sizeof cache, "PRAGMA cache_size=-%d", READ_CACHE_KIB);
    catalog_path(path, dir, name, ".keys");
    int rc = sqlite3_open_v2(path, &sealed->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(sealed->db, cache, NULL, NULL, NULL);
    if (rc == SQLITE_OK) /* for as long as it is open, as segment.c holds a closed file */
        rc = sqlite3_exec(sealed->db, "BEGIN", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        fail(sealed->db, rc, name, ".keys", err);
    else if (check_sealed(sealed, segment_id, rows, err) == 0) {
        rc = sqlite3_prepare_v3(sealed->db, "SELECT seq FROM key WHERE key = ?1", -1,
                                SQLITE_PREPARE_PERSISTENT, &sealed->find, NULL);
        if (rc == SQLITE_OK) {
            *ret = sealed;
            return 0;
        }
        fail(sealed->db, rc, name, ".keys", err);
    }
    sealed_close(sealed);
    return err->code;
}

void sealed_close(struct sealed *sealed)
{
    if (!sealed)
        return;
    sqlite3_finalize(sealed->find);
    sqlite3_close(sealed->db);
    free(sealed);
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

/* ---- the merge: one cursor a generation, a heap of them by (key, seq) ---- */

struct cursor {
    sqlite3_stmt *statement;
    const unsigned char *key; /* of its current row; lives until it is stepped */
    int key_len;
    int64_t seq;
};

struct merge {
    const struct seal_job *job;
    struct sealer *sealer; /* says when to hurry and when to stop */
    sqlite3 *from;         /* the segment, read-only */
    sqlite3 *to;           /* SEGMENT.keys.new */
    sqlite3_stmt *insert, *insert_twice;
    struct cursor *cursors; /* a binary heap, the smallest first */
    uint32_t cursors_n;
    struct bloom bloom;
    struct bloom_hash added[ADD_BEHIND]; /* ring of the last keys: prefetched, not yet in bloom */
    unsigned char *last;                 /* the key that was written last */
    size_t last_len, last_cap;
    int64_t last_seq;
    uint64_t keys, twice;
};

static bool before(const struct cursor *a, const struct cursor *b)
{
    int len = a->key_len < b->key_len ? a->key_len : b->key_len;
    int order = memcmp(a->key, b->key, (size_t)len);

    if (order == 0)
        order = a->key_len - b->key_len;
    return order < 0 || (order == 0 && a->seq < b->seq);
}

static void sink(struct merge *merge, uint32_t at)
{
    struct cursor moving = merge->cursors[at];

    for (;;) {
        uint32_t child = at * 2 + 1;

        if (child >= merge->cursors_n)
            break;
        if (child + 1 < merge->cursors_n && before(&merge->cursors[child + 1], &merge->cursors[child]))
            child++;
        if (!before(&merge->cursors[child], &moving))
            break;
        merge->cursors[at] = merge->cursors[child];
        at = child;
    }
    merge->cursors[at] = moving;
}

/* Steps a cursor to its next row; *ret_more false at its end. */
static int advance(struct merge *merge, struct cursor *cursor, bool *ret_more, struct err *err)
{
    int rc = sqlite3_step(cursor->statement);

    *ret_more = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW) {
        cursor->key = sqlite3_column_blob(cursor->statement, 0);
        cursor->key_len = sqlite3_column_bytes(cursor->statement, 0);
        cursor->seq = sqlite3_column_int64(cursor->statement, 1);
        return cursor->key ? 0 : fail(merge->from, SQLITE_NOMEM, merge->job->name, ".db", err);
    }
    return rc == SQLITE_DONE ? 0 : fail(merge->from, rc, merge->job->name, ".db", err);
}

/* Both columns stand in the UNIQUE index: the rows are not read. */
static int open_cursors(struct merge *merge, struct err *err)
{
    merge->cursors = mem_zalloc(merge->job->generations, sizeof *merge->cursors);
    for (uint32_t g = 0; g < merge->job->generations; g++) {
        struct cursor *cursor = &merge->cursors[merge->cursors_n];
        bool more;
        int rc = sqlite3_prepare_v2(merge->from,
                                    "SELECT key, seq FROM trade WHERE generation = ?1 ORDER BY key", -1,
                                    &cursor->statement, NULL);

        if (rc != SQLITE_OK)
            return fail(merge->from, rc, merge->job->name, ".db", err);
        sqlite3_bind_int64(cursor->statement, 1, g);
        if (advance(merge, cursor, &more, err) < 0) {
            merge->cursors_n++;
            return err->code;
        }
        if (more)
            merge->cursors_n++;
        else
            sqlite3_finalize(cursor->statement);
    }
    for (uint32_t at = merge->cursors_n / 2; at-- > 0;)
        sink(merge, at);
    return 0;
}

static int write_row(struct merge *merge, sqlite3_stmt *statement, struct err *err)
{
    int rc = sqlite3_step(statement);

    sqlite3_reset(statement);
    return rc == SQLITE_DONE ? 0 : fail(merge->to, rc, merge->job->name, ".keys", err);
}

static int write_twice(struct merge *merge, const struct cursor *cursor, struct err *err)
{
    merge->twice++;
    sqlite3_bind_int64(merge->insert_twice, 1, cursor->seq);
    sqlite3_bind_text(merge->insert_twice, 2, (const char *)cursor->key, cursor->key_len,
                      SQLITE_STATIC);
    sqlite3_bind_int64(merge->insert_twice, 3, merge->last_seq);
    return write_row(merge, merge->insert_twice, err);
}

static void add_to_filter(struct merge *merge, struct bloom_hash hash)
{
    struct bloom_hash *slot = &merge->added[merge->keys % ADD_BEHIND];

    if (merge->keys++ >= ADD_BEHIND)
        bloom_add(&merge->bloom, *slot);
    bloom_prefetch_add(&merge->bloom, hash);
    *slot = hash;
}

static void finish_filter(struct merge *merge)
{
    for (uint64_t i = merge->keys > ADD_BEHIND ? merge->keys - ADD_BEHIND : 0; i < merge->keys; i++)
        bloom_add(&merge->bloom, merge->added[i % ADD_BEHIND]);
}

static int write_key(struct merge *merge, const struct cursor *cursor, struct err *err)
{
    size_t len = (size_t)cursor->key_len;

    if (merge->keys && len == merge->last_len && memcmp(cursor->key, merge->last, len) == 0)
        return write_twice(merge, cursor, err);
    if (merge->last_cap < len) {
        merge->last_cap = len * 2;
        merge->last = mem_realloc(merge->last, merge->last_cap, 1);
    }
    memcpy(merge->last, cursor->key, len);
    merge->last_len = len;
    merge->last_seq = cursor->seq;
    add_to_filter(merge, bloom_hash(merge->job->secret, (const char *)cursor->key, len));
    sqlite3_bind_text(merge->insert, 1, (const char *)cursor->key, cursor->key_len, SQLITE_STATIC);
    sqlite3_bind_int64(merge->insert, 2, cursor->seq);
    return write_row(merge, merge->insert, err);
}

static int execute(struct merge *merge, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(merge->to, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : fail(merge->to, rc, merge->job->name, ".keys", err);
}

/* As long a rest as the work took: half a core at most goes to sealing, and what it does to caches and
 * memory is spread out, unless another segment waits already. */
static void rest(const struct merge *merge, int64_t *worked_us)
{
    int64_t now_us = clock_thread_us();
    int64_t us = now_us - *worked_us < REST_US_MAX ? now_us - *worked_us : REST_US_MAX;

    *worked_us = now_us;
    if (!atomic_load(&merge->sealer->hurry))
        usleep((useconds_t)us);
}

/* Writes the smallest key again and again, a transaction every CHUNK_KEYS. */
static int write_keys(struct merge *merge, struct err *err)
{
    int64_t worked_us = clock_thread_us();
    uint64_t written = 0;
    bool more;

    while (merge->cursors_n) {
        if (written % CHUNK_KEYS == 0 && execute(merge, "COMMIT; BEGIN", err) < 0)
            return err->code;
        if (++written % PACE_KEYS == 0)
            rest(merge, &worked_us);
        if (atomic_load(&merge->sealer->interrupted))
            return err_set(err, ERR_BUSY, "%s: sealing was interrupted", merge->job->name);
        if (write_key(merge, &merge->cursors[0], err) < 0 ||
            advance(merge, &merge->cursors[0], &more, err) < 0)
            return err->code;
        if (!more) {
            sqlite3_finalize(merge->cursors[0].statement);
            merge->cursors[0] = merge->cursors[--merge->cursors_n];
        }
        if (merge->cursors_n)
            sink(merge, 0);
    }
    finish_filter(merge);
    if (merge->keys + merge->twice != merge->job->rows)
        return err_set(err, ERR_CORRUPT, "%s.db: its index names %llu rows where %llu should stand",
                       merge->job->name, (unsigned long long)(merge->keys + merge->twice),
                       (unsigned long long)merge->job->rows);
    return 0;
}

static int open_files(struct merge *merge, const char *dir, struct err *err)
{
    char path[CATALOG_PATH_MAX], pragmas[256];

    catalog_path(path, dir, merge->job->name, ".db");
    int rc = sqlite3_open_v2(path, &merge->from, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc != SQLITE_OK)
        return fail(merge->from, rc, merge->job->name, ".db", err);
    snprintf(pragmas, sizeof pragmas, "PRAGMA cache_size=-%d", BUILD_CACHE_KIB);
    sqlite3_exec(merge->from, pragmas, NULL, NULL, NULL);
    catalog_path(path, dir, merge->job->name, ".keys.new");
    unlink(path);
    rc = sqlite3_open_v2(path, &merge->to,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK)
        return fail(merge->to, rc, merge->job->name, ".keys", err);
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA page_size=%d; PRAGMA journal_mode=OFF; PRAGMA synchronous=NORMAL; PRAGMA "
             "cache_size=-%d;"
             "PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN;",
             PAGE_BYTES, BUILD_CACHE_KIB, APPLICATION_ID, USER_VERSION);
    if (execute(merge, pragmas, err) < 0 || execute(merge, schema, err) < 0)
        return err->code;
    if (sqlite3_prepare_v2(merge->to, "INSERT INTO key VALUES (?1, ?2)", -1, &merge->insert, NULL) !=
            SQLITE_OK ||
        sqlite3_prepare_v2(merge->to, "INSERT INTO twice VALUES (?1, ?2, ?3)", -1, &merge->insert_twice,
                           NULL) != SQLITE_OK)
        return fail(merge->to, SQLITE_ERROR, merge->job->name, ".keys", err);
    return 0;
}

static int write_meta(struct merge *merge, struct err *err)
{
    sqlite3_stmt *insert = NULL;
    int rc = sqlite3_prepare_v2(merge->to, "INSERT INTO meta VALUES (?1, ?2, ?3)", -1, &insert, NULL);

    if (rc != SQLITE_OK)
        return fail(merge->to, rc, merge->job->name, ".keys", err);
    sqlite3_bind_blob(insert, 1, merge->job->meta.id, SEGMENT_ID_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, (int64_t)merge->job->rows);
    sqlite3_bind_int64(insert, 3, (int64_t)merge->twice);
    int ret = write_row(merge, insert, err);

    sqlite3_finalize(insert);
    return ret < 0 ? ret : execute(merge, "COMMIT", err);
}

static void close_files(struct merge *merge)
{
    for (uint32_t i = 0; i < merge->cursors_n; i++)
        sqlite3_finalize(merge->cursors[i].statement);
    sqlite3_finalize(merge->insert);
    sqlite3_finalize(merge->insert_twice);
    sqlite3_close(merge->from);
    sqlite3_close(merge->to);
    free(merge->cursors);
    free(merge->last);
}

/* The last row's hash, by which a start knows that the filter belongs to these rows. */
static int find_origin(struct merge *merge, struct snapshot_origin *ret, struct err *err)
{
    sqlite3_stmt *last = NULL;
    int rc = sqlite3_prepare_v2(merge->from, "SELECT key, seq FROM trade ORDER BY seq DESC LIMIT 1", -1,
                                &last, NULL);

    memcpy(ret->segment_id, merge->job->meta.id, SEGMENT_ID_BYTES);
    memcpy(ret->secret, merge->job->secret, BLOOM_KEY_BYTES);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(last);
    if (rc == SQLITE_ROW) {
        ret->last_seq = sqlite3_column_int64(last, 1);
        ret->last_hash = bloom_hash(merge->job->secret, sqlite3_column_blob(last, 0),
                                    (size_t)sqlite3_column_bytes(last, 0))
                             .x;
    } else if (rc == SQLITE_DONE) {
        ret->last_seq = merge->job->meta.first_seq - 1;
        ret->last_hash = 0;
    }
    int result =
        rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : fail(merge->from, rc, merge->job->name, ".db", err);

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
    struct merge merge = {.job = job, .sealer = sealer};
    struct snapshot_origin origin;
    const char *dir = sealer->dir;
    char path[CATALOG_PATH_MAX];

    if (check_space(dir, job, err) < 0)
        return err->code;
    bloom_init(&merge.bloom, job->shape);
    int code = open_files(&merge, dir, err);

    if (code == 0)
        code = open_cursors(&merge, err);
    if (code == 0)
        code = write_keys(&merge, err);
    if (code == 0)
        code = write_meta(&merge, err);
    if (code == 0)
        code = find_origin(&merge, &origin, err);
    close_files(&merge);
    if (code == 0)
        code = catalog_publish(dir, job->name, ".keys.new", ".keys", err);
    if (code == 0)
        code = snapshot_write_classic(dir, job->name, &origin, &merge.bloom, err);
    if (code == 0) {
        *ret = merge.bloom;
        return 0;
    }
    bloom_done(&merge.bloom);
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
