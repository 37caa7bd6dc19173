/* page: the bodies of /stats and /check as pages for a terminal.
 *
 * Takes what the daemon sent as it comes: a member that is missing or of another type is shown as a
 * dash, and text is shown so that it cannot steer the terminal. Pure. */
#ifndef TOOL_PAGE_H
#define TOOL_PAGE_H

#include <cjson/cJSON.h>

#include "base/text.h"

/* before: an earlier body, `seconds` ago, from which rates are made; NULL: no rates. */
void page_add_stats(struct text *out, const cJSON *stats, const cJSON *before, double seconds);

void page_add_check(struct text *out, const cJSON *check);

#endif
