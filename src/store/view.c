#include "store/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/store_state.h"

void view_done(struct view *view)
{
    free(view->words);
    view->words = NULL;
}

uint64_t view_count(const struct view *view, uint64_t from, uint64_t to)
{
    uint64_t at = from - view->from, end = to - view->from, count = 0;

    while (at < end) {
        uint64_t step = 64 - at % 64 < end - at ? 64 - at % 64 : end - at;
        uint64_t bits = view->words[at / 64] >> at % 64;

        if (step < 64)
            bits &= ((uint64_t)1 << step) - 1;
        count += (uint64_t)__builtin_popcountll(bits);
        at += step;
    }
    return count;
}

/* The range that is copied: what there is of the one asked for, and no more than is copied at a time. */
static void cut_range(struct view *view)
{
    if (view->to > view->shape.bits)
        view->to = view->shape.bits;
    if (view->from > view->to)
        view->from = view->to;
    if (view->to - view->from > VIEW_BITS_MAX)
        view->to = view->from + VIEW_BITS_MAX;
    view->words = mem_zalloc((view->to - view->from + 63) / 64 + 1, sizeof *view->words);
}

static const char *copy_sealed(const struct store_segment *segment, const struct bloom *bloom,
                               struct view *ret)
{
    if (ret->generation != VIEW_NEWEST)
        return "the segment is sealed: one filter for all its keys, without generations";
    ret->shape = bloom->shape;
    ret->keys = ret->sized_for = bloom->keys;
    ret->bits_set = bloom->bits_set;
    ret->first_seq = segment->meta.first_seq;
    ret->end_seq = store_next_seq(segment);
    cut_range(ret);
    bloom_copy(bloom, ret->from, ret->to, ret->words);
    return NULL;
}

static const char *copy_column(const struct store_segment *segment, const struct screen_part *part,
                               struct view *ret)
{
    const struct bank *bank = &part->bank;

    if (ret->generation >= (int64_t)bank->columns || !bank->columns)
        return bank->columns ? "the segment has no such generation" : "the segment has no trades yet";
    uint32_t g = ret->generation == VIEW_NEWEST ? bank->columns - 1 : (uint32_t)ret->generation;
    int64_t next_seq = store_next_seq(segment);

    ret->generation = g;
    ret->growing = segment->state == SEGMENT_ACTIVE && g + 1 == bank->columns;
    ret->shape = bank->shape;
    ret->keys = bank->column[g].keys;
    ret->bits_set = bank->column[g].bits_set;
    ret->sized_for = part->generation_keys;
    ret->first_seq = g < segment->generations_n ? segment->generation_first_seq[g] : next_seq;
    ret->end_seq = g + 1 < segment->generations_n ? segment->generation_first_seq[g + 1] : next_seq;
    cut_range(ret);
    bank_copy_column(bank, g, ret->from, ret->to, ret->words);
    return NULL;
}

void store_view(struct store *store, struct view *ret)
{
    size_t i = store->segments_n - 1;

    while (ret->segment[0] && strcmp(store->segments[i].name, ret->segment) != 0 && i)
        i--;
    const struct store_segment *segment = &store->segments[i];
    const struct screen_part *part = &store->screen.parts[i];

    if (ret->segment[0] && strcmp(segment->name, ret->segment) != 0) {
        ret->missing = "there is no such segment";
        return;
    }
    memcpy(ret->segment, segment->name, sizeof ret->segment);
    memcpy(ret->secret, store->screen.secret, sizeof ret->secret);
    ret->taken_us = clock_wall_us();
    ret->missing =
        part->sealed ? copy_sealed(segment, &part->bloom, ret) : copy_column(segment, part, ret);
}
