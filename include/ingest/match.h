/* match: whether the conditions of a profile's match object hold. Pure; any thread. */
#ifndef INGEST_MATCH_H
#define INGEST_MATCH_H

#include "base/text.h"
#include "ingest/profile.h"

enum match_answer { MATCH_NO, MATCH_YES, MATCH_TWICE };

/* Reads the conditions in order up to the first that does not hold. MATCH_TWICE when a value that was
 * read stands twice; *ret_label is then its path. scratch is left as it was. */
enum match_answer match_all(const struct profile_condition *conditions, unsigned n,
                            const struct profile_values *values, struct text *scratch,
                            const char **ret_label);

#endif
