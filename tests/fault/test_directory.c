/* What stands in the data directory beside, or instead of, what the store put there: a last segment that
 * is gone, editors' backups, what a crash left, links. A start takes over what is the store's, removes
 * what docs/format.md says, and leaves the rest alone. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/catalog.h"
#include "store/store_state.h"
#include "store_fixture.h"
#include "suite.h"

enum { KEYS = 40 }; /* three segments: 16, 16 and 8 rows */

static struct store_fixture f;
static char last[SEGMENT_NAME_MAX];

static void note_last(void)
{
    snprintf(last, sizeof last, "%s", store_active(f.store)->name);
}

static void setup(void)
{
    store_fixture_init(&f);
    store_fixture_open(&f);
    store_fixture_send_range(&f, "k", 1, KEYS, 4);
    ck_assert_int_eq(store_settle(f.store, &f.err), 0);
    note_last();
    store_fixture_close(&f);
    f.events[STORE_WARNING] = f.events[STORE_CRITICAL] = 0;
}

static void teardown(void)
{
    store_fixture_done(&f);
}

static const char *path_of(const char *name, const char *suffix)
{
    static char path[CATALOG_PATH_MAX];

    catalog_path(path, f.dir, name, suffix);
    return path;
}

static void write_file_of(const char *name, const char *suffix, const char *text)
{
    FILE *file = fopen(path_of(name, suffix), "wb");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void write_file(const char *name, const char *text)
{
    write_file_of(name, "", text);
}

static bool there_is(const char *name, const char *suffix)
{
    struct stat info;

    return lstat(path_of(name, suffix), &info) == 0;
}

static void rename_file(const char *name, const char *suffix, const char *to)
{
    char from[CATALOG_PATH_MAX];

    catalog_path(from, f.dir, name, suffix);
    ck_assert_int_eq(rename(from, to), 0);
}

static const char *noted(void)
{
    static struct catalog_entry newest;

    ck_assert_int_eq(catalog_read_newest(f.dir, &newest, &f.err), 0);
    return newest.name;
}

/* Opens the store and finds every trade where it was, and the next seq where it should be. */
static void opens_whole(void)
{
    store_fixture_open(&f);
    ck_assert_uint_eq(store_fixture_census(&f).rows, KEYS);
    ck_assert_str_eq(store_fixture_send(&f, "k1 k17 k40 fresh"),
                     "duplicate:1 duplicate:17 duplicate:40 new:41");
}

/* ---- the last segment ---- */

static void refuses_without(const char *name)
{
    ck_assert_int_eq(store_fixture_try_open(&f), ERR_CORRUPT);
    ck_assert_msg(strstr(f.err.text, name) && strstr(f.err.text, "is lost"), "%s", f.err.text);
}

START_TEST(a_lost_last_segment_is_missed)
{
    rename_file(last, ".db", path_of("elsewhere", ""));
    refuses_without(last);
    refuses_without(last); /* the refusal changed nothing */
    rename_file("elsewhere", "", path_of(last, ".db"));
    opens_whole();
}
END_TEST

START_TEST(a_lost_only_segment_is_missed)
{
    teardown();
    store_fixture_init(&f);
    store_fixture_open(&f);
    store_fixture_send(&f, "a");
    note_last();
    store_fixture_close(&f);
    ck_assert_int_eq(unlink(path_of(last, ".db")), 0);
    refuses_without(last);
    ck_assert(!there_is(last, ".db")); /* and no new first segment in its place */
}
END_TEST

START_TEST(without_the_note_a_store_goes_on_from_what_is_there)
{
    ck_assert_int_eq(unlink(path_of(last, ".db")), 0);
    ck_assert_int_eq(unlink(path_of("newest", "")), 0);
    store_fixture_open(&f);
    ck_assert_str_eq(store_fixture_send(&f, "k1 k32 k33"), "duplicate:1 duplicate:32 new:33");
    ck_assert_str_eq(noted(), store_active(f.store)->name);
}
END_TEST

/* What a kill between the rename of a new segment and the note leaves. */
START_TEST(a_note_that_lags_behind_the_directory_is_caught_up)
{
    ck_assert_int_eq(catalog_note_newest(f.dir, "trades-20261201-000002", &f.err), 0);
    write_file("newest.new", "half");
    opens_whole();
    ck_assert_str_eq(noted(), last);
    ck_assert(!there_is("newest.new", ""));
    ck_assert_uint_eq(f.events[STORE_WARNING], 0);
}
END_TEST

START_TEST(a_damaged_note_is_told_and_written_again)
{
    write_file("newest", "?");
    opens_whole();
    ck_assert_uint_eq(f.events[STORE_WARNING], 1);
    ck_assert_str_eq(noted(), last);
}
END_TEST

START_TEST(a_note_that_cannot_be_written_costs_no_trade)
{
    ck_assert_int_eq(unlink(path_of("newest", "")), 0);
    ck_assert_int_eq(mkdir(path_of("newest.new", ""), 0700), 0);
    opens_whole();
    ck_assert_uint_eq(f.events[STORE_WARNING], 1);
    store_fixture_send_range(&f, "l", 1, 12, 4); /* rolls */
    ck_assert_uint_eq(f.events[STORE_WARNING], 2);
    ck_assert(!there_is("newest", ""));
    ck_assert_int_eq(rmdir(path_of("newest.new", "")), 0);
    store_fixture_send_range(&f, "m", 1, 16, 4);
    ck_assert_str_eq(noted(), store_active(f.store)->name);
}
END_TEST

START_TEST(each_roll_is_noted)
{
    store_fixture_open(&f);
    for (int i = 0; i < 5; i++) {
        char prefix[2] = {(char)('a' + i)};

        store_fixture_send_range(&f, prefix, 1, 16, 8);
        ck_assert_str_eq(noted(), store_active(f.store)->name);
    }
}
END_TEST

/* ---- what others left ---- */

static const char *const strangers[] = {
    "trades-20261201-000001.db~",
    ".trades-20261201-000001.db.swp",
    "#trades-20261201-000001.db#",
    "trades-20261201-000001.db.bak",
    "Copy of trades-20261201-000001.db",
    "trades-20261201-000001 (1).db",
    "trades-20261201-999999.keys", /* of a segment that is not there */
    "trades-20261201-999999.bloom",
    "trades-20261201-999999.db-wal",
    "trades-20261201-999999.db.new-wal",
    "filter.key~",
    "README",
};

START_TEST(files_of_other_programs_stay_and_disturb_nothing)
{
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        write_file(strangers[i], "mine");
    opens_whole();
    store_fixture_reopen(&f);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        ck_assert_msg(there_is(strangers[i], ""), "%s is gone", strangers[i]);
    ck_assert_uint_eq(f.events[STORE_WARNING] + f.events[STORE_CRITICAL], 0);
}
END_TEST

static const char *const leftovers[] = {
    "trades-20261201-000004.db.new",       "trades-20261201-000001.keys.new",
    "trades-20261201-000002.bloom.new",    "trades-20261130-000000.expired",
    "trades-20991231-000000000007.db.new",
};

START_TEST(what_a_crash_left_goes)
{
    for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++)
        write_file(leftovers[i], "half");
    write_file("trades-20261130-000000.keys", "half");
    write_file("trades-20261130-000000.bloom", "half");
    opens_whole();
    for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++)
        ck_assert_msg(!there_is(leftovers[i], ""), "%s stays", leftovers[i]);
    ck_assert(!there_is("trades-20261130-000000", ".keys"));
    ck_assert(!there_is("trades-20261130-000000", ".bloom"));
}
END_TEST

/* A stale log or journal beside a file that was closed without one is no part of it. */
START_TEST(a_stale_log_beside_a_segment_changes_no_row)
{
    char first[SEGMENT_NAME_MAX];

    store_fixture_open(&f);
    snprintf(first, sizeof first, "%s", f.store->segments[0].name);
    store_fixture_close(&f);
    write_file_of(first, ".db-wal", "not a log");
    write_file_of(first, ".db-journal", "not a journal");
    opens_whole();
}
END_TEST

/* ---- links ---- */

static char *elsewhere;

/* Moves a segment's file to another directory and leaves a link behind. */
static void move_and_link(const char *name)
{
    char to[CATALOG_PATH_MAX];

    elsewhere = store_fixture_directory();
    catalog_path(to, elsewhere, name, ".db");
    rename_file(name, ".db", to);
    ck_assert_int_eq(symlink(to, path_of(name, ".db")), 0);
}

START_TEST(a_segment_behind_a_link_is_a_segment)
{
    move_and_link(last);
    opens_whole();
    store_fixture_reopen(&f);
    ck_assert_str_eq(store_fixture_send(&f, "fresh"), "duplicate:41");
    free(elsewhere);
}
END_TEST

START_TEST(a_link_to_nowhere_is_a_lost_file)
{
    char to[CATALOG_PATH_MAX];

    move_and_link(last);
    catalog_path(to, elsewhere, last, ".db");
    ck_assert_int_eq(unlink(to), 0);
    ck_assert_int_eq(store_fixture_try_open(&f), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(f.err.text, last));
    ck_assert(there_is(last, ".db"));
    ck_assert_int_ne(access(to, F_OK), 0); /* nothing was made there */
    free(elsewhere);
}
END_TEST

START_TEST(a_leftover_that_is_a_link_goes_without_its_target)
{
    char target[CATALOG_PATH_MAX];

    write_file("mine", "mine");
    catalog_path(target, f.dir, "mine", "");
    for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++)
        ck_assert_int_eq(symlink(target, path_of(leftovers[i], "")), 0);
    opens_whole();
    for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++)
        ck_assert_msg(!there_is(leftovers[i], ""), "%s stays", leftovers[i]);
    ck_assert_uint_eq(catalog_bytes(f.dir, "mine", ""), 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("directory");
    TCase *cases = tcase_create("directory");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, a_lost_last_segment_is_missed);
    tcase_add_test(cases, a_lost_only_segment_is_missed);
    tcase_add_test(cases, without_the_note_a_store_goes_on_from_what_is_there);
    tcase_add_test(cases, a_note_that_lags_behind_the_directory_is_caught_up);
    tcase_add_test(cases, a_damaged_note_is_told_and_written_again);
    tcase_add_test(cases, a_note_that_cannot_be_written_costs_no_trade);
    tcase_add_test(cases, each_roll_is_noted);
    tcase_add_test(cases, files_of_other_programs_stay_and_disturb_nothing);
    tcase_add_test(cases, what_a_crash_left_goes);
    tcase_add_test(cases, a_stale_log_beside_a_segment_changes_no_row);
    tcase_add_test(cases, a_segment_behind_a_link_is_a_segment);
    tcase_add_test(cases, a_link_to_nowhere_is_a_lost_file);
    tcase_add_test(cases, a_leftover_that_is_a_link_goes_without_its_target);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
