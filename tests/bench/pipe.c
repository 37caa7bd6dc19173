#include "pipe.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/mem.h"
#include "measure.h"

enum { PIPES_MAX = 64 };

void pipe_open(struct pipe *pipe, const char *address)
{
    struct address to;
    struct err err;
    int yes = 1;

    measure_must(address_parse(&to, address, &err) == 0, "%s", err.text);
    *pipe = (struct pipe){.fd = socket(to.sockaddr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    measure_must(pipe->fd >= 0, "socket: %s", strerror(errno));
    measure_must(connect(pipe->fd, (const struct sockaddr *)&to.sockaddr, to.len) == 0, "%s: %s",
                 address, strerror(errno));
    setsockopt(pipe->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    pipe->in = mem_alloc(2 * PIPE_IN_BYTES);
}

void pipe_close(struct pipe *pipe)
{
    close(pipe->fd);
    text_done(&pipe->out);
    free(pipe->in);
}

void pipe_send(struct pipe *pipe)
{
    if (!pipe->out.len)
        return;
    ssize_t n = send(pipe->fd, pipe->out.at + pipe->out_at, pipe->out.len - pipe->out_at,
                     MSG_DONTWAIT | MSG_NOSIGNAL);

    measure_must(n >= 0 || errno == EAGAIN || errno == EINTR, "send: %s", strerror(errno));
    if (n > 0)
        pipe->out_at += (size_t)n;
    if (pipe->out_at == pipe->out.len)
        pipe->out_at = pipe->out.len = 0;
}

bool pipe_receive(struct pipe *pipe)
{
    measure_must(pipe->in_len <= PIPE_IN_BYTES, "an answer without end");
    ssize_t n = recv(pipe->fd, pipe->in + pipe->in_len, PIPE_IN_BYTES, MSG_DONTWAIT);

    measure_must(n != 0, "the server has closed the connection");
    measure_must(n > 0 || errno == EAGAIN || errno == EINTR, "recv: %s", strerror(errno));
    if (n > 0)
        pipe->in_len += (size_t)n;
    return n > 0;
}

void pipe_consume(struct pipe *pipe, size_t n)
{
    pipe->in_len -= n;
    memmove(pipe->in, pipe->in + n, pipe->in_len);
}

void pipe_wait(const struct pipe *pipes, size_t n, int64_t timeout_us)
{
    struct pollfd fds[PIPES_MAX];
    struct timespec timeout = {timeout_us / 1000000, timeout_us % 1000000 * 1000};

    measure_must(n <= PIPES_MAX, "too many connections");
    for (size_t i = 0; i < n; i++)
        fds[i] = (struct pollfd){
            .fd = pipes[i].fd,
            .events = (short)(pipes[i].out.len ? POLLIN | POLLOUT : POLLIN),
        };
    measure_must(ppoll(fds, n, timeout_us < 0 ? NULL : &timeout, NULL) >= 0 || errno == EINTR,
                 "poll: %s", strerror(errno));
}
