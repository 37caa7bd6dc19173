/* stream: sends lines to the daemon until each has its verdict. Main thread.
 *
 * Owns the window, the input and the connection. Never has more than `window` lines unanswered, reads
 * replies while it sends, so that neither side can block the other, and waits only in poll(). */
#ifndef TOOL_STREAM_H
#define TOOL_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/err.h"
#include "tool/answer.h"
#include "tool/source.h"
#include "tool/tally.h"
#include "tool/window.h"
#include "tool/wire.h"

struct stream_options {
    struct address to;
    uint64_t window;  /* lines, at least 1 */
    uint64_t retries; /* failed connections in a row, and retry verdicts of one line */
    bool batch;       /* ack mode batch in place of each */
    int tick_ms;      /* on_tick is called at least so often; -1: whenever something happens */
    /* Both may be NULL. on_trouble: a reply that is conflict, invalid or retry, with the number of the
     * line in the input. on_tick: after each turn; part is stream_part. */
    void (*on_trouble)(void *arg, uint64_t number, const char *reply, size_t len);
    void (*on_tick)(void *arg, const struct tally *tally, double part);
    void *arg;
};

enum stream_state {
    STREAM_WAITING,    /* no connection; until resume_us */
    STREAM_CONNECTING, /* until resume_us, then it counts as failed */
    STREAM_FLOWING,    /* sending and receiving */
    STREAM_EMPTYING,   /* a retry came: nothing new is sent until the rest is answered */
    STREAM_HOLDING,    /* everything is answered, some with retry; until resume_us */
};

struct stream {
    struct stream_options options;
    struct tally tally;
    struct answer_wants wants;
    struct source source;
    struct window window;
    struct wire wire;
    enum stream_state state;
    int interrupt_fd;
    int64_t resume_us;  /* monotonic */
    int64_t began_us;   /* monotonic, the first connection; 0 before */
    uint64_t failures;  /* connections lost since the last answer */
    bool opened;        /* this connection's opening line is accepted */
    bool cut_short;     /* a line was answered before it was wholly sent */
    bool interrupted;   /* SIGINT or SIGTERM */
    uint64_t wire_line; /* number, on this connection, of the line answered last */
    uint64_t
        discount[VERDICT_COUNT]; /* batch: verdicts that the next counts hold and that do not stand */
};

/* files as in source_open; they must outlive the stream. Call stream_done whatever it returned. */
int stream_init(struct stream *s, const struct stream_options *options, char *const *files, int files_n,
                struct err *err);
void stream_done(struct stream *s);

/* Runs until every line is answered or SIGINT or SIGTERM comes: 0. ERR_SYSTEM: the daemon cannot be
 * reached (began_us is 0 if it never was) or does not speak the protocol; ERR_IO: the input failed. */
int stream_run(struct stream *s, struct err *err);

/* Fraction of the input that is answered, below 0 when its size is not known. */
double stream_part(const struct stream *s);

#endif
