/* identity: key and fingerprint of one trade as its profile says, written to the end of an arena, or
 * the reason why it has none. Pure; any thread. */
#ifndef INGEST_IDENTITY_H
#define INGEST_IDENTITY_H

#include "base/text.h"
#include "ingest/feed.h"
#include "ingest/profile.h"
#include "store/batch.h"

/* What is wrong with a trade: the code and, in two pieces, a sentence for people. */
struct identity_fault {
    enum reason reason;
    const char *sentence; /* static */
    const char *label;    /* the path it speaks of, or "" ; lives as long as the profile */
};

/* Appends the key to arena. On failure (a fault's reason, which is also returned) arena is as it was. */
enum reason identity_add_key(struct text *arena, const struct profile *profile,
                             const struct feed_context *context, const struct profile_values *values,
                             struct identity_fault *ret_fault);

/* The fingerprint of the content. Uses the arena's end and leaves it as it was. */
enum reason identity_fingerprint(struct text *arena, const struct profile *profile,
                                 const struct profile_values *values, uint64_t *ret,
                                 struct identity_fault *ret_fault);

#endif
