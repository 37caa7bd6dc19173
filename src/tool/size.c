/* size: how large a filter must be for so many keys at such a rate, and what the daemon's would take. */
#include <inttypes.h>
#include <stdio.h>

#include "tool/command.h"
#include "tool/figure.h"
#include "tool/options.h"
#include "tool/sizing.h"
#include "tool/table.h"

static const char help[] =
    "usage: tradesieve size --keys N --fpr P [OPTION...]\n"
    "\n"
    "Shows how many bits and positions a Bloom filter needs for N keys at a false-positive rate of P,\n"
    "and the memory of the daemon's filters with N as filter.capacity and P as\n"
    "filter.false_positive_rate. Several values give a table: --keys 1000,100k --fpr 1%,0.1%\n"
    "\n"
    "  --keys N             keys: 250000, 2.5e5, 250k (also M, G, T)\n"
    "  --fpr P              rate, above 0 and at most a half: 0.01, 1e-2, 1%\n"
    "  --segment-rows N     the daemon's store.segment_rows (default 16777216)\n"
    "  --generation-keys N  the daemon's store.generation_keys (default 65536)\n"
    "  --json               an object a line\n"
    "  --help, --version\n"
    "\n"
    "A KB is 1,000 bytes.\n";

struct request {
    uint64_t keys[OPTION_LIST_MAX];
    double rates[OPTION_LIST_MAX];
    size_t keys_n, rates_n;
    uint64_t segment_rows, generation_keys;
    bool json;
};

struct answer {
    struct sizing rows[OPTION_LIST_MAX * OPTION_LIST_MAX];
    size_t n;
};

static void add_name_cells(struct table *table, const struct sizing *sizing)
{
    figure_add_count(table_cell(table), sizing->keys, 0);
    figure_add_percent(table_cell(table), sizing->rate);
}

static void add_filters(struct text *out, const struct answer *answer)
{
    static const char *const headers[] = {"keys",       "rate",   "bits",     "positions",
                                          "bits a key", "memory", "predicted"};
    struct table table;

    text_add_str(out, "One filter for all keys\n");
    table_init(&table, headers, sizeof headers / sizeof *headers, 0);
    for (size_t i = 0; i < answer->n; i++) {
        const struct sizing *row = &answer->rows[i];

        add_name_cells(&table, row);
        figure_add_count(table_cell(&table), row->shape.bits, 0);
        figure_add_count(table_cell(&table), row->shape.hashes, 0);
        text_add_format(table_cell(&table), "%.2f", (double)row->shape.bits / (double)row->keys);
        figure_add_decimal_bytes(table_cell(&table), (double)row->bytes);
        figure_add_percent(table_cell(&table), row->predicted);
    }
    table_add(out, &table);
    table_done(&table);
}

static void add_part_cells(struct table *table, const struct sizing_part *part)
{
    text_add_format(table_cell(table), "%.1f", part->bits_per_key);
    figure_add_decimal_bytes(table_cell(table), (double)part->bytes);
}

static void add_daemon(struct text *out, const struct answer *answer)
{
    static const char *const headers[] = {"keys",       "rate",   "bits a key", "written",
                                          "bits a key", "sealed", "together",   "peak"};
    struct table table;
    size_t beyond = 0;

    text_add_str(out, "\nThe daemon, with filter.capacity and filter.false_positive_rate like these\n");
    table_init(&table, headers, sizeof headers / sizeof *headers, 0);
    for (size_t i = 0; i < answer->n; i++) {
        const struct sizing *row = &answer->rows[i];

        if (!row->fits_daemon) {
            beyond++;
            continue;
        }
        add_name_cells(&table, row);
        add_part_cells(&table, &row->active);
        add_part_cells(&table, &row->sealed);
        figure_add_decimal_bytes(table_cell(&table), (double)sizing_bytes(row));
        figure_add_decimal_bytes(table_cell(&table), (double)sizing_bytes_max(row));
    }
    table_add(out, &table);
    table_done(&table);
    text_add_str(out, "written: the segment that takes new keys, set aside when it begins\n"
                      "sealed: all keys, in closed segments; peak: while one is being sealed\n");
    if (beyond > 0)
        text_add_format(out, "left out: %zu beyond what the daemon can be configured for\n", beyond);
}

static void add_part_json(struct text *out, const char *name, const struct sizing_part *part)
{
    text_add_format(out, ",\"%s\":{\"hashes\":%" PRIu32 ",\"bits_per_key\":%.6g,\"bytes\":%" PRIu64 "}",
                    name, part->hashes, part->bits_per_key, part->bytes);
}

static void add_json(struct text *out, const struct sizing *row)
{
    text_add_format(out, "{\"keys\":%" PRIu64 ",\"fpr\":%.9g,\"bits\":%" PRIu64 ",\"hashes\":%" PRIu32,
                    row->keys, row->rate, row->shape.bits, row->shape.hashes);
    text_add_format(out, ",\"bits_per_key\":%.6g,\"bytes\":%" PRIu64 ",\"predicted_fpr\":%.9g",
                    (double)row->shape.bits / (double)row->keys, row->bytes, row->predicted);
    text_add_str(out, ",\"daemon\":");
    if (!row->fits_daemon) {
        text_add_str(out, "null}\n");
        return;
    }
    text_add_format(out, "{\"bytes\":%" PRIu64 ",\"bytes_max\":%" PRIu64, sizing_bytes(row),
                    sizing_bytes_max(row));
    add_part_json(out, "active", &row->active);
    add_part_json(out, "sealed", &row->sealed);
    text_add_str(out, "}}\n");
}

static void print(const struct answer *answer, bool json)
{
    struct text out = {0};

    for (size_t i = 0; json && i < answer->n; i++)
        add_json(&out, &answer->rows[i]);
    if (!json) {
        add_filters(&out, answer);
        add_daemon(&out, answer);
    }
    fwrite(out.at, 1, out.len, stdout);
    text_done(&out);
}

static void fill(struct answer *answer, const struct request *request)
{
    for (size_t p = 0; p < request->rates_n; p++)
        for (size_t n = 0; n < request->keys_n; n++)
            answer->rows[answer->n++] =
                sizing_make(request->keys[n], request->rates[p], request->segment_rows,
                            (uint32_t)request->generation_keys);
}

static int check(const struct request *request, struct err *err)
{
    if (request->keys_n == 0 || request->rates_n == 0)
        return err_set(err, ERR_USAGE, "--keys and --fpr are needed; --help tells more");
    for (size_t i = 0; i < request->rates_n; i++)
        if (!(request->rates[i] > 0 && request->rates[i] <= SIZING_RATE_MAX))
            return err_set(err, ERR_USAGE, "--fpr: %g is not above 0 and at most %g", request->rates[i],
                           SIZING_RATE_MAX);
    if ((request->segment_rows - 1) / request->generation_keys >= SIZING_GENERATIONS_MAX)
        return err_set(err, ERR_USAGE, "--segment-rows / --generation-keys: more than %d generations",
                       SIZING_GENERATIONS_MAX);
    return 0;
}

int command_size(int argc, char **argv, struct err *err)
{
    struct request request = {.segment_rows = 16 << 20, .generation_keys = 1 << 16};
    struct answer answer = {.n = 0};
    bool done = false;
    const struct option_row rows[] = {
        {.name = "keys", OPTION_COUNT, request.keys, &request.keys_n, .min = 1, .max = SIZING_KEYS_MAX},
        {.name = "fpr", OPTION_FRACTION, request.rates, &request.rates_n},
        {.name = "segment-rows",
         OPTION_COUNT,
         &request.segment_rows,
         .min = 1,
         .max = SIZING_DAEMON_KEYS_MAX},
        {.name = "generation-keys", OPTION_COUNT, &request.generation_keys, .min = 1, .max = 16 << 20},
        {.name = "json", OPTION_FLAG, &request.json},
    };
    const struct options table = {.help = help, .rows = rows, .rows_n = sizeof rows / sizeof *rows};
    int operands = options_read(&table, argc, argv, &done, err);

    if (operands < 0 || done)
        return operands;
    if (operands > 0)
        return err_set(err, ERR_USAGE, "%s: size takes options only; several values are --keys 1k,1M",
                       argv[1]);
    int result = check(&request, err);

    if (result == 0) {
        fill(&answer, &request);
        print(&answer, request.json);
    }
    return result;
}
