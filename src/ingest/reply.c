#include "ingest/reply.h"

#include <stdbool.h>
#include <string.h>

static const char *const mode_names[] = {
    [ACK_EACH] = "each",
    [ACK_BATCH] = "batch",
    [ACK_NONE] = "none",
};

int ack_mode_of(const char *text, size_t len)
{
    for (int mode = ACK_EACH; mode <= ACK_NONE; mode++)
        if (strlen(mode_names[mode]) == len && memcmp(mode_names[mode], text, len) == 0)
            return mode;
    return -1;
}

const char *ack_mode_name(enum ack_mode mode)
{
    return mode_names[mode];
}

static void add_error(struct text *out, const struct batch *batch, const struct batch_trade *trade)
{
    text_add_str(out, ",\"error\":\"");
    text_add_str(out, reason_name(trade->reason));
    text_add_char(out, '"');
    if (trade->detail_len) {
        text_add_str(out, ",\"detail\":");
        text_add_json(out, batch->arena.at + trade->detail_at, trade->detail_len);
    }
}

static void add_stored(struct text *out, const struct batch_trade *trade)
{
    text_add_str(out, ",\"seq\":");
    text_add_i64(out, trade->seq);
    if (trade->verdict != VERDICT_NEW) {
        text_add_str(out, ",\"received\":\"");
        text_add_time_us(out, trade->received_us);
        text_add_char(out, '"');
    }
    text_add_str(out,
                 trade->screen == SCREEN_ABSENT ? ",\"screen\":\"absent\"" : ",\"screen\":\"maybe\"");
}

/* "verdict":... and what belongs to it, without braces. */
static void add_verdict(struct text *out, const struct batch *batch, const struct batch_trade *trade)
{
    text_add_str(out, "\"verdict\":\"");
    text_add_str(out, verdict_name(trade->verdict));
    text_add_char(out, '"');
    switch ((enum verdict)trade->verdict) {
    case VERDICT_NEW:
    case VERDICT_DUPLICATE:
    case VERDICT_CONFLICT:
        add_stored(out, trade);
        return;
    case VERDICT_INVALID:
    case VERDICT_RETRY:
        add_error(out, batch, trade);
        return;
    default:
        return;
    }
}

static void add_line(struct text *out, const struct batch *batch, const struct batch_line *line)
{
    const struct batch_trade *trades = batch->trades + line->trades_first;

    text_add_str(out, "{\"line\":");
    text_add_u64(out, line->number);
    if (line->form == LINE_SINGLE) {
        text_add_char(out, ',');
        add_verdict(out, batch, trades);
    } else {
        text_add_str(out, ",\"trades\":[");
        for (uint32_t i = 0; i < line->trades_n; i++) {
            text_add_str(out, i ? ",{" : "{");
            add_verdict(out, batch, trades + i);
            text_add_char(out, '}');
        }
        text_add_char(out, ']');
    }
    text_add(out, "}\n", 2);
}

static void add_opening(struct text *out, const struct batch *batch, const struct batch_line *line)
{
    if (!line->reply_len)
        return;
    text_add(out, batch->arena.at + line->reply_at, line->reply_len);
    text_add_char(out, '\n');
}

/* Counts the line into progress; true if mode batch shows it too. */
static bool note_line(struct reply_progress *progress, const struct batch *batch,
                      const struct batch_line *line)
{
    const struct batch_trade *trades = batch->trades + line->trades_first;
    bool shown = false;

    progress->through = line->number;
    for (uint32_t i = 0; i < line->trades_n; i++) {
        enum verdict verdict = trades[i].verdict;

        progress->verdicts[verdict]++;
        shown |= verdict == VERDICT_CONFLICT || verdict == VERDICT_INVALID || verdict == VERDICT_RETRY;
    }
    return shown;
}

void reply_add(struct text *out, enum ack_mode mode, const struct batch *batch,
               struct reply_progress *progress)
{
    if (mode == ACK_NONE)
        return;
    for (size_t i = 0; i < batch->lines_n; i++) {
        const struct batch_line *line = &batch->lines[i];

        if (line->form == LINE_OPENING)
            add_opening(out, batch, line);
        else if (mode == ACK_EACH || note_line(progress, batch, line))
            add_line(out, batch, line);
    }
}

void reply_add_progress(struct text *out, struct reply_progress *progress)
{
    if (!progress->through)
        return;
    text_add_str(out, "{\"through\":");
    text_add_u64(out, progress->through);
    for (enum verdict verdict = VERDICT_NEW; verdict < VERDICT_COUNT; verdict++) {
        text_add_str(out, ",\"");
        text_add_str(out, verdict_name(verdict));
        text_add_str(out, "\":");
        text_add_u64(out, progress->verdicts[verdict]);
    }
    text_add(out, "}\n", 2);
    *progress = (struct reply_progress){0};
}
