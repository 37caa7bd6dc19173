/* failing_calls: a library for LD_PRELOAD that counts a program's calls into the system and makes the
 * n-th of one kind fail, once or from then on. tests/lib/failing.py is the other side.
 *
 *   FAILING_CALLS      the control file, a struct control that the test and the program both map
 *   FAILING_CALLS_IN   a directory or a file: calls that name or use it, or a file in it, are counted, others
 *                      pass; memory is counted whoever asks for it
 *
 * Without the variables every call passes. Calls go to the kernel as system calls, and memory to glibc's
 * own allocator, so that nothing has to be looked up first. Any thread. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* In the order of KINDS in tests/lib/failing.py. */
enum kind {
    KIND_WRITE,  /* write, pwrite, pwritev */
    KIND_SYNC,   /* fsync, fdatasync */
    KIND_SIZE,   /* ftruncate, fallocate */
    KIND_OPEN,   /* open, openat, creat */
    KIND_RENAME, /* rename */
    KIND_UNLINK, /* unlink */
    KIND_MAP,    /* mmap of a file */
    KIND_READ,   /* read, pread */
    KIND_MEMORY, /* malloc, calloc, realloc */
    KIND_COUNT
};

/* What a broken system would do: the test must notice it. */
enum trick {
    TRICK_NONE,
    TRICK_UNWRITTEN_WAL /* writes to a segment's -wal succeed and write nothing */
};

struct control {
    int64_t kind;                      /* that fails */
    int64_t nth;                       /* the first call of it that fails; 0: none */
    int64_t error;                     /* errno */
    int64_t lasting;                   /* 1: every later one fails too */
    _Atomic int64_t trick;             /* enum trick */
    _Atomic int64_t failed;            /* calls so far that failed */
    _Atomic int64_t calls[KIND_COUNT]; /* calls so far, failed ones too */
};

static struct control *control;
static const char *within;
static size_t within_len;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAILING_CALLS");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;

    within = getenv("FAILING_CALLS_IN");
    if (fd < 0 || !within)
        return;
    within_len = strlen(within);
    long at = syscall(SYS_mmap, NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);

    syscall(SYS_close, fd);
    if (at != -1)
        control = (struct control *)at;
}

/* Counts a call; true with errno set when it is to fail. */
static bool fails(enum kind kind)
{
    int64_t n = atomic_fetch_add(&control->calls[kind], 1) + 1;

    if (!control->nth || (int64_t)kind != control->kind || n < control->nth ||
        (n > control->nth && !control->lasting))
        return false;
    atomic_fetch_add(&control->failed, 1);
    errno = (int)control->error;
    return true;
}

static bool is_ours(const char *path)
{
    return strncmp(path, within, within_len) == 0 &&
           (path[within_len] == '/' || path[within_len] == '\0');
}

static bool path_fails(enum kind kind, const char *path)
{
    return control && is_ours(path) && fails(kind);
}

/* The path of an open file of ours, also of one that is unlinked. */
static bool name_of(int fd, char *ret, size_t max)
{
    char link[32];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long n = syscall(SYS_readlinkat, AT_FDCWD, link, ret, max - 1);

    ret[n > 0 ? n : 0] = '\0';
    return is_ours(ret);
}

static bool file_fails(enum kind kind, int fd)
{
    char path[4096];
    int before = errno;

    if (!control || !name_of(fd, path, sizeof path))
        return false;
    errno = before;
    return fails(kind);
}

/* ---- writing ---- */

static bool is_lost(int fd)
{
    char path[4096];

    return control && control->trick == TRICK_UNWRITTEN_WAL && name_of(fd, path, sizeof path) &&
           strstr(path, ".db-wal");
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    return file_fails(KIND_WRITE, fd) ? -1 : syscall(SYS_write, fd, bytes, len);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    if (file_fails(KIND_WRITE, fd))
        return -1;
    return is_lost(fd) ? (ssize_t)len : syscall(SYS_pwrite64, fd, bytes, len, at);
}

ssize_t pwritev(int fd, const struct iovec *parts, int parts_n, off_t at)
{
    return file_fails(KIND_WRITE, fd) ? -1 : syscall(SYS_pwritev, fd, parts, parts_n, (long)at, 0L);
}

/* ---- the other calls on files ---- */

ssize_t read(int fd, void *ret, size_t max)
{
    return file_fails(KIND_READ, fd) ? -1 : syscall(SYS_read, fd, ret, max);
}

ssize_t pread(int fd, void *ret, size_t max, off_t at)
{
    return file_fails(KIND_READ, fd) ? -1 : syscall(SYS_pread64, fd, ret, max, at);
}

int fsync(int fd)
{
    return file_fails(KIND_SYNC, fd) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return file_fails(KIND_SYNC, fd) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int ftruncate(int fd, off_t len)
{
    return file_fails(KIND_SIZE, fd) ? -1 : (int)syscall(SYS_ftruncate, fd, len);
}

int fallocate(int fd, int mode, off_t at, off_t len)
{
    return file_fails(KIND_SIZE, fd) ? -1 : (int)syscall(SYS_fallocate, fd, mode, at, len);
}

int posix_fallocate(int fd, off_t at, off_t len)
{
    return fallocate(fd, 0, at, len) < 0 ? errno : 0;
}

int openat(int from, const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    unsigned mode = flags & O_CREAT ? va_arg(args, unsigned) : 0;

    va_end(args);
    return path_fails(KIND_OPEN, path) ? -1 : (int)syscall(SYS_openat, from, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    unsigned mode = flags & O_CREAT ? va_arg(args, unsigned) : 0;

    va_end(args);
    return openat(AT_FDCWD, path, flags, mode);
}

int creat(const char *path, mode_t mode)
{
    return openat(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int rename(const char *from, const char *to)
{
    return path_fails(KIND_RENAME, from) ? -1
                                         : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path)
{
    return path_fails(KIND_UNLINK, path) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

void *mmap(void *where, size_t len, int protection, int flags, int fd, off_t at)
{
    if (fd >= 0 && file_fails(KIND_MAP, fd))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, where, len, protection, flags, fd, at);
}

/* SQLite is built for 64-bit offsets and calls these; there they are the same. */
#define SAME_AS(name) __attribute__((alias(#name)))
ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at) SAME_AS(pwrite);
ssize_t pwritev64(int fd, const struct iovec *parts, int parts_n, off64_t at) SAME_AS(pwritev);
ssize_t pread64(int fd, void *ret, size_t max, off64_t at) SAME_AS(pread);
int ftruncate64(int fd, off64_t len) SAME_AS(ftruncate);
int fallocate64(int fd, int mode, off64_t at, off64_t len) SAME_AS(fallocate);
int posix_fallocate64(int fd, off64_t at, off64_t len) SAME_AS(posix_fallocate);
int openat64(int from, const char *path, int flags, ...) SAME_AS(openat);
int open64(const char *path, int flags, ...) SAME_AS(open);
int creat64(const char *path, mode_t mode) SAME_AS(creat);
void *mmap64(void *where, size_t len, int protection, int flags, int fd, off64_t at) SAME_AS(mmap);

/* ---- memory ---- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

void *malloc(size_t bytes)
{
    return control && fails(KIND_MEMORY) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return control && fails(KIND_MEMORY) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return control && fails(KIND_MEMORY) ? NULL : __libc_realloc(old, bytes);
}
