/* profiles: feed profiles that together use all of the profile language, for targets that need one. */
#ifndef TESTS_FUZZ_PROFILES_H
#define TESTS_FUZZ_PROFILES_H

#include "ingest/feed.h"

enum { PROFILES = 12 };

/* The i-th, compiled at its first use; it lives as long as the process. */
const struct feed *profiles_feed(int i);

#endif
