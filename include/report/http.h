/* http: the read-only HTTP side, on libmicrohttpd's threads: one that accepts, one a connection.
 *
 * GET and HEAD of what docs/http.md lists. Statistics come from copies, a question about a key goes to the store
 * thread and waits with a deadline, what draws a filter is wall.h's. Bounded: connections (64), request line and
 * headers (32 KiB), a peer's silence (5 s), and the time from accept to the last byte (10 s), for which
 * a thread of ours looks at the connections once a second. One request a connection. */
#ifndef REPORT_HTTP_H
#define REPORT_HTTP_H

#include <stddef.h>

#include "base/err.h"
#include "report/stats.h"
#include "store/writer.h"

struct http_config {
    const char *bind;   /* ADDR:PORT or [IPV6]:PORT */
    char *const *hosts; /* names that a Host header may have besides IP addresses, localhost */
    size_t hosts_n;
    const char *data_dir; /* where the segments are */
    int passed_fd;        /* a socket that listens already, http's from its start; 0: none, it binds */
};

struct http;

/* config, stats and writer must outlive it. ERR_SYSTEM names address and reason. */
int http_start(struct http **ret, const struct http_config *config, struct stats *stats,
               struct writer *writer, struct err *err);
void http_address(const struct http *http, char *ret, size_t ret_bytes);
void http_stop(struct http *http); /* NULL is fine */

#endif
