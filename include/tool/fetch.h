/* fetch: one GET request to the daemon's HTTP side, with libcurl. Blocks, for timeout_ms at most. */
#ifndef TOOL_FETCH_H
#define TOOL_FETCH_H

#include "base/err.h"
#include "base/text.h"

enum { FETCH_TIMEOUT_MS = 10 * 1000, FETCH_BYTES_MAX = 256 * 1024 * 1024 };

/* Appends the body of http://ADDRESS/PATH to body. address is checked as ADDR:PORT or [IPV6]:PORT
 * (ERR_USAGE); path begins with `/`. A daemon that cannot be reached or answers anything but 200 is
 * ERR_SYSTEM, and the message says which. */
int fetch_get(struct text *body, const char *address, const char *path, long timeout_ms,
              struct err *err);

/* Appends path?key=KEY, the key percent-encoded. */
void fetch_add_query(struct text *out, const char *path, const char *key);

#endif
