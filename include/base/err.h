/* err: what went wrong, in one line, with the exit code it leads to.
 *
 * Every fallible function returns 0 or a negative err_code and describes the failure in the
 * struct err it was given. A message gains context on the way up (err_prefix); only the daemon's
 * and the tool's main files print one. No thread affinity; no allocation. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/* name, value, process exit code (interface.md), what it stands for */
#define ERR_TABLE(X)                                                                                   \
    X(ERR_USAGE, -1, 64, "usage")                                                                      \
    X(ERR_CORRUPT, -2, 65, "the store is corrupt or foreign")                                          \
    X(ERR_SYSTEM, -3, 71, "the system refused")                                                        \
    X(ERR_IO, -4, 74, "I/O error, outcome unknown")                                                    \
    X(ERR_LOCKED, -5, 75, "another daemon has the data directory")                                     \
    X(ERR_CONFIG, -6, 78, "configuration")                                                             \
    X(ERR_FULL, -7, 74, "no space left; nothing was stored")                                           \
    X(ERR_BUSY, -8, 74, "the database is busy; nothing was stored")

enum err_code {
#define X(name, value, exit_code, text) name = value,
    ERR_TABLE(X)
#undef X
};

enum { ERR_TEXT_MAX = 512 }; /* longer messages are cut */

struct err {
    enum err_code code;
    char text[ERR_TEXT_MAX]; /* one line, always terminated, control characters made '?' */
};

/* Sets code and message; returns the code, so that `return err_set(...)` reads well. */
int err_set(struct err *err, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the message; returns the code that stands in err. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The process exit code of a negative err_code. */
int err_exit_code(int code);

#endif
