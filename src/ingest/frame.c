#include "ingest/frame.h"

#include <string.h>

static const char byte_order_mark[] = "\xef\xbb\xbf";
enum { BYTE_ORDER_MARK_BYTES = 3 };

void frame_init(struct frame *frame, size_t max_line_bytes)
{
    *frame = (struct frame){.max_line_bytes = max_line_bytes};
}

/* False while the bytes may still become a byte order mark. */
static bool begin(struct frame *frame, const char *bytes, size_t len)
{
    size_t n = len < BYTE_ORDER_MARK_BYTES ? len : BYTE_ORDER_MARK_BYTES;

    if (memcmp(bytes, byte_order_mark, n) == 0) {
        if (n < BYTE_ORDER_MARK_BYTES)
            return false;
        frame->at = frame->scanned = BYTE_ORDER_MARK_BYTES;
    }
    frame->begun = true;
    return true;
}

static bool is_blank(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (line[i] != ' ' && line[i] != '\t')
            return false;
    return true;
}

/* A CR before the line's end, or before an end that is still to come, is no part of the line. */
static size_t length_without_cr(const char *line, size_t len)
{
    return len && line[len - 1] == '\r' ? len - 1 : len;
}

/* Steps over the line that ends before `end`; the next one begins at `next`. */
static enum frame_result step(struct frame *frame, const char *bytes, size_t end, size_t next,
                              size_t *ret_at, size_t *ret_len)
{
    size_t at = frame->at;
    size_t len = length_without_cr(bytes + at, end - at);

    frame->line++;
    if (len > frame->max_line_bytes)
        return FRAME_TOO_LONG;
    frame->at = frame->scanned = next;
    if (is_blank(bytes + at, len))
        return FRAME_MORE;
    *ret_at = at;
    *ret_len = len;
    return FRAME_LINE;
}

enum frame_result frame_next(struct frame *frame, const char *bytes, size_t len, size_t *ret_at,
                             size_t *ret_len)
{
    const char *feed;

    if (len == 0 || (!frame->begun && !begin(frame, bytes, len)))
        return FRAME_MORE;
    while ((feed = memchr(bytes + frame->scanned, '\n', len - frame->scanned))) {
        size_t end = (size_t)(feed - bytes);
        enum frame_result result = step(frame, bytes, end, end + 1, ret_at, ret_len);

        if (result != FRAME_MORE)
            return result;
    }
    frame->scanned = len;
    if (length_without_cr(bytes + frame->at, len - frame->at) <= frame->max_line_bytes)
        return FRAME_MORE;
    frame->line++;
    return FRAME_TOO_LONG;
}

enum frame_result frame_last(struct frame *frame, const char *bytes, size_t len, size_t *ret_at,
                             size_t *ret_len)
{
    if (frame->at == len)
        return FRAME_MORE;
    return step(frame, bytes, len, len, ret_at, ret_len);
}

void frame_rebase(struct frame *frame)
{
    frame->scanned -= frame->at;
    frame->at = 0;
}
