/* bench_store: what the store thread can do alone, beside a plain loader with the same schema.
 *
 *   loader   INSERT ... ON CONFLICT DO NOTHING into the same table, the same commits, no screen
 *   store    store_judge and store_commit: screen, exact check, insert
 *   old      duplicates of random stored trades
 *
 * Both with random IDs and a 150-byte message, synchronous=FULL, in a directory of their own. Usage:
 * bench_store [TRADES [COMMIT_TRADES [DIR]]]. Runs alternate; medians and ratios inside one run. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/store.h"

enum { ROUNDS = 3, BATCH_TRADES = 512, MESSAGE_BYTES = 150 };

static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static int make_key(char key[64], uint64_t n)
{
    return snprintf(key, 64, "BINANCE/BTCUSDT/%016llx%04llx", (unsigned long long)mix(n),
                    (unsigned long long)(n & 0xffff));
}

static void fill_batch(struct batch *batch, uint64_t first, size_t n)
{
    char key[64];

    batch_reset(batch);
    batch->feed = "canonical";
    batch->received_us = clock_wall_us();
    memset(text_reserve(&batch->bytes, MESSAGE_BYTES), 'x', MESSAGE_BYTES);
    batch->bytes.len = MESSAGE_BYTES;
    for (size_t i = 0; i < n; i++) {
        struct batch_trade *trade = batch_add_trade(batch);

        trade->key_at = (uint32_t)batch->arena.len;
        trade->key_len = (uint32_t)make_key(key, first + i);
        trade->message_len = MESSAGE_BYTES;
        trade->fingerprint = first + i;
        text_add(&batch->arena, key, trade->key_len);
    }
    batch->ask_n = n;
}

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_store: %s\n", what);
        exit(1);
    }
}

static void remove_dir(const char *dir)
{
    char command[4200];

    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    must(system(command) == 0, "cannot remove the directory");
}

static double rate(uint64_t trades, int64_t since_us)
{
    return (double)trades * 1e6 / (double)(clock_mono_us() - since_us);
}

/* ---- the loader ---- */

static double run_loader(const char *dir, uint64_t trades, uint64_t commit_trades)
{
    char path[4200], key[64], message[MESSAGE_BYTES];
    sqlite3 *db;
    sqlite3_stmt *insert;

    memset(message, 'x', sizeof message);
    snprintf(path, sizeof path, "%s/loader.db", dir);
    must(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                         NULL) == 0,
         "open");
    must(sqlite3_exec(db,
                      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;"
                      "PRAGMA cache_size=-16384;"
                      "CREATE TABLE trade (seq INTEGER PRIMARY KEY, generation INTEGER NOT NULL,"
                      " key TEXT NOT NULL, received INTEGER NOT NULL, feed TEXT NOT NULL,"
                      " fingerprint INTEGER NOT NULL, message TEXT, UNIQUE (generation, key)) STRICT",
                      NULL, NULL, NULL) == 0,
         "schema");
    must(sqlite3_prepare_v2(db,
                            "INSERT INTO trade VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
                            " ON CONFLICT (generation, key) DO NOTHING",
                            -1, &insert, NULL) == 0,
         "prepare");
    int64_t began_us = clock_mono_us(), wal_rows = 0;

    for (uint64_t n = 0; n < trades;) {
        must(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == 0, "begin");
        for (uint64_t i = 0; i < commit_trades && n < trades; i++, n++) {
            sqlite3_bind_int64(insert, 1, (int64_t)n + 1);
            sqlite3_bind_int64(insert, 2, (int64_t)(n / 65536));
            sqlite3_bind_text(insert, 3, key, make_key(key, n), SQLITE_STATIC);
            sqlite3_bind_int64(insert, 4, began_us);
            sqlite3_bind_text(insert, 5, "canonical", 9, SQLITE_STATIC);
            sqlite3_bind_int64(insert, 6, (int64_t)n);
            sqlite3_bind_text(insert, 7, message, sizeof message, SQLITE_STATIC);
            must(sqlite3_step(insert) == SQLITE_DONE, "insert");
            sqlite3_reset(insert);
        }
        must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == 0, "commit");
        wal_rows += (int64_t)commit_trades;
        if (wal_rows >= 16384) {
            sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
            wal_rows = 0;
        }
    }
    double ret = rate(trades, began_us);

    sqlite3_finalize(insert);
    sqlite3_close(db);
    return ret;
}

/* ---- the store ---- */

static struct store *open_store(const char *dir)
{
    struct store_config config = {
        .data_dir = dir,
        .keep_message = true,
        .generation_keys = 65536,
        .segment_rows = 16777216,
        .false_positive_rate = 0.01,
        .capacity = 100000000,
    };
    struct store *store;
    struct err err;

    if (store_open(&store, &config, &err) < 0) {
        fprintf(stderr, "bench_store: %s\n", err.text);
        exit(1);
    }
    return store;
}

/* Judges n trades; trade i is made from number(i). */
static double run_store(struct store *store, uint64_t trades, uint64_t commit_trades, bool old)
{
    struct batch *batch = batch_open();
    int64_t began_us = clock_mono_us();
    struct err err;

    for (uint64_t n = 0; n < trades;) {
        uint64_t end = n + commit_trades < trades ? n + commit_trades : trades;

        must(store_begin(store, &err) == 0, "begin");
        while (n < end) {
            size_t take = end - n < BATCH_TRADES ? end - n : BATCH_TRADES;

            fill_batch(batch, old ? mix(n) % (trades - BATCH_TRADES) : n, take);
            must(store_judge(store, batch, &err) == 0, "judge");
            must(batch->trades[0].verdict == (old ? VERDICT_DUPLICATE : VERDICT_NEW), "verdict");
            n += take;
        }
        must(store_commit(store, &err) == 0, "commit");
        must(store_maintain(store, &err) == 0, "maintain");
    }
    batch_close(batch);
    return rate(trades, began_us);
}

static double median(double *values)
{
    for (int i = 0; i < ROUNDS; i++)
        for (int j = i + 1; j < ROUNDS; j++)
            if (values[j] < values[i]) {
                double swap = values[i];

                values[i] = values[j];
                values[j] = swap;
            }
    return values[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    uint64_t trades = argc > 1 ? strtoull(argv[1], NULL, 10) : 500000;
    uint64_t commit_trades = argc > 2 ? strtoull(argv[2], NULL, 10) : 4096;
    const char *base = argc > 3 ? argv[3] : getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    double loader[ROUNDS], fresh[ROUNDS], old[ROUNDS], ratio[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        char dir[4096];

        snprintf(dir, sizeof dir, "%s/bench_store.XXXXXX", base);
        must(mkdtemp(dir) != NULL, "no temporary directory");
        loader[i] = run_loader(dir, trades, commit_trades);
        struct store *store = open_store(dir);

        fresh[i] = run_store(store, trades, commit_trades, false);
        ratio[i] = fresh[i] / loader[i];
        old[i] = run_store(store, trades, commit_trades, true);
        store_close(store);
        remove_dir(dir);
    }
    printf("%llu trades, commits of %llu, median of %d\n", (unsigned long long)trades,
           (unsigned long long)commit_trades, ROUNDS);
    printf("  loader, same schema        %10.0f /s\n", median(loader));
    printf("  store, new random IDs      %10.0f /s   %.2f of the loader\n", median(fresh),
           median(ratio));
    printf("  store, duplicates          %10.0f /s\n", median(old));
    return 0;
}
