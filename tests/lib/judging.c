#include "judging.h"

#include <check.h>
#include <string.h>

static void start(struct judging *judging, struct feed *feed)
{
    *judging = (struct judging){
        .feed = feed,
        .context = {.source = "SRC", .max_key_bytes = 512, .max_trades_per_line = 10000},
        .batch = batch_open(),
    };
}

void judging_parse(struct judging *judging, const char *json)
{
    struct feed *feed = NULL;
    struct err err;

    ck_assert_msg(!feed_parse(&feed, "test", json, strlen(json), &err), "%s", err.text);
    start(judging, feed);
}

void judging_load(struct judging *judging, const char *file)
{
    struct feed *feed = NULL;
    struct err err;

    ck_assert_msg(!feed_load(&feed, file, &err), "%s", err.text);
    start(judging, feed);
}

void judging_builtin(struct judging *judging, const char *name)
{
    start(judging, feed_builtin(name));
    ck_assert_ptr_nonnull(judging->feed);
}

void judging_done(struct judging *judging)
{
    feed_close(judging->feed);
    batch_close(judging->batch);
    text_done(&judging->shown);
}

static void show_trade(struct text *shown, const struct batch *batch, const struct batch_trade *trade)
{
    if (trade->verdict == VERDICT_NONE) {
        text_add_str(shown, "ask ");
        text_add(shown, batch_key(batch, trade), trade->key_len);
        return;
    }
    text_add_str(shown, verdict_name(trade->verdict));
    if (trade->verdict == VERDICT_INVALID) {
        text_add_char(shown, ' ');
        text_add_str(shown, reason_name(trade->reason));
        ck_assert_uint_gt(trade->detail_len, 0);
    }
}

const char *judging_line(struct judging *judging, const char *line, size_t len)
{
    struct batch *batch = judging->batch;
    struct text *shown = &judging->shown;

    batch_reset(batch);
    text_add(&batch->bytes, line, len);
    text_add_str(&batch->bytes, "\nX"); /* what follows in the buffer is none of its business */
    feed_judge(judging->feed, &judging->context, batch, 0, len, 7);
    ck_assert_uint_eq(batch->lines_n, 1);
    ck_assert_uint_eq(batch->lines[0].number, 7);
    ck_assert_uint_eq(batch->lines[0].trades_n, batch->trades_n);
    shown->len = 0;
    text_add_str(shown, batch->lines[0].form == LINE_TRADES ? "[" : "");
    for (size_t i = 0; i < batch->trades_n; i++) {
        text_add_str(shown, i ? ", " : "");
        show_trade(shown, batch, &batch->trades[i]);
    }
    text_add_str(shown, batch->lines[0].form == LINE_TRADES ? "]" : "");
    return text_terminate(shown);
}

const char *judging_str(struct judging *judging, const char *line)
{
    return judging_line(judging, line, strlen(line));
}

const struct batch_trade *judging_trade(const struct judging *judging)
{
    ck_assert_uint_gt(judging->batch->trades_n, 0);
    return &judging->batch->trades[0];
}
