#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/catalog.h"
#include "store_fixture.h"
#include "suite.h"

static char *dir;

static void setup(void)
{
    dir = store_fixture_directory();
}

static void teardown(void)
{
    free(dir);
}

static void write_file(const char *name, const char *text)
{
    char path[CATALOG_PATH_MAX];

    catalog_path(path, dir, name, "");
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static bool there_is(const char *name)
{
    char path[CATALOG_PATH_MAX];

    catalog_path(path, dir, name, "");
    return access(path, F_OK) == 0;
}

START_TEST(a_name_says_the_day_and_the_number)
{
    char name[SEGMENT_NAME_MAX];

    catalog_name(name, clock_days_from_date(2026, 12, 1), 1);
    ck_assert_str_eq(name, "trades-20261201-000001");
    catalog_name(name, clock_days_from_date(9999, 12, 31), 999999999999999999u);
    ck_assert_str_eq(name, "trades-99991231-999999999999999999");
}
END_TEST

START_TEST(an_empty_directory_lists_nothing)
{
    struct catalog_entry *list;
    struct err err;
    size_t n;

    ck_assert_int_eq(catalog_list(dir, &list, &n, &err), 0);
    ck_assert_uint_eq(n, 0);
    free(list);
}
END_TEST

START_TEST(segments_are_listed_by_number_whatever_their_date)
{
    struct catalog_entry *list;
    struct err err;
    size_t n;

    write_file("trades-20261201-000010.db", "");
    write_file("trades-20261203-000009.db", "");
    write_file("trades-20261202-1000000.db", "");
    ck_assert_int_eq(catalog_list(dir, &list, &n, &err), 0);
    ck_assert_uint_eq(n, 3);
    ck_assert_str_eq(list[0].name, "trades-20261203-000009");
    ck_assert_str_eq(list[1].name, "trades-20261201-000010");
    ck_assert_str_eq(list[2].name, "trades-20261202-1000000");
    ck_assert_uint_eq(list[2].number, 1000000);
    free(list);
}
END_TEST

static const char *const strangers[] = {
    "filter.key",
    "trades-20261201-000001.db-wal",
    "trades-20261201-000001.db-shm",
    "trades-20261201-000001.keys",
    "trades-20261201-000001.db~",
    "trades-20261201-00001.db",
    "trades-2026121-000001.db",
    "trades-20261201_000001.db",
    "trades-20261201-0000000000000000001.db",
    "trade-20261201-000001.db",
    "my.db",
    "notes.db.new",
};

START_TEST(files_of_other_names_are_left_alone)
{
    struct catalog_entry *list;
    struct err err;
    size_t n;

    write_file(strangers[_i], "mine");
    ck_assert_int_eq(catalog_tidy(dir, &err), 0);
    ck_assert_int_eq(catalog_list(dir, &list, &n, &err), 0);
    ck_assert_uint_eq(n, 0);
    ck_assert(there_is(strangers[_i]));
    free(list);
}
END_TEST

START_TEST(what_was_never_published_is_removed)
{
    struct catalog_entry *list;
    struct err err;
    size_t n;

    write_file("trades-20261201-000001.db", "");
    write_file("trades-20261201-000002.db.new", "half");
    write_file("trades-20261201-000002.db.new-wal", "half");
    write_file("trades-20261201-000002.db.new-journal", "half");
    ck_assert_int_eq(catalog_list(dir, &list, &n, &err), 0);
    ck_assert_uint_eq(n, 1);
    ck_assert(there_is("trades-20261201-000002.db.new")); /* to list is not to tidy */
    ck_assert_int_eq(catalog_tidy(dir, &err), 0);
    ck_assert(there_is("trades-20261201-000001.db"));
    ck_assert(!there_is("trades-20261201-000002.db.new"));
    ck_assert(!there_is("trades-20261201-000002.db.new-wal"));
    ck_assert(!there_is("trades-20261201-000002.db.new-journal"));
    free(list);
}
END_TEST

START_TEST(two_segments_with_one_number_are_refused_by_name)
{
    struct catalog_entry *list;
    struct err err;
    size_t n;

    write_file("trades-20261201-000001.db", "");
    write_file("trades-20261202-000001.db", "");
    ck_assert_int_eq(catalog_list(dir, &list, &n, &err), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.text, "trades-20261201-000001.db"));
    ck_assert_ptr_nonnull(strstr(err.text, "trades-20261202-000001.db"));
}
END_TEST

START_TEST(a_directory_that_is_not_there_is_named)
{
    struct catalog_entry *list;
    struct err err;
    size_t n;
    uint64_t free_bytes;

    ck_assert_int_eq(catalog_list("/nonexistent/tradesieve", &list, &n, &err), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/tradesieve"));
    ck_assert_int_eq(catalog_free_bytes("/nonexistent/tradesieve", &free_bytes, &err), ERR_IO);
}
END_TEST

START_TEST(publishing_gives_the_file_its_name)
{
    struct err err;

    write_file("a.new", "text");
    ck_assert_int_eq(catalog_publish(dir, "a", ".new", ".db", &err), 0);
    ck_assert(there_is("a.db") && !there_is("a.new"));
    ck_assert_uint_eq(catalog_bytes(dir, "a", ".db"), 4);
    ck_assert_uint_eq(catalog_bytes(dir, "a", ".keys"), 0);
}
END_TEST

START_TEST(what_cannot_be_published_is_an_error)
{
    char path[CATALOG_PATH_MAX];
    struct err err;

    ck_assert_int_eq(catalog_publish(dir, "a", ".new", ".db", &err), ERR_IO);
    write_file("a.new", "text");
    catalog_path(path, dir, "a", ".db");
    mkdir(path, 0700); /* stands where the file should go */
    ck_assert_int_eq(catalog_publish(dir, "a", ".new", ".db", &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "rename"));
}
END_TEST

START_TEST(free_space_is_what_the_system_says)
{
    struct err err;
    uint64_t free_bytes = 0;

    ck_assert_int_eq(catalog_free_bytes(dir, &free_bytes, &err), 0);
    ck_assert_uint_gt(free_bytes, 0);
}
END_TEST

/* ---- newest ---- */

START_TEST(the_newest_segment_is_noted_and_read_again)
{
    struct catalog_entry noted;
    struct err err;

    ck_assert_int_eq(catalog_read_newest(dir, &noted, &err), 0);
    ck_assert_uint_eq(noted.number, 0);
    ck_assert_int_eq(catalog_note_newest(dir, "trades-20261201-000001", &err), 0);
    ck_assert_int_eq(catalog_note_newest(dir, "trades-20261202-1000000", &err), 0);
    ck_assert_int_eq(catalog_read_newest(dir, &noted, &err), 0);
    ck_assert_str_eq(noted.name, "trades-20261202-1000000");
    ck_assert_uint_eq(noted.number, 1000000);
    ck_assert(!there_is("newest.new"));
}
END_TEST

static const char *const no_notes[] = {
    "",
    "\n",
    "trades-20261201-000001",
    "trades-20261201-000001\n\n",
    "trades-20261201-000001.db\n",
    "trades-20261201-0000000000000000000000000000000000000000000000000000000000000000000000000001\n",
};

START_TEST(a_note_that_names_no_segment_is_no_note)
{
    struct catalog_entry noted;
    struct err err;

    write_file("newest", no_notes[_i]);
    ck_assert_int_eq(catalog_read_newest(dir, &noted, &err), ERR_CORRUPT);
    ck_assert_uint_eq(noted.number, 0);
    ck_assert_int_eq(catalog_note_newest("/nonexistent/tradesieve", "x", &err), ERR_SYSTEM);
}
END_TEST

/* ---- filter.key ---- */

static bool secret(unsigned char ret[CATALOG_SECRET_BYTES])
{
    struct err err;
    bool is_new;

    if (catalog_secret(dir, ret, &is_new, &err) < 0)
        ck_abort_msg("%s", err.text);
    return is_new;
}

START_TEST(the_secret_is_made_once_and_stays)
{
    unsigned char first[CATALOG_SECRET_BYTES], second[CATALOG_SECRET_BYTES];
    char path[CATALOG_PATH_MAX];
    struct stat info;

    ck_assert(secret(first));
    ck_assert(!secret(second));
    ck_assert_mem_eq(first, second, sizeof first);
    catalog_path(path, dir, "filter.key", "");
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0600);
    ck_assert(!there_is("filter.key.new"));
}
END_TEST

START_TEST(two_directories_have_two_secrets)
{
    unsigned char first[CATALOG_SECRET_BYTES], second[CATALOG_SECRET_BYTES];

    secret(first);
    free(dir);
    dir = store_fixture_directory();
    secret(second);
    ck_assert_mem_ne(first, second, sizeof first);
}
END_TEST

/* Byte of filter.key that is damaged; -1: the file is cut. */
static const int damages[] = {0, 8, 23, 24, 31, -1};

START_TEST(a_damaged_secret_is_replaced)
{
    unsigned char first[CATALOG_SECRET_BYTES], second[CATALOG_SECRET_BYTES];
    char path[CATALOG_PATH_MAX];

    secret(first);
    catalog_path(path, dir, "filter.key", "");
    if (damages[_i] < 0) {
        ck_assert_int_eq(truncate(path, 20), 0);
    } else {
        FILE *file = fopen(path, "r+b");

        fseek(file, damages[_i], SEEK_SET);
        int byte = fgetc(file);

        fseek(file, damages[_i], SEEK_SET);
        fputc(byte ^ 1, file);
        fclose(file);
    }
    ck_assert(secret(second));
    ck_assert_mem_ne(first, second, sizeof first);
    ck_assert(!secret(first));
    ck_assert_mem_eq(first, second, sizeof first);
}
END_TEST

START_TEST(a_secret_that_cannot_be_written_is_an_error)
{
    unsigned char bytes[CATALOG_SECRET_BYTES];
    struct err err;
    bool is_new;

    ck_assert_int_eq(catalog_secret("/nonexistent/tradesieve", bytes, &is_new, &err), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "filter.key.new"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog");
    TCase *cases = tcase_create("catalog");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, a_name_says_the_day_and_the_number);
    tcase_add_test(cases, an_empty_directory_lists_nothing);
    tcase_add_test(cases, segments_are_listed_by_number_whatever_their_date);
    tcase_add_loop_test(cases, files_of_other_names_are_left_alone, 0,
                        (int)(sizeof strangers / sizeof *strangers));
    tcase_add_test(cases, what_was_never_published_is_removed);
    tcase_add_test(cases, two_segments_with_one_number_are_refused_by_name);
    tcase_add_test(cases, a_directory_that_is_not_there_is_named);
    tcase_add_test(cases, publishing_gives_the_file_its_name);
    tcase_add_test(cases, what_cannot_be_published_is_an_error);
    tcase_add_test(cases, free_space_is_what_the_system_says);
    tcase_add_test(cases, the_newest_segment_is_noted_and_read_again);
    tcase_add_loop_test(cases, a_note_that_names_no_segment_is_no_note, 0,
                        (int)(sizeof no_notes / sizeof *no_notes));
    tcase_add_test(cases, the_secret_is_made_once_and_stays);
    tcase_add_test(cases, two_directories_have_two_secrets);
    tcase_add_loop_test(cases, a_damaged_secret_is_replaced, 0,
                        (int)(sizeof damages / sizeof *damages));
    tcase_add_test(cases, a_secret_that_cannot_be_written_is_an_error);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
