#include "tool/window.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { LINE_BYTES_USUAL = 512, CAP_MIN = 4 * WINDOW_READ_BYTES };

void window_init(struct window *w, uint64_t lines_max)
{
    assert(lines_max > 0);
    *w = (struct window){.lines_max = lines_max, .at_start = true};
    w->cap = lines_max * LINE_BYTES_USUAL > CAP_MIN ? lines_max * LINE_BYTES_USUAL : CAP_MIN;
    w->bytes = mem_alloc(w->cap);
    w->lines = mem_zalloc(lines_max, sizeof *w->lines);
}

void window_done(struct window *w)
{
    free(w->bytes);
    free(w->lines);
    *w = (struct window){0};
}

static struct window_line *line_at(const struct window *w, uint64_t i)
{
    return &w->lines[i % w->lines_max];
}

static char *byte_at(const struct window *w, uint64_t position)
{
    return w->bytes + (position - w->base);
}

/* The oldest byte that is still needed. */
static uint64_t oldest(const struct window *w)
{
    return w->first < w->last ? line_at(w, w->first)->at : w->cut;
}

static size_t room_left(const struct window *w)
{
    return w->cap - (size_t)(w->end - w->base);
}

/* While lines wait, bytes are moved only when that frees as much as it copies, so that each is moved
 * once on average. A line that does not fit alone makes the buffer grow. */
static void make_room(struct window *w)
{
    uint64_t needed_from = oldest(w);
    size_t freed = (size_t)(needed_from - w->base);
    size_t kept = (size_t)(w->end - needed_from);
    bool alone = w->first == w->last;

    if (freed > 0 && (alone || freed >= kept)) {
        memmove(w->bytes, w->bytes + freed, kept);
        w->base = needed_from;
    }
    if (alone && room_left(w) <= WINDOW_READ_BYTES && w->cap < WINDOW_LINE_MAX) {
        w->cap *= 2;
        w->bytes = mem_realloc(w->bytes, w->cap, 1);
    }
}

char *window_room(struct window *w, size_t *ret_room)
{
    *ret_room = 0;
    if (w->last - w->first == w->lines_max)
        return NULL;
    if (room_left(w) <= WINDOW_READ_BYTES)
        make_room(w);
    /* one byte stays for the line feed of window_end_file */
    *ret_room = room_left(w) > WINDOW_READ_BYTES ? WINDOW_READ_BYTES : 0;
    return byte_at(w, w->end);
}

bool window_line_too_long(const struct window *w)
{
    return w->end - w->cut >= WINDOW_LINE_MAX - WINDOW_READ_BYTES;
}

/* As the daemon sees it: nothing but spaces and tabs before LF or CRLF. */
static bool is_blank(const char *at, size_t len)
{
    len--;
    if (len > 0 && at[len - 1] == '\r')
        len--;
    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
        len--;
    return len == 0;
}

/* The line [cut, end), line feed included. Returns 1 if it joined the window, 0 if it is blank. */
static uint64_t take_line(struct window *w, uint64_t end)
{
    uint64_t at = w->cut;

    if (w->at_start && end - at > 3 && memcmp(byte_at(w, at), "\xef\xbb\xbf", 3) == 0)
        at += 3; /* allowed only where a connection starts, which is the opening line's place */
    w->at_start = false;
    w->cut = w->scanned = end;
    w->number++;
    if (is_blank(byte_at(w, at), (size_t)(end - at)))
        return 0;
    *line_at(w, w->last++) =
        (struct window_line){.at = at, .number = w->number, .len = (uint32_t)(end - at)};
    return 1;
}

uint64_t window_cut(struct window *w)
{
    uint64_t taken = 0;

    while (w->last - w->first < w->lines_max) {
        const char *from = byte_at(w, w->scanned);
        const char *feed = memchr(from, '\n', (size_t)(w->end - w->scanned));

        if (!feed) {
            w->scanned = w->end;
            break;
        }
        taken += take_line(w, w->scanned + (uint64_t)(feed - from) + 1);
    }
    return taken;
}

uint64_t window_add(struct window *w, size_t n)
{
    w->end += n;
    return window_cut(w);
}

uint64_t window_end_file(struct window *w)
{
    uint64_t taken = 0;

    assert(w->end - w->base < w->cap);
    if (w->cut < w->end) {
        *byte_at(w, w->end) = '\n';
        taken = window_add(w, 1);
    }
    w->at_start = true;
    return taken;
}

static uint64_t sendable_end(const struct window *w, bool only_rest)
{
    return only_rest ? w->next + (w->part > 0) : w->last;
}

bool window_has_unsent(const struct window *w, bool only_rest)
{
    return w->next < sendable_end(w, only_rest);
}

size_t window_gather(const struct window *w, struct iovec *pieces, size_t max, bool only_rest)
{
    uint64_t end = sendable_end(w, only_rest);
    size_t n = 0, total = 0;

    for (uint64_t i = w->next; i < end && total < WINDOW_GATHER_BYTES; i++) {
        const struct window_line *line = line_at(w, i);
        size_t sent = i == w->next ? w->part : 0;
        char *at = byte_at(w, line->at) + sent;

        if (n > 0 && (char *)pieces[n - 1].iov_base + pieces[n - 1].iov_len == at)
            pieces[n - 1].iov_len += line->len;
        else if (n < max)
            pieces[n++] = (struct iovec){.iov_base = at, .iov_len = line->len - sent};
        else
            break;
        total += line->len - sent;
    }
    return n;
}

void window_sent(struct window *w, size_t n)
{
    w->part += n;
    while (w->next < w->last && w->part >= line_at(w, w->next)->len)
        w->part -= line_at(w, w->next++)->len;
}

struct window_line *window_due(const struct window *w, uint64_t ahead)
{
    return ahead < window_in_flight(w) ? line_at(w, w->due + ahead) : NULL;
}

void window_answer(struct window *w)
{
    struct window_line *line = line_at(w, w->due);

    assert(window_in_flight(w) > 0);
    w->due++;
    if (line->again) {
        line->again = false;
        line->tries++;
        *line_at(w, w->first + w->held++) = *line;
    } else if (w->held == 0) {
        w->first = w->due;
    }
    if (w->next < w->due) {
        w->next = w->due;
        w->part = 0;
    }
}

uint64_t window_rewind(struct window *w)
{
    uint64_t sent = w->held + window_in_flight(w);

    /* from the last to the first: a held line moves to a place that is free or its own */
    for (uint64_t i = w->held; i-- > 0;)
        *line_at(w, w->due - w->held + i) = *line_at(w, w->first + i);
    for (uint64_t i = w->due; i < w->next; i++)
        line_at(w, i)->again = false;
    w->first = w->due = w->next = w->due - w->held;
    w->held = 0;
    w->part = 0;
    return sent;
}

uint64_t window_count(const struct window *w)
{
    return w->held + (w->last - w->due);
}

uint64_t window_in_flight(const struct window *w)
{
    return w->next - w->due + (w->part > 0);
}

unsigned window_tries(const struct window *w)
{
    unsigned tries = 0;

    for (uint64_t i = w->first; i < w->first + w->held; i++)
        if (line_at(w, i)->tries > tries)
            tries = line_at(w, i)->tries;
    return tries;
}

uint64_t window_bytes_done(const struct window *w)
{
    return w->due < w->last ? line_at(w, w->due)->at : w->cut;
}
