/* progress: send's line on a terminal, drawn again ten times a second. Nothing is drawn when the
 * stream is no terminal. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"
#include "tool/tally.h"

enum { PROGRESS_INTERVAL_MS = 100 };

struct progress {
    FILE *to;        /* NULL: draw nothing */
    bool drawn;      /* the line stands on the terminal */
    int64_t next_us; /* monotonic: not to be drawn again before */
    struct text line;
};

/* `to` is used only if it is a terminal. */
void progress_init(struct progress *progress, FILE *to);
void progress_done(struct progress *progress);

bool progress_is_on(const struct progress *progress);

/* Draws if it is time to. part: fraction of the input that is answered, below 0 when not known. */
void progress_tick(struct progress *progress, const struct tally *tally, double part);

/* Draws in any case and leaves the line. */
void progress_finish(struct progress *progress, const struct tally *tally, double part);

/* Takes the line away, so that something else can be printed; the next tick draws it again. */
void progress_clear(struct progress *progress);

/* The line itself, at most `width` columns. */
void progress_add_line(struct text *out, const struct tally *tally, double part, unsigned width);

#endif
