#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/bloom.h"
#include "store_fixture.h"
#include "suite.h"

#define ROWS(table) ((int)(sizeof table / sizeof *table))

static const unsigned char secret[BLOOM_KEY_BYTES] = "sixteen bytes ok";

static struct bloom_hash hash_of(uint64_t group, uint64_t number)
{
    unsigned char own[BLOOM_KEY_BYTES];
    char key[sizeof number];

    memcpy(own, secret, sizeof own);
    memcpy(own, &group, sizeof group);
    memcpy(key, &number, sizeof key);
    return bloom_hash(own, key, sizeof key);
}

static bool near(double a, double b, double relative)
{
    return fabs(a - b) <= relative * fabs(b);
}

/* ---- the formulas ---- */

static const struct {
    uint64_t bits, keys;
    uint32_t hashes;
    double rate, tolerance; /* relative */
} predictions[] = {
    {10, 2, 2, 0.108688872, 1e-8},   {512, 180, 3, 0.277, 0.002}, {256, 400, 3, 0.973, 0.001},
    {9586, 1000, 7, 0.01004, 0.001}, {1 << 20, 0, 7, 0, 0},
};

START_TEST(the_predicted_rate_is_the_known_one)
{
    struct bloom_shape shape = {predictions[_i].bits, predictions[_i].hashes};
    double rate = bloom_predict(shape, predictions[_i].keys);

    ck_assert_msg(near(rate, predictions[_i].rate, predictions[_i].tolerance), "%.9f", rate);
}
END_TEST

START_TEST(a_tiny_rate_is_predicted_without_cancellation)
{
    struct bloom_shape shape = {UINT64_C(1) << 40, 1};

    ck_assert(near(bloom_predict(shape, 1), ldexp(1, -40), 1e-9));
}
END_TEST

static const struct {
    uint64_t keys;
    double rate, kib; /* of memory */
    uint32_t hashes;
} shapes[] = {
    {1000, 0.01, 1.17, 7},   {100000, 0.01, 117, 7},   {100000, 0.001, 175.5, 10},
    {1, 0.5, 8.0 / 1024, 1}, {65536, 1e-9, 345.1, 30},
};

START_TEST(a_shape_takes_the_known_memory_and_positions)
{
    struct bloom_shape shape = bloom_shape_for(shapes[_i].keys, shapes[_i].rate);

    ck_assert_uint_eq(shape.hashes, shapes[_i].hashes);
    ck_assert_msg(near((double)shape.bits / 8192, shapes[_i].kib, 0.002), "%llu bits",
                  (unsigned long long)shape.bits);
}
END_TEST

START_TEST(a_shape_predicts_the_rate_it_was_made_for)
{
    for (uint64_t keys = 100; keys <= 100000000; keys *= 10)
        for (double rate = 0.3; rate > 1e-9; rate /= 3) {
            double predicted = bloom_predict(bloom_shape_for(keys, rate), keys);

            ck_assert_msg(near(predicted, rate, 0.03), "%g keys, %g: %g", (double)keys, rate,
                          predicted);
        }
}
END_TEST

START_TEST(a_filter_for_no_keys_has_a_shape_too)
{
    struct bloom_shape shape = bloom_shape_for(0, 0.01);

    ck_assert_uint_eq(shape.bits, BLOOM_BITS_MIN);
    ck_assert_uint_ge(shape.hashes, 1);
}
END_TEST

START_TEST(no_shape_has_less_than_one_position)
{
    ck_assert_uint_eq(bloom_shape_for(1000, 0.99).hashes, 1);
}
END_TEST

START_TEST(optimal_positions_are_the_known_ones)
{
    ck_assert(near(bloom_optimal_hashes(9586, 1000), 6.644, 0.001));
    ck_assert(near(bloom_optimal_hashes(512, 118), 3.007, 0.001));
    ck_assert(bloom_optimal_hashes(512, 0) == 0);
    ck_assert(near(bloom_optimal_keys((struct bloom_shape){512, 3}), 118.30, 0.0001));
}
END_TEST

START_TEST(more_positions_than_optimal_make_it_worse)
{
    for (uint32_t hashes = 4; hashes < 20; hashes++)
        ck_assert(bloom_predict((struct bloom_shape){512, hashes}, 118) >
                  bloom_predict((struct bloom_shape){512, hashes - 1}, 118));
}
END_TEST

static const struct {
    uint64_t hits, n;
    double low, high;
} intervals[] = {
    {0, 10, 0, 0.2775328},           {10, 10, 0.7224672, 1},
    {5, 10, 0.23659309, 0.76340691}, {1, 100, 0.00176743, 0.0544862},
    {0, 1, 0, 0.79345069},           {10, 1000, 0.00544075, 0.01830947},
    {1, 1, 0.20654931, 1},           {50, 100, 0.4038315, 0.5961685},
};

START_TEST(the_wilson_interval_has_the_known_ends)
{
    double low, high;

    wilson_interval(intervals[_i].hits, intervals[_i].n, &low, &high);
    ck_assert_msg(fabs(low - intervals[_i].low) < 1e-6 && fabs(high - intervals[_i].high) < 1e-6,
                  "%.8f %.8f", low, high);
}
END_TEST

/* ---- the hash ---- */

START_TEST(the_hash_is_siphash_2_4_128)
{
    /* The reference's vector for the empty input under the key 00 01 .. 0f. */
    static const unsigned char key[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    struct bloom_hash hash = bloom_hash(key, "", 0);

    ck_assert_uint_eq(hash.x, 0xe6a825ba047f81a3u);
    ck_assert_uint_eq(hash.y, 0x930255c71472f66du);
}
END_TEST

START_TEST(positions_stay_inside_and_move)
{
    for (uint64_t bits = 64; bits < UINT64_C(1) << 50; bits = bits * 3 + 1) {
        struct bloom_hash hash = hash_of(1, bits);
        uint64_t all_equal = 1, first = bloom_next_position(&hash, bits, 0);

        for (uint32_t i = 1; i < BLOOM_HASHES_MAX; i++) {
            uint64_t position = bloom_next_position(&hash, bits, i);

            ck_assert_uint_lt(position, bits);
            all_equal &= position == first;
        }
        ck_assert(!all_equal);
    }
}
END_TEST

/* ---- the filter ---- */

static void fill(struct bloom *bloom, uint64_t group, uint64_t keys)
{
    for (uint64_t i = 0; i < keys; i++)
        bloom_add(bloom, hash_of(group, i));
}

static const struct {
    uint64_t keys;
    struct bloom_shape shape;
    uint64_t filters, probes; /* so many filters, each asked so many strangers */
} measured[] = {
    {0, {64, 1}, 2, 10000},          {0, {9586, 7}, 2, 10000},         {1, {64, 1}, 100, 10000},
    {1, {64, 2}, 200, 10000},        {64, {614, 7}, 200, 5000},        {64, {614, 1}, 100, 5000},
    {64, {92, 1}, 100, 5000},        {64, {1024, 11}, 400, 5000},      {118, {512, 3}, 400, 2000},
    {180, {512, 3}, 400, 2000},      {400, {256, 3}, 200, 1000},       {1000, {9586, 7}, 40, 10000},
    {1000, {14378, 10}, 40, 50000},  {1000, {9586, 2}, 40, 10000},     {1000, {9586, 20}, 40, 10000},
    {65536, {628000, 7}, 2, 200000}, {65536, {942000, 10}, 2, 500000}, {65536, {471000, 3}, 2, 50000},
};

/* The formula takes positions as independent and the fill as its mean, which is up to some percent too
 * low for small filters: so much is allowed besides four standard deviations. */
START_TEST(strangers_are_answered_maybe_as_often_as_predicted)
{
    double expected = bloom_predict(measured[_i].shape, measured[_i].keys);
    double n = (double)(measured[_i].filters * measured[_i].probes);
    uint64_t maybe = 0;

    for (uint64_t group = 1; group <= measured[_i].filters; group++) {
        struct bloom bloom;

        bloom_init(&bloom, measured[_i].shape);
        fill(&bloom, group, measured[_i].keys);
        for (uint64_t i = 0; i < measured[_i].probes; i++)
            maybe += bloom_ask(&bloom, hash_of(group, (UINT64_C(1) << 40) + i));
        bloom_done(&bloom);
    }
    double rate = (double)maybe / n, noise = 4 * sqrt(expected * (1 - expected) / n);

    ck_assert_msg(rate >= 0.93 * expected - noise && rate <= 1.12 * expected + noise,
                  "%.4g measured, %.4g predicted", rate, expected);
}
END_TEST

/* The rate of an ideal filter is the mean of (X / m)^k over X, the bits that kn throws set. Small filters
 * are seen through this; of large ones the formula differs by less than the noise. */
static double ideal_rate(struct bloom_shape shape, uint64_t keys)
{
    uint64_t throws = keys * shape.hashes, m = shape.bits;
    double rate = 0;

    if (!throws || throws * m > 4000000)
        return bloom_predict(shape, keys);
    double *probability = mem_zalloc(m + 1, sizeof *probability); /* of each X */

    probability[0] = 1;
    for (uint64_t n = 0; n < throws; n++)
        for (uint64_t x = (n < m ? n + 1 : m) + 1; x-- > 0;)
            probability[x] = probability[x] * (double)x / (double)m +
                             (x ? probability[x - 1] * (double)(m - x + 1) / (double)m : 0);
    for (uint64_t x = 1; x <= m; x++)
        rate += probability[x] * pow((double)x / (double)m, shape.hashes);
    free(probability);
    return rate;
}

/* The shape with so many positions whose predicted rate is 1 in 1000: one of one key, being no smaller
 * than the minimum, predicts less. */
static struct bloom_shape shape_of(uint64_t keys, uint32_t hashes)
{
    double fill = pow(0.001, 1.0 / hashes);
    double bits = ceil(-(double)hashes * (double)keys / log1p(-fill));

    return (struct bloom_shape){bits < BLOOM_BITS_MIN ? BLOOM_BITS_MIN : (uint64_t)bits, hashes};
}

/* How many strangers of each filter are answered maybe. weak: hashes whose second word says nothing. */
static uint64_t count_maybe(struct bloom_shape shape, uint64_t keys, uint64_t filters, uint64_t probes,
                            bool weak)
{
    uint64_t maybe = 0;

    for (uint64_t group = 1; group <= filters; group++) {
        struct bloom bloom;

        bloom_init(&bloom, shape);
        for (uint64_t i = 0; i < keys + probes; i++) {
            struct bloom_hash hash = hash_of(group, i);

            hash.y = weak ? 1 : hash.y;
            if (i < keys)
                bloom_add(&bloom, hash);
            else
                maybe += bloom_ask(&bloom, hash);
        }
        bloom_done(&bloom);
    }
    return maybe;
}

static const struct {
    uint64_t keys, filters, probes;
} sizes[] = {{0, 10, 10000}, {1, 1000, 500}, {64, 200, 1500}, {1000, 20, 10000}, {65536, 1, 200000}};

enum { HASHES_MEASURED = 40, STEP = 1, STEP_BRIEF = 13 };

static uint32_t hashes_step(void)
{
    return (uint32_t)suite_amount(NULL, STEP, STEP_BRIEF);
}

/* Whether so many strangers are maybe as are expected, give or take what chance allows. */
static bool is_ideal(int size, uint32_t hashes, bool weak)
{
    struct bloom_shape shape = shape_of(sizes[size].keys, hashes);
    double n = (double)(sizes[size].filters * sizes[size].probes);
    double expected = n * ideal_rate(shape, sizes[size].keys);
    double maybe =
        (double)count_maybe(shape, sizes[size].keys, sizes[size].filters, sizes[size].probes, weak);
    double allowed = 0.04 * expected + 4 * sqrt(expected) + (sizes[size].keys ? 2 : 0);

    if (!weak && fabs(maybe - expected) > allowed)
        printf("%llu keys, %u positions: %.0f of %.0f strangers are maybe, %.1f expected\n",
               (unsigned long long)sizes[size].keys, hashes, maybe, n, expected);
    return fabs(maybe - expected) <= allowed;
}

START_TEST(filters_of_every_size_measure_as_predicted_from_1_to_40_positions)
{
    for (uint32_t hashes = 1; hashes <= HASHES_MEASURED; hashes += hashes_step())
        ck_assert(is_ideal(_i, hashes, false));
}
END_TEST

/* The control: positions that follow from one word alone are found out. */
START_TEST(weak_hashes_do_not_measure_as_predicted)
{
    for (uint32_t hashes = 3; hashes <= HASHES_MEASURED; hashes += hashes_step())
        ck_assert(!is_ideal(1, hashes, true) && !is_ideal(2, hashes, true));
}
END_TEST

START_TEST(a_key_that_was_added_is_never_denied)
{
    struct store_random random = {store_random_seed()};

    for (int round = 0; round < 60; round++) {
        struct bloom_shape shape = {BLOOM_BITS_MIN + store_random_below(&random, 5000),
                                    1 + (uint32_t)store_random_below(&random, BLOOM_HASHES_MAX)};
        uint64_t keys = store_random_below(&random, 500), group = store_random_next(&random);
        struct bloom bloom;

        bloom_init(&bloom, shape);
        fill(&bloom, group, keys);
        for (uint64_t i = 0; i < keys; i++)
            ck_assert(bloom_ask(&bloom, hash_of(group, i)));
        bloom_done(&bloom);
    }
}
END_TEST

START_TEST(bits_set_are_counted_as_they_are)
{
    struct bloom bloom;
    uint64_t counted = 0;

    bloom_init(&bloom, bloom_shape_for(1000, 0.01));
    fill(&bloom, 1, 1000);
    for (size_t i = 0; i < bloom_memory(&bloom) / 8; i++)
        counted += (uint64_t)__builtin_popcountll(bloom.words[i]);
    ck_assert_uint_eq(bloom.bits_set, counted);
    ck_assert_uint_eq(bloom.keys, 1000);
    ck_assert(near((double)counted / (double)bloom.shape.bits, 0.518, 0.03));
    bloom_done(&bloom);
}
END_TEST

/* ---- keys that somebody chose ---- */

enum { CHOSEN = 2000, CANDIDATES = 50, ATTACKED = 1, OTHER = 2 /* the secrets of two stores */ };

static unsigned bits_it_would_set(const struct bloom *bloom, struct bloom_hash hash)
{
    uint64_t positions[BLOOM_HASHES_MAX];
    unsigned n = 0;

    bloom_explain(bloom, hash, positions);
    for (uint32_t i = 0; i < bloom->shape.hashes; i++)
        n += !(bloom->words[positions[i] / 64] >> positions[i] % 64 & 1);
    return n;
}

/* Of so many candidates the one that fills the filter of a store with a known secret the most. */
static uint64_t choose_worst(const struct bloom *bloom, uint64_t round)
{
    uint64_t worst = round * CANDIDATES;
    unsigned most = 0;

    for (uint64_t i = round * CANDIDATES; i < (round + 1) * CANDIDATES; i++) {
        unsigned bits = bits_it_would_set(bloom, hash_of(ATTACKED, i));

        if (bits > most) {
            most = bits;
            worst = i;
        }
    }
    return worst;
}

static double fill_ratio(const struct bloom *bloom)
{
    return (double)bloom->bits_set / (double)bloom->shape.bits;
}

START_TEST(keys_chosen_to_saturate_one_store_are_random_to_another)
{
    struct bloom_shape shape = bloom_shape_for(CHOSEN, 0.01);
    double expected = 1 - exp(-(double)shape.hashes * CHOSEN / (double)shape.bits);
    struct bloom attacked, other;

    bloom_init(&attacked, shape);
    bloom_init(&other, shape);
    for (uint64_t round = 0; round < CHOSEN; round++) {
        uint64_t key = choose_worst(&attacked, round);

        bloom_add(&attacked, hash_of(ATTACKED, key));
        bloom_add(&other, hash_of(OTHER, key));
    }
    ck_assert_msg(fill_ratio(&attacked) > expected * 1.2, "%.4f", fill_ratio(&attacked));
    ck_assert_msg(near(fill_ratio(&other), expected, 0.02), "%.4f", fill_ratio(&other));
    bloom_done(&attacked);
    bloom_done(&other);
}
END_TEST

/* Strangers that one store answers "maybe", each of which costs it a look-up. */
START_TEST(keys_chosen_to_be_false_positives_of_one_store_are_random_to_another)
{
    struct bloom_shape shape = bloom_shape_for(CHOSEN, 0.01);
    struct bloom attacked, other;
    unsigned found = 0, maybe = 0;

    bloom_init(&attacked, shape);
    bloom_init(&other, shape);
    for (uint64_t i = 0; i < CHOSEN; i++) {
        bloom_add(&attacked, hash_of(ATTACKED, i));
        bloom_add(&other, hash_of(OTHER, i));
    }
    for (uint64_t i = CHOSEN; found < CHOSEN; i++) {
        if (!bloom_ask(&attacked, hash_of(ATTACKED, i)))
            continue;
        found++;
        maybe += bloom_ask(&other, hash_of(OTHER, i));
    }
    ck_assert_msg(maybe < CHOSEN * 0.01 * 2, "%u of %u", maybe, found); /* 20 expected, 4.5 sigma */
    ck_assert_msg(maybe > 0, "the other store's filter answers nothing");
    bloom_done(&attacked);
    bloom_done(&other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bloom");
    TCase *cases = tcase_create("bloom");

    tcase_add_loop_test(cases, the_predicted_rate_is_the_known_one, 0, ROWS(predictions));
    tcase_add_test(cases, a_tiny_rate_is_predicted_without_cancellation);
    tcase_add_loop_test(cases, a_shape_takes_the_known_memory_and_positions, 0, ROWS(shapes));
    tcase_add_test(cases, a_shape_predicts_the_rate_it_was_made_for);
    tcase_add_test(cases, a_filter_for_no_keys_has_a_shape_too);
    tcase_add_test(cases, no_shape_has_less_than_one_position);
    tcase_add_test(cases, optimal_positions_are_the_known_ones);
    tcase_add_test(cases, more_positions_than_optimal_make_it_worse);
    tcase_add_loop_test(cases, the_wilson_interval_has_the_known_ends, 0, ROWS(intervals));
    tcase_add_test(cases, the_hash_is_siphash_2_4_128);
    tcase_add_test(cases, positions_stay_inside_and_move);
    tcase_add_loop_test(cases, strangers_are_answered_maybe_as_often_as_predicted, 0, ROWS(measured));
    tcase_add_loop_test(cases, filters_of_every_size_measure_as_predicted_from_1_to_40_positions, 0,
                        ROWS(sizes));
    tcase_add_test(cases, weak_hashes_do_not_measure_as_predicted);
    tcase_add_test(cases, a_key_that_was_added_is_never_denied);
    tcase_add_test(cases, bits_set_are_counted_as_they_are);
    tcase_add_test(cases, keys_chosen_to_saturate_one_store_are_random_to_another);
    tcase_add_test(cases, keys_chosen_to_be_false_positives_of_one_store_are_random_to_another);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
