/* simulate: fills real filters with random keys, and holds their answers against the mathematics. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tool/command.h"
#include "tool/figure.h"
#include "tool/options.h"
#include "tool/simulation.h"
#include "tool/table.h"

enum { SWEEP_HASHES = 12 }; /* positions that a sweep tries at least */

static const char help[] =
    "usage: tradesieve simulate --bits M --hashes K --insert N [OPTION...]\n"
    "\n"
    "Fills Bloom filters of M bits with N random keys, K positions each, and shows how full they get "
    "and\n"
    "how often they answer maybe for a key that is not in: predicted, (1 - e^(-kn/m))^k, and "
    "measured,\n"
    "with the 95 % Wilson interval. Small filters are filled many times, each time with other keys.\n"
    "\n"
    "  --bits M     bits (m): 9586, 1e6, 8M\n"
    "  --hashes K   positions of a key (k), 1 to 64\n"
    "  --insert N   keys to insert (n)\n"
    "  --probe N    keys to ask for at each step that are not in (default 100000)\n"
    "  --sweep      and with other numbers of positions, from 1 on; the best is marked\n"
    "  --seed N     of the keys; the same seed gives the same figures (default 1)\n"
    "  --json       one object\n"
    "  --help, --version\n"
    "\n"
    "The formula is an approximation for filters of some hundred bits and more; below that, the "
    "measured\n"
    "rate is higher.\n"
    "\n"
    "Exit code: 0; 1 a key that is in was answered absent, which must not be.\n";

/* The rates at the full load with 1 to n positions. */
struct sweep {
    struct simulation_row rows[BLOOM_HASHES_MAX];
    uint32_t n, best; /* best: positions with the lowest predicted rate */
};

static uint32_t sweep_width(const struct simulation_options *options)
{
    double wanted = ceil(2 * bloom_optimal_hashes(options->shape.bits, options->insert));

    return (uint32_t)fmin(fmax(wanted, SWEEP_HASHES), BLOOM_HASHES_MAX);
}

static void run_sweep(struct sweep *sweep, const struct simulation_options *options)
{
    struct simulation_options each = *options;
    struct simulation simulation;

    *sweep = (struct sweep){.n = sweep_width(options), .best = 1};
    each.work /= sweep->n;
    for (uint32_t k = 1; k <= sweep->n; k++) {
        each.shape.hashes = k;
        simulation_run(&simulation, &each);
        sweep->rows[k - 1] = simulation.rows[simulation.rows_n - 1];
        if (sweep->rows[k - 1].predicted < sweep->rows[sweep->best - 1].predicted)
            sweep->best = k;
    }
}

/* The page. */

static bool is_outside(const struct simulation_row *row)
{
    return row->predicted < row->low || row->predicted > row->high;
}

static void add_cells(struct table *table, const struct simulation_row *row, uint64_t number)
{
    figure_add_count(table_cell(table), number, 0);
    figure_add_percent(table_cell(table), row->fill_ratio);
    figure_add_percent(table_cell(table), row->predicted);
    figure_add_percent(table_cell(table), row->measured);
    figure_add_percent(table_cell(table), row->low);
    figure_add_percent(table_cell(table), row->high);
}

/* Rows by keys, or by positions (1, 2, ...); the one with the number `marked` has the mark behind it. */
static void add_table(struct text *out, const char *by, const struct simulation_row *rows, uint32_t n,
                      uint64_t marked, const char *mark)
{
    const char *const headers[] = {by, "full", "predicted", "measured", "95 %: from", "to", ""};
    bool by_keys = strcmp(by, "keys") == 0;
    struct table table;

    table_init(&table, headers, sizeof headers / sizeof *headers, 1 << 6);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t number = by_keys ? rows[i].keys : i + 1;
        struct text *last;

        add_cells(&table, &rows[i], number);
        last = table_cell(&table);
        text_add_str(last, is_outside(&rows[i]) ? "* " : "");
        text_add_str(last, number == marked ? mark : "");
    }
    table_add(out, &table);
    table_done(&table);
}

static void add_head(struct text *out, const struct simulation *simulation)
{
    figure_add_count(out, simulation->options.shape.bits, 0);
    text_add_format(out, " bits, %" PRIu32 " positions; ", simulation->options.shape.hashes);
    figure_add_count(out, simulation->filters, 0);
    text_add_str(out, simulation->filters == 1 ? " filter, " : " filters with keys of their own, ");
    figure_add_count(out, simulation->options.probe, 0);
    text_add_format(out, " strangers asked at each step; seed %" PRIu64 "\n\n",
                    simulation->options.seed);
}

static void add_first(struct text *out, const struct simulation *simulation)
{
    text_add_str(out, "first maybe   ");
    if (simulation->first_least == 0) {
        text_add_str(out, "none: every key was absent before it went in\n");
        return;
    }
    text_add_str(out, "for a key that was not in: after ");
    figure_add_count(out, simulation->first_least, 0);
    text_add_str(out, " inserts");
    if (simulation->filters > 1 && simulation->first_median == 0)
        text_add_str(out, " at the earliest, in most filters never");
    else if (simulation->filters > 1) {
        text_add_str(out, " at the earliest, after ");
        figure_add_count(out, simulation->first_median, 0);
        text_add_str(out, " in the median filter");
    }
    text_add_char(out, '\n');
}

static void add_summary(struct text *out, const struct simulation *simulation)
{
    const struct simulation_options *options = &simulation->options;
    const struct simulation_row *full = &simulation->rows[simulation->rows_n - 1];

    text_add_format(out, "\npredicted     (1 - e^(-kn/m))^k = %.9g\n", full->predicted);
    add_first(out, simulation);
    text_add_str(out, "sized for     ");
    figure_add_count(out, simulation_sized_for(options->shape), 0);
    text_add_str(out, " keys, (m/k) ln 2; for ");
    figure_add_count(out, options->insert, 0);
    text_add_format(out, " keys the best k is %.3g, (m/n) ln 2\nmembers       ",
                    bloom_optimal_hashes(options->shape.bits, options->insert));
    figure_add_count(out, simulation->members_asked, 0);
    text_add_str(out, " asked, ");
    figure_add_count(out, simulation->members_maybe, 0);
    text_add_str(out, simulation->members_maybe < simulation->members_asked
                          ? " answered maybe: THE FILTER IS BROKEN\n"
                          : " answered maybe\n");
}

static bool any_outside(const struct simulation_row *rows, uint32_t n)
{
    while (n-- > 0)
        if (is_outside(&rows[n]))
            return true;
    return false;
}

static void add_page(struct text *out, const struct simulation *simulation, const struct sweep *sweep)
{
    add_head(out, simulation);
    add_table(out, "keys", simulation->rows, simulation->rows_n,
              simulation_sized_for(simulation->options.shape), "<- sized for");
    if (sweep->n > 0) {
        text_add_char(out, '\n');
        add_table(out, "positions", sweep->rows, sweep->n, sweep->best, "<- best");
    }
    if (any_outside(simulation->rows, simulation->rows_n) || any_outside(sweep->rows, sweep->n))
        text_add_str(out,
                     "*  outside the interval: chance does it once in 20 times, and with few bits\n"
                     "   the formula, which is an approximation, is a little low\n");
    add_summary(out, simulation);
}

/* The object for programs. */

static void add_rates_json(struct text *out, const struct simulation_row *row)
{
    text_add_format(out, "\"fill_ratio\":%.9g,\"predicted_fpr\":%.9g,\"measured_fpr\":%.9g",
                    row->fill_ratio, row->predicted, row->measured);
    text_add_format(out, ",\"measured_fpr_low\":%.9g,\"measured_fpr_high\":%.9g", row->low, row->high);
    text_add_format(out, ",\"strangers_asked\":%" PRIu64 ",\"strangers_maybe\":%" PRIu64, row->asked,
                    row->maybe);
}

static void add_rows_json(struct text *out, const struct simulation *simulation)
{
    text_add_str(out, ",\"steps\":[");
    for (uint32_t i = 0; i < simulation->rows_n; i++) {
        text_add_format(out, "%s{\"keys\":%" PRIu64 ",", i ? "," : "", simulation->rows[i].keys);
        add_rates_json(out, &simulation->rows[i]);
        text_add_char(out, '}');
    }
    text_add_char(out, ']');
}

static void add_sweep_json(struct text *out, const struct sweep *sweep)
{
    text_add_format(out, ",\"best_hashes\":%" PRIu32 ",\"sweep\":[", sweep->best);
    for (uint32_t i = 0; i < sweep->n; i++) {
        text_add_format(out, "%s{\"hashes\":%" PRIu32 ",", i ? "," : "", i + 1);
        add_rates_json(out, &sweep->rows[i]);
        text_add_char(out, '}');
    }
    text_add_char(out, ']');
}

static void add_first_json(struct text *out, const char *name, uint64_t keys)
{
    text_add_format(out, ",\"%s\":", name);
    if (keys)
        text_add_u64(out, keys);
    else
        text_add_str(out, "null");
}

static void add_json(struct text *out, const struct simulation *simulation, const struct sweep *sweep)
{
    const struct simulation_options *options = &simulation->options;

    text_add_format(out, "{\"bits\":%" PRIu64 ",\"hashes\":%" PRIu32 ",\"insert\":%" PRIu64,
                    options->shape.bits, options->shape.hashes, options->insert);
    text_add_format(out, ",\"probe\":%" PRIu64 ",\"seed\":%" PRIu64 ",\"filters\":%" PRIu64,
                    options->probe, options->seed, simulation->filters);
    text_add_format(out, ",\"sized_for\":%" PRIu64 ",\"optimal_hashes\":%.9g,",
                    simulation_sized_for(options->shape),
                    bloom_optimal_hashes(options->shape.bits, options->insert));
    add_rates_json(out, &simulation->rows[simulation->rows_n - 1]);
    add_first_json(out, "first_maybe_least", simulation->first_least);
    add_first_json(out, "first_maybe_median", simulation->first_median);
    text_add_format(out, ",\"members_asked\":%" PRIu64 ",\"members_maybe\":%" PRIu64,
                    simulation->members_asked, simulation->members_maybe);
    add_rows_json(out, simulation);
    if (sweep->n > 0)
        add_sweep_json(out, sweep);
    text_add_str(out, "}\n");
}

static int run(const struct simulation_options *options, bool sweeping, bool json)
{
    struct simulation simulation;
    struct sweep sweep = {.n = 0};
    struct text out = {0};

    simulation_run(&simulation, options);
    if (sweeping)
        run_sweep(&sweep, options);
    if (json)
        add_json(&out, &simulation, &sweep);
    else
        add_page(&out, &simulation, &sweep);
    fwrite(out.at, 1, out.len, stdout);
    text_done(&out);
    return simulation.members_maybe < simulation.members_asked;
}

int command_simulate(int argc, char **argv, struct err *err)
{
    struct simulation_options options = {.probe = 100000, .seed = 1, .work = SIMULATION_WORK};
    uint64_t hashes = 0;
    bool sweeping = false, json = false, done = false;
    const struct option_row rows[] = {
        {.name = "bits", OPTION_COUNT, &options.shape.bits, .min = 1, .max = SIMULATION_BITS_MAX},
        {.name = "hashes", OPTION_COUNT, &hashes, .min = 1, .max = BLOOM_HASHES_MAX},
        {.name = "insert", OPTION_COUNT, &options.insert, .min = 1, .max = SIMULATION_INSERT_MAX},
        {.name = "probe", OPTION_COUNT, &options.probe, .min = 1, .max = SIMULATION_PROBE_MAX},
        {.name = "seed", OPTION_COUNT, &options.seed, .max = UINT64_MAX},
        {.name = "sweep", OPTION_FLAG, &sweeping},
        {.name = "json", OPTION_FLAG, &json},
    };
    const struct options table = {.help = help, .rows = rows, .rows_n = sizeof rows / sizeof *rows};
    int operands = options_read(&table, argc, argv, &done, err);

    if (operands < 0 || done)
        return operands;
    if (operands > 0)
        return err_set(err, ERR_USAGE, "%s: simulate takes options only", argv[1]);
    options.shape.hashes = (uint32_t)hashes;
    if (!options.shape.bits || !options.shape.hashes || !options.insert)
        return err_set(err, ERR_USAGE, "--bits, --hashes and --insert are needed; --help tells more");
    return run(&options, sweeping, json);
}
