/* config: the configuration file and the command line, checked, with every default filled in.
 *
 * Reads once at start on the main thread; immutable afterwards. Every key has one row in one table
 * (path, type, range, default), which reading, --check-config and the documents' check share. */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <stdbool.h>

#include "base/err.h"
#include "ingest/server.h"
#include "report/http.h"
#include "store/writer.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

struct config {
    char *data_dir;
    char *endpoints_file; /* or NULL */
    char *feeds_dir;
    bool check_only; /* --check-config */
    enum log_level log_level;
    struct server_config server; /* listeners point at feeds below */
    struct http_config http;
    struct writer_config writer; /* store.data_dir points at data_dir; callbacks are main's */
    uint64_t snapshot_interval_s, snapshot_rows; /* of filter snapshots */
    struct feed **feeds;                         /* built in ones and every file of feeds_dir */
    size_t feeds_n;
};

/* Parses argv; ERR_USAGE or ERR_CONFIG with one line that says what, where and why. --version and
 * --help print and set *ret_done. Free with config_done whatever it returned. */
int config_read(struct config *config, int argc, char **argv, bool *ret_done, struct err *err);
void config_done(struct config *config);

#endif
