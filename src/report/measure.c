#include "report/measure.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

enum { CHUNK = 4096 }; /* strangers between two looks at the clock */

static const uint64_t strangers_min = 1 << 16, strangers_max = 1 << 22;
static const double maybes_wanted = 100;

struct bloom_hash measure_stranger(const unsigned char secret[BLOOM_KEY_BYTES], uint64_t number)
{
    char key[1 + sizeof number] = "\001";

    memcpy(key + 1, &number, sizeof number);
    return bloom_hash(secret, key, sizeof key);
}

uint64_t measure_strangers_for(double rate)
{
    double wanted = rate > 0 ? maybes_wanted / rate : (double)strangers_max;

    if (wanted >= (double)strangers_max)
        return strangers_max;
    return wanted <= (double)strangers_min ? strangers_min : (uint64_t)wanted;
}

static bool go_on(const struct measure_strangers *strangers, uint64_t asked)
{
    if (asked && asked % CHUNK == 0 && clock_mono_us() >= strangers->until_us)
        return false;
    return asked < strangers->n;
}

/* ---- every load ---- */

/* For each bit the load at which it was set, 0: never. */
static uint32_t *find_first_keys(struct bloom_shape shape, const struct bloom_hash *keys, size_t n)
{
    uint32_t *first = mem_zalloc(shape.bits, sizeof *first);

    for (size_t i = 0; i < n; i++) {
        struct bloom_hash hash = keys[i];

        for (uint32_t j = 0; j < shape.hashes; j++) {
            uint64_t at = bloom_next_position(&hash, shape.bits, j);

            if (!first[at])
                first[at] = (uint32_t)i + 1;
        }
    }
    return first;
}

/* The load from which on a stranger is answered maybe, who is so in the end. */
static uint32_t maybe_from(const uint32_t *first, struct bloom_shape shape, struct bloom_hash stranger)
{
    uint32_t from = 0;

    for (uint32_t j = 0; j < shape.hashes; j++) {
        uint32_t load = first[bloom_next_position(&stranger, shape.bits, j)];

        if (load > from)
            from = load;
    }
    return from;
}

/* All keys at once: a thirty-second of `first`, so that nearly every stranger is done with in the cache. */
static void fill(struct bloom *ret, struct bloom_shape shape, const struct bloom_hash *keys, size_t n)
{
    bloom_init(ret, shape);
    for (size_t i = 0; i < n; i++)
        bloom_add(ret, keys[i]);
}

/* The first point at or behind a load; loads_n when there is none. */
static size_t point_of(const uint64_t *loads, size_t loads_n, uint64_t load)
{
    size_t low = 0, high = loads_n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (loads[middle] < load)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What was counted where it happened becomes what had happened by then. */
static void sum_up(struct measure_point *points, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        points[i].bits_set += points[i - 1].bits_set;
        points[i].maybe += points[i - 1].maybe;
    }
}

uint64_t measure_curve(struct bloom_shape shape, const struct bloom_hash *keys, size_t n,
                       const struct measure_strangers *strangers, const uint64_t *loads, size_t loads_n,
                       struct measure_point *ret, uint64_t *ret_first_maybe)
{
    assert(n < UINT32_MAX);
    uint32_t *first = find_first_keys(shape, keys, n);
    uint64_t earliest = 0, asked = 0;
    struct bloom full;
    size_t at;

    fill(&full, shape, keys, n);
    for (at = 0; at < loads_n; at++)
        ret[at] = (struct measure_point){0};
    for (uint64_t bit = 0; bit < shape.bits; bit++)
        if (first[bit] && (at = point_of(loads, loads_n, first[bit])) < loads_n)
            ret[at].bits_set++;
    for (; go_on(strangers, asked); asked++) {
        struct bloom_hash stranger = measure_stranger(strangers->secret, asked);

        if (!bloom_ask(&full, stranger))
            continue;
        uint32_t load = maybe_from(first, shape, stranger);

        if (!earliest || load < earliest)
            earliest = load;
        if ((at = point_of(loads, loads_n, load)) < loads_n)
            ret[at].maybe++;
    }
    sum_up(ret, loads_n);
    *ret_first_maybe = earliest;
    bloom_done(&full);
    free(first);
    return asked;
}

/* ---- every k ---- */

/* For each bit the smallest k with which it is set, 0: with none. */
static uint8_t *find_first_hashes(uint64_t bits, uint32_t hashes_max, const struct bloom_hash *keys,
                                  size_t n)
{
    uint8_t *first = mem_zalloc(bits, sizeof *first);

    for (size_t i = 0; i < n; i++) {
        struct bloom_hash hash = keys[i];

        for (uint32_t j = 0; j < hashes_max; j++) {
            uint64_t at = bloom_next_position(&hash, bits, j);

            if (!first[at] || first[at] > j + 1)
                first[at] = (uint8_t)(j + 1);
        }
    }
    return first;
}

/* With k positions a stranger is answered maybe when none of its first k bits needs more than k. */
static void ask_every_k(const uint8_t *first, uint64_t bits, uint32_t hashes_max,
                        struct bloom_hash stranger, struct measure_point *ret)
{
    uint32_t needs = 0;

    for (uint32_t j = 0; j < hashes_max; j++) {
        uint8_t least = first[bloom_next_position(&stranger, bits, j)];

        if (!least)
            return;
        if (least > needs)
            needs = least;
        ret[j].maybe += needs <= j + 1;
    }
}

uint64_t measure_sweep(uint64_t bits, uint32_t hashes_max, const struct bloom_hash *keys, size_t n,
                       const struct measure_strangers *strangers, struct measure_point *ret)
{
    assert(hashes_max <= BLOOM_HASHES_MAX);
    uint8_t *first = find_first_hashes(bits, hashes_max, keys, n);
    uint64_t asked = 0;

    memset(ret, 0, hashes_max * sizeof *ret);
    for (uint64_t bit = 0; bit < bits; bit++)
        if (first[bit])
            ret[first[bit] - 1].bits_set++;
    for (uint32_t j = 1; j < hashes_max; j++)
        ret[j].bits_set += ret[j - 1].bits_set;
    for (; go_on(strangers, asked); asked++)
        ask_every_k(first, bits, hashes_max, measure_stranger(strangers->secret, asked), ret);
    free(first);
    return asked;
}
