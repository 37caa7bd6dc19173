/* pipe: one connection of a benchmark client: bytes wait to be sent, bytes came in, nothing blocks. */
#ifndef TESTS_BENCH_PIPE_H
#define TESTS_BENCH_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { PIPE_IN_BYTES = 256 * 1024 }; /* one read takes at most so much */

struct pipe {
    int fd;
    struct text out; /* to be sent; the owner appends */
    size_t out_at;   /* bytes of out that are sent; less than out.len, or both are 0 */
    char *in;        /* received and not yet consumed */
    size_t in_len;   /* bytes of it */
    uint64_t sent;   /* requests put into out, and their answers: the owner counts */
    uint64_t answered;
};

/* How many requests may be put into out, when at most `window` are to be unanswered: none before it is
 * sent. */
static inline uint64_t pipe_room(const struct pipe *pipe, uint64_t window)
{
    return pipe->out.len ? 0 : window - (pipe->sent - pipe->answered);
}

/* ADDR:PORT. Whatever fails here or below ends the program. */
void pipe_open(struct pipe *pipe, const char *address);
void pipe_close(struct pipe *pipe);

/* Sends what the socket takes. */
void pipe_send(struct pipe *pipe);

/* Reads what has come, once; false when nothing has. The peer's end is a failure. */
bool pipe_receive(struct pipe *pipe);

/* The first n bytes of in are dealt with. */
void pipe_consume(struct pipe *pipe, size_t n);

/* Waits until one of them can receive, or send what waits to be sent, at most so long; -1: for ever. */
void pipe_wait(const struct pipe *pipes, size_t n, int64_t timeout_us);

#endif
