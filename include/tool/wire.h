/* wire: one connection to the daemon, without ever blocking: connects, sends the opening line before
 * anything else, cuts what comes back into reply lines. Main thread. */
#ifndef TOOL_WIRE_H
#define TOOL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/address.h"
#include "base/err.h"

enum { WIRE_PIECES_MAX = 256, WIRE_REPLY_MAX = 16 * 1024 * 1024 };

enum wire_state { WIRE_DOWN, WIRE_CONNECTING, WIRE_UP };

struct wire {
    enum wire_state state;
    int fd;              /* to be polled; -1 when down */
    const char *opening; /* the opening line, line feed included; not owned */
    size_t opening_sent; /* bytes of it */
    char *replies;       /* bytes that came, not cut yet: [at, len) */
    size_t replies_at, replies_len, replies_cap;
};

void wire_init(struct wire *wire, const char *opening);
void wire_done(struct wire *wire);

/* Begins to connect: POLLOUT tells when to call wire_on_connected. ERR_SYSTEM: refused at once. */
int wire_connect(struct wire *wire, const struct address *to, struct err *err);
int wire_on_connected(struct wire *wire, struct err *err);

/* Whether the opening line is not wholly sent. */
bool wire_is_opening(const struct wire *wire);

/* Sends what the socket takes of the opening line and then of at most WIRE_PIECES_MAX pieces. Returns
 * how many bytes of the pieces, or ERR_SYSTEM: the connection is over. */
ssize_t wire_send(struct wire *wire, const struct iovec *pieces, size_t n, struct err *err);

/* Receives what there is. Returns 0, or ERR_SYSTEM: the connection is over, though complete replies
 * may still stand in the buffer. */
int wire_receive(struct wire *wire, struct err *err);

/* The next complete reply without its line feed, valid until wire_receive; false when there is none. */
bool wire_next_reply(struct wire *wire, const char **ret, size_t *ret_len);

void wire_disconnect(struct wire *wire);

#endif
