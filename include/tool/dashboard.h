/* dashboard: the statistics as one screen that fits a terminal of any size.
 *
 * What matters most stands on top and stays when there is little room. A colour only repeats what a word
 * says. Text from the daemon cannot steer the terminal. Pure; the caller owns what is pointed to. */
#ifndef TOOL_DASHBOARD_H
#define TOOL_DASHBOARD_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { DASHBOARD_HISTORY = 240 };

struct dashboard {
    unsigned columns, rows;
    bool colours;
    bool blocks;         /* the terminal has Unicode's block elements */
    const char *from;    /* whom it shows */
    const cJSON *stats;  /* the last answer */
    const cJSON *before; /* an earlier one, `seconds` before it; NULL: there are no rates */
    double seconds;
    const char *trouble; /* why there is no answer now; NULL: there is one */
    double silent_s;     /* since the last answer */
    /* trades received a second, in a ring; below 0: not known */
    double history[DASHBOARD_HISTORY];
    size_t history_n; /* ever added */
};

/* Takes over an answer: rates are made from this one and the last. A daemon that was started anew has no
 * rates yet. */
void dashboard_note(struct dashboard *dashboard, const cJSON *stats, double seconds);

/* A question without an answer. */
void dashboard_note_silence(struct dashboard *dashboard, const char *trouble, double silent_s);

/* Appends at most `rows` lines of at most `columns` - 1 columns. */
void dashboard_add(struct text *out, const struct dashboard *dashboard);

#endif
