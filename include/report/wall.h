/* wall: the endpoints that draw a filter as a wall of bits: /bits, /owners, /curve, /sweep (docs/http.md).
 *
 * Called on the threads of HTTP connections, one at a time in here. The store thread is asked for copies of a filter's bits
 * and gets to rest a hundred times as long as each took; keys come from SQLite on connections of our own. Bounded: who waits
 * (WALL_WAITING_MAX), bits a copy (view.h), keys of a filter that are read and remembered, the time of reading. */
#ifndef REPORT_WALL_H
#define REPORT_WALL_H

#include "report/response.h"
#include "store/writer.h"

enum { WALL_WAITING_MAX = 8 };

struct wall;

/* data_dir and writer must outlive it. */
struct wall *wall_open(const char *data_dir, struct writer *writer);
void wall_close(struct wall *wall); /* NULL is fine */

/* query: what stands behind the '?', NULL when there is none. */
void wall_bits(struct wall *wall, const char *query, struct response *ret);
void wall_owners(struct wall *wall, const char *query, struct response *ret);
void wall_curve(struct wall *wall, const char *query, struct response *ret);
void wall_sweep(struct wall *wall, const char *query, struct response *ret);

#endif
