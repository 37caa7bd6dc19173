#include "store/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/bloom.h"

static void *copy_list(const void *list, size_t n, size_t entry)
{
    return n ? memcpy(mem_alloc(n * entry), list, n * entry) : NULL;
}

void figures_copy(struct figures *ret, const struct figures *from)
{
    *ret = *from;
    ret->generations = copy_list(from->generations, from->generations_n, sizeof *from->generations);
    ret->segments = copy_list(from->segments, from->segments_n, sizeof *from->segments);
}

void figures_done(struct figures *figures)
{
    free(figures->generations);
    free(figures->segments);
    *figures = (struct figures){0};
}

static double ratio(double part, uint64_t whole)
{
    return whole ? part / (double)whole : NAN;
}

/* The questions that say something about the filters are those about keys that no store holds: each was
 * answered absent, rightly, or maybe, a false positive. */
struct figures_rates figures_rates(const struct figures *figures)
{
    uint64_t wrong = figures->false_positive, strangers = wrong + figures->absent;
    struct figures_rates rates = {
        .measured = ratio((double)wrong, strangers),
        .measured_low = NAN,
        .measured_high = NAN,
        .expected = ratio(figures->expected_sum, strangers),
        .recent = ratio((double)figures->recent_false_positive, figures->recent_absent_asked),
        .false_discovery = ratio((double)wrong, figures->maybe),
    };

    if (strangers)
        wilson_interval(wrong, strangers, &rates.measured_low, &rates.measured_high);
    return rates;
}
