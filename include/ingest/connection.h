/* connection: one peer, from accept to its last reply. Loop thread.
 *
 *   1. accepted; it waits until there is room to read (hub.h)
 *   2. a read appends to the batch that is being filled
 *   3. frame cuts complete lines; the first may be the opening line; feed judges the others in place
 *   4. the batch goes to the store, what is left of the next line moves into another batch
 *   5. the batch comes back with verdicts: they are counted, then replies are written
 *   6. input ends (the peer's end, a line too long, a bad opening, a clean stop): what is under way is
 *      still answered
 *   7. the sending side is shut; what the peer still sends is read and dropped for a bounded while,
 *      because closing with unread input would reset the connection and lose replies
 *
 *      OPEN --6--> ENDING --all is out--> LINGERING --peer closed, 2 s or 16 MiB--> CLOSED
 *        |           |  \--all is out, the peer had closed-----------------------------^
 *        \-----------+--- reset, slow reader, store failed -----------------------------^
 *
 * A closed connection stays until its batches are back: their verdicts count although nobody hears
 * them. Backpressure: a connection that may not read keeps what it has read, complete lines included,
 * and goes on with them first. Bounds: one partial line and one read, hub_share_bytes of batches,
 * ack_backlog_bytes of unsent replies plus the replies of those batches. */
#ifndef INGEST_CONNECTION_H
#define INGEST_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "ingest/frame.h"
#include "ingest/hub.h"

enum {
    CONNECTION_BATCH_TRADES = 4096,         /* a batch with so many trades is submitted ... */
    CONNECTION_BATCH_BYTES = 4 * 1048576,   /* ... or so many bytes of keys and details: the next line
                                             * finds almost all of the arena's 32 bits */
    CONNECTION_BURDEN_US = 1000000,         /* patience while the unsent replies of all are too much */
    CONNECTION_LINGER_US = 2000000,         /* longest that a closing connection is read */
    CONNECTION_LINGER_BYTES = 16 * 1048576, /* most that is read from it meanwhile */
};

/* What a listener gives its connections. */
struct intake {
    const struct feed *feed;
    const char *feed_name;
    unsigned feed_index; /* in the statistics */
    struct feed_context context;
    enum ack_mode ack; /* until an opening line says otherwise */
};

enum connection_state {
    CONNECTION_OPEN,
    CONNECTION_ENDING,
    CONNECTION_LINGERING,
    CONNECTION_CLOSED,
};

struct connection {
    struct hub *hub;
    struct connection *next, *previous; /* in the hub's list */
    struct connection *next_touched;    /* in the list of those to be answered */
    const struct intake *intake;        /* the listener's */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv; /* data: the connection */
    uv_shutdown_t shutdown;
    enum connection_state state;
    enum ack_mode ack;
    struct frame frame;             /* cuts batch->bytes */
    struct batch *batch;            /* being filled; NULL while nothing is pending */
    struct batch *finished;         /* came back, oldest first */
    struct batch **finished_last;   /* where the next is linked */
    size_t batches_in_flight;       /* at the store */
    size_t bytes_in_flight;         /* their memory */
    struct reply_progress progress; /* mode batch */
    uint64_t lines_counted;         /* up to this line the statistics know */
    uint64_t handed_bytes;          /* of replies, to the socket or its write queue */
    uint64_t taken_bytes;           /* of those, by the socket, when progress was last seen */
    int64_t taken_mono_us;          /* when that was */
    size_t unsent_bytes;            /* in the write queue, as the hub counts it */
    int64_t linger_until_us;        /* monotonic */
    size_t lingered_bytes;          /* read and dropped */
    bool begun;                     /* the first line that is not blank has been seen */
    bool over;                      /* a line that ends the input has been judged */
    bool peer_done;                 /* the peer has closed its sending side */
    bool reading;                   /* uv_read_start is on */
    bool paused;                    /* would read and may not; counted in the hub */
    bool touched;                   /* is in the list of those to be answered */
    bool unanswerable;              /* the store failed under a batch */
    bool handle_closed;             /* uv has let go of the handle */
};

/* Takes over a connected, non-blocking socket; stream sockets of TCP (tcp true) or unix kind. */
void connection_open(struct hub *hub, const struct intake *intake, int fd, bool tcp);

/* Does what can be done now: lines that wait, reading on or off, the steps towards the end. */
void connection_advance(struct connection *c);

/* One of its batches is back; connection_answer follows for every connection in hub->touched. */
void connection_take_back(struct connection *c, struct batch *batch);
void connection_answer(struct connection *c);

/* Clean stop: complete lines that were read are judged and submitted, past all bounds; a partial one
 * is dropped. */
void connection_drain(struct connection *c);

/* Closes a peer that took nothing for slow_reader_timeout_s, or for CONNECTION_BURDEN_US while the unsent
 * replies of all are too much; ends lingering that lasts too long. */
void connection_check_time(struct connection *c, int64_t now_mono_us);

void connection_close(struct connection *c); /* at once; what is unsent is lost */
void connection_free(struct connection *c);  /* after its handle is closed */

/* Lets every connection act on a change of room. To be called at the end of every event. */
void connection_settle_all(struct hub *hub);

#endif
