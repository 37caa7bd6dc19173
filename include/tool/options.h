/* options: the command line of one subcommand, read by a table of rows.
 *
 * --name VALUE, --name=VALUE, a letter for some flags, `--` before operands that begin with a dash;
 * operands may stand anywhere. --help and --version are in every table. No globals; main thread. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum option_kind {
    OPTION_FLAG,     /* no value; ret is a bool */
    OPTION_TEXT,     /* ret is a const char *, which points into argv */
    OPTION_COUNT,    /* 250000, 2.5e5, 250k (k, M, G, T); ret is a uint64_t */
    OPTION_FRACTION, /* 0 <= value < 1, as 0.01, 1e-2 or 1%; ret is a double */
};

enum { OPTION_LIST_MAX = 16 }; /* values of one list */

struct option_row {
    const char *name; /* without the dashes */
    enum option_kind kind;
    void *ret;         /* where the value goes; untouched when the option is not given */
    size_t *list_n;    /* NULL, or: a list, 1,2,3 or the option repeated; ret is an array of
                        * OPTION_LIST_MAX, of which *list_n are filled */
    uint64_t min, max; /* OPTION_COUNT: the range */
    char letter;       /* short form, 0: none */
};

struct options {
    const char *help; /* what --help prints */
    const struct option_row *rows;
    size_t rows_n;
};

/* Reads argv[1..argc) and moves the operands, in order, to argv[1..]. Returns how many operands there
 * are, or ERR_USAGE. --help and --version print and set *ret_done (and 0 is returned): nothing else is to be
 * done. */
int options_read(const struct options *options, int argc, char **argv, bool *ret_done, struct err *err);

/* A value that another module refused (err says why) is a fault of the command line. */
int option_refuse(const char *name, struct err *err);

#endif
