/* bench_store: what the store thread can do alone, beside a plain loader with the same schema.
 *
 *   loader   the plain loader: no screen, no exact check
 *   new      store_judge and store_commit: screen, exact check, insert
 *   recent   duplicates of the latest 100,000 trades, in random order
 *   old      duplicates of any of them, in random order
 *
 * Random IDs, a message of 150 bytes, synchronous=FULL. One round in a directory that is empty:
 *
 *   bench_store DIR TRADES COMMIT_TRADES first|last|only     when the loader runs */
#include <string.h>

#include "base/clock.h"
#include "loader.h"
#include "measure.h"
#include "messages.h"
#include "store/store.h"

enum { BATCH_TRADES = 512 };

enum workload { NEW, RECENT, OLD };

static uint64_t number_of(enum workload workload, uint64_t i, uint64_t trades)
{
    switch (workload) {
    case NEW:
        return i;
    case RECENT:
        return message_choose_recent(i, trades);
    case OLD:
        return message_choose(i, trades);
    }
    return 0;
}

static void add_trade(struct batch *batch, uint64_t n)
{
    struct batch_trade *trade = batch_add_trade(batch);

    trade->key_at = (uint32_t)batch->arena.len;
    trade->key_len = MESSAGE_KEY_BYTES;
    message_key(text_reserve(&batch->arena, MESSAGE_KEY_BYTES), MESSAGE_RANDOM, n);
    batch->arena.len += MESSAGE_KEY_BYTES;
    trade->message_at = (uint32_t)batch->bytes.len;
    trade->message_len = MESSAGE_BYTES;
    message_write(text_reserve(&batch->bytes, MESSAGE_LINE_BYTES), MESSAGE_RANDOM, n);
    batch->bytes.len += MESSAGE_LINE_BYTES;
    trade->fingerprint = n;
}

static void fill_batch(struct batch *batch, enum workload workload, uint64_t first, uint64_t end,
                       uint64_t trades)
{
    batch_reset(batch);
    batch->feed = "canonical";
    batch->received_us = clock_wall_us();
    for (uint64_t i = first; i < end; i++)
        add_trade(batch, number_of(workload, i, trades));
    batch->ask_n = batch->trades_n;
}

static struct store *open_store(const char *dir)
{
    struct store_config config = {
        .data_dir = dir,
        .keep_message = true,
        .generation_keys = 65536,
        .segment_rows = 16777216,
        .false_positive_rate = 0.01,
        .capacity = 100000000,
    };
    struct store *store;
    struct err err;

    measure_must(store_open(&store, &config, &err) == 0, "%s", err.text);
    return store;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* One transaction of the trades [first, end) of a workload. */
static void commit(struct store *store, struct batch *batch, enum workload workload, uint64_t first,
                   uint64_t end, uint64_t trades)
{
    struct err err;

    measure_must(store_begin(store, &err) == 0, "begin: %s", err.text);
    for (uint64_t n = first; n < end; n += batch->trades_n) {
        fill_batch(batch, workload, n, least(n + BATCH_TRADES, end), trades);
        measure_must(store_judge(store, batch, &err) == 0, "judge: %s", err.text);
        for (size_t i = 0; i < batch->trades_n; i++)
            measure_must(batch->trades[i].verdict ==
                             (workload == NEW ? VERDICT_NEW : VERDICT_DUPLICATE),
                         "a wrong verdict");
    }
    measure_must(store_commit(store, &err) == 0, "commit: %s", err.text);
    measure_must(store_maintain(store, &err) == 0, "maintain: %s", err.text);
}

static double run_workload(struct store *store, enum workload workload, uint64_t trades,
                           uint64_t commit_trades)
{
    struct batch *batch = batch_open();
    int64_t began_us = clock_mono_us();

    for (uint64_t n = 0; n < trades; n += commit_trades)
        commit(store, batch, workload, n, least(n + commit_trades, trades), trades);
    double per_s = measure_per_s(trades, began_us);

    batch_close(batch);
    return per_s;
}

static void run_store(const char *dir, uint64_t trades, uint64_t commit_trades)
{
    struct store *store = open_store(dir);

    measure_print("new", run_workload(store, NEW, trades, commit_trades));
    measure_print("recent", run_workload(store, RECENT, trades, commit_trades));
    measure_print("old", run_workload(store, OLD, trades, commit_trades));
    store_close(store);
}

int main(int argc, char **argv)
{
    measure_must(argc == 5, "usage: bench_store DIR TRADES COMMIT_TRADES first|last|only");
    uint64_t trades = measure_number(argv[2]), commit_trades = measure_number(argv[3]);
    bool last = strcmp(argv[4], "last") == 0;

    if (!last)
        measure_print("loader", loader_run(argv[1], trades, commit_trades));
    if (strcmp(argv[4], "only") != 0)
        run_store(argv[1], trades, commit_trades);
    if (last)
        measure_print("loader", loader_run(argv[1], trades, commit_trades));
    return 0;
}
