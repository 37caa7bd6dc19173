/* arguments: the daemon's command line. Pure, but for getopt's state: main thread. */
#ifndef DAEMON_ARGUMENTS_H
#define DAEMON_ARGUMENTS_H

#include <stdbool.h>

#include "base/err.h"

#define ARGUMENTS_DEFAULT_FILE "/etc/tradesieve/tradesieve.json"

struct arguments {
    const char *config, *data_dir, *listen, *http, *endpoints_file; /* in argv; NULL: not given */
    bool check_config, version, help;
};

extern const char arguments_usage[];

/* Values are not empty and addresses are well formed, else ERR_USAGE. */
int arguments_parse(struct arguments *ret, int argc, char **argv, struct err *err);

#endif
