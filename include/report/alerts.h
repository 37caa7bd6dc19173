/* alerts: the conditions that an operator should know of, judged on the daemon's own figures (docs/http.md). Pure;
 * any thread. */
#ifndef REPORT_ALERTS_H
#define REPORT_ALERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/stats.h"
#include "store/figures.h"

enum { ALERTS_N = 12, ALERT_REASON_MAX = 200 };

struct alert {
    const char *name, *severity; /* static; severity is "critical" or "warning" */
    bool firing;
    char reason[ALERT_REASON_MAX]; /* the figures that decided, in words */
};

/* stuck: what has not come round for so long, or NULL. now_us: monotonic. */
void alerts_judge(const struct stats_values *stats, const struct figures *figures, const char *stuck,
                  int64_t now_us, struct alert ret[ALERTS_N]);

#endif
