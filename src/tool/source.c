#include "tool/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIPE_BYTES = 1024 * 1024 };

static char *const STANDARD_INPUT[] = {"-"};

static bool is_stdin(const char *file)
{
    return strcmp(file, "-") == 0;
}

/* Adds the file's size to *bytes; *known becomes false where a size means nothing (a pipe, a terminal). */
static int look_at(const char *file, uint64_t *bytes, bool *known, struct err *err)
{
    struct stat st;
    int result = is_stdin(file) ? fstat(STDIN_FILENO, &st) : stat(file, &st);

    if (result < 0 || (!is_stdin(file) && access(file, R_OK) < 0))
        return err_set(err, ERR_SYSTEM, "%s: %s", file, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return err_set(err, ERR_SYSTEM, "%s: %s", file, strerror(EISDIR));
    *known = *known && S_ISREG(st.st_mode);
    *bytes += (uint64_t)st.st_size;
    return 0;
}

static int open_next(struct source *source, struct err *err)
{
    source->fd = -1;
    if (source->at == source->files_n)
        return 0;
    source->name = source->files[source->at++];
    source->fd = is_stdin(source->name) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                        : open(source->name, O_RDONLY | O_CLOEXEC);
    if (source->fd < 0)
        return err_set(err, ERR_SYSTEM, "%s: %s", source->name, strerror(errno));
    /* fewer changes of sides with the writer; a refusal does no harm */
    (void)fcntl(source->fd, F_SETPIPE_SZ, PIPE_BYTES);
    return 0;
}

int source_open(struct source *source, char *const *files, int files_n, struct err *err)
{
    bool known = true;
    int result = 0;

    *source = (struct source){.files = files, .files_n = files_n, .fd = -1};
    if (files_n == 0) {
        source->files = STANDARD_INPUT;
        source->files_n = 1;
    }
    for (int i = 0; i < source->files_n && result == 0; i++)
        result = look_at(source->files[i], &source->bytes, &known, err);
    if (!known)
        source->bytes = 0;
    return result < 0 ? result : open_next(source, err);
}

void source_close(struct source *source)
{
    if (source->fd >= 0)
        close(source->fd);
    source->fd = -1;
}

ssize_t source_read(struct source *source, char *to, size_t room, struct err *err)
{
    ssize_t n = read(source->fd, to, room);

    if (n < 0)
        return err_set(err, ERR_IO, "%s: %s", source->name, strerror(errno));
    if (n > 0)
        return n;
    source_close(source);
    return open_next(source, err);
}
