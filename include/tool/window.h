/* window: the bounded buffer between input and daemon: every line that is not answered yet.
 *
 * Input is appended as it was read and cut into lines; blank lines and a byte order mark before the
 * first line are skipped. Lines are answered in the order in which they were sent. A line whose
 * verdict was `retry` is held back until window_rewind, which also makes every line that was sent but
 * not answered unsent again: the order of lines never changes.
 *
 *     lines:   first .. due .. next .. last
 *              |        |      |       `- the next line that is cut from the input goes here
 *              |        |      `- the next line to be sent, `part` bytes of it are out
 *              |        `- sent, and answered next
 *              `- `held` lines of verdict retry, then only room that is free at the next rewind
 *
 * There is no allocation a line; bytes grow only for a line that does not fit alone. Pure. */
#ifndef TOOL_WINDOW_H
#define TOOL_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    WINDOW_READ_BYTES = 256 * 1024,      /* room that window_room has at least, when it has any */
    WINDOW_GATHER_BYTES = 512 * 1024,    /* what one window_gather collects, about */
    WINDOW_LINE_MAX = 256 * 1024 * 1024, /* bytes of one line */
};

struct window_line {
    uint64_t at;     /* position in the input of its first byte */
    uint64_t number; /* of the line in the input, from 1, blank ones counted */
    uint32_t len;    /* bytes, line feed included */
    uint16_t tries;  /* verdicts retry so far */
    bool again;      /* the answer that is being counted is retry, and the line is to be sent again */
};

struct window {
    char *bytes;
    size_t cap;
    uint64_t base;                   /* position in the input of bytes[0] */
    uint64_t cut;                    /* lines were cut up to here */
    uint64_t scanned;                /* cut <= scanned <= end: no line feed in [cut, scanned) */
    uint64_t end;                    /* bytes are filled up to here */
    struct window_line *lines;       /* a ring; ring numbers only grow */
    uint64_t lines_max;              /* its size */
    uint64_t first, due, next, last; /* see the picture */
    uint64_t held;                   /* lines [first, first + held) wait for the rewind */
    size_t part;                     /* bytes of line `next` that were sent */
    uint64_t number;                 /* lines of the input so far */
    bool at_start;                   /* of a file: a byte order mark may come */
};

void window_init(struct window *w, uint64_t lines_max);
void window_done(struct window *w);

/* Where input may be written, and how much; *ret_room 0 while the window is full. */
char *window_room(struct window *w, size_t *ret_room);

/* Whether the line that is being collected has reached WINDOW_LINE_MAX: it never will fit. */
bool window_line_too_long(const struct window *w);

/* n bytes were written there. Returns how many lines became part of the window. */
uint64_t window_add(struct window *w, size_t n);

/* The file ended: a last line without line feed gets one. Returns 1 if there was such a line. */
uint64_t window_end_file(struct window *w);

/* After answers made room: cuts lines that were read already. Returns how many. */
uint64_t window_cut(struct window *w);

/* Unsent bytes as pieces for sendmsg; with only_rest no more than the rest of a line that is partly
 * sent. */
bool window_has_unsent(const struct window *w, bool only_rest);
size_t window_gather(const struct window *w, struct iovec *pieces, size_t max, bool only_rest);

/* The first n of those bytes were sent. */
void window_sent(struct window *w, size_t n);

/* The line that is to be answered after `ahead` others, NULL when it was not sent, not even in part. */
struct window_line *window_due(const struct window *w, uint64_t ahead);

/* The line due is answered: it leaves, or is held when its `again` is set (which is then cleared).
 * A line that was not wholly sent is not sent further. */
void window_answer(struct window *w);

/* Everything in the window is unsent again, held lines first. Returns how many lines were sent before. */
uint64_t window_rewind(struct window *w);

/* Lines in the window, held ones included. */
uint64_t window_count(const struct window *w);

/* Lines that were sent, at least in part, and not answered. */
uint64_t window_in_flight(const struct window *w);

/* The most verdicts retry that a held line has had. */
unsigned window_tries(const struct window *w);

/* Bytes of input that are answered for. */
uint64_t window_bytes_done(const struct window *w);

#endif
