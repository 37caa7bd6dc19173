#include "tool/simulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Keys are numbered; from here on they are strangers. */
static const uint64_t STRANGERS = UINT64_C(1) << 63;

/* To empty a filter of so many bits costs about as much as to add a key. */
enum { BITS_PER_WORK = 4096 };

/* One filter while it fills. */
struct run {
    struct simulation *to;
    struct bloom bloom;
    uint64_t filter; /* its number */
    uint64_t first;  /* keys in it when a key was first answered maybe before it went in; 0: not yet */
};

/* The hash is keyed: seed and filter give it a key, so that the numbers become random keys. */
static struct bloom_hash hash_of(uint64_t seed, uint64_t filter, uint64_t number)
{
    unsigned char secret[BLOOM_KEY_BYTES];
    char key[sizeof number];

    memcpy(secret, &seed, sizeof seed);
    memcpy(secret + sizeof seed, &filter, sizeof filter);
    memcpy(key, &number, sizeof key);
    return bloom_hash(secret, key, sizeof key);
}

uint64_t simulation_sized_for(struct bloom_shape shape)
{
    return (uint64_t)round(bloom_optimal_keys(shape));
}

static uint64_t filters_for(const struct simulation_options *options)
{
    uint64_t filters = options->work / (options->insert + options->shape.bits / BITS_PER_WORK);

    if (filters > SIMULATION_FILTERS_MAX)
        filters = SIMULATION_FILTERS_MAX;
    if (filters > options->probe)
        filters = options->probe;
    return filters ? filters : 1;
}

static void add_row(struct simulation *simulation, uint64_t keys)
{
    if (keys > 0 && (simulation->rows_n == 0 || keys > simulation->rows[simulation->rows_n - 1].keys))
        simulation->rows[simulation->rows_n++] = (struct simulation_row){.keys = keys};
}

static void plan_rows(struct simulation *simulation)
{
    uint64_t insert = simulation->options.insert;
    uint64_t sized = simulation_sized_for(simulation->options.shape);

    for (uint64_t step = 1, last = 0; step <= SIMULATION_STEPS; step++) {
        uint64_t keys =
            insert / SIMULATION_STEPS * step + insert % SIMULATION_STEPS * step / SIMULATION_STEPS;

        if (sized > last && sized < keys)
            add_row(simulation, sized);
        add_row(simulation, keys);
        last = keys;
    }
}

static void insert_until(struct run *run, uint64_t keys)
{
    while (run->bloom.keys < keys) {
        uint64_t number = run->bloom.keys;
        struct bloom_hash hash = hash_of(run->to->options.seed, run->filter, number);

        if (run->first == 0 && bloom_ask(&run->bloom, hash))
            run->first = number;
        bloom_add(&run->bloom, hash);
    }
}

/* Its share of the row's strangers. */
static void ask_strangers(struct run *run, size_t row_number)
{
    const struct simulation_options *options = &run->to->options;
    struct simulation_row *row = &run->to->rows[row_number];
    uint64_t share = options->probe / run->to->filters;

    share += run->filter < options->probe % run->to->filters;
    for (uint64_t i = 0; i < share; i++) {
        uint64_t number = STRANGERS + row_number * share + i;

        row->maybe += bloom_ask(&run->bloom, hash_of(options->seed, run->filter, number));
    }
    row->asked += share;
    row->fill_ratio += (double)run->bloom.bits_set / (double)options->shape.bits;
}

uint64_t simulation_ask_members(const struct bloom *bloom, uint64_t seed, uint64_t filter, uint64_t n)
{
    uint64_t maybe = 0;

    for (uint64_t number = 0; number < n; number++)
        maybe += bloom_ask(bloom, hash_of(seed, filter, number));
    return maybe;
}

static void run_filter(struct run *run)
{
    struct simulation *to = run->to;

    memset(run->bloom.words, 0, run->filter ? bloom_memory(&run->bloom) : 0);
    run->bloom.keys = run->bloom.bits_set = run->first = 0;
    for (uint32_t i = 0; i < to->rows_n; i++) {
        insert_until(run, to->rows[i].keys);
        ask_strangers(run, i);
    }
    to->members_asked += to->options.insert;
    to->members_maybe +=
        simulation_ask_members(&run->bloom, to->options.seed, run->filter, to->options.insert);
}

/* Filters without a first one, 0, are behind all others. */
static int compare_firsts(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a - 1, y = *(const uint64_t *)b - 1;

    return (x > y) - (x < y);
}

static void finish(struct simulation *simulation, uint64_t *firsts)
{
    for (uint32_t i = 0; i < simulation->rows_n; i++) {
        struct simulation_row *row = &simulation->rows[i];

        row->fill_ratio /= (double)simulation->filters;
        row->predicted = bloom_predict(simulation->options.shape, row->keys);
        row->measured = (double)row->maybe / (double)row->asked;
        wilson_interval(row->maybe, row->asked, &row->low, &row->high);
    }
    qsort(firsts, simulation->filters, sizeof *firsts, compare_firsts);
    simulation->first_least = firsts[0];
    simulation->first_median = firsts[(simulation->filters - 1) / 2];
}

void simulation_run(struct simulation *ret, const struct simulation_options *options)
{
    *ret = (struct simulation){.options = *options, .filters = filters_for(options)};
    struct run run = {.to = ret};
    uint64_t *firsts = mem_alloc(ret->filters * sizeof *firsts);

    plan_rows(ret);
    bloom_init(&run.bloom, options->shape);
    for (run.filter = 0; run.filter < ret->filters; run.filter++) {
        run_filter(&run);
        firsts[run.filter] = run.first;
    }
    bloom_done(&run.bloom);
    finish(ret, firsts);
    free(firsts);
}
