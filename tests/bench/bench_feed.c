/* bench_feed: from a line to key and fingerprint: scanner and profile, nanoseconds a message.
 *
 *   bench_feed PASSES FEEDS_DIR
 *
 * A pass judges the same 64 KiB of lines, as one read brings them, a thousand times. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "ingest/feed.h"
#include "measure.h"
#include "messages.h"

enum { READ_BYTES = 64 * 1024, TURNS = 1000 };

static void add_canonical(struct text *out, uint64_t n)
{
    message_write(text_reserve(out, MESSAGE_LINE_BYTES), MESSAGE_RANDOM, n);
    out->len += MESSAGE_LINE_BYTES;
}

static void add_binance(struct text *out, uint64_t n)
{
    text_add_format(
        out,
        "{\"stream\":\"btcusdt@trade\",\"data\":{\"e\":\"trade\",\"E\":%llu,\"s\":\"BTCUSDT\","
        "\"t\":%llu,\"p\":\"61804.80000000\",\"q\":\"0.00400000\",\"T\":%llu,\"m\":false}}\n",
        1723161257687 + (unsigned long long)n, 3849714402 + (unsigned long long)n,
        1723161257679 + (unsigned long long)n);
}

/* Judges every line of batch->bytes; returns how many. */
static uint64_t judge_all(const struct feed *feed, struct batch *batch)
{
    const struct feed_context context = {.max_key_bytes = 512, .max_trades_per_line = 10000};
    uint64_t lines = 0;

    batch->lines_n = batch->trades_n = batch->ask_n = 0;
    batch->arena.len = 0;
    for (size_t at = 0; at < batch->bytes.len;) {
        const char *end = memchr(batch->bytes.at + at, '\n', batch->bytes.len - at);
        size_t len = (size_t)(end - batch->bytes.at) - at;

        feed_judge(feed, &context, batch, at, len, ++lines);
        at += len + 1;
    }
    return lines;
}

static void run(const char *name, struct feed *feed, void (*add)(struct text *, uint64_t),
                uint64_t passes)
{
    struct batch *batch = batch_open();

    for (uint64_t n = 0; batch->bytes.len < READ_BYTES; n++)
        add(&batch->bytes, n);
    uint64_t lines = judge_all(feed, batch);

    for (size_t i = 0; i < batch->trades_n; i++)
        measure_must(batch->trades[i].verdict == VERDICT_NONE, "%s: a line is no trade", name);
    for (uint64_t pass = 0; pass < passes; pass++) {
        int64_t began_us = clock_mono_us();

        for (int i = 0; i < TURNS; i++)
            judge_all(feed, batch);
        measure_print(name, measure_ns(lines * TURNS, began_us));
    }
    measure_print("bytes", (double)batch->bytes.len / (double)lines);
    batch_close(batch);
    feed_close(feed);
}

int main(int argc, char **argv)
{
    char path[4096];
    struct feed *binance;
    struct err err;

    measure_must(argc == 3, "usage: bench_feed PASSES FEEDS_DIR");
    snprintf(path, sizeof path, "%s/binance-spot.json", argv[2]);
    measure_must(feed_load(&binance, path, &err) == 0, "%s", err.text);
    run("canonical", feed_builtin("canonical"), add_canonical, measure_number(argv[1]));
    run("binance", binance, add_binance, measure_number(argv[1]));
    return 0;
}
