/* A data directory on a network file system: said once at the start, and worked on all the same. This
 * program's statfs stands in for the system's. */
#include <stdint.h>
#include <sys/vfs.h>

#include "store/catalog.h"
#include "store_fixture.h"
#include "suite.h"

enum { EXT4 = 0xef53, TMPFS = 0x01021994, NFS = 0x6969 };

static struct store_fixture f;
static uint32_t type_of_disk;

int statfs(const char *path, struct statfs *ret)
{
    (void)path;
    *ret = (struct statfs){.f_type = (__typeof__(ret->f_type))type_of_disk};
    return 0;
}

static void setup(void)
{
    store_fixture_init(&f);
}

static void teardown(void)
{
    store_fixture_done(&f);
}

static const struct {
    uint32_t type;
    const char *kind;
} kinds[] = {
    {NFS, "NFS"},         {0xff534d42, "CIFS"}, {0xfe534d42, "SMB"}, {0x65735546, "FUSE"},
    {0x01021997, "9P"},   {0x00c36400, "Ceph"}, {0x6b414653, "AFS"}, {0x0bd00bd0, "Lustre"},
    {0x01161970, "GFS2"}, {EXT4, NULL},         {TMPFS, NULL},
};

START_TEST(a_kind_of_file_system_is_known_by_its_number)
{
    type_of_disk = kinds[_i].type;
    ck_assert_pstr_eq(catalog_network_file_system("."), kinds[_i].kind);
}
END_TEST

START_TEST(a_store_on_a_network_says_so_once_and_works)
{
    type_of_disk = NFS;
    store_fixture_open(&f);
    ck_assert_uint_eq(f.events[STORE_WARNING], 1);
    store_fixture_send_range(&f, "k", 1, 10, 5);
    ck_assert_uint_eq(f.events[STORE_WARNING], 1);
}
END_TEST

START_TEST(a_store_on_a_local_disk_says_nothing)
{
    type_of_disk = EXT4;
    store_fixture_open(&f);
    ck_assert_uint_eq(f.events[STORE_WARNING], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("network disk");
    TCase *cases = tcase_create("network disk");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_loop_test(cases, a_kind_of_file_system_is_known_by_its_number, 0,
                        (int)(sizeof kinds / sizeof *kinds));
    tcase_add_test(cases, a_store_on_a_network_says_so_once_and_works);
    tcase_add_test(cases, a_store_on_a_local_disk_says_nothing);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
