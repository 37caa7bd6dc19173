/* source: the input of send: files one after the other, or standard input. Main thread. */
#ifndef TOOL_SOURCE_H
#define TOOL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct source {
    char *const *files; /* "-" is standard input; not owned */
    int files_n, at;    /* files[at] is the next one to be opened */
    const char *name;   /* of the file being read */
    int fd;             /* its descriptor, to be polled; -1 when the input is over */
    uint64_t bytes;     /* of all files together; 0 when it is not known */
};

/* Opens the first file after a look at all of them: one that cannot be read is found before anything
 * is sent. No files: standard input. files must outlive the source. ERR_SYSTEM names the file. */
int source_open(struct source *source, char *const *files, int files_n, struct err *err);
void source_close(struct source *source);

/* Reads from the current file, which may block unless poll() says otherwise. Returns the number of
 * bytes; 0: the file ended, and the next one, if any, is open; or ERR_IO, ERR_SYSTEM. */
ssize_t source_read(struct source *source, char *to, size_t room, struct err *err);

#endif
