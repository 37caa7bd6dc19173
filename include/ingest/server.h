/* server: the listeners and their connections, on the loop thread.
 *
 * Owns every socket of the ingest side. Never blocks, never touches the store except through writer.h.
 * Lifetime: start (binds and listens; accepted connections wait), open_gates when the store is ready,
 * drain (stop accepting and reading; what was read is committed and answered), stop. */
#ifndef INGEST_SERVER_H
#define INGEST_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "ingest/feed.h"
#include "ingest/reply.h"
#include "report/stats.h"
#include "store/writer.h"

struct listener_config {
    char *bind;        /* ADDR:PORT, [IPV6]:PORT or unix:/path */
    char *source;      /* or NULL */
    struct feed *feed; /* not owned */
    enum ack_mode ack;
    unsigned mode; /* of a unix socket, 0: as umask has it */
    int passed_fd; /* a socket that listens already, the server's from its start; 0: none, it binds */
};

/* Something an operator should know; a caller may want to limit repeated ones. */
enum server_event {
    SERVER_ACCEPT_FAILED, /* no descriptor or memory for another connection; it waits */
    SERVER_REFUSED,       /* more than max_connections */
    SERVER_SLOW_PEER,     /* a peer that does not take its replies was closed */
    SERVER_EVENT_COUNT,
};

struct server_config {
    struct listener_config *listeners;
    size_t listeners_n;
    uint32_t max_connections;
    size_t max_line_bytes;
    uint32_t max_trades_per_line;
    size_t max_key_bytes;
    size_t queue_bytes;        /* batches between loop and store, memory, all together */
    size_t ack_backlog_bytes;  /* unsent replies of one connection before it is not read */
    int slow_reader_timeout_s; /* no byte taken for so long while replies wait: closed */
    void (*on_event)(void *arg, enum server_event event, const char *text); /* or NULL */
    void *arg;                                                              /* for on_event */
};

struct server;

/* Binds and listens; what is accepted waits. config and stats must outlive the server. ERR_SYSTEM names
 * address and reason; then nothing is left open. */
int server_start(struct server **ret, uv_loop_t *loop, const struct server_config *config,
                 struct stats *stats, struct err *err);

/* The address that listener i really has ("127.0.0.1:41233", "[::1]:7401", "unix:/path"). */
void server_address(const struct server *server, size_t i, char *ret, size_t ret_bytes);

/* The store is open: from now on connections are read, their batches go to the writer, which must
 * outlive the server. */
void server_open_gates(struct server *server, struct writer *writer);

/* Batches came back, or the store's state changed: answer, and pause or go on reading. To be called
 * on the loop thread after each wake-up of the writer. */
void server_on_writer(struct server *server);

/* Clean stop: no accept, no read; complete lines that were read still go to the store. on_drained is
 * called once on the loop thread when every reply is out and every peer has closed or is given up
 * (bounded by slow_reader_timeout_s and the two seconds of connection.h); with no connection left it
 * is called before this returns. */
void server_drain(struct server *server, void (*on_drained)(void *arg), void *arg);

/* Closes whatever is open, at once; run the loop until it is empty, then server_close. Both accept
 * NULL. */
void server_stop(struct server *server);
void server_close(struct server *server);

#endif
