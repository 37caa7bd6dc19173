/* The store when something is broken: a filter that lost bits, files that lost content, a directory as a
 * kill leaves it, another program that writes. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/catalog.h"
#include "store/store_state.h"
#include "store_fixture.h"
#include "suite.h"

static struct store_fixture f;

static void setup(void)
{
    store_fixture_init(&f);
    store_fixture_open(&f);
}

static void teardown(void)
{
    store_fixture_done(&f);
}

static void says(const char *words, const char *verdicts)
{
    ck_assert_str_eq(store_fixture_send(&f, words), verdicts);
}

static void must(int result)
{
    if (result < 0)
        ck_abort_msg("%s", f.err.text);
}

static void told(const char *part)
{
    ck_assert_msg(strstr(f.event, part) != NULL, "told: %s", f.event);
}

static const char *path_of(size_t segment, const char *suffix)
{
    static char path[CATALOG_PATH_MAX];

    catalog_path(path, f.dir, f.store->segments[segment].name, suffix);
    return path;
}

static sqlite3 *other_open(size_t segment)
{
    sqlite3 *other;

    ck_assert_int_eq(sqlite3_open(path_of(segment, ".db"), &other), SQLITE_OK);
    return other;
}

static void other_does(sqlite3 *other, const char *sql)
{
    char *message = NULL;

    if (sqlite3_exec(other, sql, NULL, NULL, &message) != SQLITE_OK)
        ck_abort_msg("%s: %s", sql, message);
}

/* Another program changes a segment's file. */
static void meddle(size_t segment, const char *sql)
{
    sqlite3 *other = other_open(segment);

    other_does(other, sql);
    sqlite3_close(other);
}

/* ---- filters that lost bits ---- */

START_TEST(a_zeroed_current_column_is_found_by_the_unique_constraint_and_healed)
{
    says("a b c", "new:1 new:2 new:3");
    store_fixture_zero_column(&f, 0, 0);
    says("b b=2", "duplicate:2 conflict:2");
    told("found by the");
    ck_assert_uint_ge(store_fixture_figures(&f)->false_negative, 1);
    ck_assert_uint_ge(f.events[STORE_CRITICAL], 1);
    ck_assert_uint_eq(store_fixture_census(&f).denied, 3);
    must(store_maintain(f.store, &f.err));
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    uint64_t before = store_fixture_figures(&f)->false_negative;

    says("a b c d", "duplicate:1 duplicate:2 duplicate:3 new:4");
    ck_assert_uint_eq(store_fixture_figures(&f)->false_negative, before);
}
END_TEST

START_TEST(a_zeroed_old_column_is_found_by_the_self_test_and_healed)
{
    store_fixture_send_range(&f, "k", 1, 14, 14);
    store_fixture_zero_column(&f, 0, 1);
    must(store_self_test(f.store, &f.err));
    ck_assert_uint_eq(store_fixture_figures(&f)->false_negative, 1);
    ck_assert_uint_eq(f.figures.members_asked, 4);
    ck_assert_uint_eq(f.figures.members_maybe, 3);
    told("the self-test");
    must(store_maintain(f.store, &f.err));
    told("rebuilt");
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    says("k5 k8 k14 a", "duplicate:5 duplicate:8 duplicate:14 new:15");
}
END_TEST

START_TEST(a_zeroed_column_of_a_closed_segment_is_found_and_healed)
{
    store_fixture_send_range(&f, "k", 1, 40, 8);
    store_fixture_zero_column(&f, 0, 2);
    must(store_self_test(f.store, &f.err));
    ck_assert_uint_eq(store_fixture_figures(&f)->false_negative, 1);
    must(store_maintain(f.store, &f.err));
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    says("k9 k12", "duplicate:9 duplicate:12");
}
END_TEST

/* The control: UNIQUE guards the current generation only, so this is what the self-test is for. */
START_TEST(without_the_self_test_a_zeroed_old_column_would_store_a_trade_twice)
{
    store_fixture_send_range(&f, "k", 1, 14, 14);
    store_fixture_zero_column(&f, 0, 1);
    says("k5", "new:15");
    ck_assert_uint_eq(store_fixture_figures(&f)->false_negative, 0);
}
END_TEST

START_TEST(while_a_filter_is_distrusted_every_key_is_checked_exactly)
{
    store_fixture_send_range(&f, "k", 1, 40, 8);
    store_fixture_zero_column(&f, 0, 0);
    store_fixture_zero_column(&f, 1, 1);
    must(store_self_test(f.store, &f.err));
    says("k1 k2=2 k22 a", "duplicate:1 conflict:2 duplicate:22 new:41");
    told("the exact check");
}
END_TEST

START_TEST(while_a_filter_is_distrusted_a_check_is_exact_too)
{
    struct store_answer answer;

    store_fixture_send_range(&f, "k", 1, 14, 14);
    store_fixture_zero_column(&f, 0, 1);
    must(store_self_test(f.store, &f.err));
    must(store_check(f.store, "k5", 2, &answer, &f.err));
    ck_assert_int_eq(answer.screen, SCREEN_ABSENT); /* what the filter says */
    ck_assert(answer.present);                      /* and what is so */
    ck_assert_int_eq(answer.seq, 5);
    ck_assert_uint_eq(answer.candidates_n, 0);
    store_answer_done(&answer);
}
END_TEST

START_TEST(a_false_negative_found_twice_in_a_column_is_counted_once_by_the_self_test)
{
    store_fixture_send_range(&f, "k", 1, 14, 14);
    store_fixture_zero_column(&f, 0, 1);
    must(store_self_test(f.store, &f.err));
    must(store_self_test(f.store, &f.err));
    ck_assert_uint_eq(store_fixture_figures(&f)->false_negative, 1);
}
END_TEST

START_TEST(every_column_zeroed_at_once_is_healed_at_once)
{
    store_fixture_send_range(&f, "k", 1, 60, 8);
    for (size_t i = 0; i < f.store->segments_n; i++)
        for (uint32_t g = 0; g < f.store->screen.parts[i].bank.columns; g++)
            store_fixture_zero_column(&f, i, g);
    ck_assert_uint_eq(store_fixture_census(&f).denied, 60);
    must(store_self_test(f.store, &f.err));
    must(store_maintain(f.store, &f.err));
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
}
END_TEST

START_TEST(a_screen_that_says_maybe_too_often_is_told)
{
    store_fixture_send_range(&f, "k", 1, 14, 14);
    store_fixture_saturate(&f);
    must(store_self_test(f.store, &f.err));
    ck_assert_uint_eq(store_fixture_figures(&f)->strangers_maybe, 1024);
    ck_assert_uint_eq(f.events[STORE_WARNING], 1);
    told("never-issued");
}
END_TEST

/* ---- files that lost content ---- */

/* Closes the store, lets `sql` be done to a segment, and wants the start to refuse naming it. */
static void refused_after(size_t segment, const char *sql)
{
    char name[SEGMENT_NAME_MAX];

    snprintf(name, sizeof name, "%s", f.store->segments[segment].name);
    meddle(segment, sql);
    store_fixture_close(&f);
    ck_assert_int_eq(store_fixture_try_open(&f), ERR_CORRUPT);
    ck_assert_msg(strstr(f.err.text, name) != NULL, "%s", f.err.text);
}

static const struct {
    size_t segment;
    const char *sql;
} losses[] = {
    {0, "DELETE FROM trade WHERE seq = 16"}, /* the last of a closed one */
    {0, "DELETE FROM trade WHERE seq = 7"},  /* in the middle */
    {0, "DELETE FROM trade WHERE seq = 1"},  /* the first */
    {0, "DELETE FROM trade"},
    {2, "DELETE FROM trade WHERE seq = 34"},               /* in the middle of the active */
    {0, "UPDATE trade SET generation = 0 WHERE seq = 16"}, /* out of order */
    {1, "UPDATE meta SET first_seq = 18"},
    {0, "UPDATE trade SET seq = 0 WHERE seq = 1"},
    {0, "INSERT INTO trade VALUES (17, 3, 'x', 0, '', 0, NULL)"}, /* one that is not ours */
    {0, "DROP TABLE trade"},
    {0, "PRAGMA user_version = 2"},
    {2, "PRAGMA application_id = 1"},
};

START_TEST(rows_that_are_not_as_they_were_are_found_at_the_start)
{
    store_fixture_send_range(&f, "k", 1, 40, 4);
    refused_after(losses[_i].segment, losses[_i].sql);
}
END_TEST

START_TEST(a_missing_file_in_the_middle_is_found_by_the_chain)
{
    char second[SEGMENT_NAME_MAX];

    store_fixture_send_range(&f, "k", 1, 40, 4);
    snprintf(second, sizeof second, "%s", f.store->segments[2].name);
    ck_assert_int_eq(unlink(path_of(1, ".db")), 0);
    store_fixture_close(&f);
    ck_assert_int_eq(store_fixture_try_open(&f), ERR_CORRUPT);
    ck_assert_msg(strstr(f.err.text, second) != NULL, "%s", f.err.text);
    ck_assert_ptr_nonnull(strstr(f.err.text, "a file or a WAL is lost"));
}
END_TEST

START_TEST(a_file_that_is_no_database_is_refused_by_name)
{
    char name[SEGMENT_NAME_MAX];

    store_fixture_send_range(&f, "k", 1, 40, 4);
    snprintf(name, sizeof name, "%s", f.store->segments[1].name);
    FILE *file = fopen(path_of(1, ".db"), "wb");

    fputs("not at all", file);
    fclose(file);
    store_fixture_close(&f);
    ck_assert_int_eq(store_fixture_try_open(&f), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(f.err.text, name));
}
END_TEST

START_TEST(a_lost_filter_key_changes_no_answer)
{
    char path[CATALOG_PATH_MAX];

    store_fixture_send_range(&f, "k", 1, 40, 4);
    catalog_path(path, f.dir, "filter.key", "");
    ck_assert_int_eq(_i ? truncate(path, 3) : unlink(path), 0);
    store_fixture_reopen(&f);
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    says("k1 k40 a", "duplicate:1 duplicate:40 new:41");
}
END_TEST

START_TEST(a_closed_file_that_vanishes_while_running_is_an_error_and_not_a_new_trade)
{
    struct batch *batch = store_fixture_batch(&f, "k1");

    store_fixture_send_range(&f, "k", 1, 40, 4);
    store_release(&f.store->segments[0]); /* a false positive may have opened it */
    ck_assert_int_eq(unlink(path_of(0, ".db")), 0);
    must(store_begin(f.store, &f.err));
    ck_assert_int_lt(store_judge(f.store, batch, &f.err), 0);
    ck_assert_ptr_nonnull(strstr(f.err.text, f.store->segments[0].name));
    store_rollback(f.store);
    batch_close(batch);
}
END_TEST

START_TEST(a_closed_file_that_is_replaced_while_running_is_noticed)
{
    struct batch *batch;
    char from[CATALOG_PATH_MAX];

    store_fixture_send_range(&f, "k", 1, 40, 4);
    store_release(&f.store->segments[0]);
    snprintf(from, sizeof from, "%s", path_of(1, ".db"));
    ck_assert_int_eq(rename(from, path_of(0, ".db")), 0);
    batch = store_fixture_batch(&f, "k1");
    must(store_begin(f.store, &f.err));
    ck_assert_int_eq(store_judge(f.store, batch, &f.err), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(f.err.text, "replaced"));
    store_rollback(f.store);
    batch_close(batch);
}
END_TEST

START_TEST(a_stored_key_that_cannot_be_found_again_stops_the_store)
{
    store_fixture_send_range(&f, "k", 1, 40, 4);
    meddle(0, "UPDATE trade SET generation = 3 WHERE generation = 0");
    ck_assert_int_eq(store_self_test(f.store, &f.err), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(f.err.text, f.store->segments[0].name));
}
END_TEST

/* ---- other programs that write ---- */

START_TEST(a_foreign_write_is_answered_by_verification)
{
    says("a b", "new:1 new:2");
    meddle(0, "UPDATE trade SET key = 'c' WHERE seq = 2");
    says("c b", "duplicate:2 new:3");
    told("rebuilt");
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
}
END_TEST

START_TEST(a_foreign_write_that_breaks_the_order_of_rows_stops_the_store)
{
    static const char *const breaks[] = {
        "DELETE FROM trade WHERE seq = 2",
        "DELETE FROM trade WHERE seq = 3",
        "INSERT INTO trade VALUES (4, 0, 'x', 0, '', 0, NULL)",
    };

    for (size_t i = 0; i < 3; i++) {
        says("a b c", "new:1 new:2 new:3");
        meddle(0, breaks[i]);
        ck_assert_int_eq(store_begin(f.store, &f.err), ERR_CORRUPT);
        ck_assert_ptr_nonnull(strstr(f.err.text, f.store->segments[0].name));
        store_fixture_done(&f);
        setup();
    }
}
END_TEST

START_TEST(a_foreign_row_in_the_active_segment_stops_the_store_and_is_a_trade_for_the_next_start)
{
    says("a b c", "new:1 new:2 new:3");
    meddle(0, "INSERT INTO trade VALUES (4, 0, 'x', 7, 'by hand', 1, NULL)");
    ck_assert_int_eq(store_begin(f.store, &f.err), ERR_CORRUPT);
    store_fixture_reopen(&f);
    says("x a c y", "duplicate:4 duplicate:1 duplicate:3 new:5");
    ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
}
END_TEST

static const char *const harmless[] = {
    "UPDATE trade SET message = NULL",
    "CREATE INDEX by_received ON trade (received)",
    "VACUUM",
    "PRAGMA wal_checkpoint(TRUNCATE); UPDATE trade SET feed = 'other'",
};

START_TEST(a_foreign_write_that_changes_no_key_is_verified_and_served)
{
    says("a b c", "new:1 new:2 new:3");
    meddle(0, harmless[_i]);
    says("a c d", "duplicate:1 duplicate:3 new:4");
    told("rebuilt");
    store_fixture_reopen(&f);
    says("d e", "duplicate:4 new:5");
}
END_TEST

/* ---- what a kill leaves ---- */

START_TEST(after_a_kill_every_committed_row_is_there_and_no_other)
{
    struct batch *open_batch = store_fixture_batch(&f, "u v w");

    store_fixture_send_range(&f, "k", 1, 21, 3);
    says("k1=2 !x", "conflict:1 invalid");
    must(store_begin(f.store, &f.err));
    must(store_judge(f.store, open_batch, &f.err));
    store_fixture_kill(&f);
    store_fixture_open(&f);
    ck_assert_uint_eq(store_fixture_census(&f).rows, 21);
    ck_assert_uint_eq(store_fixture_figures(&f)->conflicts, 1);
    ck_assert_uint_eq(store_fixture_figures(&f)->rejects, 1);
    says("k1=2 k21 u", "conflict:1 duplicate:21 new:22");
    ck_assert_uint_eq(store_fixture_figures(&f)->conflicts, 1);
    batch_close(open_batch);
}
END_TEST

START_TEST(a_kill_at_every_commit_of_a_run_with_rolls_loses_nothing)
{
    for (int n = 1; n <= 40; n += 3) {
        store_fixture_send_range(&f, "k", n, n + 2, 3);
        store_fixture_kill(&f);
        store_fixture_open(&f);
        ck_assert_uint_eq(store_fixture_census(&f).rows, (uint64_t)n + 2);
        ck_assert_uint_eq(store_fixture_census(&f).denied, 0);
    }
    says("k1 k42 a", "duplicate:1 duplicate:42 new:43");
}
END_TEST

START_TEST(what_a_killed_creation_left_is_removed)
{
    char path[CATALOG_PATH_MAX];

    says("a", "new:1");
    catalog_path(path, f.dir, "trades-20991231-000002", ".db.new");
    FILE *file = fopen(path, "wb");

    fputs("half", file);
    fclose(file);
    store_fixture_reopen(&f);
    ck_assert_int_ne(access(path, F_OK), 0);
    says("a b", "duplicate:1 new:2");
}
END_TEST

/* A reader of its first rows kept the first segment's last rows in the WAL when the kill came. */
static void killed_while_draining(void)
{
    sqlite3 *reader;

    store_fixture_send_range(&f, "k", 1, 8, 8);
    reader = other_open(0);
    other_does(reader, "BEGIN; SELECT * FROM trade");
    store_fixture_send_range(&f, "k", 9, 16, 8);
    says("k1=2 a b", "conflict:1 new:17 new:18"); /* in the second segment */
    ck_assert_int_eq(f.store->segments[0].state, SEGMENT_DRAINING);
    char *copy = store_fixture_copy(f.dir);

    sqlite3_close(reader);
    store_fixture_close(&f);
    free(f.dir);
    f.dir = copy;
    f.config.data_dir = copy;
}

START_TEST(a_segment_that_was_draining_is_closed_by_the_next_start)
{
    killed_while_draining();
    store_fixture_open(&f);
    ck_assert_str_eq(store_fixture_figures(&f)->segments[0].state, "closed");
    ck_assert_int_ne(access(path_of(0, ".db-wal"), F_OK), 0);
    says("k16 k1=2 b c", "duplicate:16 conflict:1 duplicate:18 new:19");
}
END_TEST

/* Bytes that remain of the first segment's WAL; -1: no file at all. */
static const int wal_bytes[] = {-1, 0, 32, 4000};

START_TEST(a_closed_segment_that_lost_its_wal_is_found_by_the_chain)
{
    char first[SEGMENT_NAME_MAX], wal[CATALOG_PATH_MAX];

    snprintf(first, sizeof first, "%s", f.store->segments[0].name);
    killed_while_draining();
    catalog_path(wal, f.dir, first, ".db-wal");
    ck_assert_int_eq(wal_bytes[_i] < 0 ? unlink(wal) : truncate(wal, wal_bytes[_i]), 0);
    ck_assert_int_eq(store_fixture_try_open(&f), ERR_CORRUPT);
    ck_assert_msg(strstr(f.err.text, first) != NULL, "%s", f.err.text);
    ck_assert_ptr_nonnull(strstr(f.err.text, "a file or a WAL is lost"));
}
END_TEST

START_TEST(a_draining_segment_still_answers_after_a_start_with_the_reader_there)
{
    sqlite3 *reader;

    store_fixture_send_range(&f, "k", 1, 16, 16);
    reader = other_open(0);
    other_does(reader, "BEGIN; SELECT * FROM trade");
    says("a", "new:17");
    store_fixture_reopen(&f);
    ck_assert_str_eq(store_fixture_figures(&f)->segments[0].state, "draining");
    says("k1 k16 a", "duplicate:1 duplicate:16 duplicate:17");
    sqlite3_close(reader);
    must(store_maintain(f.store, &f.err));
    ck_assert_str_eq(store_fixture_figures(&f)->segments[0].state, "closed");
    says("k1", "duplicate:1");
}
END_TEST

START_TEST(a_store_that_cannot_be_opened_is_closed_again)
{
    store_fixture_close(&f);
    f.config.data_dir = "/nonexistent/tradesieve";
    ck_assert_int_eq(store_fixture_try_open(&f), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(f.err.text, "/nonexistent/tradesieve"));
    store_close(NULL);
}
END_TEST

static void add_filters(TCase *cases)
{
    tcase_add_test(cases, a_zeroed_current_column_is_found_by_the_unique_constraint_and_healed);
    tcase_add_test(cases, a_zeroed_old_column_is_found_by_the_self_test_and_healed);
    tcase_add_test(cases, a_zeroed_column_of_a_closed_segment_is_found_and_healed);
    tcase_add_test(cases, without_the_self_test_a_zeroed_old_column_would_store_a_trade_twice);
    tcase_add_test(cases, while_a_filter_is_distrusted_every_key_is_checked_exactly);
    tcase_add_test(cases, while_a_filter_is_distrusted_a_check_is_exact_too);
    tcase_add_test(cases, a_false_negative_found_twice_in_a_column_is_counted_once_by_the_self_test);
    tcase_add_test(cases, every_column_zeroed_at_once_is_healed_at_once);
    tcase_add_test(cases, a_screen_that_says_maybe_too_often_is_told);
}

static void add_files(TCase *cases)
{
    tcase_add_loop_test(cases, rows_that_are_not_as_they_were_are_found_at_the_start, 0,
                        (int)(sizeof losses / sizeof *losses));
    tcase_add_test(cases, a_missing_file_in_the_middle_is_found_by_the_chain);
    tcase_add_test(cases, a_file_that_is_no_database_is_refused_by_name);
    tcase_add_loop_test(cases, a_lost_filter_key_changes_no_answer, 0, 2);
    tcase_add_test(cases, a_closed_file_that_vanishes_while_running_is_an_error_and_not_a_new_trade);
    tcase_add_test(cases, a_closed_file_that_is_replaced_while_running_is_noticed);
    tcase_add_test(cases, a_stored_key_that_cannot_be_found_again_stops_the_store);
    tcase_add_test(cases, a_foreign_write_is_answered_by_verification);
    tcase_add_test(cases, a_foreign_write_that_breaks_the_order_of_rows_stops_the_store);
    tcase_add_test(
        cases, a_foreign_row_in_the_active_segment_stops_the_store_and_is_a_trade_for_the_next_start);
    tcase_add_loop_test(cases, a_foreign_write_that_changes_no_key_is_verified_and_served, 0,
                        (int)(sizeof harmless / sizeof *harmless));
}

static void add_kills(TCase *cases)
{
    tcase_add_test(cases, after_a_kill_every_committed_row_is_there_and_no_other);
    tcase_add_test(cases, a_kill_at_every_commit_of_a_run_with_rolls_loses_nothing);
    tcase_add_test(cases, what_a_killed_creation_left_is_removed);
    tcase_add_test(cases, a_segment_that_was_draining_is_closed_by_the_next_start);
    tcase_add_loop_test(cases, a_closed_segment_that_lost_its_wal_is_found_by_the_chain, 0,
                        (int)(sizeof wal_bytes / sizeof *wal_bytes));
    tcase_add_test(cases, a_draining_segment_still_answers_after_a_start_with_the_reader_there);
    tcase_add_test(cases, a_store_that_cannot_be_opened_is_closed_again);
}

int main(void)
{
    Suite *suite = suite_create("store_damage");
    TCase *cases = tcase_create("store_damage");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    add_filters(cases);
    add_files(cases);
    add_kills(cases);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
