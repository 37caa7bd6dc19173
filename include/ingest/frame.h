/* frame: cuts a byte stream into lines, the same lines on any split of the bytes.
 *
 * LF or CRLF ends a line; lines of nothing or of spaces and tabs are blank: numbered, not returned.
 * A UTF-8 byte order mark is skipped at the very start. Pure; the caller owns struct and bytes. */
#ifndef INGEST_FRAME_H
#define INGEST_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame {
    uint64_t line;         /* number of the line that was returned last, blank ones counted */
    size_t at;             /* start of the next line in the buffer */
    size_t scanned;        /* at <= scanned: no line feed stands in [at, scanned) */
    size_t max_line_bytes; /* without the line end */
    bool begun;            /* the start of the stream is behind us */
};

enum frame_result {
    FRAME_MORE,     /* no complete line: read on, or the stream ends here */
    FRAME_LINE,     /* *ret_at, *ret_len: a line that is not blank, without its end */
    FRAME_TOO_LONG, /* more than max_line_bytes without the end; line counts it; the stream is over */
};

void frame_init(struct frame *frame, size_t max_line_bytes);

/* The next line in bytes[0, len). */
enum frame_result frame_next(struct frame *frame, const char *bytes, size_t len, size_t *ret_at,
                             size_t *ret_len);

/* At the stream's end: the last line without LF, if there is one that is not blank. */
enum frame_result frame_last(struct frame *frame, const char *bytes, size_t len, size_t *ret_at,
                             size_t *ret_len);

/* The caller has moved bytes[frame->at, len) to the front of another buffer. */
void frame_rebase(struct frame *frame);

#endif
