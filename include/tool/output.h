/* output: much text to standard output, in large writes. Main thread. */
#ifndef TOOL_OUTPUT_H
#define TOOL_OUTPUT_H

#include "base/err.h"
#include "base/text.h"

enum { OUTPUT_BYTES = 256 * 1024 }; /* worth a write */

/* A pipe of the usual 64 KiB would change sides every few hundred lines: a wish. */
void output_widen(void);

/* Writes all of it. ERR_IO, also for a pipe that nobody reads any more where SIGPIPE is ignored. */
int output_write(const struct text *text, struct err *err);

#endif
