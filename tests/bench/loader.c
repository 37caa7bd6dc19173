#include "loader.h"

#include <sqlite3.h>
#include <stdio.h>

#include "base/clock.h"
#include "measure.h"
#include "messages.h"

enum { GENERATION_KEYS = 65536, CHECKPOINT_ROWS = 16384 };

/* As src/store/segment.c has them. */
static const char schema[] =
    "PRAGMA page_size=16384; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA "
    "wal_autocheckpoint=0;"
    "PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY;"
    "CREATE TABLE trade (seq INTEGER PRIMARY KEY, generation INTEGER NOT NULL, key TEXT NOT NULL,"
    " received INTEGER NOT NULL, feed TEXT NOT NULL, fingerprint INTEGER NOT NULL, message TEXT,"
    " UNIQUE (generation, key)) STRICT";

static sqlite3 *open_file(const char *dir)
{
    char path[4096];
    sqlite3 *db;

    snprintf(path, sizeof path, "%s/loader.db", dir);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

    measure_must(sqlite3_open_v2(path, &db, flags, NULL) == SQLITE_OK, "cannot open %s", path);
    measure_must(sqlite3_exec(db, schema, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    return db;
}

static void insert_one(sqlite3_stmt *insert, uint64_t n, int64_t received_us)
{
    char key[MESSAGE_KEY_BYTES], message[MESSAGE_LINE_BYTES];

    message_key(key, MESSAGE_RANDOM, n);
    message_write(message, MESSAGE_RANDOM, n);
    sqlite3_bind_int64(insert, 1, (int64_t)n + 1);
    sqlite3_bind_int64(insert, 2, (int64_t)(n / GENERATION_KEYS));
    sqlite3_bind_text(insert, 3, key, sizeof key, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 4, received_us);
    sqlite3_bind_text(insert, 5, "canonical", 9, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 6, (int64_t)n);
    sqlite3_bind_text(insert, 7, message, MESSAGE_BYTES, SQLITE_STATIC);
    measure_must(sqlite3_step(insert) == SQLITE_DONE, "insert");
    sqlite3_reset(insert);
}

double loader_run(const char *dir, uint64_t trades, uint64_t commit_trades)
{
    sqlite3 *db = open_file(dir);
    sqlite3_stmt *insert = NULL;
    uint64_t checkpoint_at = CHECKPOINT_ROWS;

    sqlite3_prepare_v2(db,
                       "INSERT INTO trade VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
                       " ON CONFLICT (generation, key) DO NOTHING",
                       -1, &insert, NULL);
    int64_t began_us = clock_mono_us();

    for (uint64_t n = 0; n < trades;) {
        uint64_t end = n + commit_trades < trades ? n + commit_trades : trades;

        measure_must(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK, "begin");
        for (; n < end; n++)
            insert_one(insert, n, began_us);
        measure_must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK, "commit");
        if (n >= checkpoint_at) {
            sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
            checkpoint_at = n + CHECKPOINT_ROWS;
        }
    }
    double per_s = measure_per_s(trades, began_us);

    sqlite3_finalize(insert);
    sqlite3_close(db);
    return per_s;
}
