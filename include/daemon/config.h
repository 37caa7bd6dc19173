/* config: the configuration file and the command line, checked, with every default filled in.
 *
 * Reads once at start on the main thread; immutable afterwards. Every key has one row in one table
 * (path, type, range, default), which reading, --check-config and the documents' check share. The file
 * is checked as it stands, then the command line replaces what it names. */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "daemon/log.h"
#include "ingest/server.h"
#include "report/http.h"
#include "store/writer.h"

struct config {
    char *data_dir;
    char *endpoints_file; /* or NULL */
    char *feeds_dir;      /* NULL without a configuration file: then there are built-in feeds only */
    char *http_bind;
    char **http_hosts;
    enum log_level log_level;
    struct server_config server; /* listeners point at feeds below */
    struct http_config http;     /* points at http_bind and http_hosts */
    struct writer_config writer; /* store.data_dir points at data_dir; callbacks are main's */
    struct feed **feeds;         /* built in ones and every file of feeds_dir */
    size_t feeds_n;
};

/* Parses argv and the file; ERR_USAGE or ERR_CONFIG with one line that says what, where and why.
 * --version, --help and --check-config print on stdout and set *ret_done: there is nothing left to
 * do. Free with config_done whatever it returned. */
int config_read(struct config *config, int argc, char **argv, bool *ret_done, struct err *err);
void config_done(struct config *config);

#endif
