#include "ingest/connection.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ingest/opening.h"
#include "ingest/scan.h"

enum {
    ROOM_BYTES_MIN = 16 * 1024, /* a read is not offered less than this */
    TOO_LONG_KEPT_BYTES = 4096, /* of a line that is too long, for those who look at rejects */
};

/* The replies that the socket did not take at once. */
struct rest {
    uv_write_t write;    /* data: the connection */
    struct text replies; /* owned */
};

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret);
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);
static void on_written(uv_write_t *write, int status);
static void on_shut(uv_shutdown_t *shutdown, int status);
static void on_closed(uv_handle_t *handle);

/* ---- 1. accepted ---- */

static int open_stream(struct connection *c, int fd, bool tcp)
{
    if (tcp) {
        uv_tcp_init(c->hub->loop, &c->uv.tcp);
        return uv_tcp_open(&c->uv.tcp, fd);
    }
    uv_pipe_init(c->hub->loop, &c->uv.pipe, 0);
    return uv_pipe_open(&c->uv.pipe, fd);
}

void connection_open(struct hub *hub, const struct intake *intake, int fd, bool tcp)
{
    struct connection *c = mem_zalloc(1, sizeof *c);

    c->hub = hub;
    c->intake = intake;
    c->ack = intake->ack;
    c->finished_last = &c->finished;
    frame_init(&c->frame, feed_line_bytes(intake->feed, &intake->context, hub->config->max_line_bytes));
    hub_add(hub, c);
    hub->open++;
    hub->accepted++;
    hub_publish(hub);
    int rc = open_stream(c, fd, tcp);

    c->uv.handle.data = c;
    if (rc < 0) {
        close(fd);
        connection_close(c);
        return;
    }
    connection_advance(c);
}

/* ---- 2. reading ---- */

static bool may_read(const struct connection *c)
{
    return c->state == CONNECTION_OPEN && c->hub->room &&
           c->bytes_in_flight <= hub_share_bytes(c->hub) &&
           c->unsent_bytes <= c->hub->config->ack_backlog_bytes;
}

static void set_paused(struct connection *c, bool paused)
{
    if (paused == c->paused)
        return;
    c->paused = paused;
    c->hub->paused = paused ? c->hub->paused + 1 : c->hub->paused - 1;
    hub_publish(c->hub);
}

static void set_reading(struct connection *c, bool reading)
{
    if (reading == c->reading)
        return;
    c->reading = reading;
    if (!reading)
        uv_read_stop(&c->uv.stream);
    else if (uv_read_start(&c->uv.stream, on_alloc, on_read) < 0)
        connection_close(c);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct connection *c = handle->data;

    (void)suggested;
    if (c->state == CONNECTION_LINGERING) {
        *ret = uv_buf_init(c->hub->discard, sizeof c->hub->discard);
        return;
    }
    if (!c->batch)
        c->batch = hub_take_batch(c->hub);
    struct text *bytes = &c->batch->bytes;

    if (bytes->cap - bytes->len < ROOM_BYTES_MIN)
        text_reserve(bytes, HUB_READ_BYTES);
    size_t room = bytes->cap - bytes->len;

    *ret =
        uv_buf_init(bytes->at + bytes->len, (unsigned)(room < HUB_READ_BYTES ? room : HUB_READ_BYTES));
}

static void take_bytes(struct connection *c, size_t n);
static void take_end(struct connection *c);
static void discard(struct connection *c, ssize_t n);
static void give_up_empty_batch(struct connection *c);

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct connection *c = stream->data;

    (void)buf;
    if (n == 0)
        give_up_empty_batch(c);
    else if (c->state == CONNECTION_LINGERING)
        discard(c, n);
    else if (n > 0)
        take_bytes(c, (size_t)n);
    else if (n == UV_EOF)
        take_end(c);
    else
        connection_close(c);
    connection_settle_all(c->hub);
}

static void take_bytes(struct connection *c, size_t n)
{
    c->batch->bytes.len += n;
    c->batch->received_us = clock_wall_us();
    c->batch->read_mono_us = clock_mono_us();
    hub_move_last(c->hub, c);
    connection_advance(c);
}

/* ---- 3. lines ---- */

static void count_lines(struct connection *c, bool truncated)
{
    if (c->frame.line == c->lines_counted)
        return;
    stats_count_lines(c->hub->stats, c->frame.line - c->lines_counted, truncated);
    c->lines_counted = c->frame.line;
}

/* True if the line was an opening, good or bad. */
static bool take_opening(struct connection *c, size_t at, size_t len)
{
    struct batch *batch = c->batch;
    const char *detail;
    enum opening_result result = opening_read(batch->bytes.at + at, len, &c->ack, &detail);

    if (result == OPENING_NONE)
        return false;
    struct batch_line *line = batch_add_line(batch);

    line->number = c->frame.line;
    line->form = LINE_OPENING;
    line->reply_at = (uint32_t)batch->arena.len;
    if (result == OPENING_BAD) {
        opening_add_refusal(&batch->arena, c->frame.line, detail);
        c->over = true;
    } else {
        opening_add_reply(&batch->arena, c->ack, c->intake->feed_name);
    }
    line->reply_len = (uint32_t)(batch->arena.len - line->reply_at);
    return true;
}

static void take_line(struct connection *c, size_t at, size_t len)
{
    bool first = !c->begun;

    c->begun = true;
    if (first && take_opening(c, at, len))
        return;
    feed_judge(c->intake->feed, &c->intake->context, c->batch, at, len, c->frame.line);
}

static void take_too_long(struct connection *c)
{
    struct batch *batch = c->batch;
    struct batch_line *line = batch_add_line(batch);
    struct batch_trade *trade = batch_add_trade(batch);
    size_t len = batch->bytes.len - c->frame.at;

    line->number = c->frame.line;
    line->trades_n = 1;
    trade->verdict = VERDICT_INVALID;
    trade->reason = REASON_LINE_TOO_LONG;
    trade->message_at = (uint32_t)c->frame.at;
    trade->message_len = (uint32_t)(len < TOO_LONG_KEPT_BYTES ? len : TOO_LONG_KEPT_BYTES);
    trade->detail_at = (uint32_t)batch->arena.len;
    text_add_format(&batch->arena, "more than %zu bytes without the line's end",
                    c->frame.max_line_bytes);
    trade->detail_len = (uint32_t)(batch->arena.len - trade->detail_at);
    c->over = true;
}

/* Judges complete lines until there is none or the batch is full. */
static void fill_batch(struct connection *c)
{
    struct batch *batch = c->batch;
    enum frame_result result;
    size_t at, len;

    while (!c->over && batch->trades_n < CONNECTION_BATCH_TRADES &&
           batch->arena.len < CONNECTION_BATCH_BYTES) {
        result = frame_next(&c->frame, batch->bytes.at, batch->bytes.len, &at, &len);
        if (result == FRAME_MORE)
            return;
        if (result == FRAME_TOO_LONG)
            take_too_long(c);
        else
            take_line(c, at, len);
    }
}

static void give_up_empty_batch(struct connection *c)
{
    if (!c->batch || c->batch->bytes.len > 0)
        return;
    hub_give_batch(c->hub, c->batch);
    c->batch = NULL;
}

/* No complete line: what is there of the next one goes to the front, so that blank lines without end
 * cannot make the buffer grow. */
static void keep_partial(struct connection *c)
{
    struct text *bytes = &c->batch->bytes;

    count_lines(c, false);
    if (c->frame.at > 0) {
        bytes->len -= c->frame.at;
        memmove(bytes->at, bytes->at + c->frame.at, bytes->len);
        frame_rebase(&c->frame);
    }
    give_up_empty_batch(c);
}

static void submit_batch(struct connection *c);
static void end_input(struct connection *c);

static void take_lines(struct connection *c, bool past_bounds)
{
    while (c->state == CONNECTION_OPEN && c->batch && (past_bounds || may_read(c))) {
        fill_batch(c);
        if (c->batch->lines_n == 0) {
            keep_partial(c);
            return;
        }
        submit_batch(c);
        if (c->over)
            end_input(c);
    }
}

/* ---- 4. to the store ---- */

/* What follows the judged lines, complete lines included, moves into another batch. */
static struct batch *split_tail(struct connection *c)
{
    struct batch *batch = c->batch;
    struct batch *next = NULL;

    if (c->frame.at < batch->bytes.len && !c->over) {
        next = hub_take_batch(c->hub);
        text_add(&next->bytes, batch->bytes.at + c->frame.at, batch->bytes.len - c->frame.at);
        next->received_us = batch->received_us;
        next->read_mono_us = batch->read_mono_us;
    }
    frame_rebase(&c->frame);
    return next;
}

static size_t count_questions(const struct batch *batch)
{
    size_t n = 0;

    for (size_t i = 0; i < batch->trades_n; i++)
        n += batch->trades[i].verdict == VERDICT_NONE;
    return n;
}

static void submit_batch(struct connection *c)
{
    struct batch *batch = c->batch;

    count_lines(c, false);
    c->batch = split_tail(c);
    batch->owner = c;
    batch->feed = c->intake->feed_name;
    batch->feed_index = c->intake->feed_index;
    batch->ask_n = count_questions(batch);
    c->batches_in_flight++;
    c->bytes_in_flight += batch_memory(batch);
    hub_submit(c->hub, batch);
}

/* ---- 5. back with verdicts ---- */

void connection_take_back(struct connection *c, struct batch *batch)
{
    struct hub *hub = c->hub;

    batch->next = NULL;
    *c->finished_last = batch;
    c->finished_last = &batch->next;
    c->batches_in_flight--;
    c->bytes_in_flight -= batch_memory(batch);
    hub_note_return(hub, batch);
    if (c->touched)
        return;
    c->touched = true;
    c->next_touched = hub->touched;
    hub->touched = c;
}

static void note_unsent(struct connection *c, size_t bytes)
{
    c->hub->unsent_bytes += bytes;
    c->hub->unsent_bytes -= c->unsent_bytes;
    c->unsent_bytes = bytes;
}

/* Its own backlog is full and everybody's together is too large: this one goes. */
static bool is_a_burden(const struct connection *c)
{
    return c->hub->unsent_bytes > c->hub->config->queue_bytes &&
           c->unsent_bytes > c->hub->config->ack_backlog_bytes;
}

static void close_slow(struct connection *c)
{
    hub_event(c->hub, SERVER_SLOW_PEER,
              is_a_burden(c) ? "the unsent replies of all peers are too much; one was closed"
                             : "a peer that took no replies was closed");
    connection_close(c);
}

static void queue_rest(struct connection *c, size_t sent)
{
    struct rest *rest = mem_zalloc(1, sizeof *rest);
    uv_buf_t buf;

    if (c->unsent_bytes == 0) {
        c->taken_bytes = c->handed_bytes - (c->hub->replies.len - sent);
        c->taken_mono_us = clock_mono_us();
    }
    rest->replies = c->hub->replies;
    c->hub->replies = (struct text){0};
    rest->write.data = c;
    buf = uv_buf_init(rest->replies.at + sent, (unsigned)(rest->replies.len - sent));
    if (uv_write(&rest->write, &c->uv.stream, &buf, 1, on_written) < 0) {
        text_done(&rest->replies);
        free(rest);
        connection_close(c);
        return;
    }
    note_unsent(c, c->uv.stream.write_queue_size);
}

static void write_replies(struct connection *c)
{
    struct text *replies = &c->hub->replies;
    uv_buf_t buf = uv_buf_init(replies->at, (unsigned)replies->len);
    int sent = UV_EAGAIN;

    if (c->uv.stream.write_queue_size == 0)
        sent = uv_try_write(&c->uv.stream, &buf, 1);
    if (sent < 0 && sent != UV_EAGAIN) {
        connection_close(c);
        return;
    }
    c->handed_bytes += replies->len;
    if (sent < 0)
        sent = 0;
    if ((size_t)sent < replies->len)
        queue_rest(c, (size_t)sent);
}

static void on_written(uv_write_t *write, int status)
{
    struct rest *rest = (struct rest *)write;
    struct connection *c = write->data;
    struct hub *hub = c->hub;

    text_done(&rest->replies);
    free(rest);
    if (c->state == CONNECTION_CLOSED)
        return;
    note_unsent(c, c->uv.stream.write_queue_size);
    if (status < 0)
        connection_close(c);
    connection_advance(c);
    connection_settle_all(hub);
}

static bool is_answered(const struct batch *batch)
{
    for (size_t i = 0; i < batch->trades_n; i++)
        if (batch->trades[i].verdict == VERDICT_NONE)
            return false;
    return true;
}

/* Counts the finished batches and turns them into hub->replies, up to one without verdicts: what came
 * before that is durable, and the peer still hears of it. */
static void make_replies(struct connection *c)
{
    for (struct batch *batch = c->finished; batch && !c->unanswerable; batch = batch->next) {
        c->unanswerable = !is_answered(batch);
        if (c->unanswerable)
            break;
        stats_count_verdicts(c->hub->stats, batch);
        reply_add(&c->hub->replies, c->ack, batch, &c->progress);
    }
    reply_add_progress(&c->hub->replies, &c->progress);
}

static void give_back_finished(struct connection *c, bool replied)
{
    int64_t now = clock_mono_us();

    while (c->finished) {
        struct batch *batch = c->finished;

        c->finished = batch->next;
        if (replied && is_answered(batch))
            stats_count_ack(c->hub->stats, now - batch->read_mono_us, batch->trades_n);
        hub_give_batch(c->hub, batch);
    }
    c->finished_last = &c->finished;
}

static void clear_replies(struct hub *hub)
{
    hub->replies.len = 0;
    if (hub->replies.cap > HUB_KEEP_REPLY_BYTES)
        text_done(&hub->replies);
}

static void free_if_done(struct connection *c);

void connection_answer(struct connection *c)
{
    c->touched = false;
    make_replies(c);
    if (c->state != CONNECTION_CLOSED && is_a_burden(c))
        close_slow(c);
    if (c->state != CONNECTION_CLOSED && c->hub->replies.len > 0)
        write_replies(c);
    clear_replies(c->hub);
    give_back_finished(c, c->state != CONNECTION_CLOSED && c->ack != ACK_NONE);
    if (c->unanswerable)
        connection_close(c);
    connection_advance(c);
    free_if_done(c);
}

/* ---- 6. the end of input ---- */

/* A last line that is no JSON text was cut off, whichever byte shows it first: one verdict, bad_json. A
 * complete one is answered as if its end had come, whatever is wrong with it; so is one that is too
 * deep, since nobody looks for its end. */
static bool mark_truncated(struct batch *batch, size_t at, size_t len)
{
    enum scan_result result = scan_text(batch->bytes.at + at, len, NULL, NULL, NULL);

    if (batch->trades_n > 0 && batch->trades[batch->trades_n - 1].reason == REASON_BAD_JSON)
        return true; /* by its feed, to which it may have been less deep than to us */
    if (result == SCAN_OK || result == SCAN_TOO_DEEP)
        return false;
    assert(batch->trades_n > 0 && batch->trades[batch->trades_n - 1].verdict == VERDICT_INVALID);
    batch->trades[batch->trades_n - 1].reason = REASON_BAD_JSON;
    return true;
}

static void take_last_line(struct connection *c)
{
    struct batch *batch = c->batch;
    size_t at, len;
    enum frame_result result = frame_last(&c->frame, batch->bytes.at, batch->bytes.len, &at, &len);

    assert(result != FRAME_TOO_LONG); /* frame_next has seen these bytes */
    if (result == FRAME_LINE) {
        take_line(c, at, len);
        count_lines(c, mark_truncated(batch, at, len));
        submit_batch(c);
    } else {
        count_lines(c, false);
    }
}

static void take_end(struct connection *c)
{
    c->peer_done = true;
    take_lines(c, true);
    if (c->state == CONNECTION_OPEN && c->batch)
        take_last_line(c);
    if (c->state == CONNECTION_OPEN)
        end_input(c);
    connection_advance(c);
}

void connection_drain(struct connection *c)
{
    take_lines(c, true);
    if (c->state == CONNECTION_OPEN)
        end_input(c);
    connection_advance(c);
}

static void end_input(struct connection *c)
{
    c->state = CONNECTION_ENDING;
    set_reading(c, false);
    set_paused(c, false);
    hub_give_batch(c->hub, c->batch);
    c->batch = NULL;
}

void connection_advance(struct connection *c)
{
    if (c->state == CONNECTION_OPEN) {
        take_lines(c, false);
        if (c->state == CONNECTION_OPEN) {
            bool may = may_read(c);

            set_paused(c, !may);
            set_reading(c, may);
        }
    }
    if (c->state != CONNECTION_ENDING || c->batches_in_flight || c->finished || c->unsent_bytes)
        return;
    if (c->peer_done) {
        connection_close(c);
        return;
    }
    c->state = CONNECTION_LINGERING;
    c->linger_until_us = clock_mono_us() + CONNECTION_LINGER_US;
    uv_shutdown(&c->shutdown, &c->uv.stream, on_shut);
    set_reading(c, true);
}

/* ---- 7. lingering, closing ---- */

static void on_shut(uv_shutdown_t *shutdown, int status)
{
    (void)shutdown; /* a peer that is gone shows when it is read */
    (void)status;
}

static void discard(struct connection *c, ssize_t n)
{
    if (n > 0)
        c->lingered_bytes += (size_t)n;
    if (n < 0 || c->lingered_bytes > CONNECTION_LINGER_BYTES)
        connection_close(c);
}

/* True if the peer took something since the last look, or owes nothing. */
static bool makes_progress(struct connection *c, int64_t now_mono_us)
{
    note_unsent(c, c->uv.stream.write_queue_size);
    uint64_t taken = c->handed_bytes - c->unsent_bytes;

    if (c->unsent_bytes > 0 && taken == c->taken_bytes)
        return false;
    c->taken_bytes = taken;
    c->taken_mono_us = now_mono_us;
    return true;
}

void connection_check_time(struct connection *c, int64_t now_mono_us)
{
    int64_t patience_us = (int64_t)c->hub->config->slow_reader_timeout_s * 1000000;

    if (is_a_burden(c) && patience_us > CONNECTION_BURDEN_US)
        patience_us = CONNECTION_BURDEN_US;
    if (c->state == CONNECTION_CLOSED)
        return;
    if (c->state == CONNECTION_LINGERING) {
        if (now_mono_us >= c->linger_until_us)
            connection_close(c);
        return;
    }
    if (makes_progress(c, now_mono_us) || now_mono_us - c->taken_mono_us < patience_us)
        return;
    close_slow(c);
}

void connection_close(struct connection *c)
{
    if (c->state == CONNECTION_CLOSED)
        return;
    c->state = CONNECTION_CLOSED;
    set_paused(c, false);
    note_unsent(c, 0);
    hub_give_batch(c->hub, c->batch);
    c->batch = NULL;
    c->hub->open--;
    hub_publish(c->hub);
    uv_close(&c->uv.handle, on_closed);
}

static void on_closed(uv_handle_t *handle)
{
    struct connection *c = handle->data;
    struct hub *hub = c->hub;

    c->handle_closed = true;
    free_if_done(c);
    if (hub->on_gone)
        hub->on_gone(hub);
}

static void free_if_done(struct connection *c)
{
    struct hub *hub = c->hub;

    if (!c->handle_closed || c->batches_in_flight || c->finished)
        return;
    hub_remove(hub, c);
    connection_free(c);
    if (hub->on_gone)
        hub->on_gone(hub);
}

void connection_free(struct connection *c)
{
    while (c->finished) {
        struct batch *batch = c->finished;

        c->finished = batch->next;
        batch_close(batch);
    }
    free(c);
}

void connection_settle_all(struct hub *hub)
{
    while (hub->room_changed) {
        hub->room_changed = false;
        for (struct connection *c = hub->first; c; c = c->next)
            connection_advance(c);
    }
}
