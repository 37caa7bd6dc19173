#include "store/screen.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { PREDICTION_STEPS = 256 }; /* the prediction is computed so many times while a column fills */

static const double rate_min = 1e-9;

void screen_init(struct screen *screen, const struct screen_config *config,
                 const unsigned char secret[BLOOM_KEY_BYTES])
{
    *screen = (struct screen){.config = *config};
    memcpy(screen->secret, secret, BLOOM_KEY_BYTES);
    screen->recent = mem_zalloc(SCREEN_RECENT_MAX, 1);
}

static void free_part(struct screen_part *part)
{
    if (part->sealed)
        bloom_done(&part->bloom);
    else
        bank_done(&part->bank);
}

void screen_done(struct screen *screen)
{
    for (size_t i = 0; i < screen->parts_n; i++)
        free_part(&screen->parts[i]);
    free(screen->parts);
    free(screen->candidates);
    free(screen->recent);
    *screen = (struct screen){0};
}

static uint64_t planned_columns(const struct screen *screen, uint32_t generation_keys,
                                uint64_t columns_known)
{
    uint64_t planned = (screen->config.segment_rows + generation_keys - 1) / generation_keys;

    return planned < columns_known ? columns_known : planned;
}

struct bloom_shape screen_column_shape(const struct screen *screen, uint32_t generation_keys,
                                       uint64_t columns_known)
{
    double third = screen->config.false_positive_rate / 3;
    double columns = (double)planned_columns(screen, generation_keys, columns_known);

    return bloom_shape_for(generation_keys, fmax(third / columns, rate_min));
}

struct bloom_shape screen_sealed_shape(const struct screen *screen, uint64_t keys)
{
    double third = screen->config.false_positive_rate / 3;
    double share = (double)keys / (double)screen->config.capacity;

    return bloom_shape_for(keys, fmin(fmax(third * share, rate_min), third));
}

static void init_bank(const struct screen *screen, struct bank *bank, uint32_t generation_keys,
                      uint64_t columns_known)
{
    bank_init(bank, screen_column_shape(screen, generation_keys, columns_known),
              (uint32_t)planned_columns(screen, generation_keys, columns_known));
}

void screen_add_part(struct screen *screen, uint32_t generation_keys, uint64_t columns_known)
{
    screen->parts = mem_realloc(screen->parts, screen->parts_n + 1, sizeof *screen->parts);
    struct screen_part *part = &screen->parts[screen->parts_n++];

    *part = (struct screen_part){.generation_keys = generation_keys};
    init_bank(screen, &part->bank, generation_keys, columns_known);
    screen_loaded(screen);
}

void screen_empty_part(struct screen *screen, size_t index, uint64_t columns_known)
{
    struct screen_part *part = &screen->parts[index];
    uint32_t generation_keys = part->generation_keys;

    free_part(part);
    *part = (struct screen_part){.generation_keys = generation_keys};
    init_bank(screen, &part->bank, generation_keys, columns_known);
}

static double column_rate(const struct bank *bank, uint32_t column)
{
    return bloom_predict(bank->shape, bank->column[column].keys);
}

/* Full columns do not change any more: only their sums are kept. */
static void close_column(struct screen_part *part, uint32_t column)
{
    const struct bank_column *done = &part->bank.column[column];

    part->log_pass += log1p(-fmin(column_rate(&part->bank, column), 1 - 1e-12));
    part->bits_set += done->bits_set;
    part->keys += done->keys;
    part->fullest = fmax(part->fullest, (double)done->bits_set / (double)part->bank.shape.bits);
}

static void sum_columns(struct screen_part *part)
{
    part->log_pass = part->fullest = 0;
    part->bits_set = part->keys = 0;
    for (uint32_t i = 0; i + 1 < part->bank.columns; i++)
        close_column(part, i);
}

void screen_warm(struct screen *screen)
{
    struct bank *bank = &screen->parts[screen->parts_n - 1].bank;

    mem_populate(bank->bits, bank_memory(bank));
}

void screen_adopt_bank(struct screen *screen, size_t index, struct bank *bank)
{
    struct screen_part *part = &screen->parts[index];
    uint32_t generation_keys = part->generation_keys;

    free_part(part);
    *part = (struct screen_part){.generation_keys = generation_keys, .bank = *bank};
    *bank = (struct bank){0};
}

void screen_seal_part(struct screen *screen, size_t index, struct bloom *bloom)
{
    struct screen_part *part = &screen->parts[index];

    free_part(part);
    *part = (struct screen_part){
        .sealed = true,
        .bloom = *bloom,
        .log_pass = log1p(-fmin(bloom_predict(bloom->shape, bloom->keys), 1 - 1e-12)),
        .bits_set = bloom->bits_set,
        .keys = bloom->keys,
        .fullest = (double)bloom->bits_set / (double)bloom->shape.bits,
    };
    *bloom = (struct bloom){0};
    screen_loaded(screen);
}

void screen_remove_first(struct screen *screen)
{
    free_part(&screen->parts[0]);
    screen->parts_n--;
    memmove(screen->parts, screen->parts + 1, screen->parts_n * sizeof *screen->parts);
    screen_loaded(screen);
}

void screen_load(struct screen *screen, size_t index, uint32_t generation, struct bloom_hash hash)
{
    struct bank *bank = &screen->parts[index].bank;

    while (bank->columns <= generation)
        bank_begin_column(bank);
    bank_add(bank, generation, hash);
}

static double current_log_pass(const struct screen_part *part)
{
    if (!part->bank.columns)
        return 0;
    return log1p(-fmin(column_rate(&part->bank, part->bank.columns - 1), 1 - 1e-12));
}

static void predict(struct screen *screen)
{
    const struct screen_part *active = &screen->parts[screen->parts_n - 1];
    uint64_t load = active->bank.columns ? active->bank.column[active->bank.columns - 1].keys : 0;

    screen->predicted = -expm1(screen->log_pass_rest + current_log_pass(active));
    screen->predicted_until = load + 1 + active->generation_keys / PREDICTION_STEPS;
}

static void sum_parts(struct screen *screen)
{
    screen->log_pass_rest = 0;
    for (size_t i = 0; i < screen->parts_n; i++) {
        screen->log_pass_rest += screen->parts[i].log_pass;
        if (i + 1 < screen->parts_n)
            screen->log_pass_rest += current_log_pass(&screen->parts[i]);
    }
    predict(screen);
}

void screen_loaded(struct screen *screen)
{
    for (size_t i = 0; i < screen->parts_n; i++)
        if (!screen->parts[i].sealed)
            sum_columns(&screen->parts[i]);
    sum_parts(screen);
}

struct bloom_hash screen_hash(const struct screen *screen, const char *key, size_t len)
{
    return bloom_hash(screen->secret, key, len);
}

void screen_prefetch(const struct screen *screen, struct bloom_hash hash)
{
    for (size_t i = screen->parts_n; i-- > 0;)
        if (screen->parts[i].sealed)
            bloom_prefetch(&screen->parts[i].bloom, hash);
        else
            bank_prefetch(&screen->parts[i].bank, hash);
}

static void add_candidate(struct screen *screen, size_t part, int64_t generation)
{
    if (screen->candidates_n == screen->candidates_cap) {
        screen->candidates_cap = screen->candidates_cap ? screen->candidates_cap * 2 : 64;
        screen->candidates =
            mem_realloc(screen->candidates, screen->candidates_cap, sizeof *screen->candidates);
    }
    screen->candidates[screen->candidates_n++] =
        (struct screen_candidate){.part = part, .generation = generation};
}

static void add_mask(struct screen *screen, size_t index)
{
    const struct bank *bank = &screen->parts[index].bank;

    for (uint32_t w = (bank->columns + 63) / 64; w-- > 0;) {
        for (uint64_t rest = bank->mask[w]; rest;) {
            uint32_t bit = 63 - (uint32_t)__builtin_clzll(rest);

            rest &= ~((uint64_t)1 << bit);
            if (w * 64 + bit < bank->columns)
                add_candidate(screen, index, w * 64 + bit);
        }
    }
}

enum screen_answer screen_ask(struct screen *screen, struct bloom_hash hash)
{
    screen->candidates_n = 0;
    for (size_t i = screen->parts_n; i-- > 0;) {
        struct screen_part *part = &screen->parts[i];

        if (part->sealed) {
            if (bloom_ask(&part->bloom, hash))
                add_candidate(screen, i, -1);
        } else if (bank_ask(&part->bank, hash)) {
            add_mask(screen, i);
        }
    }
    return screen->candidates_n ? SCREEN_MAYBE : SCREEN_ABSENT;
}

void screen_suspect_all(struct screen *screen)
{
    screen->candidates_n = 0;
    for (size_t i = screen->parts_n; i-- > 0;) {
        if (screen->parts[i].sealed)
            add_candidate(screen, i, -1);
        for (uint32_t g = screen->parts[i].bank.columns; g-- > 0;)
            add_candidate(screen, i, g);
    }
}

static void count_recent(struct screen *screen, bool was_false_positive)
{
    uint8_t *slot = &screen->recent[screen->recent_asked % SCREEN_RECENT_MAX];

    if (screen->recent_asked >= SCREEN_RECENT_MAX)
        screen->recent_false -= *slot;
    *slot = was_false_positive;
    screen->recent_false += was_false_positive;
    screen->recent_asked++;
}

void screen_count(struct screen *screen, enum screen_answer answer, bool stored)
{
    if (answer == SCREEN_MAYBE && stored) {
        screen->true_positive++;
        return;
    }
    if (answer == SCREEN_MAYBE)
        screen->false_positive++;
    else
        screen->absent++;
    if (!stored) {
        screen->expected_sum += screen->predicted;
        count_recent(screen, answer == SCREEN_MAYBE);
    }
}

uint32_t screen_current_generation(struct screen *screen)
{
    struct screen_part *part = &screen->parts[screen->parts_n - 1];
    uint32_t n = part->bank.columns;

    if (!n || part->bank.column[n - 1].keys >= part->generation_keys) {
        if (n)
            close_column(part, n - 1);
        bank_begin_column(&part->bank);
        sum_parts(screen);
    }
    return part->bank.columns - 1;
}

bool screen_will_widen(const struct screen *screen)
{
    const struct screen_part *part = &screen->parts[screen->parts_n - 1];
    uint32_t n = part->bank.columns;

    return n && n == part->bank.words * 64 && part->bank.column[n - 1].keys >= part->generation_keys;
}

void screen_insert(struct screen *screen, struct bloom_hash hash)
{
    struct screen_part *part = &screen->parts[screen->parts_n - 1];
    uint32_t column = part->bank.columns - 1;

    bank_add(&part->bank, column, hash);
    if (part->bank.column[column].keys >= screen->predicted_until)
        predict(screen);
}

bool screen_holds(const struct screen *screen, size_t part, uint32_t generation, struct bloom_hash hash)
{
    const struct bank *bank = &screen->parts[part].bank;

    if (screen->parts[part].sealed)
        return bloom_ask(&screen->parts[part].bloom, hash);
    return generation < bank->columns && bank_ask_column(bank, generation, hash);
}

struct filter_figures screen_column_figures(const struct screen *screen, size_t part,
                                            uint32_t generation)
{
    const struct bank *bank = &screen->parts[part].bank;

    return (struct filter_figures){
        .bits = bank->shape.bits,
        .bits_set = bank->column[generation].bits_set,
        .keys = bank->column[generation].keys,
        .hashes = bank->shape.hashes,
        .predicted_fpr = column_rate(bank, generation),
    };
}

struct filter_figures screen_part_figures(const struct screen *screen, size_t index)
{
    const struct screen_part *part = &screen->parts[index];

    if (part->sealed)
        return (struct filter_figures){
            .bits = part->bloom.shape.bits,
            .bits_set = part->bits_set,
            .keys = part->keys,
            .hashes = part->bloom.shape.hashes,
            .predicted_fpr = -expm1(part->log_pass),
        };
    struct filter_figures ret = {
        .bits = part->bank.shape.bits * part->bank.columns,
        .bits_set = part->bits_set,
        .keys = part->keys,
        .hashes = part->bank.shape.hashes,
        .predicted_fpr = -expm1(part->log_pass + current_log_pass(part)),
    };

    if (part->bank.columns) {
        ret.bits_set += part->bank.column[part->bank.columns - 1].bits_set;
        ret.keys += part->bank.column[part->bank.columns - 1].keys;
    }
    return ret;
}

static double part_fullest(const struct screen_part *part)
{
    if (part->sealed || !part->bank.columns)
        return part->fullest;
    double last = (double)part->bank.column[part->bank.columns - 1].bits_set;

    return fmax(part->fullest, last / (double)part->bank.shape.bits);
}

void screen_fill_figures(const struct screen *screen, struct figures *ret)
{
    const struct screen_part *active = &screen->parts[screen->parts_n - 1];

    ret->bits = ret->bits_set = ret->keys = ret->memory_bytes = 0;
    ret->fullest = 0;
    for (size_t i = 0; i < screen->parts_n; i++) {
        struct filter_figures part = screen_part_figures(screen, i);

        ret->bits += part.bits;
        ret->bits_set += part.bits_set;
        ret->keys += part.keys;
        ret->memory_bytes += screen->parts[i].sealed ? bloom_memory(&screen->parts[i].bloom)
                                                     : bank_memory(&screen->parts[i].bank);
        ret->fullest = fmax(ret->fullest, part_fullest(&screen->parts[i]));
    }
    ret->capacity = screen->config.capacity;
    ret->target_fpr = screen->config.false_positive_rate;
    ret->hashes = active->bank.shape.hashes;
    ret->optimal_hashes = bloom_optimal_hashes(active->bank.shape.bits, active->generation_keys);
    ret->predicted_fpr = -expm1(screen->log_pass_rest + current_log_pass(active));
    ret->expected_sum = screen->expected_sum;
    ret->absent = screen->absent;
    ret->maybe = screen->true_positive + screen->false_positive;
    ret->true_positive = screen->true_positive;
    ret->false_positive = screen->false_positive;
    ret->lookups = screen->lookups;
    ret->recent_absent_asked =
        screen->recent_asked < SCREEN_RECENT_MAX ? screen->recent_asked : SCREEN_RECENT_MAX;
    ret->recent_false_positive = screen->recent_false;
}
