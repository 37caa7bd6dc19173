#include "replies.h"

#include <string.h>

#include "measure.h"

static const char verdict[] = "\"verdict\":\"";

static void count_one(struct replies *replies, const char *line, size_t len)
{
    const char *at = memmem(line, len, verdict, sizeof verdict - 1);
    const char *text = at ? at + sizeof verdict - 1 : line;

    if (strncmp(text, "new\"", 4) == 0)
        replies->fresh++;
    else if (strncmp(text, "duplicate\"", 10) == 0)
        replies->duplicates++;
    else
        measure_must(false, "unexpected reply %.*s", (int)len, line);
}

void replies_count(struct replies *replies, struct pipe *pipe)
{
    const char *at = pipe->in, *end = pipe->in + pipe->in_len, *feed;

    while ((feed = memchr(at, '\n', (size_t)(end - at)))) {
        count_one(replies, at, (size_t)(feed - at));
        pipe->answered++;
        at = feed + 1;
    }
    pipe_consume(pipe, (size_t)(at - pipe->in));
}
