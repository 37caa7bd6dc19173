/* query: what an HTTP request says besides its path: the parameters of its question, and whom the Host
 * header names. Pure; any thread. */
#ifndef REPORT_QUERY_H
#define REPORT_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { QUERY_KEY_MAX_BYTES = 8 * 1024 }; /* of a key, decoded */

/* Finds NAME=... in a query as it was sent (NULL: there is none) and appends its value, decoded, to ret, which is
 * empty before. Returns what is wrong, for people, or NULL. */
const char *query_read(const char *query, const char *name, struct text *ret, bool *ret_found);

/* Likewise a number of decimal digits; *ret stays as it is when there is none. */
const char *query_read_number(const char *query, const char *name, uint64_t *ret, bool *ret_found);

/* The decimal digits at *at, which moves behind them. False: there are none, or too many. */
bool query_parse_number(const char **at, const char *end, uint64_t *ret);

/* Likewise the key that /check asks for, which may not be missing. */
const char *query_read_key(const char *query, struct text *ret_key);

/* Whether a Host header, port included, names an IP address, localhost or one of the hosts. */
bool query_allows_host(const char *host, char *const *hosts, size_t hosts_n);

#endif
