#include "store/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/catalog.h"

enum {
    PAGE_BYTES =
        16384, /* a random key dirties a page a commit: larger ones are fewer (README, figures) */
    BUSY_TIMEOUT_MS = 2000,
    CACHE_KIB = 32 * 1024,     /* page cache of the active segment's connection */
    READ_CACHE_KIB = 8 * 1024, /* of a closed segment's: three times its inner pages */
    TRIMMED_CACHE_KIB = 256,   /* of one among many */
};

/* What a segment is made of. docs/format.md explains it. */
static const char schema[] =
    "CREATE TABLE meta (only INTEGER PRIMARY KEY CHECK (only = 1), segment_id BLOB NOT NULL,"
    " first_seq INTEGER NOT NULL, created INTEGER NOT NULL, day INTEGER NOT NULL,"
    " generation_keys INTEGER NOT NULL) STRICT;"
    "CREATE TABLE run (id INTEGER PRIMARY KEY, token INTEGER NOT NULL, opened INTEGER NOT NULL,"
    " last_seq INTEGER NOT NULL) STRICT;"
    "CREATE TABLE trade (seq INTEGER PRIMARY KEY, generation INTEGER NOT NULL, key TEXT NOT NULL,"
    " received INTEGER NOT NULL, feed TEXT NOT NULL, fingerprint INTEGER NOT NULL, message TEXT,"
    " UNIQUE (generation, key)) STRICT;"
    "CREATE TABLE conflict (seq INTEGER NOT NULL, fingerprint INTEGER NOT NULL,"
    " received INTEGER NOT NULL, feed TEXT NOT NULL, key TEXT NOT NULL, message TEXT,"
    " UNIQUE (seq, fingerprint)) STRICT;"
    "CREATE TABLE reject (id INTEGER PRIMARY KEY, received INTEGER NOT NULL, feed TEXT NOT NULL,"
    " error TEXT NOT NULL, line BLOB NOT NULL) STRICT;";

#define STATEMENT_TABLE(X)                                                                             \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                        \
    X(COMMIT, "COMMIT")                                                                                \
    X(ROLLBACK, "ROLLBACK")                                                                            \
    X(DATA_VERSION, "PRAGMA data_version")                                                             \
    X(INSERT, "INSERT INTO trade (seq, generation, key, received, feed, fingerprint, message)"         \
              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (generation, key) DO NOTHING")         \
    X(FIND, "SELECT seq, received, fingerprint FROM trade WHERE generation = ?1 AND key = ?2")         \
    X(FIND_SEQ, "SELECT seq, received, fingerprint FROM trade WHERE seq = ?1 AND key = ?2")            \
    X(HAS_CONFLICT, "SELECT 1 FROM conflict WHERE seq = ?1 AND fingerprint = ?2")                      \
    X(ADD_CONFLICT, "INSERT INTO conflict (seq, fingerprint, received, feed, key, message)"            \
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6)")                                                \
    X(ADD_REJECT, "INSERT INTO reject (received, feed, error, line) VALUES (?1, ?2, ?3, ?4)")          \
    X(DROP_REJECT, "DELETE FROM reject WHERE id = (SELECT min(id) FROM reject)"                        \
                   " RETURNING length(line)")                                                          \
    X(SCAN, "SELECT seq, generation, key FROM trade WHERE seq >= ?1 ORDER BY seq")                     \
    X(READ, "SELECT seq, generation, key, received, feed, fingerprint, message FROM trade"             \
            " WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq")                                               \
    X(READ_CONFLICTS, "SELECT seq, 0, key, received, feed, fingerprint, message FROM conflict"         \
                      " WHERE (seq, fingerprint) > (?1, ?2) ORDER BY seq, fingerprint")                \
    X(SCAN_REJECTS, "SELECT received, feed, error, line FROM reject ORDER BY id")                      \
    X(KEY_AT, "SELECT key, generation FROM trade WHERE seq = ?1")

#define X(name, sql) S_##name,
enum { STATEMENT_TABLE(X) S_COUNT };
#undef X
#define X(name, sql) sql,
static const char *const statement_sql[] = {STATEMENT_TABLE(X)};
#undef X

struct segment {
    char name[SEGMENT_NAME_MAX];       /* for messages */
    sqlite3 *db;                       /* our only connection to the file */
    sqlite3_stmt *statements[S_COUNT]; /* prepared when first used */
    int64_t run;                       /* token of this run; 0 when opened read-only */
    int64_t data_version;              /* moves when another connection has written */
    int wal_pages;                     /* in the WAL after the last commit */
    int page_bytes;
};

/* ---- errors ---- */

static enum err_code code_of(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return ERR_FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ERR_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_MISMATCH:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR: /* a table or column is missing: our own SQL is fixed */
        return ERR_CORRUPT;
    case SQLITE_NOMEM:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return ERR_SYSTEM;
    default:
        return ERR_IO;
    }
}

/* SQLite says "corrupt" of a page that the disk would not give (EIO, ENXIO); the file, or its log,
 * remembers why. 0: it was something else. */
static int refused_by_disk(sqlite3 *db)
{
    sqlite3_file *log = NULL;
    int error = 0, log_error = 0;

    sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
    sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (log && log->pMethods)
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &log_error);
    if (log_error == EIO || log_error == ENXIO)
        return log_error;
    return error == EIO || error == ENXIO ? error : 0;
}

int segment_error(sqlite3 *db, int rc, struct err *err)
{
    enum err_code code = code_of(rc);
    int system = db ? sqlite3_system_errno(db) : 0;
    int refused = db && code == ERR_CORRUPT ? refused_by_disk(db) : 0;

    if (refused)
        return err_set(err, ERR_IO, "%s: %s", sqlite3_errstr(SQLITE_IOERR), strerror(refused));
    return err_set(err, code, "%s%s%s", db ? sqlite3_errmsg(db) : sqlite3_errstr(rc),
                   system ? ": " : "", system ? strerror(system) : "");
}

static int fail(const struct segment *segment, int rc, const char *doing, struct err *err)
{
    segment_error(segment->db, rc, err);
    return err_prefix(err, "%s.db: %s", segment->name, doing);
}

/* A WAL index that finds no space is an I/O error to SQLite. While a file is made or opened nothing of ours
 * hangs on the commit that it may hit. */
static int excuse_full_disk(const struct segment *segment, struct err *err)
{
    if (err->code == ERR_IO && sqlite3_system_errno(segment->db) == ENOSPC)
        err->code = ERR_FULL;
    return err->code;
}

/* ---- statements ---- */

/* NULL on failure, which err then describes. */
static sqlite3_stmt *prepare(struct segment *segment, int which, struct err *err)
{
    if (!segment->statements[which]) {
        int rc = sqlite3_prepare_v3(segment->db, statement_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                                    &segment->statements[which], NULL);
        if (rc != SQLITE_OK)
            fail(segment, rc, "preparing a statement", err);
    }
    return segment->statements[which];
}

/* Steps a statement whose bindings are set to its end. */
static int run(struct segment *segment, sqlite3_stmt *statement, const char *doing, struct err *err)
{
    int rc = sqlite3_step(statement);
    int ret = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : fail(segment, rc, doing, err);

    sqlite3_reset(statement);
    return ret;
}

/* One integer of the first row, or `otherwise` when there is none. */
static int query_int(struct segment *segment, const char *sql, int64_t otherwise, int64_t *ret,
                     struct err *err)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(segment->db, sql, -1, &statement, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        *ret = sqlite3_column_int64(statement, 0);
    else if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        *ret = otherwise;
    int result = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : fail(segment, rc, "reading", err);

    sqlite3_finalize(statement);
    return result;
}

static int execute(struct segment *segment, const char *sql, const char *doing, struct err *err)
{
    int rc = sqlite3_exec(segment->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : fail(segment, rc, doing, err);
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text, size_t len)
{
    if (text)
        sqlite3_bind_text64(statement, at, text, len, SQLITE_STATIC, SQLITE_UTF8);
    else
        sqlite3_bind_null(statement, at);
}

/* ---- create ---- */

static int write_schema(struct segment *segment, const struct segment_meta *meta, struct err *err)
{
    char begin[128], pragmas[128];

    snprintf(begin, sizeof begin,
             "PRAGMA page_size=%d; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; BEGIN IMMEDIATE;",
             PAGE_BYTES);
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
             SEGMENT_APPLICATION_ID, SEGMENT_USER_VERSION);
    if (execute(segment, begin, "creating", err) < 0 || execute(segment, schema, "creating", err) < 0 ||
        execute(segment, pragmas, "creating", err) < 0)
        return err->code;
    sqlite3_stmt *insert = NULL;
    int rc = sqlite3_prepare_v2(segment->db, "INSERT INTO meta VALUES (1, ?1, ?2, ?3, ?4, ?5)", -1,
                                &insert, NULL);

    if (rc != SQLITE_OK)
        return fail(segment, rc, "creating", err);
    sqlite3_bind_blob(insert, 1, meta->id, sizeof meta->id, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, meta->first_seq);
    sqlite3_bind_int64(insert, 3, meta->created_us);
    sqlite3_bind_int64(insert, 4, meta->day);
    sqlite3_bind_int64(insert, 5, meta->generation_keys);
    int ret = run(segment, insert, "creating", err);

    sqlite3_finalize(insert);
    if (ret < 0 || execute(segment, "COMMIT", "creating", err) < 0)
        return err->code;
    rc = sqlite3_wal_checkpoint_v2(segment->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return rc == SQLITE_OK ? 0 : fail(segment, rc, "creating", err); /* what closing would not tell */
}

int segment_create(const char *dir, const char *name, const struct segment_meta *meta, struct err *err)
{
    struct segment *segment = mem_zalloc(1, sizeof *segment);
    char temporary[CATALOG_PATH_MAX];
    int ret;

    snprintf(segment->name, sizeof segment->name, "%s", name);
    catalog_path(temporary, dir, name, ".db.new");
    catalog_remove_temporary(dir, name);
    int rc = sqlite3_open_v2(temporary, &segment->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

    ret = rc == SQLITE_OK ? write_schema(segment, meta, err) : fail(segment, rc, "creating", err);
    if (ret < 0)
        ret = excuse_full_disk(segment, err);
    segment_close(segment); /* removes the WAL, which is empty: the file is whole */
    if (ret == 0)
        ret = catalog_publish(dir, name, ".db.new", ".db", err);
    if (ret < 0)
        catalog_remove_temporary(dir, name);
    return ret;
}

/* ---- open ---- */

static int on_wal_commit(void *arg, sqlite3 *db, const char *schema_name, int pages)
{
    struct segment *segment = arg;

    (void)db;
    (void)schema_name;
    segment->wal_pages = pages; /* noted only: a hook that fails would belie a durable commit */
    return SQLITE_OK;
}

/* Whether closing leaves the log where it is, or moves it into the file and removes it. */
static void leave_log(struct segment *segment, bool leave)
{
    sqlite3_db_config(segment->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, (int)leave, NULL);
}

static int configure(struct segment *segment, bool writable, struct err *err)
{
    char pragmas[160];

    sqlite3_extended_result_codes(segment->db, 1);
    sqlite3_busy_timeout(segment->db, BUSY_TIMEOUT_MS);
    leave_log(segment, true); /* until it is known to be ours: what is refused stays as it is */
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA cache_size=-%d; PRAGMA temp_store=MEMORY; PRAGMA synchronous=FULL;%s",
             writable ? CACHE_KIB : READ_CACHE_KIB, writable ? " PRAGMA wal_autocheckpoint=0;" : "");
    if (execute(segment, pragmas, "opening", err) < 0)
        return err->code;
    if (writable)
        sqlite3_wal_hook(segment->db, on_wal_commit, segment);
    return 0;
}

static int check_ours(struct segment *segment, struct err *err)
{
    int64_t application_id, user_version, page_bytes;

    if (query_int(segment, "PRAGMA application_id", 0, &application_id, err) < 0 ||
        query_int(segment, "PRAGMA user_version", 0, &user_version, err) < 0 ||
        query_int(segment, "PRAGMA page_size", 0, &page_bytes, err) < 0)
        return err->code;
    segment->page_bytes = (int)page_bytes;
    if (application_id != SEGMENT_APPLICATION_ID)
        return err_set(err, ERR_CORRUPT, "%s.db: not a tradesieve segment (application_id %lld)",
                       segment->name, (long long)application_id);
    if (user_version > SEGMENT_USER_VERSION)
        return err_set(err, ERR_CORRUPT,
                       "%s.db: written by a newer tradesieve (version %lld, ours is %d)", segment->name,
                       (long long)user_version, SEGMENT_USER_VERSION);
    return 0;
}

static int read_meta(struct segment *segment, struct segment_meta *ret, struct err *err)
{
    sqlite3_stmt *select = NULL;
    int rc = sqlite3_prepare_v2(segment->db,
                                "SELECT segment_id, first_seq, created, day, generation_keys FROM meta",
                                -1, &select, NULL);
    int result = 0;

    if (rc != SQLITE_OK)
        return fail(segment, rc, "reading meta", err);
    rc = sqlite3_step(select);
    int64_t generation_keys = rc == SQLITE_ROW ? sqlite3_column_int64(select, 4) : 0;

    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        result = fail(segment, rc, "reading meta", err);
    else if (rc == SQLITE_DONE || sqlite3_column_bytes(select, 0) != SEGMENT_ID_BYTES ||
             generation_keys < 1 || generation_keys > UINT32_MAX || sqlite3_column_int64(select, 1) < 1)
        result = err_set(err, ERR_CORRUPT, "%s.db: its meta row is missing or damaged", segment->name);
    if (result == 0) {
        memcpy(ret->id, sqlite3_column_blob(select, 0), SEGMENT_ID_BYTES);
        ret->first_seq = sqlite3_column_int64(select, 1);
        ret->created_us = sqlite3_column_int64(select, 2);
        ret->day = sqlite3_column_int64(select, 3);
        ret->generation_keys = (uint32_t)generation_keys;
    }
    sqlite3_finalize(select);
    return result;
}

/* After a kill the WAL may hold frames that only the page cache knows: the sync of this commit covers
 * them, before the first verdict that could rest on them. The row it writes is this run's. */
static int begin_run(struct segment *segment, struct err *err)
{
    char insert[160];

    if (execute(segment, "PRAGMA wal_checkpoint(PASSIVE)", "checkpointing", err) < 0)
        return err->code;
    sqlite3_randomness(sizeof segment->run, &segment->run);
    snprintf(insert, sizeof insert,
             "INSERT INTO run (token, opened, last_seq)"
             " SELECT %lld, %lld, coalesce((SELECT max(seq) FROM trade), first_seq - 1) FROM meta",
             (long long)segment->run, (long long)clock_wall_us());
    if (execute(segment, insert, "opening", err) < 0)
        return err->code;
    leave_log(segment, false);
    return 0;
}

int64_t segment_run(const struct segment *segment)
{
    return segment->run;
}

int segment_run_holds(struct segment *segment, int64_t run, int64_t last_seq, bool *ret,
                      struct err *err)
{
    char query[256];
    int64_t holds;

    snprintf(query, sizeof query,
             "SELECT count(*) FROM run AS r WHERE token = %lld AND NOT EXISTS"
             " (SELECT 1 FROM run WHERE id > r.id AND last_seq < %lld)",
             (long long)run, (long long)last_seq);
    if (query_int(segment, query, 0, &holds, err) < 0)
        return err->code;
    *ret = holds > 0;
    return 0;
}

/* A closed file does not change any more: one read transaction for as long as it is open saves every
 * look-up the locks, the check for a journal and the re-reading of the change counter, and refuses
 * writers (they meet BUSY). A file still in WAL mode is not held: it has yet to be checkpointed. */
static int hold(struct segment *segment, struct err *err)
{
    return segment_in_wal_mode(segment) ? 0 : execute(segment, "BEGIN", "opening", err);
}

/* An open file becomes a segment, or is closed again. */
static int begin_segment(struct segment *segment, int rc, bool writable, struct segment **ret,
                         struct segment_meta *ret_meta, struct err *err)
{
    if (rc != SQLITE_OK)
        fail(segment, rc, "opening", err);
    else if (configure(segment, writable, err) == 0 && check_ours(segment, err) == 0 &&
             read_meta(segment, ret_meta, err) == 0 && (!writable || begin_run(segment, err) == 0) &&
             query_int(segment, "PRAGMA data_version", 0, &segment->data_version, err) == 0 &&
             (writable || hold(segment, err) == 0)) {
        *ret = segment;
        return 0;
    }
    int code = excuse_full_disk(segment, err);

    segment_close(segment);
    return code;
}

int segment_open(struct segment **ret, const char *dir, const char *name, bool writable,
                 struct segment_meta *ret_meta, struct err *err)
{
    struct segment *segment = mem_zalloc(1, sizeof *segment);
    char path[CATALOG_PATH_MAX];

    snprintf(segment->name, sizeof segment->name, "%s", name);
    catalog_path(path, dir, name, ".db");
    int rc = sqlite3_open_v2(
        path, &segment->db,
        (writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX, NULL);

    return begin_segment(segment, rc, writable, ret, ret_meta, err);
}

/* Without a WAL the file is all there is: immutable. With one, nothing is locked and, the locking mode
 * being exclusive, its index stands in our memory instead of a file. */
static char *still_uri(const char *dir, const char *name, const char *suffix)
{
    char path[CATALOG_PATH_MAX];
    struct text uri = {0}, wal = {0};
    struct stat info;

    catalog_path(path, dir, name, suffix);
    char *absolute = realpath(path, NULL); /* a link's WAL stands beside its target */

    text_add_format(&wal, "%s-wal", absolute ? absolute : path);
    bool has_wal = stat(text_terminate(&wal), &info) == 0 && info.st_size > 0;

    text_done(&wal);
    text_add_str(&uri, "file:");
    for (const char *at = absolute ? absolute : path; *at; at++)
        if (strchr("%?#", *at))
            text_add_format(&uri, "%%%02x", *at);
        else
            text_add_char(&uri, *at);
    text_add_str(&uri, has_wal ? "?vfs=unix-none" : "?immutable=1");
    text_terminate(&uri);
    free(absolute);
    return uri.at;
}

int segment_open_database_still(const char *dir, const char *name, const char *suffix,
                                struct sqlite3 **ret)
{
    char *uri = still_uri(dir, name, suffix);
    int rc =
        sqlite3_open_v2(uri, ret, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);

    free(uri);
    return rc;
}

int segment_open_still(struct segment **ret, const char *dir, const char *name,
                       struct segment_meta *ret_meta, struct err *err)
{
    struct segment *segment = mem_zalloc(1, sizeof *segment);

    snprintf(segment->name, sizeof segment->name, "%s", name);
    int rc = segment_open_database_still(dir, name, ".db", &segment->db);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(segment->db, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL);
    return begin_segment(segment, rc, false, ret, ret_meta, err);
}

void segment_close(struct segment *segment)
{
    if (!segment)
        return;
    for (int i = 0; i < S_COUNT; i++)
        sqlite3_finalize(segment->statements[i]);
    sqlite3_close(segment->db);
    free(segment);
}

int segment_totals(struct segment *segment, struct segment_totals *ret, struct err *err)
{
    int64_t last, generation, received, last_received, conflicts, rejects, reject_bytes, first;

    if (query_int(segment, "SELECT first_seq FROM meta", 0, &first, err) < 0 ||
        query_int(segment, "SELECT max(seq) FROM trade", first - 1, &last, err) < 0 ||
        query_int(segment, "SELECT generation FROM trade ORDER BY seq DESC LIMIT 1", 0, &generation,
                  err) < 0 ||
        query_int(segment, "SELECT received FROM trade ORDER BY seq LIMIT 1", 0, &received, err) < 0 ||
        query_int(
            segment,
            "SELECT max(received) FROM (SELECT received FROM trade ORDER BY seq DESC LIMIT 10000)", 0,
            &last_received, err) < 0 ||
        query_int(segment, "SELECT count(*) FROM conflict", 0, &conflicts, err) < 0 ||
        query_int(segment, "SELECT count(*) FROM reject", 0, &rejects, err) < 0 ||
        query_int(segment, "SELECT total(length(line)) FROM reject", 0, &reject_bytes, err) < 0)
        return err->code;
    *ret = (struct segment_totals){
        .last_seq = last,
        .last_generation = (uint32_t)generation,
        .first_received_us = received,
        /* Where the clock was set back, the last rows look older than the first. */
        .last_received_us = last_received > received ? last_received : received,
        .conflicts = (uint64_t)conflicts,
        .rejects = (uint64_t)rejects,
        .reject_bytes = (uint64_t)reject_bytes,
    };
    return 0;
}

/* ---- transactions ---- */

int segment_begin(struct segment *segment, bool *ret_foreign_write, struct err *err)
{
    sqlite3_stmt *begin = prepare(segment, S_BEGIN, err);
    sqlite3_stmt *version = prepare(segment, S_DATA_VERSION, err);

    if (!begin || !version || run(segment, begin, "beginning", err) < 0)
        return err->code;
    int rc = sqlite3_step(version);
    int64_t seen = rc == SQLITE_ROW ? sqlite3_column_int64(version, 0) : 0;

    sqlite3_reset(version);
    if (rc != SQLITE_ROW) {
        fail(segment, rc, "beginning", err);
        segment_rollback(segment);
        return err->code;
    }
    *ret_foreign_write = seen != segment->data_version;
    segment->data_version = seen;
    return 0;
}

int segment_commit(struct segment *segment, struct err *err)
{
    sqlite3_stmt *commit = prepare(segment, S_COMMIT, err);

    if (commit && run(segment, commit, "committing", err) == 0)
        return 0;
    /* BUSY leaves the transaction as it was. FULL is a write into the WAL that the file system refused:
     * the commit frame is written last and not padded (power-safe overwrite), so it is not there, and no
     * recovery finds the transaction. After all else (a sync, the WAL index) it may be on disk. */
    if (err->code != ERR_BUSY && err->code != ERR_FULL && err->code != ERR_CORRUPT)
        err->code = ERR_IO;
    return err->code;
}

void segment_rollback(struct segment *segment)
{
    struct err ignored; /* SQLite may have rolled back by itself: then there is nothing to do */
    sqlite3_stmt *rollback =
        sqlite3_get_autocommit(segment->db) ? NULL : prepare(segment, S_ROLLBACK, &ignored);

    if (rollback)
        run(segment, rollback, "rolling back", &ignored);
}

/* ---- rows ---- */

int segment_insert(struct segment *segment, const struct segment_row *row, bool *ret_inserted,
                   struct err *err)
{
    sqlite3_stmt *insert = prepare(segment, S_INSERT, err);

    if (!insert)
        return err->code;
    sqlite3_bind_int64(insert, 1, row->seq);
    sqlite3_bind_int64(insert, 2, row->generation);
    bind_text(insert, 3, row->key, row->key_len);
    sqlite3_bind_int64(insert, 4, row->received_us);
    bind_text(insert, 5, row->feed, row->feed_len);
    sqlite3_bind_int64(insert, 6, (int64_t)row->fingerprint);
    bind_text(insert, 7, row->message, row->message_len);
    if (run(segment, insert, "inserting a trade", err) < 0)
        return err->code;
    *ret_inserted = sqlite3_changes(segment->db) == 1;
    return 0;
}

/* Steps a look-up to its one row, or to none. */
static int step_find(struct segment *segment, sqlite3_stmt *find, bool *ret_found,
                     struct segment_found *ret, struct err *err)
{
    int rc = sqlite3_step(find);
    int result = 0;

    *ret_found = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW) {
        ret->seq = sqlite3_column_int64(find, 0);
        ret->received_us = sqlite3_column_int64(find, 1);
        ret->fingerprint = (uint64_t)sqlite3_column_int64(find, 2);
    } else if (rc != SQLITE_DONE) {
        result = fail(segment, rc, "looking up a key", err);
    }
    sqlite3_reset(find);
    return result;
}

int segment_find(struct segment *segment, int64_t generation, const char *key, size_t len,
                 bool *ret_found, struct segment_found *ret, struct err *err)
{
    sqlite3_stmt *find = prepare(segment, S_FIND, err);

    if (!find)
        return err->code;
    sqlite3_bind_int64(find, 1, generation);
    bind_text(find, 2, key, len);
    return step_find(segment, find, ret_found, ret, err);
}

int segment_find_seq(struct segment *segment, int64_t seq, const char *key, size_t len,
                     struct segment_found *ret, struct err *err)
{
    sqlite3_stmt *find = prepare(segment, S_FIND_SEQ, err);
    bool found;

    if (!find)
        return err->code;
    sqlite3_bind_int64(find, 1, seq);
    bind_text(find, 2, key, len);
    if (step_find(segment, find, &found, ret, err) < 0)
        return err->code;
    return found ? 0
                 : err_set(err, ERR_CORRUPT, "%s.db: row %lld is not the one that its sealed keys name",
                           segment->name, (long long)seq);
}

int segment_has_conflict(struct segment *segment, int64_t seq, uint64_t fingerprint, bool *ret,
                         struct err *err)
{
    sqlite3_stmt *has = prepare(segment, S_HAS_CONFLICT, err);
    int result = 0;

    if (!has)
        return err->code;
    sqlite3_bind_int64(has, 1, seq);
    sqlite3_bind_int64(has, 2, (int64_t)fingerprint);
    int rc = sqlite3_step(has);

    *ret = rc == SQLITE_ROW;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        result = fail(segment, rc, "looking up a conflict", err);
    sqlite3_reset(has);
    return result;
}

int segment_add_conflict(struct segment *segment, const struct segment_row *version, struct err *err)
{
    sqlite3_stmt *add = prepare(segment, S_ADD_CONFLICT, err);

    if (!add)
        return err->code;
    sqlite3_bind_int64(add, 1, version->seq);
    sqlite3_bind_int64(add, 2, (int64_t)version->fingerprint);
    sqlite3_bind_int64(add, 3, version->received_us);
    bind_text(add, 4, version->feed, version->feed_len);
    bind_text(add, 5, version->key, version->key_len);
    bind_text(add, 6, version->message, version->message_len);
    return run(segment, add, "keeping a conflict", err);
}

int segment_add_reject(struct segment *segment, const struct segment_reject *reject, struct err *err)
{
    sqlite3_stmt *add = prepare(segment, S_ADD_REJECT, err);

    if (!add)
        return err->code;
    sqlite3_bind_int64(add, 1, reject->received_us);
    sqlite3_bind_text(add, 2, reject->feed, -1, SQLITE_STATIC);
    sqlite3_bind_text(add, 3, reject->error, -1, SQLITE_STATIC);
    sqlite3_bind_blob64(add, 4, reject->line, reject->line_len, SQLITE_STATIC);
    return run(segment, add, "keeping a reject", err);
}

int segment_drop_reject(struct segment *segment, int64_t *ret_bytes, struct err *err)
{
    sqlite3_stmt *drop = prepare(segment, S_DROP_REJECT, err);
    int result = 0;

    if (!drop)
        return err->code;
    int rc = sqlite3_step(drop);

    *ret_bytes = rc == SQLITE_ROW ? sqlite3_column_int64(drop, 0) : -1;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        result = fail(segment, rc, "dropping a reject", err);
    sqlite3_reset(drop);
    return result;
}

int segment_scan(struct segment *segment, int64_t from_seq,
                 int (*on_row)(void *arg, const struct segment_row *row, struct err *err), void *arg,
                 struct err *err)
{
    sqlite3_stmt *scan = prepare(segment, S_SCAN, err);
    int result = 0, rc = SQLITE_DONE;

    if (!scan)
        return err->code;
    sqlite3_bind_int64(scan, 1, from_seq);
    while (result == 0 && (rc = sqlite3_step(scan)) == SQLITE_ROW) {
        struct segment_row row = {
            .seq = sqlite3_column_int64(scan, 0),
            .generation = (uint32_t)sqlite3_column_int64(scan, 1),
            .key = sqlite3_column_blob(scan, 2),
            .key_len = (size_t)sqlite3_column_bytes(scan, 2),
        };

        result = row.key ? on_row(arg, &row, err) : fail(segment, SQLITE_NOMEM, "scanning", err);
    }
    if (result == 0 && rc != SQLITE_DONE)
        result = fail(segment, rc, "scanning", err);
    sqlite3_reset(scan);
    return result;
}

/* Rows of READ and READ_CONFLICTS, whose columns are the same. */
static int step_rows(struct segment *segment, sqlite3_stmt *read,
                     int (*on_row)(void *arg, const struct segment_row *row, struct err *err),
                     void *arg, struct err *err)
{
    int result = 0, rc = SQLITE_DONE;

    while (result == 0 && (rc = sqlite3_step(read)) == SQLITE_ROW) {
        struct segment_row row = {
            .seq = sqlite3_column_int64(read, 0),
            .generation = (uint32_t)sqlite3_column_int64(read, 1),
            .key = (const char *)sqlite3_column_text(read, 2),
            .key_len = (size_t)sqlite3_column_bytes(read, 2),
            .received_us = sqlite3_column_int64(read, 3),
            .feed = (const char *)sqlite3_column_text(read, 4),
            .feed_len = (size_t)sqlite3_column_bytes(read, 4),
            .fingerprint = (uint64_t)sqlite3_column_int64(read, 5),
            .message = (const char *)sqlite3_column_text(read, 6),
            .message_len = (size_t)sqlite3_column_bytes(read, 6),
        };

        if (!row.key || !row.feed || (!row.message && sqlite3_column_type(read, 6) != SQLITE_NULL))
            result = fail(segment, SQLITE_NOMEM, "reading", err);
        else
            result = on_row(arg, &row, err);
    }
    if (result == 0 && rc != SQLITE_DONE)
        result = fail(segment, rc, "reading", err);
    sqlite3_reset(read);
    return result;
}

int segment_read(struct segment *segment, int64_t from_seq, int64_t to_seq,
                 int (*on_row)(void *arg, const struct segment_row *row, struct err *err), void *arg,
                 struct err *err)
{
    sqlite3_stmt *read = prepare(segment, S_READ, err);

    if (!read)
        return err->code;
    sqlite3_bind_int64(read, 1, from_seq);
    sqlite3_bind_int64(read, 2, to_seq);
    return step_rows(segment, read, on_row, arg, err);
}

int segment_read_conflicts(struct segment *segment, int64_t after_seq, uint64_t after_fingerprint,
                           int (*on_row)(void *arg, const struct segment_row *row, struct err *err),
                           void *arg, struct err *err)
{
    sqlite3_stmt *read = prepare(segment, S_READ_CONFLICTS, err);

    if (!read)
        return err->code;
    sqlite3_bind_int64(read, 1, after_seq);
    sqlite3_bind_int64(read, 2, (int64_t)after_fingerprint);
    return step_rows(segment, read, on_row, arg, err);
}

int segment_key_at(struct segment *segment, int64_t seq, char *key, size_t key_max, size_t *ret_len,
                   uint32_t *ret_generation, bool *ret_found, struct err *err)
{
    sqlite3_stmt *at = prepare(segment, S_KEY_AT, err);
    int result = 0;

    if (!at)
        return err->code;
    sqlite3_bind_int64(at, 1, seq);
    int rc = sqlite3_step(at);

    *ret_found = rc == SQLITE_ROW && (size_t)sqlite3_column_bytes(at, 0) <= key_max;
    if (*ret_found) {
        *ret_len = (size_t)sqlite3_column_bytes(at, 0);
        memcpy(key, sqlite3_column_blob(at, 0), *ret_len);
        *ret_generation = (uint32_t)sqlite3_column_int64(at, 1);
    } else if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        result = fail(segment, rc, "reading a key", err);
    }
    sqlite3_reset(at);
    return result;
}

int segment_scan_rejects(struct segment *segment,
                         int (*on_reject)(void *arg, const struct segment_reject *reject,
                                          struct err *err),
                         void *arg, struct err *err)
{
    sqlite3_stmt *scan = prepare(segment, S_SCAN_REJECTS, err);
    int result = 0, rc = SQLITE_DONE;

    if (!scan)
        return err->code;
    while (result == 0 && (rc = sqlite3_step(scan)) == SQLITE_ROW) {
        struct segment_reject reject = {
            .received_us = sqlite3_column_int64(scan, 0),
            .feed = (const char *)sqlite3_column_text(scan, 1),
            .error = (const char *)sqlite3_column_text(scan, 2),
            .line = sqlite3_column_blob(scan, 3),
            .line_len = (size_t)sqlite3_column_bytes(scan, 3),
        };

        result = reject.feed && reject.error ? on_reject(arg, &reject, err)
                                             : fail(segment, SQLITE_NOMEM, "reading", err);
    }
    if (result == 0 && rc != SQLITE_DONE)
        result = fail(segment, rc, "reading", err);
    sqlite3_reset(scan);
    return result;
}

/* ---- the whole file ---- */

int segment_check_database(struct sqlite3 *db, const char *name, const char *suffix,
                           void (*on_fault)(void *arg, const char *text), void *arg, struct err *err)
{
    sqlite3_stmt *check = NULL;
    int rc = sqlite3_prepare_v2(db, "PRAGMA integrity_check(100)", -1, &check, NULL);

    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(check);
        const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(check, 0) : NULL;

        if (text && strcmp(text, "ok") != 0)
            on_fault(arg, text);
    }
    if (rc != SQLITE_DONE) {
        segment_error(db, rc, err);
        err_prefix(err, "%s%s", name, suffix);
    }
    sqlite3_finalize(check);
    return rc == SQLITE_DONE ? 0 : err->code;
}

int segment_check(struct segment *segment, void (*on_fault)(void *arg, const char *text), void *arg,
                  struct err *err)
{
    return segment_check_database(segment->db, segment->name, ".db", on_fault, arg, err);
}

void segment_trim(struct segment *segment)
{
    char pragma[64];

    snprintf(pragma, sizeof pragma, "PRAGMA cache_size=-%d", TRIMMED_CACHE_KIB);
    sqlite3_exec(segment->db, pragma, NULL, NULL, NULL);
    sqlite3_db_release_memory(segment->db);
}

/* ---- keys in order ---- */

int segment_next_generation(struct segment *segment, int64_t after, int64_t *ret, struct err *err)
{
    char query[96];

    snprintf(query, sizeof query, "SELECT min(generation) FROM trade WHERE generation > %lld",
             (long long)after);
    return query_int(segment, query, -1, ret, err);
}

/* Both columns stand in the UNIQUE index: the rows are not read. */
int segment_open_keys_of(struct sqlite3 *db, const char *name, int64_t generation,
                         struct key_cursor *ret, struct err *err)
{
    sqlite3_stmt *select = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT key, seq FROM trade WHERE generation = ?1 ORDER BY key", -1,
                                &select, NULL);

    *ret = (struct key_cursor){0};
    if (rc != SQLITE_OK) {
        segment_error(db, rc, err);
        return err_prefix(err, "%s.db: reading keys", name);
    }
    sqlite3_bind_int64(select, 1, generation);
    return key_cursor_begin(ret, select, err);
}

int segment_open_keys(struct segment *segment, int64_t generation, struct key_cursor *ret,
                      struct err *err)
{
    return segment_open_keys_of(segment->db, segment->name, generation, ret, err);
}

int key_cursor_begin(struct key_cursor *cursor, struct sqlite3_stmt *statement, struct err *err)
{
    cursor->statement = statement;
    return key_cursor_next(cursor, err);
}

int key_cursor_next(struct key_cursor *cursor, struct err *err)
{
    int rc = sqlite3_step(cursor->statement);
    sqlite3 *db = sqlite3_db_handle(cursor->statement);

    cursor->key = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(cursor->statement, 0) : NULL;
    if (cursor->key) {
        cursor->len = (size_t)sqlite3_column_bytes(cursor->statement, 0);
        cursor->seq = sqlite3_column_int64(cursor->statement, 1);
        return 0;
    }
    if (rc == SQLITE_DONE)
        return 0;
    segment_error(db, rc == SQLITE_ROW ? SQLITE_NOMEM : rc, err);
    return err_prefix(err, "%s: reading keys", sqlite3_db_filename(db, "main"));
}

void key_cursor_close(struct key_cursor *cursor)
{
    sqlite3_finalize(cursor->statement);
    *cursor = (struct key_cursor){0};
}

/* ---- checkpoints ---- */

int segment_checkpoint(struct segment *segment, uint64_t *ret_rest, struct err *err)
{
    int in_wal = 0, moved = 0;
    int rc = sqlite3_wal_checkpoint_v2(segment->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_wal, &moved);

    if (rc != SQLITE_OK && rc != SQLITE_BUSY)
        return fail(segment, rc, "checkpointing", err);
    *ret_rest = in_wal > moved ? (uint64_t)(in_wal - moved) * (uint64_t)segment->page_bytes : 0;
    if (!*ret_rest)
        segment->wal_pages = 0;
    return 0;
}

uint64_t segment_wal_bytes(const struct segment *segment)
{
    return (uint64_t)segment->wal_pages * (uint64_t)segment->page_bytes;
}

bool segment_in_wal_mode(struct segment *segment)
{
    sqlite3_stmt *mode = NULL;
    bool wal = true; /* also when it cannot be said */

    if (sqlite3_prepare_v2(segment->db, "PRAGMA journal_mode", -1, &mode, NULL) == SQLITE_OK &&
        sqlite3_step(mode) == SQLITE_ROW)
        wal = sqlite3_stricmp((const char *)sqlite3_column_text(mode, 0), "wal") == 0;
    sqlite3_finalize(mode);
    return wal;
}

int segment_close_writes(struct segment *segment, bool *ret_done, struct err *err)
{
    *ret_done = false;
    sqlite3_busy_timeout(segment->db, 0); /* a reader in the way is met again later, not waited for */
    int rc = sqlite3_wal_checkpoint_v2(segment->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

    if (rc == SQLITE_OK) {
        for (int i = 0; i < S_COUNT; i++) { /* leaving WAL mode wants no statement open */
            sqlite3_finalize(segment->statements[i]);
            segment->statements[i] = NULL;
        }
        rc = sqlite3_exec(segment->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
        *ret_done = rc == SQLITE_OK && !segment_in_wal_mode(segment);
    }
    sqlite3_busy_timeout(segment->db, BUSY_TIMEOUT_MS);
    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY && (rc & 0xff) != SQLITE_LOCKED)
        return fail(segment, rc, "leaving WAL mode", err);
    return 0;
}

void segment_start_library(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_initialize();
}

const char *segment_sqlite_version(void)
{
    return sqlite3_libversion();
}
