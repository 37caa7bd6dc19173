/* input: the messages of one run of a peer's client: lines of one size, written by
 * peers/write_messages, read whole before the clock starts. */
#ifndef TESTS_BENCH_INPUT_H
#define TESTS_BENCH_INPUT_H

#include <stdint.h>

#include "messages.h"

struct input {
    char *lines;
    uint64_t n; /* of them */
};

void input_read(struct input *input, const char *file);
void input_done(struct input *input);

static inline const char *input_line(const struct input *input, uint64_t i)
{
    return input->lines + i * MESSAGE_LINE_BYTES;
}

/* Prints the rate since began_us, when all were answered, and how many were new. */
void input_report(const struct input *input, uint64_t fresh, int64_t began_us);

#endif
