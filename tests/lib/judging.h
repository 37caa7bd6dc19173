/* judging: a line through a feed, and what became of it as one line of text, for tables of cases.
 *
 * "ask KEY" for a trade that goes to the store, "ignored", "invalid ERROR"; the trades form stands in
 * brackets: "[ask KEY1, ignored]". */
#ifndef TESTS_LIB_JUDGING_H
#define TESTS_LIB_JUDGING_H

#include "ingest/feed.h"

struct judging {
    struct feed *feed;
    struct feed_context context; /* source "SRC", the daemon's default limits; change it at will */
    struct batch *batch;         /* the last line and its trades */
    struct text shown;
};

/* From JSON text, from a file or built in; a failure fails the test. */
void judging_parse(struct judging *judging, const char *json);
void judging_load(struct judging *judging, const char *file);
void judging_builtin(struct judging *judging, const char *name);
void judging_done(struct judging *judging);

/* The text lives until the next line. */
const char *judging_line(struct judging *judging, const char *line, size_t len);
const char *judging_str(struct judging *judging, const char *line);

/* The first trade of the last line. */
const struct batch_trade *judging_trade(const struct judging *judging);

#endif
