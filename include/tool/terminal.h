/* terminal: the whole screen of the terminal for a page that is drawn again and again.
 *
 * Owns the screen from terminal_open to terminal_close: the alternate one, without cursor, keys unechoed and
 * at once; and the signals that end, stop or resize it, which wait until terminal_wait takes them. Stopped by
 * ^Z it gives the screen back until it goes on. Main thread. */
#ifndef TOOL_TERMINAL_H
#define TOOL_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

#include "base/err.h"
#include "base/text.h"

enum terminal_event {
    TERMINAL_TIME,   /* the time is over */
    TERMINAL_REDRAW, /* resized, or come back */
    TERMINAL_QUIT,   /* q, ^C, SIGTERM, or the terminal is gone */
};

struct terminal {
    int signals;          /* descriptor; -1: not open */
    bool keys;            /* standard input is a terminal: keys are read */
    struct termios saved; /* how its keys were; if keys */
};

/* Standard output is a terminal that can place text (TERM is not dumb). */
bool terminal_is_there(void);

/* Text may have colours: NO_COLOR (https://no-color.org) is not set; blocks: the locale is UTF-8. */
bool terminal_has_colours(void);
bool terminal_has_blocks(void);

int terminal_open(struct terminal *terminal, struct err *err); /* ERR_SYSTEM */
void terminal_close(struct terminal *terminal);

void terminal_size(unsigned *ret_columns, unsigned *ret_rows);

/* Draws lines that end with a line feed over what stands there, without clearing it first, so that
 * nothing flickers. ERR_IO. */
int terminal_draw(const struct text *lines, struct err *err);

enum terminal_event terminal_wait(struct terminal *terminal, int timeout_ms);

#endif
