/* metrics: what /stats says as Prometheus reads it: text format 0.0.4, base units, _total for counters.
 *
 * Every series is there from the start, at 0 or, where nothing is known yet, NaN. Labels are taken from
 * the configuration (feeds) or from fixed lists: no key and no address ever becomes one. docs/statistics.md
 * lists them. Any thread. */
#ifndef REPORT_METRICS_H
#define REPORT_METRICS_H

#include <stdbool.h>

#include "report/stats.h"
#include "store/figures.h"

/* What the system says of this process; read by metrics_process, zeros where it says nothing. */
struct process_values {
    double cpu_s;        /* user and system time */
    double start_time_s; /* since the epoch */
    uint64_t resident_bytes, virtual_bytes;
    uint64_t open_fds, max_fds;
};
void metrics_process(struct process_values *ret);

/* A terminated string that the caller free()s. live: what /livez says. */
char *metrics_text(const struct stats_values *stats, const struct figures *figures,
                   const struct process_values *process, bool live);

#endif
