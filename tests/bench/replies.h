/* replies: what the daemon answers in ack mode each, counted by verdict. */
#ifndef TESTS_BENCH_REPLIES_H
#define TESTS_BENCH_REPLIES_H

#include <stdint.h>

#include "pipe.h"

struct replies {
    uint64_t fresh;      /* verdict new */
    uint64_t duplicates; /* verdict duplicate */
};

/* Counts and consumes the whole replies that the pipe holds, raising pipe->answered. Any other verdict
 * ends the program. */
void replies_count(struct replies *replies, struct pipe *pipe);

#endif
