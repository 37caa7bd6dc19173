/* loader: the plain program that everything is held against: one process, one SQLite file with the
 * table of a segment and its settings, an INSERT a trade. No socket, no JSON, no filter. */
#ifndef TESTS_BENCH_LOADER_H
#define TESTS_BENCH_LOADER_H

#include <stdint.h>

/* Stores so many new trades with random IDs in DIR/loader.db; returns trades a second. */
double loader_run(const char *dir, uint64_t trades, uint64_t commit_trades);

#endif
