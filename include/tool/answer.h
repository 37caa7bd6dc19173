/* answer: what a reply line of the daemon says (interface.md, "The ingest protocol").
 *
 * Reads, never changes; allocates nothing. Pure; any thread. */
#ifndef TOOL_ANSWER_H
#define TOOL_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "ingest/scan.h"
#include "store/batch.h"

enum answer_kind {
    ANSWER_FOREIGN, /* nothing that tradesieved says */
    ANSWER_OPENING, /* {"tradesieve":...}: the opening line is accepted */
    ANSWER_LINE,    /* {"line":n,...}: one line's verdicts */
    ANSWER_THROUGH, /* {"through":n,...}: the counts of all lines up to n since the last such line */
};

struct answer {
    enum answer_kind kind;
    uint64_t line;                    /* n */
    uint64_t verdicts[VERDICT_COUNT]; /* trades by verdict */
};

/* The members that are looked for; filled once. */
struct answer_wants {
    struct scan_want reply;
    struct scan_want trade;
};

void answer_wants_init(struct answer_wants *wants);

/* Reads a reply line without its line feed. */
void answer_read(const struct answer_wants *wants, const char *at, size_t len, struct answer *ret);

#endif
