/* Sealing, filter snapshots and expiry: verdicts stay what they were, whatever the files suffer. */
#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/store_state.h"
#include "store_fixture.h"
#include "suite.h"

static struct store_fixture f;

static void set_up(void)
{
    store_fixture_init(&f);
    store_fixture_open(&f);
}

static void tear_down(void)
{
    store_fixture_done(&f);
}

static void must(int result)
{
    if (result < 0)
        ck_abort_msg("%s", f.err.text);
}

static const char *path_of(const char *dir, const char *name, const char *suffix)
{
    static char path[CATALOG_PATH_MAX];

    catalog_path(path, dir, name, suffix);
    return path;
}

static bool there_is(const char *name, const char *suffix)
{
    return access(path_of(f.dir, name, suffix), F_OK) == 0;
}

static size_t sealed_n(void)
{
    size_t n = 0;

    for (size_t i = 0; i < f.store->segments_n; i++)
        n += f.store->segments[i].state == SEGMENT_SEALED;
    return n;
}

/* Keys k1 to k40 in three segments: two closed ones of 16 rows, an active one of 8. */
static void fill(void)
{
    store_fixture_send_range(&f, "k", 1, 40, 4);
    ck_assert_uint_eq(f.store->segments_n, 3);
}

static void all_are_duplicates(int from, int to)
{
    char word[32], expected[32];

    for (int i = from; i <= to; i++) {
        snprintf(word, sizeof word, "k%d", i);
        snprintf(expected, sizeof expected, "duplicate:%d", i);
        ck_assert_str_eq(store_fixture_send(&f, word), expected);
    }
}

static void run_sql(const char *name, const char *suffix, const char *sql)
{
    char *message = NULL;
    sqlite3 *db;

    ck_assert_int_eq(sqlite3_open(path_of(f.dir, name, suffix), &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        ck_abort_msg("%s: %s", sql, message);
    sqlite3_close(db);
}

/* ---- sealing ---- */

START_TEST(a_closed_segment_is_sealed_and_its_bank_goes)
{
    fill();
    must(store_settle(f.store, &f.err));
    ck_assert_uint_eq(sealed_n(), 2);
    ck_assert(f.store->screen.parts[0].sealed);
    ck_assert_ptr_null(f.store->screen.parts[0].bank.bits);
    ck_assert(there_is(f.store->segments[0].name, ".keys"));
    ck_assert(there_is(f.store->segments[0].name, ".bloom"));
    ck_assert(!there_is(f.store->segments[0].name, ".keys.new"));
}
END_TEST

START_TEST(verdicts_are_the_same_before_and_after_sealing_and_after_a_restart)
{
    fill();
    all_are_duplicates(1, 40);
    must(store_settle(f.store, &f.err));
    all_are_duplicates(1, 40);
    ck_assert_str_eq(store_fixture_send(&f, "k3=2 k3=2 k3 new"),
                     "conflict:3 conflict:3 duplicate:3 new:41");
    store_fixture_reopen(&f);
    ck_assert_uint_eq(sealed_n(), 2);
    all_are_duplicates(1, 40);
    ck_assert_str_eq(store_fixture_send(&f, "k3=2 new"), "conflict:3 duplicate:41");
    ck_assert_uint_eq(f.store->false_negatives, 0);
}
END_TEST

START_TEST(a_duplicate_of_a_sealed_trade_tells_when_it_came)
{
    int64_t came_us = f.now_us;

    fill();
    must(store_settle(f.store, &f.err));
    struct batch *batch = store_fixture_batch(&f, "k1");

    store_fixture_transact(&f, &batch, 1, true);
    ck_assert_int_eq(batch->trades[0].received_us, came_us);
    batch_close(batch);
}
END_TEST

START_TEST(a_check_names_a_sealed_segment_without_a_generation)
{
    struct store_answer answer;

    fill();
    must(store_settle(f.store, &f.err));
    must(store_check(f.store, "k2", 2, &answer, &f.err));
    ck_assert(answer.present);
    ck_assert_int_eq(answer.candidates[answer.candidates_n - 1].generation, -1);
    ck_assert(!answer.filters[0].bank);
    ck_assert_int_eq(answer.filters[0].zero, -1);
    store_answer_done(&answer);
    must(store_check(f.store, "stranger", 8, &answer, &f.err));
    ck_assert(!answer.present);
    ck_assert_int_ge(answer.filters[0].zero, 0);
    store_answer_done(&answer);
}
END_TEST

START_TEST(an_empty_segment_and_one_of_a_single_row_can_be_sealed)
{
    store_fixture_send(&f, "k1");
    must(store_roll(f.store, f.now_us, &f.err));
    must(store_roll(f.store, f.now_us, &f.err));
    must(store_settle(f.store, &f.err));
    ck_assert_uint_eq(sealed_n(), 2);
    ck_assert_str_eq(store_fixture_send(&f, "k1 k2"), "duplicate:1 new:2");
    store_fixture_reopen(&f);
    ck_assert_uint_eq(sealed_n(), 2);
    ck_assert_str_eq(store_fixture_send(&f, "k1 k2"), "duplicate:1 duplicate:2");
}
END_TEST

START_TEST(a_seal_that_a_kill_cut_short_is_done_again)
{
    fill();
    char *dir = store_fixture_copy(f.dir); /* closed, not sealed */
    FILE *left = fopen(path_of(dir, f.store->segments[0].name, ".keys.new"), "w");

    fputs("half a file", left);
    fclose(left);
    store_fixture_close(&f);
    free(f.dir);
    f.dir = dir;
    f.config.data_dir = dir;
    store_fixture_open(&f);
    ck_assert(!there_is(f.store->segments[0].name, ".keys.new"));
    all_are_duplicates(1, 40);
    must(store_settle(f.store, &f.err));
    ck_assert_uint_eq(sealed_n(), 2);
    all_are_duplicates(1, 40);
}
END_TEST

START_TEST(sealed_keys_of_another_segment_or_of_other_rows_are_made_again)
{
    fill();
    must(store_settle(f.store, &f.err));
    char first[SEGMENT_NAME_MAX], second[CATALOG_PATH_MAX];

    strcpy(first, f.store->segments[0].name);
    strcpy(second, path_of(f.dir, f.store->segments[1].name, ".keys"));
    store_fixture_close(&f);
    ck_assert_int_eq(rename(second, path_of(f.dir, first, ".keys")), 0);
    store_fixture_open(&f);
    ck_assert_uint_eq(sealed_n(), 0);
    ck_assert_uint_gt(f.events[STORE_WARNING], 0);
    all_are_duplicates(1, 40);
    must(store_settle(f.store, &f.err));
    ck_assert_uint_eq(sealed_n(), 2);
    all_are_duplicates(1, 40);
}
END_TEST

/* A segment restored from a copy of its time as the active one, filled anew to the same number of rows. */
START_TEST(sealed_keys_of_rows_that_a_restore_undid_are_not_believed)
{
    store_fixture_send_range(&f, "k", 1, 8, 4);
    store_fixture_reopen(&f);
    char *old = store_fixture_copy(f.dir), command[CATALOG_PATH_MAX * 3];

    store_fixture_send_range(&f, "k", 9, 16, 4);
    must(store_roll(f.store, f.now_us, &f.err));
    must(store_settle(f.store, &f.err));
    snprintf(command, sizeof command, "cp '%s'/*.keys '%s'/*.bloom '%s'/", f.dir, f.dir, old);
    ck_assert_int_eq(system(command), 0);
    char name[SEGMENT_NAME_MAX];

    strcpy(name, f.store->segments[0].name);
    store_fixture_close(&f);
    free(f.dir);
    f.dir = old;
    f.config.data_dir = old;
    store_fixture_open(&f);
    ck_assert(!there_is(name, ".keys"));
    store_fixture_send_range(&f, "x", 9, 16, 4);
    must(store_roll(f.store, f.now_us, &f.err));
    ck_assert_str_eq(store_fixture_send(&f, "x9 x16 k1"), "duplicate:9 duplicate:16 duplicate:1");
}
END_TEST

START_TEST(sealed_keys_that_do_not_hold_the_rows_are_made_again)
{
    fill();
    must(store_settle(f.store, &f.err));
    char name[SEGMENT_NAME_MAX];

    strcpy(name, f.store->segments[0].name);
    store_fixture_close(&f);
    run_sql(name, ".keys", "UPDATE key SET key = 'z' || key");
    store_fixture_open(&f);
    ck_assert_uint_eq(sealed_n(), 1);
    all_are_duplicates(1, 40);
    must(store_settle(f.store, &f.err));
    ck_assert_uint_eq(sealed_n(), 2);
    all_are_duplicates(1, 40);
}
END_TEST

/* A damaged seq would have the trade judged by the content of another. */
START_TEST(sealed_keys_that_name_the_row_of_another_trade_are_made_again)
{
    fill();
    must(store_settle(f.store, &f.err));
    char name[SEGMENT_NAME_MAX];

    strcpy(name, f.store->segments[0].name);
    store_fixture_close(&f);
    run_sql(name, ".keys", "UPDATE key SET seq = 2 WHERE key = 'k5'");
    store_fixture_open(&f);
    ck_assert_uint_eq(sealed_n(), 1);
    all_are_duplicates(1, 40);
}
END_TEST

START_TEST(sealed_keys_damaged_while_running_merge_no_trades)
{
    fill();
    must(store_settle(f.store, &f.err));
    struct batch *batch = store_fixture_batch(&f, "k5=7");

    store_release(&f.store->segments[0]);
    run_sql(f.store->segments[0].name, ".keys", "UPDATE key SET seq = 2 WHERE key = 'k5'");
    must(store_begin(f.store, &f.err));
    ck_assert_int_eq(store_judge(f.store, batch, &f.err), ERR_CORRUPT);
    store_rollback(f.store);
    batch_close(batch);
    ck_assert(!there_is(f.store->segments[0].name, ".keys"));
    store_fixture_reopen(&f);
    must(store_settle(f.store, &f.err));
    all_are_duplicates(1, 40);
}
END_TEST

/* Killed before, while and after the sealed file is written: the copy falls anywhere. */
START_TEST(a_key_that_stands_twice_is_sealed_through_any_number_of_kills)
{
    store_fixture_send(&f, "a b c d");
    store_fixture_zero_column(&f, 0, 0);
    ck_assert_str_eq(store_fixture_send(&f, "b"), "new:5");
    must(store_roll(f.store, f.now_us, &f.err));
    for (int kill = 0; kill < 30; kill++) {
        must(store_maintain(f.store, &f.err)); /* the seal thread begins, or is done */
        for (int i = 0; i < kill * 1000; i++)
            sealer_is_idle(f.store->sealer); /* gives it some time */
        store_fixture_kill(&f);
        store_fixture_open(&f);
        ck_assert_str_eq(store_fixture_send(&f, "a d b"), sealed_n()
                                                              ? "duplicate:1 duplicate:4 duplicate:2"
                                                              : "duplicate:1 duplicate:4 duplicate:5");
    }
    must(store_settle(f.store, &f.err));
    ck_assert_uint_eq(sealed_n(), 1);
    ck_assert_uint_eq(sealed_twice(store_segment_keys(f.store, 0, &f.err)), 1);
    ck_assert_str_eq(store_fixture_send(&f, "a b c d e"),
                     "duplicate:1 duplicate:2 duplicate:3 duplicate:4 new:6");
}
END_TEST

START_TEST(a_sealed_filter_that_is_lost_is_built_and_written_again)
{
    fill();
    must(store_settle(f.store, &f.err));
    char name[SEGMENT_NAME_MAX];

    strcpy(name, f.store->segments[0].name);
    store_fixture_close(&f);
    unlink(path_of(f.dir, name, ".bloom"));
    store_fixture_open(&f);
    ck_assert(there_is(name, ".bloom"));
    all_are_duplicates(1, 40);
}
END_TEST

START_TEST(the_fullest_filter_may_be_a_sealed_one)
{
    fill();
    must(store_settle(f.store, &f.err));
    const struct figures *figures = store_fixture_figures(&f);

    ck_assert(figures->fullest >=
              (double)figures->segments[0].filter.bits_set / (double)figures->segments[0].filter.bits);
}
END_TEST

/* A false negative of the past: the key stands in two generations. */
START_TEST(a_key_that_stands_twice_does_not_stop_sealing_and_is_told)
{
    store_fixture_send(&f, "a b c d");
    store_fixture_zero_column(&f, 0, 0);
    ck_assert_str_eq(store_fixture_send(&f, "b"), "new:5"); /* what the screen must never let happen */
    must(store_roll(f.store, f.now_us, &f.err));
    must(store_settle(f.store, &f.err));
    ck_assert_uint_eq(sealed_n(), 1);
    ck_assert_uint_eq(f.store->false_negatives, 1);
    ck_assert_uint_eq(f.events[STORE_CRITICAL], 1);
    ck_assert_str_eq(store_fixture_send(&f, "b"), "duplicate:2");
    must(store_self_test(f.store, &f.err));
    store_fixture_reopen(&f);
    ck_assert_str_eq(store_fixture_send(&f, "a b c d"),
                     "duplicate:1 duplicate:2 duplicate:3 duplicate:4");
}
END_TEST

START_TEST(a_zeroed_sealed_filter_is_found_by_the_sweep_and_healed)
{
    fill();
    must(store_settle(f.store, &f.err));
    struct bloom *bloom = &f.store->screen.parts[0].bloom;

    memset(bloom->words, 0, bloom_memory(bloom));
    ck_assert_str_eq(store_fixture_send(&f, "x"), "new:41");
    for (int i = 0; i < 4 && !f.store->false_negatives; i++)
        must(store_self_test(f.store, &f.err));
    ck_assert_uint_ge(f.store->false_negatives, 1);
    all_are_duplicates(1, 16); /* checked exactly until the rebuild */
    must(store_maintain(f.store, &f.err));
    ck_assert(!f.store->distrust);
    uint64_t found = f.store->false_negatives;

    all_are_duplicates(1, 40);
    ck_assert_uint_eq(f.store->false_negatives, found);
}
END_TEST

/* A bit that should be 0 denies no key: no self-test could see it. */
START_TEST(a_single_flipped_bit_of_a_sealed_filter_is_found_by_the_sweep)
{
    fill();
    must(store_settle(f.store, &f.err));
    uint64_t *word = f.store->screen.parts[1].bloom.words;

    *word |= *word + 1; /* the lowest 0 */
    for (int i = 0; i < 6 && !f.store->distrust; i++)
        must(store_self_test(f.store, &f.err));
    ck_assert(f.store->distrust);
    ck_assert_uint_eq(f.store->false_negatives, 0);
    must(store_maintain(f.store, &f.err));
    for (int i = 0; i < 6; i++)
        must(store_self_test(f.store, &f.err));
    ck_assert(!f.store->distrust);
}
END_TEST

START_TEST(a_row_that_the_segment_lost_is_corruption_not_a_new_trade)
{
    fill();
    must(store_settle(f.store, &f.err));
    run_sql(f.store->segments[0].name, ".db", "DELETE FROM trade WHERE seq = 3");
    struct batch *batch = store_fixture_batch(&f, "k3");

    must(store_begin(f.store, &f.err));
    ck_assert_int_eq(store_judge(f.store, batch, &f.err), ERR_CORRUPT);
    store_rollback(f.store);
    batch_close(batch);
}
END_TEST

/* Killed while the file left WAL mode: a journal that only a writer can roll back lies beside it. */
START_TEST(a_closed_segment_with_a_hot_journal_is_rolled_back_and_served)
{
    sqlite3 *db;

    fill();
    char name[SEGMENT_NAME_MAX];

    strcpy(name, f.store->segments[0].name);
    store_fixture_close(&f);
    ck_assert_int_eq(sqlite3_open(path_of(f.dir, name, ".db"), &db), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_exec(db,
                     "PRAGMA journal_mode=DELETE; PRAGMA cache_size=1; BEGIN IMMEDIATE;"
                     "UPDATE trade SET received = received + 1, message = zeroblob(9) || message;"
                     "CREATE TABLE big AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1"
                     " FROM n WHERE x < 20000) SELECT x, 'spills out of a small cache' AS t FROM n",
                     NULL, NULL, NULL),
        SQLITE_OK);
    char *dir = store_fixture_copy(f.dir);

    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(db);
    free(f.dir);
    f.dir = dir;
    f.config.data_dir = dir;
    ck_assert(there_is(name, ".db-journal"));
    store_fixture_open(&f);
    ck_assert(!there_is(name, ".db-journal"));
    all_are_duplicates(1, 40);
    must(store_settle(f.store, &f.err));
    ck_assert_uint_eq(sealed_n(), 2);
    all_are_duplicates(1, 40);
}
END_TEST

/* ---- snapshots ---- */

static void save(void)
{
    must(store_save_filters(f.store, &f.err));
}

START_TEST(a_snapshot_gives_the_filter_that_the_rows_give)
{
    store_fixture_send_range(&f, "k", 1, 11, 3);
    const struct bank *bank = &f.store->screen.parts[0].bank;
    size_t bytes = bank_memory(bank);
    char *bits = memcpy(mem_alloc(bytes), bank->bits, bytes);

    save();
    f.events[STORE_WARNING] = 0;
    store_fixture_reopen(&f);
    bank = &f.store->screen.parts[0].bank;
    ck_assert_uint_eq(bank_memory(bank), bytes);
    ck_assert_mem_eq(bank->bits, bits, bytes);
    ck_assert_uint_eq(f.store->snapshot.rows_saved, 11);
    ck_assert_uint_eq(f.events[STORE_WARNING], 0);
    all_are_duplicates(1, 11);
    ck_assert_str_eq(store_fixture_send(&f, "k12"), "new:12");
    free(bits);
}
END_TEST

START_TEST(rows_after_a_snapshot_are_replayed)
{
    store_fixture_send_range(&f, "k", 1, 6, 3);
    save();
    store_fixture_send_range(&f, "k", 7, 15, 3);
    uint64_t set = screen_part_figures(&f.store->screen, 0).bits_set;

    store_fixture_reopen(&f);
    ck_assert_uint_eq(f.store->snapshot.rows_saved, 6);
    ck_assert_uint_eq(screen_part_figures(&f.store->screen, 0).bits_set, set);
    ck_assert_uint_eq(screen_part_figures(&f.store->screen, 0).keys, 15);
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    all_are_duplicates(1, 15);
}
END_TEST

START_TEST(a_snapshot_written_while_keys_come_in_misses_none)
{
    f.config.snapshot_rows = 5;
    f.config.generation_keys = 60000; /* several slices */
    f.config.segment_rows = 1000000;
    free(f.dir);
    store_fixture_close(&f);
    f.dir = store_fixture_directory();
    f.config.data_dir = f.dir;
    store_fixture_open(&f);
    for (int i = 1; i <= 60; i++) {
        store_fixture_send_range(&f, "k", i, i, 1);
        f.store->snapshot.slice_us = 0;
        must(store_maintain(f.store, &f.err));
    }
    store_stop_snapshot(f.store);
    char *dir = store_fixture_copy(f.dir); /* as a kill leaves it */

    store_fixture_close(&f);
    free(f.dir);
    f.dir = dir;
    f.config.data_dir = dir;
    store_fixture_open(&f);
    ck_assert_uint_gt(f.store->snapshot.rows_saved, 0);
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    all_are_duplicates(1, 60);
}
END_TEST

/* Ghosts of rolled-back transactions begin more generations than were planned: the rows widen. */
START_TEST(a_bank_that_widens_while_it_is_saved_is_not_read_where_it_was)
{
    f.config.snapshot_rows = 1;
    f.config.generation_keys = 30000; /* several slices */
    f.config.segment_rows = 1000000;
    store_fixture_close(&f);
    free(f.dir);
    f.dir = store_fixture_directory();
    f.config.data_dir = f.dir;
    store_fixture_open(&f);
    store_fixture_send(&f, "k1");
    must(store_maintain(f.store, &f.err));
    ck_assert_ptr_nonnull(f.store->snapshot.writer);
    struct screen_part *part = &f.store->screen.parts[0];

    while (part->bank.columns < part->bank.words * 64) {
        store_note_generation(&f.store->segments[0], part->bank.columns);
        bank_begin_column(&part->bank);
    }
    part->bank.column[part->bank.columns - 1].keys = part->generation_keys;
    ck_assert(screen_will_widen(&f.store->screen));
    store_fixture_send(&f, "k2");
    ck_assert_ptr_null(f.store->snapshot.writer);
    for (int i = 0; i < 20; i++) {
        f.store->snapshot.slice_us = 0;
        must(store_maintain(f.store, &f.err));
    }
    store_fixture_reopen(&f);
    all_are_duplicates(1, 2);
}
END_TEST

static ino_t snapshot_inode(void)
{
    struct stat info;

    if (stat(path_of(f.dir, f.store->segments[f.store->segments_n - 1].name, ".bloom"), &info) < 0)
        return 0;
    return info.st_ino;
}

START_TEST(a_stop_writes_no_snapshot_that_would_hold_no_row_more)
{
    save();
    ck_assert_uint_eq(snapshot_inode(), 0); /* of no rows at all */
    store_fixture_send_range(&f, "k", 1, 6, 3);
    save();
    ino_t first = snapshot_inode();

    ck_assert_uint_ne(first, 0);
    save();
    ck_assert_uint_eq(snapshot_inode(), first);
    store_fixture_reopen(&f);
    save();
    ck_assert_uint_eq(snapshot_inode(), first);
    store_fixture_send_range(&f, "k", 7, 7, 1);
    save();
    ck_assert_uint_ne(snapshot_inode(), first); /* the old file still stands when the new one is made */
    must(store_roll(f.store, f.now_us, &f.err));
    store_fixture_send_range(&f, "k", 8, 14, 7);
    save();
    ck_assert_uint_ne(snapshot_inode(), 0);
}
END_TEST

START_TEST(a_snapshot_of_a_damaged_filter_does_not_outlive_its_rebuild)
{
    store_fixture_send_range(&f, "k", 1, 14, 14);
    store_fixture_zero_column(&f, 0, 1);
    save();
    must(store_self_test(f.store, &f.err));
    ck_assert_uint_eq(f.store->false_negatives, 1);
    must(store_maintain(f.store, &f.err));
    char *killed = store_fixture_copy(f.dir);

    save();
    store_fixture_reopen(&f); /* stopped */
    ck_assert_uint_eq(f.store->snapshot.rows_saved, 14);
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    store_fixture_close(&f);
    free(f.dir);
    f.dir = killed;
    f.config.data_dir = killed;
    store_fixture_open(&f);
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    all_are_duplicates(1, 14);
}
END_TEST

START_TEST(a_snapshot_under_another_secret_or_shape_is_not_used)
{
    store_fixture_send_range(&f, "k", 1, 11, 3);
    save();
    store_fixture_close(&f);
    f.config.false_positive_rate = 0.001;
    store_fixture_open(&f);
    ck_assert_uint_eq(f.store->snapshot.rows_saved, 0);
    all_are_duplicates(1, 11);
    save();
    store_fixture_close(&f);
    ck_assert_int_eq(unlink(path_of(f.dir, "filter.key", "")), 0);
    store_fixture_open(&f);
    ck_assert_uint_eq(f.store->snapshot.rows_saved, 0);
    all_are_duplicates(1, 11);
}
END_TEST

/* A database restored from a copy beside a snapshot that is newer, ingested past it. */
START_TEST(a_database_older_than_its_snapshot_loses_and_doubles_nothing)
{
    store_fixture_send_range(&f, "k", 1, 4, 4);
    store_fixture_reopen(&f); /* the WAL is moved in */
    char *old = store_fixture_copy(f.dir), command[CATALOG_PATH_MAX * 3];

    store_fixture_send_range(&f, "k", 5, 8, 4);
    save();
    snprintf(command, sizeof command, "cp '%s'/*.bloom '%s'/", f.dir, old);
    ck_assert_int_eq(system(command), 0);
    store_fixture_close(&f);
    free(f.dir);
    f.dir = old;
    f.config.data_dir = old;
    store_fixture_open(&f);
    ck_assert_uint_eq(f.store->snapshot.rows_saved, 0);
    ck_assert_str_eq(store_fixture_send(&f, "y5 y6 y7 y8 y9"), "new:5 new:6 new:7 new:8 new:9");
    free(store_fixture_copy(f.dir));
    store_fixture_reopen(&f); /* now the rows go past the old snapshot's last seq */
    ck_assert_uint_eq(f.store->snapshot.rows_saved, 0);
    ck_assert_str_eq(store_fixture_send(&f, "y5 k5 k4"), "duplicate:5 new:10 duplicate:4");
}
END_TEST

/* The same, but the row at the snapshot's last seq comes out as it was: only the runs tell. */
START_TEST(a_restored_database_whose_rows_look_like_the_snapshots_is_found_out)
{
    store_fixture_send_range(&f, "k", 1, 4, 4);
    store_fixture_reopen(&f);
    char *old = store_fixture_copy(f.dir), command[CATALOG_PATH_MAX * 3];

    store_fixture_send_range(&f, "k", 5, 8, 4);
    save();
    char *newer = store_fixture_copy(f.dir);

    snprintf(command, sizeof command, "cp '%s'/*.bloom '%s'/", newer, old);
    store_fixture_close(&f);
    free(f.dir);
    free(newer);
    f.dir = old;
    f.config.data_dir = old;
    store_fixture_open(&f);
    ck_assert_str_eq(store_fixture_send(&f, "x5 x6 x7 k8"), "new:5 new:6 new:7 new:8");
    ck_assert_int_eq(system(command), 0);
    store_fixture_reopen(&f);
    ck_assert_uint_eq(f.store->snapshot.rows_saved, 0);
    ck_assert_str_eq(store_fixture_send(&f, "x5 x6 x7 k8"),
                     "duplicate:5 duplicate:6 duplicate:7 duplicate:8");
}
END_TEST

enum { OFFSETS = 400, OFFSETS_BRIEF = 30 };

struct damage {
    const char *path;
    unsigned char *bytes;
    size_t len;
};

static struct damage read_file(const char *path)
{
    struct damage damage = {.path = mem_strdup(path)};
    struct stat info;
    FILE *file = fopen(path, "rb");

    ck_assert_int_eq(stat(path, &info), 0);
    damage.len = (size_t)info.st_size;
    damage.bytes = mem_alloc(damage.len);
    ck_assert_uint_eq(fread(damage.bytes, 1, damage.len, file), damage.len);
    fclose(file);
    return damage;
}

static void write_file(const struct damage *damage, size_t len)
{
    FILE *file = fopen(damage->path, "wb");

    ck_assert_uint_eq(fwrite(damage->bytes, 1, len, file), len);
    fclose(file);
}

static void opens_right(int keys)
{
    store_fixture_open(&f);
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    all_are_duplicates(keys, keys);
    store_fixture_close(&f);
}

/* At every offset of the small files of the fixture, at so many of a larger one. */
static void damage_everywhere(const char *path, int keys)
{
    struct damage damage = read_file(path);
    size_t step = damage.len / (size_t)suite_amount(NULL, OFFSETS, OFFSETS_BRIEF) + 1;

    for (size_t at = 0; at < damage.len; at += step) {
        write_file(&damage, at);
        opens_right(keys);
        damage.bytes[at] ^= 0x41;
        write_file(&damage, damage.len);
        opens_right(keys);
        damage.bytes[at] ^= 0x41;
    }
    free(damage.bytes);
    free((char *)damage.path);
}

START_TEST(a_damaged_bank_snapshot_is_never_believed)
{
    store_fixture_send_range(&f, "k", 1, 11, 3);
    save();
    char name[SEGMENT_NAME_MAX];

    strcpy(name, f.store->segments[0].name);
    store_fixture_close(&f);
    damage_everywhere(path_of(f.dir, name, ".bloom"), 11);
}
END_TEST

START_TEST(a_damaged_sealed_filter_is_never_believed)
{
    store_fixture_send_range(&f, "k", 1, 16, 4);
    must(store_roll(f.store, f.now_us, &f.err));
    must(store_settle(f.store, &f.err));
    char name[SEGMENT_NAME_MAX];

    strcpy(name, f.store->segments[0].name);
    store_fixture_close(&f);
    damage_everywhere(path_of(f.dir, name, ".bloom"), 16);
}
END_TEST

/* ---- expiry ---- */

static void fill_ten_days_ago(void)
{
    f.config.retention_days = 7;
    store_fixture_reopen(&f);
    f.store->expire_next_us = INT64_MAX;
    f.now_us = clock_wall_us() - 10 * STORE_FIXTURE_DAY_US;
    store_fixture_send_range(&f, "old", 1, 32, 4);
    f.now_us = clock_wall_us();
    store_fixture_send_range(&f, "young", 1, 4, 4);
    must(store_settle(f.store, &f.err));
}

START_TEST(whole_segments_older_than_the_retention_go_and_their_keys_are_new_again)
{
    char name[SEGMENT_NAME_MAX];

    fill_ten_days_ago();
    strcpy(name, f.store->segments[0].name);
    f.store->expire_next_us = 0;
    must(store_maintain(f.store, &f.err));
    ck_assert_uint_eq(f.store->segments_n, 1);
    ck_assert(!there_is(name, ".db") && !there_is(name, ".keys") && !there_is(name, ".bloom") &&
              !there_is(name, ".expired"));
    ck_assert_uint_eq(store_fixture_figures(&f)->rows, 4);
    ck_assert_int_gt(f.figures.window_start_us, clock_wall_us() - STORE_FIXTURE_DAY_US);
    ck_assert_str_eq(store_fixture_send(&f, "old1 young1"), "new:37 duplicate:33");
    store_fixture_reopen(&f);
    ck_assert_str_eq(store_fixture_send(&f, "old1 young1"), "duplicate:37 duplicate:33");
}
END_TEST

START_TEST(a_segment_that_could_not_be_sealed_expires_too)
{
    f.config.retention_days = 7;
    store_fixture_reopen(&f);
    f.now_us = clock_wall_us() - 10 * STORE_FIXTURE_DAY_US;
    store_fixture_send_range(&f, "old", 1, 32, 4);
    f.now_us = clock_wall_us();
    store_fixture_send(&f, "young");
    ck_assert_uint_eq(sealed_n(), 0);
    f.store->expire_next_us = 0;
    must(store_maintain(f.store, &f.err));
    ck_assert_uint_eq(f.store->segments_n, 1);
    ck_assert_str_eq(store_fixture_send(&f, "old1 young"), "new:34 duplicate:33");
}
END_TEST

START_TEST(nothing_expires_while_the_clocks_disagree)
{
    fill_ten_days_ago();
    size_t n = f.store->segments_n;

    f.store->clock_offset_us -= STORE_FIXTURE_DAY_US; /* the wall clock went a day ahead */
    f.store->expire_next_us = 0;
    f.events[STORE_WARNING] = 0;
    must(store_maintain(f.store, &f.err));
    ck_assert_uint_eq(f.store->segments_n, n);
    ck_assert_uint_eq(f.events[STORE_WARNING], 1);
}
END_TEST

START_TEST(an_expiry_that_a_kill_cut_short_is_finished_by_the_start)
{
    char name[SEGMENT_NAME_MAX], from[CATALOG_PATH_MAX];

    fill_ten_days_ago();
    strcpy(name, f.store->segments[0].name);
    store_fixture_close(&f);
    strcpy(from, path_of(f.dir, name, ".db"));
    ck_assert_int_eq(rename(from, path_of(f.dir, name, ".expired")), 0);
    store_fixture_open(&f);
    ck_assert(!there_is(name, ".keys") && !there_is(name, ".bloom") && !there_is(name, ".expired"));
    ck_assert_str_eq(store_fixture_send(&f, "old1 young1"), "new:37 duplicate:33");
}
END_TEST

static Suite *seal_suite(void)
{
    Suite *suite = suite_create("seal");
    TCase *tcase = tcase_create("seal");

    tcase_add_unchecked_fixture(tcase, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_closed_segment_is_sealed_and_its_bank_goes);
    tcase_add_test(tcase, verdicts_are_the_same_before_and_after_sealing_and_after_a_restart);
    tcase_add_test(tcase, a_duplicate_of_a_sealed_trade_tells_when_it_came);
    tcase_add_test(tcase, a_check_names_a_sealed_segment_without_a_generation);
    tcase_add_test(tcase, an_empty_segment_and_one_of_a_single_row_can_be_sealed);
    tcase_add_test(tcase, a_seal_that_a_kill_cut_short_is_done_again);
    tcase_add_test(tcase, sealed_keys_of_another_segment_or_of_other_rows_are_made_again);
    tcase_add_test(tcase, a_key_that_stands_twice_does_not_stop_sealing_and_is_told);
    tcase_add_test(tcase, a_zeroed_sealed_filter_is_found_by_the_sweep_and_healed);
    tcase_add_test(tcase, a_single_flipped_bit_of_a_sealed_filter_is_found_by_the_sweep);
    tcase_add_test(tcase, a_row_that_the_segment_lost_is_corruption_not_a_new_trade);
    tcase_add_test(tcase, a_snapshot_gives_the_filter_that_the_rows_give);
    tcase_add_test(tcase, rows_after_a_snapshot_are_replayed);
    tcase_add_test(tcase, a_snapshot_written_while_keys_come_in_misses_none);
    tcase_add_test(tcase, a_stop_writes_no_snapshot_that_would_hold_no_row_more);
    tcase_add_test(tcase, a_snapshot_of_a_damaged_filter_does_not_outlive_its_rebuild);
    tcase_add_test(tcase, a_snapshot_under_another_secret_or_shape_is_not_used);
    tcase_add_test(tcase, a_database_older_than_its_snapshot_loses_and_doubles_nothing);
    tcase_add_test(tcase, a_restored_database_whose_rows_look_like_the_snapshots_is_found_out);
    tcase_add_test(tcase, a_damaged_bank_snapshot_is_never_believed);
    tcase_add_test(tcase, a_damaged_sealed_filter_is_never_believed);
    tcase_add_test(tcase, whole_segments_older_than_the_retention_go_and_their_keys_are_new_again);
    tcase_add_test(tcase, nothing_expires_while_the_clocks_disagree);
    tcase_add_test(tcase, an_expiry_that_a_kill_cut_short_is_finished_by_the_start);
    tcase_add_test(tcase, a_segment_that_could_not_be_sealed_expires_too);
    tcase_add_test(tcase, a_bank_that_widens_while_it_is_saved_is_not_read_where_it_was);
    tcase_add_test(tcase, sealed_keys_of_rows_that_a_restore_undid_are_not_believed);
    tcase_add_test(tcase, sealed_keys_that_do_not_hold_the_rows_are_made_again);
    tcase_add_test(tcase, sealed_keys_that_name_the_row_of_another_trade_are_made_again);
    tcase_add_test(tcase, sealed_keys_damaged_while_running_merge_no_trades);
    tcase_add_test(tcase, a_key_that_stands_twice_is_sealed_through_any_number_of_kills);
    tcase_add_test(tcase, a_sealed_filter_that_is_lost_is_built_and_written_again);
    tcase_add_test(tcase, the_fullest_filter_may_be_a_sealed_one);
    tcase_add_test(tcase, a_closed_segment_with_a_hot_journal_is_rolled_back_and_served);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return suite_run(seal_suite());
}
