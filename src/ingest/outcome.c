#include "ingest/outcome.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum { DETAIL_MAX = 256 }; /* bytes of a sentence for people; longer ones are cut */

void outcome_begin(struct outcome *outcome, struct batch *batch, size_t at, size_t len,
                   uint64_t line_number, enum line_form form)
{
    struct batch_line *line = batch_add_line(batch);

    line->number = line_number;
    line->form = (uint8_t)form;
    *outcome = (struct outcome){
        .batch = batch,
        .at = at,
        .len = len,
        .line = batch->lines_n - 1,
        .trades_first = batch->trades_n,
        .arena_first = batch->arena.len,
    };
}

size_t outcome_trades(const struct outcome *outcome)
{
    return outcome->batch->trades_n - outcome->trades_first;
}

static struct batch_trade *add(struct outcome *outcome, size_t at, size_t len)
{
    struct batch_trade *trade = batch_add_trade(outcome->batch);

    outcome->batch->lines[outcome->line].trades_n++;
    trade->message_at = (uint32_t)at;
    trade->message_len = (uint32_t)len;
    return trade;
}

struct batch_trade *outcome_add(struct outcome *outcome, const struct scan_value *value)
{
    return add(outcome, (size_t)(value->at - outcome->batch->bytes.at), value->len);
}

void outcome_add_ignored(struct outcome *outcome, const struct scan_value *value)
{
    outcome_add(outcome, value)->verdict = VERDICT_IGNORED;
}

static void __attribute__((format(printf, 4, 0)))
set_invalid(struct batch *batch, struct batch_trade *trade, enum reason reason, const char *format,
            va_list args)
{
    char *detail = text_reserve(&batch->arena, DETAIL_MAX);
    int n = vsnprintf(detail, DETAIL_MAX, format, args);
    size_t len = n < 0 ? 0 : (size_t)n;

    assert(batch->arena.len + DETAIL_MAX <= UINT32_MAX); /* outcome_check_room */
    if (len >= DETAIL_MAX)
        len = DETAIL_MAX - 1;
    trade->verdict = VERDICT_INVALID;
    trade->reason = (uint8_t)reason;
    trade->detail_at = (uint32_t)batch->arena.len;
    trade->detail_len = (uint32_t)len;
    batch->arena.len += len;
}

void outcome_add_invalid(struct outcome *outcome, const struct scan_value *value, enum reason reason,
                         const char *format, ...)
{
    struct batch_trade *trade = outcome_add(outcome, value);
    va_list args;

    va_start(args, format);
    set_invalid(outcome->batch, trade, reason, format, args);
    va_end(args);
}

static struct batch_trade *answer_line(struct outcome *outcome, enum verdict verdict)
{
    struct batch_line *line = &outcome->batch->lines[outcome->line];

    outcome->batch->trades_n = outcome->trades_first;
    outcome->batch->arena.len = outcome->arena_first;
    outcome->over = true;
    line->trades_n = 0;
    line->form = LINE_SINGLE;
    struct batch_trade *trade = add(outcome, outcome->at, outcome->len);

    trade->verdict = (uint8_t)verdict;
    return trade;
}

void outcome_ignore_line(struct outcome *outcome)
{
    answer_line(outcome, VERDICT_IGNORED);
}

void outcome_refuse_line(struct outcome *outcome, enum reason reason, const char *format, ...)
{
    struct batch_trade *trade = answer_line(outcome, VERDICT_INVALID);
    va_list args;

    va_start(args, format);
    set_invalid(outcome->batch, trade, reason, format, args);
    va_end(args);
}

bool outcome_check_room(struct outcome *outcome, size_t key_bytes)
{
    if (outcome->batch->arena.len + key_bytes + DETAIL_MAX <= UINT32_MAX)
        return true;
    outcome_refuse_line(outcome, REASON_TOO_MANY_TRADES, "the keys of one line are too much");
    return false;
}

bool outcome_scan(struct outcome *outcome, const struct scan_want *want, struct scan_value *values)
{
    size_t at = 0;

    switch (scan_text(outcome->batch->bytes.at + outcome->at, outcome->len, want, values, &at)) {
    case SCAN_OK:
        return true;
    case SCAN_BAD_JSON:
        outcome_refuse_line(outcome, REASON_BAD_JSON, "not JSON at byte %zu", at);
        return false;
    case SCAN_BAD_UTF8:
        outcome_refuse_line(outcome, REASON_BAD_UTF8, "not UTF-8 at byte %zu", at);
        return false;
    case SCAN_TOO_DEEP:
        outcome_refuse_line(outcome, REASON_TOO_DEEP, "more than %d levels deep at byte %zu",
                            (int)want->depth_max, at);
        return false;
    }
    return false;
}
