/* judged: what must hold of every line that a feed has judged, whatever the line was: how its trades lie
 * in the batch, and that a key has the form of docs/format.md. */
#ifndef TESTS_FUZZ_JUDGED_H
#define TESTS_FUZZ_JUDGED_H

#include <stdbool.h>

#include "ingest/feed.h"

/* The last line of the batch, which stands at bytes[at, at + len). replayed: its key is taken as it is. */
void judged_check(const struct batch *batch, size_t at, size_t len, const struct feed_context *context,
                  bool replayed);

#endif
