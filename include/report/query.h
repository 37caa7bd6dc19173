/* query: what an HTTP request says besides its path: the key that /check asks for, and whom the Host
 * header names. Pure; any thread. */
#ifndef REPORT_QUERY_H
#define REPORT_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { QUERY_KEY_MAX_BYTES = 8 * 1024 }; /* of a key, decoded */

/* Finds key=... in a query as it was sent (NULL: there is none) and appends it, decoded, to ret_key,
 * which is empty before. Returns what is wrong, for people, or NULL. */
const char *query_read_key(const char *query, struct text *ret_key);

/* Whether a Host header, port included, names an IP address, localhost or one of the hosts. */
bool query_allows_host(const char *host, char *const *hosts, size_t hosts_n);

#endif
