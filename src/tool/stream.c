/* The life of a stream
 *
 *  1. connect; send the opening line, which asks for a reply to every line
 *  2. read input into the window, while it has room
 *  3. send what is unsent, as much as the socket takes
 *  4. take replies: each answers the line that is due; count it, make room in the window
 *  5. the input ended and the window is empty: over
 *
 * What can go wrong
 *
 *  - the connection ends: what was not answered is unsent again; wait, connect, go on at 1. Each failure
 *    waits longer, an answer starts the count anew, too many in a row end the stream.
 *  - a verdict is retry: nothing new is sent (EMPTYING), the rest is answered, then after a pause
 *    (HOLDING) the held lines go first. A line that has had too many stays retry.
 *  - a line is answered while it is being sent (line_too_long): the connection is given up for another.
 *  - a reply answers a line that is not due: the stream ends, for nothing can be counted any more. */
#include "tool/stream.h"

#include <assert.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool/figure.h"
#include "tool/interrupt.h"

enum {
    DELAY_FIRST_MS = 50, /* doubled with each failure */
    DELAY_MAX_MS = 5000,
    CONNECT_TIMEOUT_MS = 10000,
};

enum { POLL_INTERRUPT, POLL_WIRE, POLL_SOURCE, POLL_COUNT };

static const char OPENING_EACH[] = "{\"tradesieve\":{\"ack\":\"each\"}}\n";
static const char OPENING_BATCH[] = "{\"tradesieve\":{\"ack\":\"batch\"}}\n";

static int turn(struct stream *s, struct err *err);
static int step(struct stream *s, struct err *err);
static int begin_connection(struct stream *s, struct err *err);
static int on_wire(struct stream *s, short events, struct err *err);
static int on_connected(struct stream *s, struct err *err);
static int on_input(struct stream *s, struct err *err);
static int send_more(struct stream *s, struct err *err);
static int on_reply(struct stream *s, const char *reply, size_t len, struct err *err);
static int on_lost(struct stream *s, struct err *err);

int stream_init(struct stream *s, const struct stream_options *options, char *const *files, int files_n,
                struct err *err)
{
    *s = (struct stream){.options = *options, .interrupt_fd = -1};
    wire_init(&s->wire, options->batch ? OPENING_BATCH : OPENING_EACH);
    window_init(&s->window, options->window);
    answer_wants_init(&s->wants);
    s->interrupt_fd = interrupt_open(err);
    if (s->interrupt_fd < 0) {
        s->source.fd = -1;
        return s->interrupt_fd;
    }
    return source_open(&s->source, files, files_n, err);
}

void stream_done(struct stream *s)
{
    source_close(&s->source);
    wire_done(&s->wire);
    window_done(&s->window);
    if (s->interrupt_fd >= 0)
        close(s->interrupt_fd);
}

static bool is_over(const struct stream *s)
{
    return s->interrupted || (s->source.fd < 0 && window_count(&s->window) == 0);
}

double stream_part(const struct stream *s)
{
    if (s->source.bytes == 0)
        return -1;
    double part = (double)window_bytes_done(&s->window) / (double)s->source.bytes;

    return part < 1 ? part : 1;
}

int stream_run(struct stream *s, struct err *err)
{
    int result = 0;

    while (result == 0 && !is_over(s)) {
        result = turn(s, err);
        if (s->began_us)
            s->tally.seconds = (double)(clock_mono_us() - s->began_us) / 1e6;
        if (s->options.on_tick)
            s->options.on_tick(s->options.arg, &s->tally, stream_part(s));
    }
    return result;
}

/* In every state but FLOWING only the rest of a line that is partly sent may go out. */
static bool only_rest(const struct stream *s)
{
    return s->state != STREAM_FLOWING;
}

static short wire_events(const struct stream *s)
{
    if (s->wire.state == WIRE_CONNECTING)
        return POLLOUT;
    bool unsent = wire_is_opening(&s->wire) || window_has_unsent(&s->window, only_rest(s));

    return unsent ? POLLIN | POLLOUT : POLLIN;
}

static int wait_ms(const struct stream *s)
{
    int64_t left_us = s->resume_us - clock_mono_us();
    bool timed =
        s->state == STREAM_WAITING || s->state == STREAM_CONNECTING || s->state == STREAM_HOLDING;
    int left_ms = left_us > 0 ? (int)(left_us / 1000) + 1 : 0;

    if (!timed)
        return s->options.tick_ms;
    return s->options.tick_ms >= 0 && s->options.tick_ms < left_ms ? s->options.tick_ms : left_ms;
}

/* Waits until something happens, and lets it happen. */
static int turn(struct stream *s, struct err *err)
{
    size_t room = 0;
    int result = step(s, err);

    if (result < 0)
        return result;
    if (s->source.fd >= 0)
        window_room(&s->window, &room);
    struct pollfd fds[POLL_COUNT] = {
        [POLL_INTERRUPT] = {.fd = s->interrupt_fd, .events = POLLIN},
        [POLL_WIRE] = {.fd = s->wire.fd, .events = s->wire.fd >= 0 ? wire_events(s) : 0},
        [POLL_SOURCE] = {.fd = room > 0 ? s->source.fd : -1, .events = POLLIN},
    };

    poll(fds, POLL_COUNT, wait_ms(s));
    s->interrupted = fds[POLL_INTERRUPT].revents != 0;
    if (fds[POLL_SOURCE].revents)
        result = on_input(s, err);
    if (result == 0 && fds[POLL_WIRE].revents)
        result = on_wire(s, fds[POLL_WIRE].revents, err);
    return result;
}

static int64_t delay_us(uint64_t failures)
{
    int64_t ms = DELAY_FIRST_MS;

    while (failures-- > 1 && ms < DELAY_MAX_MS)
        ms *= 2;
    return (ms < DELAY_MAX_MS ? ms : DELAY_MAX_MS) * 1000;
}

/* The line that had the most retries so far says how long to wait. */
static void hold_when_empty(struct stream *s)
{
    if (window_in_flight(&s->window) > 0)
        return;
    s->state = STREAM_HOLDING;
    s->resume_us = clock_mono_us() + delay_us(window_tries(&s->window));
}

static void begin_emptying(struct stream *s)
{
    s->state = STREAM_EMPTYING;
    hold_when_empty(s);
}

/* What the state asks for now; events only change what it looks at. */
static int step(struct stream *s, struct err *err)
{
    bool due = clock_mono_us() >= s->resume_us;

    switch (s->state) {
    case STREAM_WAITING:
        return due ? begin_connection(s, err) : 0;
    case STREAM_CONNECTING:
        if (!due)
            return 0;
        err_set(err, ERR_SYSTEM, "no connection within %d s", CONNECT_TIMEOUT_MS / 1000);
        return on_lost(s, err);
    case STREAM_FLOWING:
        if (s->window.held > 0)
            begin_emptying(s);
        return 0;
    case STREAM_EMPTYING:
        hold_when_empty(s);
        return 0;
    case STREAM_HOLDING:
        if (!due)
            return 0;
        s->tally.resent += window_rewind(&s->window);
        s->tally.lines += window_cut(&s->window);
        s->state = STREAM_FLOWING;
        return 0;
    }
    return 0;
}

static int begin_connection(struct stream *s, struct err *err)
{
    s->resume_us = clock_mono_us() + CONNECT_TIMEOUT_MS * 1000;
    s->state = STREAM_CONNECTING;
    return wire_connect(&s->wire, &s->options.to, err) < 0 ? on_lost(s, err) : 0;
}

static int on_wire(struct stream *s, short events, struct err *err)
{
    const char *reply;
    size_t len;
    int result = 0;

    if (s->wire.state == WIRE_CONNECTING)
        return on_connected(s, err);
    struct err lost;
    int received = (events & ~POLLOUT) ? wire_receive(&s->wire, &lost) : 0;

    /* replies that came before the end count, so they are taken first */
    while (result == 0 && wire_next_reply(&s->wire, &reply, &len))
        result = on_reply(s, reply, len, err);
    s->tally.lines += window_cut(&s->window);
    if (result < 0)
        return result;
    if (received < 0) {
        *err = lost;
        return on_lost(s, err);
    }
    return s->cut_short || send_more(s, err) < 0 ? on_lost(s, err) : 0;
}

static int on_connected(struct stream *s, struct err *err)
{
    if (wire_on_connected(&s->wire, err) < 0)
        return on_lost(s, err);
    s->state = STREAM_FLOWING;
    s->opened = s->cut_short = false;
    s->wire_line = 0;
    memset(s->discount, 0, sizeof s->discount);
    if (s->began_us)
        s->tally.reconnects++;
    else
        s->began_us = clock_mono_us();
    return send_more(s, err) < 0 ? on_lost(s, err) : 0;
}

static int on_input(struct stream *s, struct err *err)
{
    size_t room;
    char *to = window_room(&s->window, &room);
    ssize_t n = source_read(&s->source, to, room, err);

    if (n < 0)
        return (int)n;
    s->tally.lines += n > 0 ? window_add(&s->window, (size_t)n) : window_end_file(&s->window);
    if (window_line_too_long(&s->window))
        return err_set(err, ERR_IO, "%s: a line of more than %d bytes", s->source.name,
                       WINDOW_LINE_MAX - WINDOW_READ_BYTES);
    return 0;
}

static int send_more(struct stream *s, struct err *err)
{
    struct iovec pieces[WIRE_PIECES_MAX];
    size_t n = window_gather(&s->window, pieces, WIRE_PIECES_MAX, only_rest(s));
    ssize_t sent = wire_send(&s->wire, pieces, n, err);

    if (sent < 0)
        return (int)sent;
    window_sent(&s->window, (size_t)sent);
    return 0;
}

static int on_foreign(const char *what, const char *reply, size_t len, struct err *err)
{
    return err_set(err, ERR_SYSTEM, "%s: %.*s", what, (int)(len < 200 ? len : 200), reply);
}

static int on_opening_reply(struct stream *s, const struct answer *answer, const char *reply,
                            size_t len, struct err *err)
{
    if (answer->kind != ANSWER_OPENING)
        return on_foreign("the daemon does not take the opening line", reply, len, err);
    s->opened = true;
    s->wire_line = 1;
    return 0;
}

/* The due line has its answer, which stands unless it is to be sent again. */
static void answer_due(struct stream *s)
{
    if (s->window.next == s->window.due)
        s->cut_short = true;
    s->tally.answered += !window_due(&s->window, 0)->again;
    s->wire_line++;
    s->failures = 0;
    window_answer(&s->window);
}

/* each: the answer itself. batch: notice of a conflict, invalid or retry in the counts that follow. */
static int on_line(struct stream *s, const struct answer *answer, const char *reply, size_t len,
                   struct err *err)
{
    uint64_t ahead = answer->line - s->wire_line - 1;
    struct window_line *line = window_due(&s->window, ahead);

    if (!line || (ahead > 0 && !s->options.batch))
        return on_foreign("a reply to a line that is not due", reply, len, err);
    line->again = answer->verdicts[VERDICT_RETRY] > 0 && line->tries < s->options.retries;
    if (s->options.on_trouble && (answer->verdicts[VERDICT_CONFLICT] ||
                                  answer->verdicts[VERDICT_INVALID] || answer->verdicts[VERDICT_RETRY]))
        s->options.on_trouble(s->options.arg, line->number, reply, len);
    for (int i = VERDICT_NEW; i < VERDICT_COUNT; i++) {
        if (s->options.batch)
            s->discount[i] += line->again ? answer->verdicts[i] : 0;
        else
            s->tally.verdicts[i] += line->again ? 0 : answer->verdicts[i];
    }
    if (!s->options.batch)
        answer_due(s);
    return 0;
}

static int on_through(struct stream *s, const struct answer *answer, const char *reply, size_t len,
                      struct err *err)
{
    if (answer->line < s->wire_line || answer->line - s->wire_line > window_in_flight(&s->window))
        return on_foreign("counts of lines that are not due", reply, len, err);
    while (s->wire_line < answer->line)
        answer_due(s);
    for (int i = VERDICT_NEW; i < VERDICT_COUNT; i++)
        s->tally.verdicts[i] += answer->verdicts[i] - s->discount[i];
    memset(s->discount, 0, sizeof s->discount);
    return 0;
}

static int on_reply(struct stream *s, const char *reply, size_t len, struct err *err)
{
    struct answer answer;

    answer_read(&s->wants, reply, len, &answer);
    if (!s->opened)
        return on_opening_reply(s, &answer, reply, len, err);
    if (answer.kind == ANSWER_LINE)
        return on_line(s, &answer, reply, len, err);
    if (answer.kind == ANSWER_THROUGH && s->options.batch)
        return on_through(s, &answer, reply, len, err);
    return on_foreign("no reply of tradesieved", reply, len, err);
}

/* err says why; it becomes the result when the daemon was never reached or this was the last try. */
static int on_lost(struct stream *s, struct err *err)
{
    wire_disconnect(&s->wire);
    if (is_over(s))
        return 0;
    if (!s->began_us || s->failures++ == s->options.retries) {
        char to[ADDRESS_TEXT_MAX];

        address_format(&s->options.to, to, sizeof to);
        return err_prefix(err, "%s %s", s->began_us ? "gave up on" : "cannot connect to", to);
    }
    s->tally.resent += window_rewind(&s->window);
    s->tally.lines += window_cut(&s->window);
    s->resume_us = clock_mono_us() + delay_us(s->failures);
    s->state = STREAM_WAITING;
    return 0;
}
