#include "store/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

static const char newest_name[] = "newest";
static const char secret_name[] = "filter.key";
static const char secret_magic[8] = "TSVKEY1\n";

void catalog_path(char ret[CATALOG_PATH_MAX], const char *dir, const char *name, const char *suffix)
{
    snprintf(ret, CATALOG_PATH_MAX, "%s/%s%s", dir, name, suffix);
}

void catalog_name(char ret[SEGMENT_NAME_MAX], int64_t day, uint64_t number)
{
    int year, month, date;

    clock_date_from_days(day, &year, &month, &date);
    snprintf(ret, SEGMENT_NAME_MAX, "trades-%04d%02d%02d-%06" PRIu64, year, month, date, number);
}

int catalog_check(const char *dir, struct err *err)
{
    if (faccessat(AT_FDCWD, dir, R_OK | W_OK | X_OK, AT_EACCESS) == 0)
        return 0;
    return err_set(err, ERR_SYSTEM, "data directory %s: %s", dir, strerror(errno));
}

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* trades-YYYYMMDD-NNNNNN followed by `suffix`; the number may outgrow six digits. */
static bool parse_name(const char *file, const char *suffix, struct catalog_entry *ret)
{
    if (strncmp(file, "trades-", 7) != 0 || digits(file + 7) != 8 || file[15] != '-')
        return false;
    size_t n = digits(file + 16);

    if (n < 6 || n > 18 || strcmp(file + 16 + n, suffix) != 0)
        return false;
    memcpy(ret->name, file, 16 + n);
    ret->name[16 + n] = '\0';
    ret->number = strtoull(file + 16, NULL, 10);
    return true;
}

static int by_number(const void *a, const void *b)
{
    const struct catalog_entry *left = a, *right = b;

    return (left->number > right->number) - (left->number < right->number);
}

int catalog_walk(const char *dir, void (*on_file)(void *arg, const char *file), void *arg,
                 struct err *err)
{
    struct dirent *file;
    DIR *d = opendir(dir);

    if (!d)
        return err_set(err, ERR_SYSTEM, "data directory %s: %s", dir, strerror(errno));
    while (errno = 0, (file = readdir(d)))
        on_file(arg, file->d_name);
    int failed = errno;

    closedir(d);
    return failed ? err_set(err, ERR_IO, "data directory %s: %s", dir, strerror(failed)) : 0;
}

static void tidy_file(void *arg, const char *file)
{
    const char *dir = arg;
    struct catalog_entry entry;

    if (parse_name(file, ".db.new", &entry) || parse_name(file, ".keys.new", &entry) ||
        parse_name(file, ".bloom.new", &entry))
        catalog_remove_temporary(dir, entry.name);
    else if (parse_name(file, ".expired", &entry))
        catalog_remove_expired(dir, entry.name);
}

int catalog_tidy(const char *dir, struct err *err)
{
    return catalog_walk(dir, tidy_file, (void *)dir, err);
}

struct list {
    struct catalog_entry *entries;
    size_t n;
};

static void list_file(void *arg, const char *file)
{
    struct list *list = arg;
    struct catalog_entry entry;

    if (!parse_name(file, ".db", &entry))
        return;
    list->entries = mem_realloc(list->entries, list->n + 1, sizeof *list->entries);
    list->entries[list->n++] = entry;
}

int catalog_list(const char *dir, struct catalog_entry **ret, size_t *ret_n, struct err *err)
{
    struct list list = {0};
    int code = catalog_walk(dir, list_file, &list, err);

    if (list.n)
        qsort(list.entries, list.n, sizeof *list.entries, by_number);
    for (size_t i = 1; i < list.n && code == 0; i++)
        if (list.entries[i].number == list.entries[i - 1].number)
            code = err_set(err, ERR_CORRUPT, "%s.db and %s.db have one number",
                           list.entries[i - 1].name, list.entries[i].name);
    if (code < 0) {
        free(list.entries);
        return code;
    }
    *ret = list.entries;
    *ret_n = list.n;
    return 0;
}

bool catalog_parse(const char *file, char ret_name[SEGMENT_NAME_MAX], const char **ret_suffix)
{
    static const char *const suffixes[] = {".db",         ".db-wal",   ".db-shm",         ".db-journal",
                                           ".keys",       ".bloom",    ".db.new",         ".db.new-wal",
                                           ".db.new-shm", ".keys.new", ".db.new-journal", ".bloom.new",
                                           ".expired"};
    struct catalog_entry entry;

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (parse_name(file, suffixes[i], &entry)) {
            memcpy(ret_name, entry.name, SEGMENT_NAME_MAX);
            *ret_suffix = suffixes[i];
            return true;
        }
    return false;
}

static int sync_path(const char *path, int flags, struct err *err)
{
    int fd = open(path, flags | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    int ret = fsync(fd) < 0 ? err_set(err, ERR_IO, "%s: fsync: %s", path, strerror(errno)) : 0;

    close(fd);
    return ret;
}

int catalog_publish(const char *dir, const char *name, const char *from, const char *to,
                    struct err *err)
{
    char old[CATALOG_PATH_MAX], new[CATALOG_PATH_MAX];

    catalog_path(old, dir, name, from);
    catalog_path(new, dir, name, to);
    if (sync_path(old, O_RDONLY, err) < 0)
        return err->code;
    if (rename(old, new) < 0)
        return err_set(err, ERR_IO, "%s: rename: %s", new, strerror(errno));
    return sync_path(dir, O_RDONLY | O_DIRECTORY, err);
}

void catalog_remove(const char *dir, const char *name, const char *suffix)
{
    char path[CATALOG_PATH_MAX];

    catalog_path(path, dir, name, suffix);
    unlink(path);
}

static void remove_each(const char *dir, const char *name, const char *const suffixes[])
{
    for (; *suffixes; suffixes++)
        catalog_remove(dir, name, *suffixes);
}

void catalog_remove_temporary(const char *dir, const char *name)
{
    static const char *const suffixes[] = {".db.new",   ".db.new-wal", ".db.new-shm", ".db.new-journal",
                                           ".keys.new", ".bloom.new",  NULL};

    remove_each(dir, name, suffixes);
}

void catalog_remove_expired(const char *dir, const char *name)
{
    static const char *const suffixes[] = {".keys", ".bloom", ".expired", NULL};

    remove_each(dir, name, suffixes);
}

uint64_t catalog_bytes(const char *dir, const char *name, const char *suffix)
{
    char path[CATALOG_PATH_MAX];
    struct stat info;

    catalog_path(path, dir, name, suffix);
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

int catalog_free_bytes(const char *dir, uint64_t *ret, struct err *err)
{
    struct statvfs info;

    if (statvfs(dir, &info) < 0)
        return err_set(err, ERR_IO, "data directory %s: statvfs: %s", dir, strerror(errno));
    *ret = (uint64_t)info.f_bavail * info.f_frsize;
    return 0;
}

/* statfs(2)'s f_type. Clusters' file systems are among them: another machine may write there. */
const char *catalog_network_file_system(const char *dir)
{
    static const struct {
        uint32_t type;
        const char *name;
    } kinds[] = {
        {0x6969, "NFS"},      {0xff534d42, "CIFS"},  {0xfe534d42, "SMB"},    {0x517b, "SMB"},
        {0x65735546, "FUSE"}, {0x01021997, "9P"},    {0x00c36400, "Ceph"},   {0x5346414f, "AFS"},
        {0x6b414653, "AFS"},  {0x73757245, "Coda"},  {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},
        {0x01161970, "GFS2"}, {0x7461636f, "OCFS2"},
    };
    struct statfs info;

    if (statfs(dir, &info) < 0)
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((uint32_t)info.f_type == kinds[i].type)
            return kinds[i].name;
    return NULL;
}

/* DIR/NAME with these bytes, whole or not at all. */
static int write_whole(const char *dir, const char *name, const void *bytes, size_t len,
                       struct err *err)
{
    char path[CATALOG_PATH_MAX];

    catalog_path(path, dir, name, ".new");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
    ssize_t n = write(fd, bytes, len);

    if (n != (ssize_t)len)
        err_set(err, n < 0 && errno == ENOSPC ? ERR_FULL : ERR_IO, "%s: %s", path,
                n < 0 ? strerror(errno) : "cut short");
    close(fd);
    if (n == (ssize_t)len && catalog_publish(dir, name, ".new", "", err) == 0)
        return 0;
    unlink(path);
    return err->code;
}

/* ---- the newest segment ---- */

int catalog_read_newest(const char *dir, struct catalog_entry *ret, struct err *err)
{
    char path[CATALOG_PATH_MAX], text[SEGMENT_NAME_MAX + 1];

    *ret = (struct catalog_entry){0};
    catalog_path(path, dir, newest_name, "");
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? 0 : err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    ssize_t n = read(fd, text, sizeof text - 1);

    close(fd);
    if (n < 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    text[n] = '\0';
    return parse_name(text, "\n", ret) ? 0 : err_set(err, ERR_CORRUPT, "%s: names no segment", path);
}

int catalog_note_newest(const char *dir, const char *name, struct err *err)
{
    char line[SEGMENT_NAME_MAX + 1];
    int len = snprintf(line, sizeof line, "%s\n", name);

    return write_whole(dir, newest_name, line, (size_t)len, err);
}

/* ---- the secret ---- */

/* filter.key, 32 bytes. */
struct secret_file {
    char magic[8];
    unsigned char secret[CATALOG_SECRET_BYTES];
    unsigned char check[crypto_shorthash_BYTES]; /* SipHash of a constant under the secret */
};

static void secret_check(struct secret_file *file)
{
    crypto_shorthash(file->check, (const unsigned char *)secret_magic, sizeof secret_magic,
                     file->secret);
}

bool catalog_read_secret(const char *dir, unsigned char ret[CATALOG_SECRET_BYTES])
{
    struct secret_file file, again;
    char path[CATALOG_PATH_MAX];

    catalog_path(path, dir, secret_name, "");
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    ssize_t n = read(fd, &file, sizeof file);

    close(fd);
    if (n != sizeof file || memcmp(file.magic, secret_magic, sizeof secret_magic) != 0)
        return false;
    again = file;
    secret_check(&again);
    if (memcmp(again.check, file.check, sizeof again.check) != 0)
        return false;
    memcpy(ret, file.secret, CATALOG_SECRET_BYTES);
    return true;
}

int catalog_secret(const char *dir, unsigned char ret[CATALOG_SECRET_BYTES], bool *ret_new,
                   struct err *err)
{
    struct secret_file file;

    *ret_new = !catalog_read_secret(dir, ret);
    if (*ret_new) {
        memcpy(file.magic, secret_magic, sizeof secret_magic);
        randombytes_buf(file.secret, sizeof file.secret);
        secret_check(&file);
        if (write_whole(dir, secret_name, &file, sizeof file, err) < 0)
            return err->code;
        memcpy(ret, file.secret, CATALOG_SECRET_BYTES);
    }
    return 0;
}
