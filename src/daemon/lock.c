#include "daemon/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static int refused(struct err *err, const char *data_dir, int error)
{
    return err_set(err, ERR_SYSTEM, "data directory %s: %s", data_dir, strerror(error));
}

static int open_lock_file(const char *data_dir, int flags)
{
    struct text path = {0};

    text_add_format(&path, "%s/tradesieve.lock", data_dir);
    int fd = open(text_terminate(&path), flags | O_CLOEXEC, 0640);
    int error = errno;

    text_done(&path);
    errno = error;
    return fd;
}

static int say_who(int fd, const char *data_dir, struct err *err)
{
    char pid[16] = "";

    if (flock(fd, LOCK_SH | LOCK_NB) == 0) /* whoever has it only reads */
        return err_set(err, ERR_LOCKED, "data directory %s: a tradesieve audit or export reads it",
                       data_dir);
    if (read(fd, pid, sizeof pid - 1) <= 0)
        strcpy(pid, "?"); /* it has locked, and has not yet written or found no space for it */
    pid[strcspn(pid, "\n")] = '\0';
    return err_set(err, ERR_LOCKED, "data directory %s: another tradesieved (pid %s) has it", data_dir,
                   pid);
}

int lock_take(const char *data_dir, int *ret_fd, struct err *err)
{
    if (mkdir(data_dir, 0750) < 0 && errno != EEXIST)
        return refused(err, data_dir, errno);
    int fd = open_lock_file(data_dir, O_RDWR | O_CREAT);

    if (fd < 0)
        return refused(err, data_dir, errno);
    int rc = 0;

    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        rc = errno == EWOULDBLOCK ? say_who(fd, data_dir, err) : refused(err, data_dir, errno);
    else if (ftruncate(fd, 0) < 0 || (dprintf(fd, "%ld\n", (long)getpid()) < 0 && errno != ENOSPC))
        rc = refused(err, data_dir, errno);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    *ret_fd = fd;
    return 0;
}

int lock_share(const char *data_dir, int *ret_fd, struct err *err)
{
    if (access(data_dir, R_OK | X_OK) < 0)
        return refused(err, data_dir, errno);
    int fd = open_lock_file(data_dir, O_RDONLY);

    if (fd < 0 && errno != ENOENT)
        return refused(err, data_dir, errno);
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0) {
        int rc = errno == EWOULDBLOCK ? say_who(fd, data_dir, err) : refused(err, data_dir, errno);

        close(fd);
        return rc;
    }
    *ret_fd = fd;
    return 0;
}
