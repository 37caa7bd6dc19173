#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/catalog.h"
#include "store/segment.h"
#include "store_fixture.h"
#include "suite.h"

static const char name[] = "trades-20261201-000001";
static const struct segment_meta planned = {
    .id = "sixteen bytes id",
    .first_seq = 101,
    .created_us = 1764547200000000,
    .day = 20423,
    .generation_keys = 4,
};

static char *dir;
static struct segment *segment;
static struct segment_meta meta;
static struct err err;

static void must(int result)
{
    if (result < 0)
        ck_abort_msg("%s", err.text);
}

static void setup(void)
{
    dir = store_fixture_directory();
    must(segment_create(dir, name, &planned, &err));
    must(segment_open(&segment, dir, name, true, &meta, &err));
}

static void teardown(void)
{
    segment_close(segment);
    free(dir);
}

static void reopen(bool writable)
{
    segment_close(segment);
    must(segment_open(&segment, dir, name, writable, &meta, &err));
}

static void begin(void)
{
    bool foreign_write;

    must(segment_begin(segment, &foreign_write, &err));
    ck_assert(!foreign_write);
}

static bool put(int64_t seq, uint32_t generation, const char *key)
{
    struct segment_row row = {
        .seq = seq,
        .generation = generation,
        .key = key,
        .key_len = strlen(key),
        .received_us = seq * 1000,
        .feed = "test",
        .feed_len = 4,
        .fingerprint = UINT64_MAX - (uint64_t)seq,
        .message = "{}",
        .message_len = 2,
    };
    bool inserted = false;

    must(segment_insert(segment, &row, &inserted, &err));
    return inserted;
}

/* n rows from `seq` on, four a generation, in one transaction. */
static void put_rows(int64_t seq, int n)
{
    begin();
    for (int i = 0; i < n; i++) {
        char key[32];

        snprintf(key, sizeof key, "key%lld", (long long)seq + i);
        ck_assert(put(seq + i, (uint32_t)(seq + i - planned.first_seq) / 4, key));
    }
    must(segment_commit(segment, &err));
}

static bool find(int64_t generation, const char *key, struct segment_found *ret)
{
    bool found = false;

    must(segment_find(segment, generation, key, strlen(key), &found, ret, &err));
    return found;
}

static struct segment_totals totals(void)
{
    struct segment_totals ret;

    must(segment_totals(segment, &ret, &err));
    return ret;
}

static bool there_is(const char *suffix)
{
    char path[CATALOG_PATH_MAX];

    catalog_path(path, dir, name, suffix);
    return access(path, F_OK) == 0;
}

/* ---- another program's connection ---- */

static sqlite3 *other_open(void)
{
    char path[CATALOG_PATH_MAX];
    sqlite3 *other;

    catalog_path(path, dir, name, ".db");
    ck_assert_int_eq(sqlite3_open(path, &other), SQLITE_OK);
    return other;
}

static void other_does(sqlite3 *other, const char *sql)
{
    char *message = NULL;

    if (sqlite3_exec(other, sql, NULL, NULL, &message) != SQLITE_OK)
        ck_abort_msg("%s: %s", sql, message);
}

static void alone_does(const char *sql)
{
    sqlite3 *other = other_open();

    other_does(other, sql);
    sqlite3_close(other);
}

/* ---- create and open ---- */

START_TEST(what_was_created_is_opened_as_it_was_planned)
{
    ck_assert_mem_eq(meta.id, planned.id, sizeof meta.id);
    ck_assert_int_eq(meta.first_seq, 101);
    ck_assert_int_eq(meta.created_us, planned.created_us);
    ck_assert_int_eq(meta.day, planned.day);
    ck_assert_uint_eq(meta.generation_keys, 4);
    ck_assert(segment_in_wal_mode(segment));
    ck_assert(!there_is(".db.new") && !there_is(".db.new-wal") && !there_is(".db.new-shm"));
}
END_TEST

START_TEST(a_fresh_segment_is_empty_and_knows_its_next_seq)
{
    struct segment_totals t = totals();

    ck_assert_int_eq(t.last_seq, 100);
    ck_assert_uint_eq(t.last_generation, 0);
    ck_assert_int_eq(t.first_received_us, 0);
    ck_assert_uint_eq(t.conflicts + t.rejects + t.reject_bytes, 0);
}
END_TEST

START_TEST(creating_removes_what_an_earlier_try_left)
{
    char path[CATALOG_PATH_MAX];

    catalog_path(path, dir, "trades-20261201-000002", ".db.new");
    FILE *file = fopen(path, "wb");

    fputs("half a database", file);
    fclose(file);
    must(segment_create(dir, "trades-20261201-000002", &planned, &err));
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_segment_that_cannot_be_created_is_an_error_with_its_name)
{
    ck_assert_int_eq(segment_create("/nonexistent/tradesieve", name, &planned, &err), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, name));
}
END_TEST

START_TEST(a_segment_that_is_not_there_is_not_made_by_opening_it)
{
    struct segment *none;

    ck_assert_int_eq(segment_open(&none, dir, "trades-20261201-000009", true, &meta, &err), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "trades-20261201-000009.db"));
}
END_TEST

/* What a foreign file is made of: SQL, or bytes when sql is NULL. */
static const struct {
    const char *sql, *bytes;
} foreigners[] = {
    {"CREATE TABLE cats (name)", NULL},
    {NULL, "Dear diary, this is no database and long enough to be looked at. It goes on and on."},
    {NULL, ""},
    {NULL, "SQLite format 3"},
    {"PRAGMA application_id=1414747697; PRAGMA user_version=2; CREATE TABLE meta (segment_id)", NULL},
    {"PRAGMA application_id=1414747697; PRAGMA user_version=1; CREATE TABLE cats (name)", NULL},
    {"PRAGMA application_id=1414747697; PRAGMA user_version=1; CREATE TABLE meta (only, segment_id,"
     " first_seq, created, day, generation_keys)",
     NULL},
};

START_TEST(a_foreign_file_is_refused_by_name_and_left_as_it_is)
{
    struct segment *foreign;
    struct stat before, after;
    char path[CATALOG_PATH_MAX];

    segment_close(segment);
    segment = NULL;
    catalog_path(path, dir, name, ".db");
    unlink(path);
    if (foreigners[_i].sql) {
        alone_does(foreigners[_i].sql);
    } else {
        FILE *file = fopen(path, "wb");

        fputs(foreigners[_i].bytes, file);
        fclose(file);
    }
    stat(path, &before);
    ck_assert_int_eq(segment_open(&foreign, dir, name, true, &meta, &err), ERR_CORRUPT);
    ck_assert_msg(strstr(err.text, "trades-20261201-000001.db") == err.text, "%s", err.text);
    ck_assert_int_eq(segment_open(&foreign, dir, name, false, &meta, &err), ERR_CORRUPT);
    stat(path, &after);
    ck_assert_int_eq(before.st_size, after.st_size);
    ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}
END_TEST

static const char *const meta_damages[] = {
    "DELETE FROM meta",
    "UPDATE meta SET segment_id = x'00'",
    "UPDATE meta SET generation_keys = 0",
    "UPDATE meta SET generation_keys = 4294967296",
    "UPDATE meta SET first_seq = 0",
};

START_TEST(a_damaged_meta_row_is_refused)
{
    struct segment *damaged;

    segment_close(segment);
    segment = NULL;
    alone_does(meta_damages[_i]);
    ck_assert_int_eq(segment_open(&damaged, dir, name, true, &meta, &err), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.text, "meta row"));
}
END_TEST

START_TEST(a_newer_version_is_said_to_be_one)
{
    struct segment *newer;

    segment_close(segment);
    segment = NULL;
    alone_does("PRAGMA user_version=2");
    ck_assert_int_eq(segment_open(&newer, dir, name, true, &meta, &err), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.text, "newer"));
}
END_TEST

START_TEST(our_application_id_spells_our_name)
{
    ck_assert_int_eq(SEGMENT_APPLICATION_ID, 'T' << 24 | 'S' << 16 | 'V' << 8 | '1');
}
END_TEST

START_TEST(opening_for_writing_commits_a_row_of_its_own)
{
    sqlite3 *other = other_open();
    sqlite3_stmt *opened;

    ck_assert_int_eq(sqlite3_prepare_v2(other, "SELECT opened FROM run", -1, &opened, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(opened), SQLITE_ROW);
    ck_assert_int_gt(sqlite3_column_int64(opened, 0), planned.created_us);
    sqlite3_finalize(opened);
    sqlite3_close(other);
}
END_TEST

/* ---- rows ---- */

START_TEST(a_row_is_found_by_generation_and_key)
{
    struct segment_found found;

    put_rows(101, 6);
    ck_assert(find(1, "key105", &found));
    ck_assert_int_eq(found.seq, 105);
    ck_assert_int_eq(found.received_us, 105000);
    ck_assert_uint_eq(found.fingerprint, UINT64_MAX - 105);
    ck_assert(!find(0, "key105", &found));
    ck_assert(!find(1, "key10", &found));
    ck_assert(!find(1, "KEY105", &found));
}
END_TEST

START_TEST(a_key_stands_once_in_a_generation_and_the_first_row_stays)
{
    struct segment_found found;

    begin();
    ck_assert(put(101, 0, "twin"));
    ck_assert(!put(102, 0, "twin"));
    ck_assert(put(102, 1, "twin"));
    must(segment_commit(segment, &err));
    ck_assert(find(0, "twin", &found));
    ck_assert_int_eq(found.seq, 101);
}
END_TEST

START_TEST(a_seq_that_is_taken_is_an_error_and_not_a_duplicate)
{
    struct segment_row row = {.seq = 101, .key = "b", .key_len = 1, .feed = "test", .feed_len = 4};
    bool inserted = true;

    begin();
    ck_assert(put(101, 0, "a"));
    ck_assert_int_lt(segment_insert(segment, &row, &inserted, &err), 0);
    segment_rollback(segment);
}
END_TEST

START_TEST(what_is_rolled_back_is_gone)
{
    struct segment_found found;

    begin();
    put(101, 0, "a");
    segment_rollback(segment);
    segment_rollback(segment); /* of nothing: fine */
    ck_assert(!find(0, "a", &found));
    ck_assert_int_eq(totals().last_seq, 100);
    put_rows(101, 1);
}
END_TEST

START_TEST(what_is_committed_is_there_after_opening_again)
{
    struct segment_totals t;

    put_rows(101, 10);
    for (int writable = 1; writable >= 0; writable--) {
        reopen(writable);
        t = totals();
        ck_assert_int_eq(t.last_seq, 110);
        ck_assert_uint_eq(t.last_generation, 2);
        ck_assert_int_eq(t.first_received_us, 101000);
    }
}
END_TEST

START_TEST(a_version_of_a_trade_is_kept_once)
{
    struct segment_row version = {
        .seq = 7, /* also one that stands in an earlier segment */
        .key = "a",
        .key_len = 1,
        .feed = "test",
        .feed_len = 4,
        .fingerprint = UINT64_MAX,
    };
    bool kept = true;

    begin();
    must(segment_has_conflict(segment, 7, UINT64_MAX, &kept, &err));
    ck_assert(!kept);
    must(segment_add_conflict(segment, &version, &err));
    must(segment_has_conflict(segment, 7, UINT64_MAX, &kept, &err));
    ck_assert(kept);
    must(segment_has_conflict(segment, 7, 1, &kept, &err));
    ck_assert(!kept);
    ck_assert_int_lt(segment_add_conflict(segment, &version, &err), 0);
    segment_rollback(segment);
}
END_TEST

static void add_reject(const char *line)
{
    struct segment_reject reject = {
        .feed = "test", .error = "bad_json", .line = line, .line_len = strlen(line)};

    must(segment_add_reject(segment, &reject, &err));
}

START_TEST(rejects_are_dropped_oldest_first_with_their_size)
{
    int64_t bytes;

    begin();
    add_reject("four");
    add_reject("sixsix");
    ck_assert_uint_eq(totals().rejects, 2);
    ck_assert_uint_eq(totals().reject_bytes, 10);
    must(segment_drop_reject(segment, &bytes, &err));
    ck_assert_int_eq(bytes, 4);
    must(segment_drop_reject(segment, &bytes, &err));
    ck_assert_int_eq(bytes, 6);
    must(segment_drop_reject(segment, &bytes, &err));
    ck_assert_int_eq(bytes, -1);
    ck_assert_uint_eq(totals().rejects, 0);
    must(segment_commit(segment, &err));
}
END_TEST

START_TEST(a_reject_may_hold_any_bytes)
{
    struct segment_reject reject = {
        .feed = "test", .error = "bad_utf8", .line = "\xff\x00\xfe", .line_len = 3};

    begin();
    must(segment_add_reject(segment, &reject, &err));
    must(segment_commit(segment, &err));
    ck_assert_uint_eq(totals().reject_bytes, 3);
}
END_TEST

struct seen {
    int64_t first, last, stop_at;
    int rows;
};

static int on_row(void *arg, const struct segment_row *row, struct err *ret_err)
{
    struct seen *seen = arg;
    char key[32];
    int len = snprintf(key, sizeof key, "key%lld", (long long)row->seq);

    if (!seen->rows++)
        seen->first = row->seq;
    seen->last = row->seq;
    ck_assert_mem_eq(row->key, key, (size_t)len);
    ck_assert_uint_eq(row->key_len, (size_t)len);
    ck_assert_uint_eq(row->generation, (uint32_t)(row->seq - planned.first_seq) / 4);
    return row->seq == seen->stop_at ? err_set(ret_err, ERR_USAGE, "enough") : 0;
}

START_TEST(a_scan_gives_the_rows_in_order_from_where_it_is_asked)
{
    struct seen seen = {0};

    put_rows(101, 20);
    must(segment_scan(segment, 105, on_row, &seen, &err));
    ck_assert_int_eq(seen.first, 105);
    ck_assert_int_eq(seen.last, 120);
    ck_assert_int_eq(seen.rows, 16);
}
END_TEST

START_TEST(a_scan_that_is_stopped_can_be_followed_by_another)
{
    struct seen seen = {.stop_at = 103}, all = {0};

    put_rows(101, 20);
    ck_assert_int_eq(segment_scan(segment, 101, on_row, &seen, &err), ERR_USAGE);
    ck_assert_int_eq(seen.last, 103);
    must(segment_scan(segment, 101, on_row, &all, &err));
    ck_assert_int_eq(all.rows, 20);
}
END_TEST

START_TEST(the_key_of_a_row_is_read_by_its_seq)
{
    char key[32];
    size_t len = 0;
    uint32_t generation = 0;
    bool found = false;

    put_rows(101, 6);
    must(segment_key_at(segment, 106, key, sizeof key, &len, &generation, &found, &err));
    ck_assert(found && len == 6 && memcmp(key, "key106", 6) == 0 && generation == 1);
    must(segment_key_at(segment, 107, key, sizeof key, &len, &generation, &found, &err));
    ck_assert(!found);
    must(segment_key_at(segment, 106, key, 5, &len, &generation, &found, &err));
    ck_assert(!found); /* longer than there is room for */
}
END_TEST

START_TEST(a_missing_table_is_corruption_and_never_not_found)
{
    struct segment_found found;
    char key[32];
    size_t len;
    uint32_t generation;
    bool there;
    int64_t bytes;

    alone_does("DROP TABLE trade; DROP TABLE conflict; DROP TABLE reject");
    ck_assert_int_eq(segment_find(segment, 0, "a", 1, &there, &found, &err), ERR_CORRUPT);
    ck_assert_int_eq(segment_key_at(segment, 1, key, 32, &len, &generation, &there, &err), ERR_CORRUPT);
    ck_assert_int_eq(segment_has_conflict(segment, 1, 1, &there, &err), ERR_CORRUPT);
    ck_assert_int_eq(segment_drop_reject(segment, &bytes, &err), ERR_CORRUPT);
    ck_assert_int_eq(segment_scan(segment, 1, on_row, NULL, &err), ERR_CORRUPT);
    ck_assert_int_eq(segment_add_conflict(segment, &(struct segment_row){0}, &err), ERR_CORRUPT);
    ck_assert_int_eq(segment_add_reject(segment, &(struct segment_reject){0}, &err), ERR_CORRUPT);
    ck_assert_int_eq(segment_insert(segment, &(struct segment_row){0}, &there, &err), ERR_CORRUPT);
    ck_assert_int_eq(segment_totals(segment, &(struct segment_totals){0}, &err), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.text, "trades-20261201-000001.db"));
}
END_TEST

/* ---- other programs at the same file ---- */

START_TEST(a_foreign_write_is_noticed_at_the_next_begin)
{
    bool foreign_write = true;

    put_rows(101, 1);
    alone_does("UPDATE trade SET fingerprint = 0");
    must(segment_begin(segment, &foreign_write, &err));
    ck_assert(foreign_write);
    segment_rollback(segment);
    must(segment_begin(segment, &foreign_write, &err));
    ck_assert(!foreign_write);
    segment_rollback(segment);
}
END_TEST

START_TEST(a_foreign_reader_is_no_foreign_write)
{
    sqlite3 *other = other_open();

    other_does(other, "BEGIN; SELECT * FROM trade");
    put_rows(101, 1);
    begin();
    segment_rollback(segment);
    sqlite3_close(other);
}
END_TEST

START_TEST(a_foreign_writer_that_stays_makes_it_busy)
{
    sqlite3 *other = other_open();
    bool foreign_write;

    other_does(other, "BEGIN IMMEDIATE");
    ck_assert_int_eq(segment_begin(segment, &foreign_write, &err), ERR_BUSY);
    sqlite3_close(other);
    begin();
    segment_rollback(segment);
}
END_TEST

/* ---- the WAL ---- */

START_TEST(a_checkpoint_moves_the_whole_wal_when_nobody_reads)
{
    uint64_t rest = 1;

    put_rows(101, 100);
    ck_assert_uint_gt(segment_wal_bytes(segment), 0);
    must(segment_checkpoint(segment, &rest, &err));
    ck_assert_uint_eq(rest, 0);
    ck_assert_uint_eq(segment_wal_bytes(segment), 0);
}
END_TEST

START_TEST(a_reader_keeps_a_part_of_the_wal_from_being_moved)
{
    sqlite3 *other = other_open();
    uint64_t rest = 0;

    put_rows(101, 4);
    other_does(other, "BEGIN; SELECT * FROM trade");
    put_rows(105, 100);
    must(segment_checkpoint(segment, &rest, &err));
    ck_assert_uint_gt(rest, 0);
    ck_assert_uint_gt(segment_wal_bytes(segment), 0);
    sqlite3_close(other);
    must(segment_checkpoint(segment, &rest, &err));
    ck_assert_uint_eq(rest, 0);
}
END_TEST

START_TEST(closing_writes_leaves_one_plain_file)
{
    struct segment_found found;
    bool done = false;

    put_rows(101, 10);
    must(segment_close_writes(segment, &done, &err));
    ck_assert(done);
    ck_assert(!segment_in_wal_mode(segment));
    ck_assert(!there_is(".db-wal") && !there_is(".db-shm"));
    reopen(false);
    ck_assert(find(2, "key110", &found));
    ck_assert(!there_is(".db-wal") && !there_is(".db-shm"));
}
END_TEST

/* What another connection is doing meanwhile: in a transaction, or only there. */
static const char *const visits[] = {"BEGIN; SELECT * FROM trade", "SELECT * FROM trade"};

START_TEST(closing_writes_waits_for_readers_without_standing_still)
{
    sqlite3 *other = other_open();
    struct segment_found found;
    bool done = true;

    put_rows(101, 10);
    other_does(other, visits[_i]);
    must(segment_close_writes(segment, &done, &err));
    ck_assert(!done);
    ck_assert(find(2, "key110", &found)); /* still to be read */
    sqlite3_close(other);
    must(segment_close_writes(segment, &done, &err));
    ck_assert(done);
}
END_TEST

START_TEST(closing_no_segment_is_fine)
{
    segment_close(NULL);
}
END_TEST

START_TEST(the_library_in_use_is_named)
{
    ck_assert_str_eq(segment_sqlite_version(), sqlite3_libversion());
}
END_TEST

static void add_opening(TCase *cases)
{
    tcase_add_test(cases, what_was_created_is_opened_as_it_was_planned);
    tcase_add_test(cases, a_fresh_segment_is_empty_and_knows_its_next_seq);
    tcase_add_test(cases, creating_removes_what_an_earlier_try_left);
    tcase_add_test(cases, a_segment_that_cannot_be_created_is_an_error_with_its_name);
    tcase_add_test(cases, a_segment_that_is_not_there_is_not_made_by_opening_it);
    tcase_add_loop_test(cases, a_foreign_file_is_refused_by_name_and_left_as_it_is, 0,
                        (int)(sizeof foreigners / sizeof *foreigners));
    tcase_add_loop_test(cases, a_damaged_meta_row_is_refused, 0,
                        (int)(sizeof meta_damages / sizeof *meta_damages));
    tcase_add_test(cases, a_newer_version_is_said_to_be_one);
    tcase_add_test(cases, our_application_id_spells_our_name);
    tcase_add_test(cases, opening_for_writing_commits_a_row_of_its_own);
}

static void add_rows(TCase *cases)
{
    tcase_add_test(cases, a_row_is_found_by_generation_and_key);
    tcase_add_test(cases, a_key_stands_once_in_a_generation_and_the_first_row_stays);
    tcase_add_test(cases, a_seq_that_is_taken_is_an_error_and_not_a_duplicate);
    tcase_add_test(cases, what_is_rolled_back_is_gone);
    tcase_add_test(cases, what_is_committed_is_there_after_opening_again);
    tcase_add_test(cases, a_version_of_a_trade_is_kept_once);
    tcase_add_test(cases, rejects_are_dropped_oldest_first_with_their_size);
    tcase_add_test(cases, a_reject_may_hold_any_bytes);
    tcase_add_test(cases, a_scan_gives_the_rows_in_order_from_where_it_is_asked);
    tcase_add_test(cases, a_scan_that_is_stopped_can_be_followed_by_another);
    tcase_add_test(cases, the_key_of_a_row_is_read_by_its_seq);
    tcase_add_test(cases, a_missing_table_is_corruption_and_never_not_found);
}

static void add_others(TCase *cases)
{
    tcase_add_test(cases, a_foreign_write_is_noticed_at_the_next_begin);
    tcase_add_test(cases, a_foreign_reader_is_no_foreign_write);
    tcase_add_test(cases, a_foreign_writer_that_stays_makes_it_busy);
    tcase_add_test(cases, a_checkpoint_moves_the_whole_wal_when_nobody_reads);
    tcase_add_test(cases, a_reader_keeps_a_part_of_the_wal_from_being_moved);
    tcase_add_test(cases, closing_writes_leaves_one_plain_file);
    tcase_add_loop_test(cases, closing_writes_waits_for_readers_without_standing_still, 0,
                        (int)(sizeof visits / sizeof *visits));
    tcase_add_test(cases, closing_no_segment_is_fine);
    tcase_add_test(cases, the_library_in_use_is_named);
}

int main(void)
{
    Suite *suite = suite_create("segment");
    TCase *cases = tcase_create("segment");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    add_opening(cases);
    add_rows(cases);
    add_others(cases);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
