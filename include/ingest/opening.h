/* opening: the line {"tradesieve":{"ack":"each"|"batch"|"none"}} with which a connection may begin.
 * Pure; any thread. */
#ifndef INGEST_OPENING_H
#define INGEST_OPENING_H

#include <stddef.h>

#include "base/text.h"
#include "ingest/reply.h"

enum opening_result {
    OPENING_NONE, /* a message like any other, whatever it is */
    OPENING_GOOD, /* *ret_mode says what it asks for */
    OPENING_BAD,  /* an opening line with a value that is none: *ret_detail says what is wrong */
};

/* Judges the first line of a connection that is not blank. *ret_detail is a constant. */
enum opening_result opening_read(const char *line, size_t len, enum ack_mode *ret_mode,
                                 const char **ret_detail);

/* Append the reply, without line feed. */
void opening_add_reply(struct text *out, enum ack_mode mode, const char *feed);
void opening_add_refusal(struct text *out, uint64_t line_number, const char *detail);

#endif
