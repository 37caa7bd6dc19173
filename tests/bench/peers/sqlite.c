/* sqlite: what people write first: one table, one UNIQUE index over the key, in the process that has
 * the messages. WAL, synchronous=FULL, a page cache of 16 MiB.
 *
 *   sqlite FILE.db FILE COMMIT_ROWS
 *
 * Prints also what its memory grew by, in KiB, since the messages were read. */
#include <sqlite3.h>
#include <stdio.h>

#include "base/clock.h"
#include "input.h"
#include "measure.h"

static const char schema[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16384;"
    "CREATE TABLE IF NOT EXISTS trade (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
    " message TEXT NOT NULL)";

static double resident_kib(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    double kib = 0;

    measure_must(status != NULL, "no /proc");
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmRSS: %lf", &kib) == 1)
            break;
    fclose(status);
    return kib;
}

static void execute(sqlite3 *db, const char *sql)
{
    measure_must(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
}

static bool insert_one(sqlite3_stmt *insert, const char *line)
{
    char key[MESSAGE_KEY_BYTES];

    message_key_of(key, line);
    sqlite3_bind_text(insert, 1, key, sizeof key, SQLITE_STATIC);
    sqlite3_bind_text(insert, 2, line, MESSAGE_BYTES, SQLITE_STATIC);
    measure_must(sqlite3_step(insert) == SQLITE_DONE, "insert");
    sqlite3_reset(insert);
    return sqlite3_changes(sqlite3_db_handle(insert)) > 0;
}

static uint64_t run(sqlite3 *db, const struct input *input, uint64_t commit_rows)
{
    sqlite3_stmt *insert = NULL;
    uint64_t fresh = 0;

    sqlite3_prepare_v2(db,
                       "INSERT INTO trade (key, message) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING",
                       -1, &insert, NULL);
    for (uint64_t i = 0; i < input->n;) {
        execute(db, "BEGIN IMMEDIATE");
        for (uint64_t j = 0; j < commit_rows && i < input->n; j++)
            fresh += insert_one(insert, input_line(input, i++));
        execute(db, "COMMIT");
    }
    sqlite3_finalize(insert);
    return fresh;
}

int main(int argc, char **argv)
{
    struct input input;
    sqlite3 *db;

    measure_must(argc == 4, "usage: sqlite FILE.db FILE COMMIT_ROWS");
    uint64_t commit_rows = measure_number(argv[3]);

    measure_must(commit_rows > 0, "COMMIT_ROWS is at least 1");
    input_read(&input, argv[2]);
    double before_kib = resident_kib();

    measure_must(sqlite3_open(argv[1], &db) == SQLITE_OK, "%s: cannot open", argv[1]);
    execute(db, schema);
    int64_t began_us = clock_mono_us();
    uint64_t fresh = run(db, &input, commit_rows);

    input_report(&input, fresh, began_us);
    measure_print("resident_kib", resident_kib() - before_kib);
    sqlite3_close(db);
    input_done(&input);
    return 0;
}
