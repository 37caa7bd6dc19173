/* hub: what the connections of one server share: batches, bounds and counts. Loop thread.
 *
 * It decides one thing for all of them: whether there is room to read (hub_has_room). Connections
 * are kept least recently read first, so that whoever waited longest goes on first. */
#ifndef INGEST_HUB_H
#define INGEST_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "ingest/server.h"

enum {
    HUB_READ_BYTES = 64 * 1024, /* one read takes at most so much */
    HUB_KEEP_REPLY_BYTES = 1 << 20,
};

struct connection;

struct hub {
    uv_loop_t *loop;
    const struct server_config *config;
    struct stats *stats;
    struct writer *writer;            /* NULL until the gates open */
    struct connection *first, *last;  /* every connection, closed ones whose batches are out too */
    struct connection *touched;       /* got batches back and were not yet answered */
    struct batch *free;               /* empty batches */
    size_t free_bytes;                /* their memory, at most a quarter of queue_bytes */
    struct text replies;              /* what is being written, empty between events */
    char discard[HUB_READ_BYTES];     /* where bytes go that nobody wants */
    size_t bytes_in_flight;           /* memory of the batches that the writer has */
    size_t unsent_bytes;              /* replies that no socket has taken yet */
    size_t open, paused;              /* connections that are open; that wait for room */
    uint64_t accepted, refused;       /* since the start */
    bool store_ready;                 /* as of the writer's last wake-up */
    bool full;                        /* too much in flight, until half of it is back */
    bool draining;                    /* nobody reads any more */
    bool room;                        /* what hub_has_room said last */
    bool room_changed;                /* every connection has to look at it again */
    void (*on_gone)(struct hub *hub); /* a connection is closed, or forgotten altogether */
};

void hub_init(struct hub *hub, uv_loop_t *loop, const struct server_config *config,
              struct stats *stats);
void hub_done(struct hub *hub); /* frees connections that wait for batches, and the free batches */

void hub_add(struct hub *hub, struct connection *c);
void hub_remove(struct hub *hub, struct connection *c);
void hub_move_last(struct hub *hub, struct connection *c);

/* An empty batch, and its way back. */
struct batch *hub_take_batch(struct hub *hub);
void hub_give_batch(struct hub *hub, struct batch *batch); /* NULL is fine */

/* Hands a batch to the store and counts it; takes it out of the count when it is back. */
void hub_submit(struct hub *hub, struct batch *batch);
void hub_note_return(struct hub *hub, const struct batch *batch);

/* May anybody read? Sets room_changed when the answer is not what it was. */
bool hub_has_room(struct hub *hub);

/* One connection may have a sixteenth of the queue, so that sixteen greedy ones share it. */
size_t hub_share_bytes(const struct hub *hub);

void hub_publish(struct hub *hub); /* the counts, to the statistics */
void hub_event(const struct hub *hub, enum server_event event, const char *text);

#endif
