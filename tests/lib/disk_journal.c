#include "disk_journal.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    FDS_MAX = 4096,
    NAMES_MAX = 1024,
    DIRECTORY = -1, /* in file_of: the directory itself */
};

struct name {
    char text[DISK_NAME_MAX];
    unsigned file;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held over a change and its note */
static atomic_bool never_sync, recording;
static _Atomic int file_of[FDS_MAX]; /* by descriptor: a file's number, DIRECTORY, 0: not ours */

static struct {
    char dir[PATH_MAX]; /* as it was given: SQLite's names and ours begin with it */
    enum disk_lie lie;
    struct disk_change *changes;
    size_t changes_n, changes_cap;
    struct name names[NAMES_MAX]; /* what the directory holds now */
    size_t names_n;
    unsigned files;
    bool renamed; /* that was the last change of the directory */
} journal;

/* ---- notes ---- */

static struct disk_change *note(enum disk_change_kind kind, unsigned file)
{
    if (journal.changes_n == journal.changes_cap) {
        journal.changes_cap = journal.changes_cap ? journal.changes_cap * 2 : 1024;
        journal.changes = mem_realloc(journal.changes, journal.changes_cap, sizeof *journal.changes);
    }
    struct disk_change *change = &journal.changes[journal.changes_n++];

    *change = (struct disk_change){.kind = kind, .file = file};
    return change;
}

/* A change of the directory: creation, renaming or removal of a name. */
static struct disk_change *note_name(enum disk_change_kind kind, unsigned file, const char *name)
{
    struct disk_change *change = note(kind, file);

    snprintf(change->name, sizeof change->name, "%s", name);
    journal.renamed = kind == DISK_RENAME;
    return change;
}

static void note_write(unsigned file, const void *bytes, size_t len, uint64_t offset)
{
    struct disk_change *change = note(DISK_WRITE, file);

    change->offset = offset;
    change->len = len;
    change->bytes = mem_alloc(len);
    memcpy(change->bytes, bytes, len);
}

static struct name *find_name(const char *text)
{
    for (size_t i = 0; i < journal.names_n; i++)
        if (strcmp(journal.names[i].text, text) == 0)
            return &journal.names[i];
    return NULL;
}

static void drop_name(struct name *name)
{
    if (name)
        *name = journal.names[--journal.names_n];
}

static unsigned create(const char *text)
{
    ck_assert_uint_lt(journal.names_n, NAMES_MAX);
    struct name *name = &journal.names[journal.names_n++];

    snprintf(name->text, sizeof name->text, "%s", text);
    name->file = ++journal.files;
    note_name(DISK_CREATE, name->file, text);
    return name->file;
}

/* The name within the directory, NULL: not in it, or a -shm. */
static const char *name_in_directory(const char *path)
{
    size_t len = strlen(journal.dir), path_len = strlen(path);

    if (strncmp(path, journal.dir, len) != 0 || path[len] != '/' || strchr(path + len + 1, '/') ||
        path_len - len > DISK_NAME_MAX || strcmp(path + path_len - 4, "-shm") == 0)
        return NULL;
    return path + len + 1;
}

static void note_open(int fd, const char *path, int flags)
{
    const char *text = name_in_directory(path);

    ck_assert_int_lt(fd, FDS_MAX);
    if (strcmp(path, journal.dir) == 0) {
        file_of[fd] = DIRECTORY;
    } else if (text) {
        struct name *name = find_name(text);
        unsigned file = name ? name->file : create(text);

        if (flags & O_TRUNC)
            note(DISK_TRUNCATE, file);
        file_of[fd] = (int)file;
    }
}

static bool is_forgotten(int file)
{
    static const char *const suffixes[] = {
        [DISK_FORGETS_WAL] = ".db-wal",
        [DISK_FORGETS_DATABASE] = ".db",
    };

    if (journal.lie == DISK_HONEST || journal.lie == DISK_FORGETS_RENAMES)
        return journal.lie == DISK_FORGETS_RENAMES && file == DIRECTORY && journal.renamed;
    for (size_t i = 0; i < journal.names_n; i++) {
        const char *end = strstr(journal.names[i].text, ".db");

        if ((int)journal.names[i].file == file && end)
            return strcmp(end, suffixes[journal.lie]) == 0;
    }
    return false;
}

static void note_sync(int file)
{
    if (!is_forgotten(file))
        note(file == DIRECTORY ? DISK_SYNC_DIRECTORY : DISK_SYNC,
             file == DIRECTORY ? 0 : (unsigned)file);
}

/* ---- in place of the C library's ---- */

/* A program that stands in for some of them itself (test_crash_steps) is let through. */
#pragma weak open
#pragma weak open64
#pragma weak write
#pragma weak pwrite64
#pragma weak pwrite
#pragma weak ftruncate64
#pragma weak ftruncate
#pragma weak rename
#pragma weak unlink

static int file_at(int fd)
{
    return recording && fd >= 0 && fd < FDS_MAX ? file_of[fd] : 0;
}

static int do_open(const char *path, int flags, mode_t mode)
{
    if (!recording)
        return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    pthread_mutex_lock(&lock);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);

    if (fd >= 0 && recording)
        note_open(fd, path, flags);
    pthread_mutex_unlock(&lock);
    return fd;
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return do_open(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return do_open(path, flags, mode);
}

int close(int fd)
{
    if (fd >= 0 && fd < FDS_MAX)
        file_of[fd] = 0;
    return (int)syscall(SYS_close, fd);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    int file = file_at(fd);

    if (file <= 0)
        return syscall(SYS_write, fd, bytes, len);
    pthread_mutex_lock(&lock);
    ssize_t n = syscall(SYS_write, fd, bytes, len);

    if (n > 0)
        note_write((unsigned)file, bytes, (size_t)n, (uint64_t)(lseek(fd, 0, SEEK_CUR) - n));
    pthread_mutex_unlock(&lock);
    return n;
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t offset)
{
    int file = file_at(fd);

    if (file <= 0)
        return syscall(SYS_pwrite64, fd, bytes, len, offset);
    pthread_mutex_lock(&lock);
    ssize_t n = syscall(SYS_pwrite64, fd, bytes, len, offset);

    if (n > 0)
        note_write((unsigned)file, bytes, (size_t)n, (uint64_t)offset);
    pthread_mutex_unlock(&lock);
    return n;
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
    return pwrite64(fd, bytes, len, offset);
}

int ftruncate64(int fd, off64_t len)
{
    int file = file_at(fd);

    if (file <= 0)
        return (int)syscall(SYS_ftruncate, fd, len);
    pthread_mutex_lock(&lock);
    int ret = (int)syscall(SYS_ftruncate, fd, len);

    if (ret == 0)
        note(DISK_TRUNCATE, (unsigned)file)->offset = (uint64_t)len;
    pthread_mutex_unlock(&lock);
    return ret;
}

int ftruncate(int fd, off_t len)
{
    return ftruncate64(fd, len);
}

static int sync_file(long call, int fd)
{
    int file = file_at(fd);

    if (!file)
        return never_sync ? 0 : (int)syscall(call, fd);
    pthread_mutex_lock(&lock);
    note_sync(file);
    pthread_mutex_unlock(&lock);
    return 0;
}

int fsync(int fd)
{
    return sync_file(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return sync_file(SYS_fdatasync, fd);
}

int rename(const char *from, const char *to)
{
    if (!recording || !name_in_directory(from) || !name_in_directory(to))
        return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    pthread_mutex_lock(&lock);
    int ret = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);

    if (ret == 0) {
        drop_name(find_name(name_in_directory(to)));
        struct name *name = find_name(name_in_directory(from));
        struct disk_change *change = note_name(DISK_RENAME, name->file, name->text);

        snprintf(change->to, sizeof change->to, "%s", name_in_directory(to));
        snprintf(name->text, sizeof name->text, "%s", name_in_directory(to));
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

int unlink(const char *path)
{
    if (!recording || !name_in_directory(path))
        return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    pthread_mutex_lock(&lock);
    int ret = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);

    if (ret == 0) {
        struct name *name = find_name(name_in_directory(path));

        note_name(DISK_UNLINK, name->file, name->text);
        drop_name(name);
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

/* ---- switched on and off ---- */

void disk_never_sync(void)
{
    never_sync = true;
}

static void note_existing(const char *text)
{
    char path[PATH_MAX + DISK_NAME_MAX], piece[1 << 16];
    uint64_t offset = 0;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", journal.dir, text);
    if (text[0] == '.' || !name_in_directory(path))
        return;
    FILE *file = fopen(path, "rb");
    unsigned number = create(text);

    ck_assert_ptr_nonnull(file);
    while ((n = fread(piece, 1, sizeof piece, file)) > 0) {
        note_write(number, piece, n, offset);
        offset += n;
    }
    fclose(file);
    note(DISK_SYNC, number);
}

void disk_record(const char *dir, enum disk_lie lie)
{
    struct dirent *file;

    disk_forget();
    snprintf(journal.dir, sizeof journal.dir, "%s", dir);
    journal.lie = lie;
    DIR *d = opendir(dir);

    ck_assert_ptr_nonnull(d);
    while ((file = readdir(d)))
        note_existing(file->d_name);
    closedir(d);
    note(DISK_SYNC_DIRECTORY, 0);
    recording = true;
}

void disk_stop(void)
{
    recording = false;
    for (int fd = 0; fd < FDS_MAX; fd++)
        file_of[fd] = 0;
}

size_t disk_now(void)
{
    return journal.changes_n;
}

const struct disk_change *disk_changes(void)
{
    return journal.changes;
}

unsigned disk_files(void)
{
    return journal.files;
}

void disk_forget(void)
{
    for (size_t i = 0; i < journal.changes_n; i++)
        free(journal.changes[i].bytes);
    free(journal.changes);
    journal.changes = NULL;
    journal.changes_n = journal.changes_cap = journal.names_n = 0;
    journal.files = 0;
}
