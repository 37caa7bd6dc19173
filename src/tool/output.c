#include "tool/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PIPE_BYTES = 1024 * 1024 };

void output_widen(void)
{
    (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
}

int output_write(const struct text *text, struct err *err)
{
    for (size_t at = 0; at < text->len;) {
        ssize_t n = write(STDOUT_FILENO, text->at + at, text->len - at);

        if (n < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "standard output: %s", strerror(errno));
        at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}
