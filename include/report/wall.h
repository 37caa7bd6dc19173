/* wall: the endpoints that draw a filter as a wall of bits: /bits, /owners, /curve, /sweep (docs/http.md).
 *
 * Called on the threads of HTTP connections, one at a time in here. The store thread is asked for copies of a filter's bits
 * and gets to rest two hundred times as long as each took (copies.h); keys come from SQLite on connections of our own
 * (keysets.h). Bounded: bits of a copy, keys that are read and kept, the time of reading, the body. */
#ifndef REPORT_WALL_H
#define REPORT_WALL_H

#include "report/response.h"
#include "store/writer.h"

struct wall;

/* data_dir and writer must outlive it. */
struct wall *wall_open(const char *data_dir, struct writer *writer);
void wall_stop(struct wall *wall);  /* whoever waits or reads gives up soon */
void wall_close(struct wall *wall); /* NULL is fine */

/* query: what stands behind the '?', NULL when there is none. */
void wall_bits(struct wall *wall, const char *query, struct response *ret);
void wall_owners(struct wall *wall, const char *query, struct response *ret);
void wall_curve(struct wall *wall, const char *query, struct response *ret);
void wall_sweep(struct wall *wall, const char *query, struct response *ret);

#endif
