/* member: members of what the daemon answered, as it comes: one that is missing or of another type is a
 * dash, text cannot steer the terminal. A path is names with `/` between them, compared exactly. Pure. */
#ifndef TOOL_MEMBER_H
#define TOOL_MEMBER_H

#include <cjson/cJSON.h>

#include "base/text.h"

/* How a number is shown; figure.h has more of these. */
typedef void member_as(struct text *out, double n);

void member_as_count(struct text *out, double n);
void member_as_milliseconds(struct text *out, double n);

/* NULL when there is none. */
const cJSON *member_find(const cJSON *object, const char *path);

/* 0 when there is none, or no number. */
double member_number(const cJSON *object, const char *path);

void member_add(struct text *out, const cJSON *object, const char *path, member_as *as);
void member_add_string(struct text *out, const cJSON *object, const char *path);

#endif
