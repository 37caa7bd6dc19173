/* A copy of a filter's bits against the positions of the keys that went into it, and the keys that are read
 * back for it. */
#include <stdio.h>
#include <string.h>

#include "report/keysets.h"
#include "store/store_state.h"
#include "store_fixture.h"
#include "suite.h"

static struct store_fixture f;
static _Atomic bool stop;

static void setup(void)
{
    store_fixture_init(&f);
    store_fixture_open(&f);
}

static void teardown(void)
{
    store_fixture_done(&f);
}

static struct view view_of(const char *segment, int64_t generation, uint64_t from, uint64_t to)
{
    struct view view = {.generation = generation, .from = from, .to = to};

    snprintf(view.segment, sizeof view.segment, "%s", segment);
    store_view(f.store, &view);
    return view;
}

static struct view whole(const char *segment, int64_t generation)
{
    struct view view = view_of(segment, generation, 0, UINT64_MAX);

    ck_assert_msg(!view.missing, "%s", view.missing);
    return view;
}

static void says_missing(const char *segment, int64_t generation, const char *reason)
{
    struct view view = view_of(segment, generation, 0, 64);

    ck_assert_ptr_nonnull(view.missing);
    ck_assert_ptr_nonnull(strstr(view.missing, reason));
    view_done(&view);
}

/* Puts the positions of PREFIXfrom to PREFIXto where a filter of their own would have them. */
static void expect_keys(struct bloom *ret, const struct view *view, int from, int to)
{
    char key[32];

    bloom_init(ret, view->shape);
    for (int i = from; i <= to; i++) {
        int len = snprintf(key, sizeof key, "k%d", i);

        bloom_add(ret, bloom_hash(view->secret, key, (size_t)len));
    }
}

static uint64_t differing_bits(const struct view *view, const struct bloom *bloom)
{
    uint64_t n = 0;

    for (uint64_t bit = view->from; bit < view->to; bit++)
        n += view_bit(view, bit) != (bloom->words[bit / 64] >> bit % 64 & 1);
    return n;
}

static void assert_holds(const struct view *view, int from, int to)
{
    struct bloom bloom;

    expect_keys(&bloom, view, from, to);
    ck_assert_uint_eq(differing_bits(view, &bloom), 0);
    ck_assert_uint_eq(view->keys, (uint64_t)(to - from + 1));
    ck_assert_uint_eq(view->bits_set, bloom.bits_set);
    ck_assert_uint_eq(view_count(view, 0, view->to), bloom.bits_set);
    ck_assert_int_eq(view->end_seq - view->first_seq, to - from + 1);
    bloom_done(&bloom);
    expect_keys(&bloom, view, from, to + 1); /* the control: a key more would be seen */
    ck_assert_uint_gt(differing_bits(view, &bloom), 0);
    bloom_done(&bloom);
}

START_TEST(a_view_of_a_generation_has_the_bits_of_its_keys_and_no_other)
{
    store_fixture_send_range(&f, "k", 1, 10, 1); /* generations of 4 */
    struct view first = whole("", 0), newest = whole("", VIEW_NEWEST);

    assert_holds(&first, 1, 4);
    ck_assert(!first.growing);
    ck_assert_int_eq(first.first_seq, 1);
    assert_holds(&newest, 9, 10);
    ck_assert(newest.growing);
    ck_assert_int_eq(newest.generation, 2);
    ck_assert_int_eq(newest.first_seq, 9);
    ck_assert_uint_eq(newest.sized_for, 4);
    ck_assert_str_eq(newest.segment, f.store->segments[0].name);
    view_done(&first);
    view_done(&newest);
}
END_TEST

START_TEST(a_view_of_a_sealed_segment_has_the_bits_of_all_its_keys)
{
    store_fixture_send_range(&f, "k", 1, 20, 4); /* segments of 16 */
    ck_assert_int_eq(store_settle(f.store, &f.err), 0);
    struct view sealed = whole(f.store->segments[0].name, VIEW_NEWEST), active = whole("", VIEW_NEWEST);

    assert_holds(&sealed, 1, 16);
    ck_assert_int_eq(sealed.generation, -1);
    ck_assert(!sealed.growing);
    assert_holds(&active, 17, 20);
    says_missing(f.store->segments[0].name, 0, "sealed");
    view_done(&sealed);
    view_done(&active);
}
END_TEST

START_TEST(what_is_not_there_is_said)
{
    says_missing("", VIEW_NEWEST, "no trades yet");
    store_fixture_send(&f, "a");
    says_missing("", 1, "no such generation");
    says_missing("trades-20200101-000001", 0, "no such segment");
}
END_TEST

START_TEST(any_range_is_that_part_of_the_whole)
{
    struct store_random random = {store_random_seed()};

    store_fixture_send_range(&f, "k", 1, 22, 4);
    ck_assert_int_eq(store_settle(f.store, &f.err), 0);
    for (int round = 0; round < 2000; round++) {
        const char *segment = f.store->segments[round % 2].name;
        struct view all = whole(segment, VIEW_NEWEST);
        uint64_t from = store_random_below(&random, all.shape.bits),
                 to = from + store_random_below(&random, 300), count = 0;
        struct view part = view_of(segment, VIEW_NEWEST, from, to);

        ck_assert_uint_eq(part.from, from);
        ck_assert_uint_eq(part.to, to < all.shape.bits ? to : all.shape.bits);
        for (uint64_t bit = part.from; bit < part.to; bit++) {
            ck_assert_int_eq(view_bit(&part, bit), view_bit(&all, bit));
            count += view_bit(&all, bit);
        }
        ck_assert_uint_eq(view_count(&part, part.from, part.to), count);
        ck_assert_uint_eq(view_count(&all, part.from, part.to), count);
        view_done(&all);
        view_done(&part);
    }
}
END_TEST

START_TEST(a_view_is_cut_to_what_is_copied_at_a_time)
{
    store_fixture_done(&f);
    store_fixture_init(&f);
    f.config.generation_keys = 1000000; /* some 12 million bits */
    f.config.segment_rows = 1000000;
    store_fixture_open(&f);
    store_fixture_send(&f, "a");
    struct view view = view_of("", 0, 64, UINT64_MAX);

    ck_assert_uint_gt(view.shape.bits, VIEW_BITS_MAX + 64);
    ck_assert_uint_eq(view.to, VIEW_BITS_MAX + 64);
    view_done(&view);
}
END_TEST

START_TEST(ghosts_are_in_the_view_and_not_among_its_trades)
{
    struct batch *batch = store_fixture_batch(&f, "g1 g2");

    store_fixture_send(&f, "k1");
    store_fixture_transact(&f, &batch, 1, false);
    batch_close(batch);
    struct view view = whole("", 0);
    struct bloom bloom;

    expect_keys(&bloom, &view, 1, 1);
    ck_assert_uint_eq(view.keys, 3);
    ck_assert_int_eq(view.end_seq - view.first_seq, 1);
    ck_assert_uint_gt(view.bits_set, bloom.bits_set);
    bloom_done(&bloom);
    view_done(&view);
}
END_TEST

/* ---- keys read back ---- */

static void assert_reads(struct keysets *keysets, const struct view *view, int from, int to)
{
    const struct bloom_hash *hashes;
    struct err err;
    char key[32];
    size_t n;

    ck_assert_msg(keysets_read(keysets, view, &hashes, &n, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(n, (size_t)(to - from + 1));
    for (int i = from; i <= to; i++) {
        int len = snprintf(key, sizeof key, "k%d", i);
        struct bloom_hash hash = bloom_hash(view->secret, key, (size_t)len);

        ck_assert_uint_eq(hashes[i - from].x, hash.x);
        ck_assert_uint_eq(hashes[i - from].y, hash.y);
    }
}

START_TEST(the_keys_of_a_filter_are_read_in_seq_order_and_on_as_it_grows)
{
    struct keysets keysets;

    keysets_init(&keysets, f.dir, &stop);
    store_fixture_send_range(&f, "k", 1, 17, 4);
    ck_assert_int_eq(store_settle(f.store, &f.err), 0);
    struct view before = whole("", VIEW_NEWEST), sealed = whole(f.store->segments[0].name, VIEW_NEWEST);

    assert_reads(&keysets, &before, 17, 17);
    assert_reads(&keysets, &sealed, 1, 16);
    store_fixture_send_range(&f, "k", 18, 20, 1);
    struct view after = whole("", VIEW_NEWEST);

    assert_reads(&keysets, &after, 17, 20);
    assert_reads(&keysets, &before, 17, 17); /* no more than it held */
    view_done(&before);
    view_done(&sealed);
    view_done(&after);
    keysets_done(&keysets);
}
END_TEST

START_TEST(more_filters_than_are_kept_are_read_again)
{
    struct keysets keysets;

    keysets_init(&keysets, f.dir, &stop);
    store_fixture_send_range(&f, "k", 1, 16, 4);
    for (int round = 0; round < 3; round++)
        for (int g = 0; g < 4; g++) {
            struct view view = whole(f.store->segments[0].name, g);

            view.first_seq += round; /* another filter to it, as far as it can tell */
            assert_reads(&keysets, &view, g * 4 + 1 + round, g * 4 + 4);
            view_done(&view);
        }
    keysets_done(&keysets);
}
END_TEST

START_TEST(a_trade_that_is_missing_is_corruption_and_a_missing_file_an_error)
{
    const struct bloom_hash *hashes;
    struct keysets keysets;
    struct err err;
    size_t n;

    keysets_init(&keysets, f.dir, &stop);
    store_fixture_send_range(&f, "k", 1, 3, 1);
    struct view view = whole("", 0);

    view.end_seq += 1;
    ck_assert_int_eq(keysets_read(&keysets, &view, &hashes, &n, &err), ERR_CORRUPT);
    snprintf(view.segment, sizeof view.segment, "trades-20200101-000001");
    ck_assert_int_eq(keysets_read(&keysets, &view, &hashes, &n, &err), ERR_SYSTEM);
    view_done(&view);
    keysets_done(&keysets);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("view");
    TCase *cases = tcase_create("view");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, a_view_of_a_generation_has_the_bits_of_its_keys_and_no_other);
    tcase_add_test(cases, a_view_of_a_sealed_segment_has_the_bits_of_all_its_keys);
    tcase_add_test(cases, what_is_not_there_is_said);
    tcase_add_test(cases, any_range_is_that_part_of_the_whole);
    tcase_add_test(cases, a_view_is_cut_to_what_is_copied_at_a_time);
    tcase_add_test(cases, ghosts_are_in_the_view_and_not_among_its_trades);
    tcase_add_test(cases, the_keys_of_a_filter_are_read_in_seq_order_and_on_as_it_grows);
    tcase_add_test(cases, more_filters_than_are_kept_are_read_again);
    tcase_add_test(cases, a_trade_that_is_missing_is_corruption_and_a_missing_file_an_error);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
