/* tally: what send counted, and its two summaries. Pure. */
#ifndef TOOL_TALLY_H
#define TOOL_TALLY_H

#include <stdint.h>

#include "base/text.h"
#include "store/batch.h"

struct tally {
    uint64_t lines;                   /* read from the input, blank ones not counted */
    uint64_t answered;                /* of them; a line that ended as retry is answered too */
    uint64_t verdicts[VERDICT_COUNT]; /* trades, by their last verdict */
    uint64_t resent;                  /* lines sent again, after a lost connection or a retry */
    uint64_t reconnects;              /* connections after the first */
    double seconds;                   /* from the first connection to the last answer */
};

uint64_t tally_trades(const struct tally *tally); /* that have a verdict */
double tally_trades_per_s(const struct tally *tally);

void tally_add_summary(const struct tally *tally, struct text *out); /* for people, several lines */
void tally_add_json(const struct tally *tally, struct text *out);    /* one object and a line feed */

#endif
