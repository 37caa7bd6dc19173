/* json: the bodies of HTTP answers from plain values, written with cJSON. Any thread.
 *
 * Counters are written in full, digit by digit; doubles with the fewest digits that read back as the
 * same number; what is no number (a rate of nothing asked) is null. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/alerts.h"
#include "report/stats.h"
#include "store/figures.h"
#include "store/store.h"

/* Each returns a terminated string that the caller free()s. */
char *json_stats(const struct stats_values *stats, const struct figures *figures);
char *json_check(const char *key, size_t len, const struct store_answer *answer);
char *json_ready(const struct stats_values *stats, const struct figures *figures, bool *ret_ready);
char *json_live(const char *stuck); /* what makes no progress, or NULL */
char *json_alerts(const struct alert *alerts, size_t n);
char *json_error(const char *reason); /* {"error":reason} */

#endif
