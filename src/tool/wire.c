#include "tool/wire.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

enum { RECEIVE_BYTES = 256 * 1024 };

void wire_init(struct wire *wire, const char *opening)
{
    *wire = (struct wire){.fd = -1, .opening = opening, .replies_cap = 2 * RECEIVE_BYTES};
    wire->replies = mem_alloc(wire->replies_cap);
}

void wire_done(struct wire *wire)
{
    wire_disconnect(wire);
    free(wire->replies);
    wire->replies = NULL;
}

int wire_connect(struct wire *wire, const struct address *to, struct err *err)
{
    int family = to->sockaddr.ss_family;
    int yes = 1;

    assert(wire->state == WIRE_DOWN);
    wire->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (wire->fd < 0)
        return err_set(err, ERR_SYSTEM, "socket: %s", strerror(errno));
    wire->state = WIRE_CONNECTING;
    if (family != AF_UNIX)
        setsockopt(wire->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(wire->fd, (const struct sockaddr *)&to->sockaddr, to->len) < 0 &&
        errno != EINPROGRESS) {
        err_set(err, ERR_SYSTEM, "%s", strerror(errno));
        wire_disconnect(wire);
        return ERR_SYSTEM;
    }
    return 0;
}

int wire_on_connected(struct wire *wire, struct err *err)
{
    int error = 0;
    socklen_t len = sizeof error;

    getsockopt(wire->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error) {
        wire_disconnect(wire);
        return err_set(err, ERR_SYSTEM, "%s", strerror(error));
    }
    wire->state = WIRE_UP;
    wire->opening_sent = 0;
    wire->replies_at = wire->replies_len = 0;
    return 0;
}

bool wire_is_opening(const struct wire *wire)
{
    return wire->opening[wire->opening_sent] != '\0';
}

ssize_t wire_send(struct wire *wire, const struct iovec *pieces, size_t n, struct err *err)
{
    const char *opening = wire->opening + wire->opening_sent;
    size_t opening_len = strlen(opening);
    struct iovec all[WIRE_PIECES_MAX + 1] = {{.iov_base = (char *)opening, .iov_len = opening_len}};
    struct msghdr message = {.msg_iov = all, .msg_iovlen = n + 1};

    assert(wire->state == WIRE_UP && n <= WIRE_PIECES_MAX);
    memcpy(all + 1, pieces, n * sizeof *pieces);
    ssize_t sent = sendmsg(wire->fd, &message, MSG_NOSIGNAL);

    if (sent < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : err_set(err, ERR_SYSTEM, "%s", strerror(errno));
    size_t of_opening = (size_t)sent < opening_len ? (size_t)sent : opening_len;

    wire->opening_sent += of_opening;
    return sent - (ssize_t)of_opening;
}

/* A reply that does not fit lets the buffer grow: thousands of trades in a line are one reply. */
static int make_room(struct wire *wire, struct err *err)
{
    size_t kept = wire->replies_len - wire->replies_at;

    if (kept >= WIRE_REPLY_MAX)
        return err_set(err, ERR_SYSTEM, "a reply of more than %d bytes", WIRE_REPLY_MAX);
    memmove(wire->replies, wire->replies + wire->replies_at, kept);
    wire->replies_at = 0;
    wire->replies_len = kept;
    if (wire->replies_cap - kept < RECEIVE_BYTES) {
        wire->replies_cap *= 2;
        wire->replies = mem_realloc(wire->replies, wire->replies_cap, 1);
    }
    return 0;
}

int wire_receive(struct wire *wire, struct err *err)
{
    int result = make_room(wire, err);

    if (result < 0)
        return result;
    ssize_t n = recv(wire->fd, wire->replies + wire->replies_len, RECEIVE_BYTES, 0);

    if (n > 0) {
        wire->replies_len += (size_t)n;
        return 0;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return err_set(err, ERR_SYSTEM, "%s", n < 0 ? strerror(errno) : "the daemon closed the connection");
}

bool wire_next_reply(struct wire *wire, const char **ret, size_t *ret_len)
{
    const char *at = wire->replies + wire->replies_at;
    const char *feed = memchr(at, '\n', wire->replies_len - wire->replies_at);

    if (!feed)
        return false;
    *ret = at;
    *ret_len = (size_t)(feed - at);
    wire->replies_at += *ret_len + 1;
    return true;
}

void wire_disconnect(struct wire *wire)
{
    if (wire->fd >= 0)
        close(wire->fd);
    wire->fd = -1;
    wire->state = WIRE_DOWN;
}
