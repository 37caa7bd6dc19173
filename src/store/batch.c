#include "store/batch.h"

#include <stdlib.h>

#include "base/mem.h"

enum {
    KEEP_BYTES_MAX = 256 * 1024, /* a reused batch keeps buffers up to this size each */
    KEEP_TRADES_MAX = 4096,
    FIRST_ENTRIES = 64,
};

struct batch *batch_open(void)
{
    return mem_zalloc(1, sizeof(struct batch));
}

void batch_close(struct batch *batch)
{
    if (!batch)
        return;
    text_done(&batch->bytes);
    text_done(&batch->arena);
    free(batch->lines);
    free(batch->trades);
    free(batch);
}

static void empty(struct text *text)
{
    text->len = 0;
    if (text->cap > KEEP_BYTES_MAX)
        text_done(text);
}

void batch_reset(struct batch *batch)
{
    struct batch old = *batch;

    *batch = (struct batch){.bytes = old.bytes, .arena = old.arena};
    empty(&batch->bytes);
    empty(&batch->arena);
    if (old.lines_cap <= KEEP_TRADES_MAX) {
        batch->lines = old.lines;
        batch->lines_cap = old.lines_cap;
    } else {
        free(old.lines);
    }
    if (old.trades_cap <= KEEP_TRADES_MAX) {
        batch->trades = old.trades;
        batch->trades_cap = old.trades_cap;
    } else {
        free(old.trades);
    }
}

struct batch_line *batch_add_line(struct batch *batch)
{
    if (batch->lines_n == batch->lines_cap) {
        batch->lines_cap = batch->lines_cap ? batch->lines_cap * 2 : FIRST_ENTRIES;
        batch->lines = mem_realloc(batch->lines, batch->lines_cap, sizeof *batch->lines);
    }
    batch->lines[batch->lines_n] = (struct batch_line){.trades_first = (uint32_t)batch->trades_n};
    return &batch->lines[batch->lines_n++];
}

struct batch_trade *batch_add_trade(struct batch *batch)
{
    if (batch->trades_n == batch->trades_cap) {
        batch->trades_cap = batch->trades_cap ? batch->trades_cap * 2 : FIRST_ENTRIES;
        batch->trades = mem_realloc(batch->trades, batch->trades_cap, sizeof *batch->trades);
    }
    batch->trades[batch->trades_n] = (struct batch_trade){0};
    return &batch->trades[batch->trades_n++];
}

size_t batch_memory(const struct batch *batch)
{
    return sizeof *batch + batch->bytes.cap + batch->arena.cap +
           batch->lines_cap * sizeof *batch->lines + batch->trades_cap * sizeof *batch->trades;
}

#define X(name, text) [name] = text,
static const char *const verdict_names[] = {VERDICT_TABLE(X)};
static const char *const reason_names[] = {REASON_TABLE(X)};
#undef X

const char *verdict_name(enum verdict verdict)
{
    return verdict_names[verdict];
}

const char *reason_name(enum reason reason)
{
    return reason_names[reason];
}
