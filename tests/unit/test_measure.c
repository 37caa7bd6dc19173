/* The simulation of /curve and /sweep against filters that are really filled and really asked, and against
 * the mathematics. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "report/measure.h"
#include "suite.h"

static const unsigned char secret[BLOOM_KEY_BYTES] = "sixteen bytes ok";

#define ASK(count) (&(struct measure_strangers){secret, count, INT64_MAX})

static struct bloom_hash *keys_of(size_t n)
{
    struct bloom_hash *keys = mem_alloc(n * sizeof *keys + 1);

    for (size_t i = 0; i < n; i++)
        keys[i] = bloom_hash(secret, (const char *)&i, sizeof i);
    return keys;
}

/* One filter, filled and asked as the daemon does it. */
static struct measure_point fill_and_ask(struct bloom_shape shape, const struct bloom_hash *keys,
                                         size_t n, uint64_t strangers)
{
    struct measure_point ret = {0};
    struct bloom bloom;

    bloom_init(&bloom, shape);
    for (size_t i = 0; i < n; i++)
        bloom_add(&bloom, keys[i]);
    for (uint64_t i = 0; i < strangers; i++)
        ret.maybe += bloom_ask(&bloom, measure_stranger(secret, i));
    ret.bits_set = bloom.bits_set;
    bloom_done(&bloom);
    return ret;
}

static void assert_same(struct measure_point a, struct measure_point b)
{
    ck_assert_uint_eq(a.bits_set, b.bits_set);
    ck_assert_uint_eq(a.maybe, b.maybe);
}

START_TEST(each_point_of_a_curve_is_a_filter_of_that_many_keys)
{
    static const struct bloom_shape shapes[] = {{64, 1}, {512, 3}, {5000, 7}, {1021, 16}, {256, 64}};
    static const uint64_t loads[] = {1, 2, 3, 50, 117, 118, 200, 333};
    enum { N = sizeof loads / sizeof *loads, STRANGERS = 3000 };
    struct bloom_hash *keys = keys_of(333);
    struct measure_point points[N];
    uint64_t first;

    measure_curve(shapes[_i], keys, 333, ASK(STRANGERS), loads, N, points, &first);
    for (int i = 0; i < N; i++)
        assert_same(points[i], fill_and_ask(shapes[_i], keys, loads[i], STRANGERS));
    free(keys);
}
END_TEST

START_TEST(the_first_maybe_is_said_at_that_load_and_at_none_before)
{
    static const struct bloom_shape shape = {2000, 5};
    static const uint64_t loads[] = {400};
    struct bloom_hash *keys = keys_of(400);
    struct measure_point point;
    uint64_t first;

    measure_curve(shape, keys, 400, ASK(1000), loads, 1, &point, &first);
    ck_assert_uint_gt(first, 1);
    ck_assert_uint_eq(fill_and_ask(shape, keys, first - 1, 1000).maybe, 0);
    ck_assert_uint_gt(fill_and_ask(shape, keys, first, 1000).maybe, 0);
    measure_curve(shape, keys, first - 1, ASK(1000), NULL, 0, NULL, &first);
    ck_assert_uint_eq(first, 0);
    free(keys);
}
END_TEST

START_TEST(each_point_of_a_sweep_is_a_filter_with_that_many_positions)
{
    enum { N = 300, K_MAX = 24, STRANGERS = 4000 };
    struct bloom_hash *keys = keys_of(N);
    struct measure_point points[K_MAX];

    measure_sweep(3000, K_MAX, keys, N, ASK(STRANGERS), points);
    for (uint32_t k = 1; k <= K_MAX; k++)
        assert_same(points[k - 1], fill_and_ask((struct bloom_shape){3000, k}, keys, N, STRANGERS));
    free(keys);
}
END_TEST

/* 118 keys are what 512 bits and 3 positions are right for; with 180 and 400 the wall fills. */
START_TEST(the_mathematics_lies_within_what_is_measured)
{
    static const struct {
        struct bloom_shape shape;
        size_t keys;
    } cases[] = {{{512, 3}, 118}, {{512, 3}, 180}, {{256, 3}, 400}, {{95851, 7}, 10000}};
    enum { STRANGERS = 200000 };
    struct bloom_hash *keys = keys_of(cases[_i].keys);
    const uint64_t load = cases[_i].keys;
    double predicted = bloom_predict(cases[_i].shape, load);
    struct measure_point point;
    uint64_t first;

    measure_curve(cases[_i].shape, keys, load, ASK(STRANGERS), &load, 1, &point, &first);
    double measured = (double)point.maybe / STRANGERS;

    /* One small filter strays from the mean of all by more than its strangers do: 15 %. */
    ck_assert_double_gt(measured, predicted * 0.85);
    ck_assert_double_lt(measured, predicted * 1.15);
    /* The control: of one position less or with half the keys the mathematics is another. */
    ck_assert(fabs(bloom_predict(cases[_i].shape, load / 2) / measured - 1) > 0.15);
    free(keys);
}
END_TEST

START_TEST(a_sweep_is_lowest_about_where_the_mathematics_has_its_minimum)
{
    enum { N = 5000, K_MAX = 16 };
    struct bloom_hash *keys = keys_of(N);
    struct measure_point points[K_MAX];
    uint32_t least = 1;

    measure_sweep(10 * N, K_MAX, keys, N, ASK(100000), points); /* 10 ln 2 is 6.9 */
    for (uint32_t k = 2; k <= K_MAX; k++)
        if (points[k - 1].maybe < points[least - 1].maybe)
            least = k;
    ck_assert_uint_ge(least, 5);
    ck_assert_uint_le(least, 9);
    ck_assert_uint_gt(points[0].maybe, 5 * points[6].maybe);
    ck_assert_uint_gt(points[15].maybe, 2 * points[6].maybe);
    free(keys);
}
END_TEST

START_TEST(of_no_keys_everything_is_zero)
{
    struct measure_point points[3];
    uint64_t first = 7;

    measure_curve((struct bloom_shape){64, 2}, NULL, 0, ASK(100), NULL, 0, points, &first);
    ck_assert_uint_eq(first, 0);
    measure_sweep(64, 3, NULL, 0, ASK(100), points);
    for (int i = 0; i < 3; i++)
        assert_same(points[i], (struct measure_point){0});
}
END_TEST

START_TEST(strangers_suffice_for_a_hundred_maybes_within_bounds)
{
    ck_assert_uint_eq(measure_strangers_for(0.5), 1 << 16);
    ck_assert_uint_eq(measure_strangers_for(0.001), 100000);
    ck_assert_uint_eq(measure_strangers_for(1e-9), 1 << 22);
    ck_assert_uint_eq(measure_strangers_for(0), 1 << 22);
}
END_TEST

START_TEST(when_the_time_is_over_as_many_count_as_were_asked)
{
    enum { N = 300 };
    const struct measure_strangers hurried = {secret, 1000000, 0};
    const uint64_t load = N;
    struct bloom_hash *keys = keys_of(N);
    struct measure_point curve, sweep[3];
    uint64_t first;

    ck_assert_uint_eq(
        measure_curve((struct bloom_shape){2000, 3}, keys, N, &hurried, &load, 1, &curve, &first),
        4096);
    ck_assert_uint_eq(measure_sweep(2000, 3, keys, N, &hurried, sweep), 4096);
    assert_same(curve, fill_and_ask((struct bloom_shape){2000, 3}, keys, N, 4096));
    assert_same(sweep[2], curve);
    ck_assert_uint_eq(measure_sweep(2000, 3, keys, N, ASK(777), sweep), 777);
    free(keys);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("measure");
    TCase *cases = tcase_create("measure");

    tcase_add_loop_test(cases, each_point_of_a_curve_is_a_filter_of_that_many_keys, 0, 5);
    tcase_add_test(cases, the_first_maybe_is_said_at_that_load_and_at_none_before);
    tcase_add_test(cases, each_point_of_a_sweep_is_a_filter_with_that_many_positions);
    tcase_add_loop_test(cases, the_mathematics_lies_within_what_is_measured, 0, 4);
    tcase_add_test(cases, a_sweep_is_lowest_about_where_the_mathematics_has_its_minimum);
    tcase_add_test(cases, of_no_keys_everything_is_zero);
    tcase_add_test(cases, strangers_suffice_for_a_hundred_maybes_within_bounds);
    tcase_add_test(cases, when_the_time_is_over_as_many_count_as_were_asked);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
