/* The generated feed: its truth in any order of arrival, its totals, its bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "suite.h"
#include "tool/generator.h"

enum { LINES = 4000 };

static const struct generator_options USUAL = {.lines = LINES,
                                               .duplicates = 0.2,
                                               .conflicts = 0.1,
                                               .ids = GENERATOR_RANDOM,
                                               .symbols = 5,
                                               .seed = 7};

/* A whole feed and its lines. */
struct feed_text {
    struct text all;
    size_t at[LINES];
    size_t len[LINES];
    size_t key_len[LINES]; /* the key is everything before the price: source, symbol, id */
    size_t n;
};

static struct feed_text *generate(const struct generator_options *options)
{
    struct feed_text *feed = mem_zalloc(1, sizeof *feed);
    struct generator g;
    size_t before = 0;

    generator_init(&g, options);
    for (; generator_next(&g, &feed->all); before = feed->all.len) {
        ck_assert_uint_lt(feed->n, LINES);
        const char *price = memmem(feed->all.at + before, feed->all.len - before, ",\"price\"", 8);

        ck_assert_ptr_nonnull(price);
        feed->at[feed->n] = before;
        feed->key_len[feed->n] = (size_t)(price - feed->all.at) - before;
        feed->len[feed->n++] = feed->all.len - before;
    }
    return feed;
}

static void drop(struct feed_text *feed)
{
    text_done(&feed->all);
    free(feed);
}

static const char *line_of(const struct feed_text *feed, size_t i)
{
    return feed->all.at + feed->at[i];
}

static bool is_same(const struct feed_text *feed, const size_t *lens, size_t i, size_t j)
{
    return lens[i] == lens[j] && memcmp(line_of(feed, i), line_of(feed, j), lens[i]) == 0;
}

/* What a plain map says to the lines in this order. */
static struct generator_truth judge(const struct feed_text *feed, const size_t *order)
{
    struct generator_truth seen = {0};
    size_t first[LINES], firsts = 0;

    for (; seen.lines < feed->n; seen.lines++) {
        size_t i = order[seen.lines], j = 0;

        while (j < firsts && !is_same(feed, feed->key_len, first[j], i))
            j++;
        if (j == firsts) {
            first[firsts++] = i;
            seen.originals++;
        } else if (is_same(feed, feed->len, first[j], i)) {
            seen.duplicates++;
        } else {
            seen.conflicts++;
        }
    }
    return seen;
}

static void assert_truth_in_three_orders(const struct generator_options *options)
{
    struct feed_text *feed = generate(options);
    struct generator g;
    size_t order[LINES];
    uint64_t random = 1;

    generator_init(&g, options);
    ck_assert_uint_eq(feed->n, options->lines);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < feed->n; i++)
            order[i] = round == 1 ? feed->n - 1 - i : i;
        for (size_t i = feed->n - 1; round == 2 && i > 0; i--) {
            size_t j = (random = random * 6364136223846793005U + 1) >> 33, old = order[i];

            order[i] = order[j %= i + 1];
            order[j] = old;
        }
        struct generator_truth seen = judge(feed, order);

        ck_assert_mem_eq(&seen, &g.truth, sizeof seen);
    }
    drop(feed);
}

static const struct {
    uint64_t lines;
    double duplicates, conflicts;
    enum generator_ids ids;
} mixes[] = {
    {2000, 0.2, 0.1, GENERATOR_RANDOM},  {2000, 0.2, 0.1, GENERATOR_UUID},
    {2000, 0, 0, GENERATOR_SEQUENTIAL},  {2000, 0.9, 0, GENERATOR_RANDOM},
    {2000, 0, 0.9, GENERATOR_RANDOM},    {1500, 0.49, 0.49, GENERATOR_SEQUENTIAL},
    {2, 0.45, 0.45, GENERATOR_RANDOM},   {3, 0.33, 0.33, GENERATOR_RANDOM},
    {1, 0.9, 0, GENERATOR_SEQUENTIAL},   {5, 0.5, 0.49, GENERATOR_UUID},
    {2000, 0.001, 0.98, GENERATOR_UUID},
};

START_TEST(truth_holds_forwards_backwards_and_shuffled)
{
    struct generator_options options = USUAL;

    options.lines = mixes[_i].lines;
    options.duplicates = mixes[_i].duplicates;
    options.conflicts = mixes[_i].conflicts;
    options.ids = mixes[_i].ids;
    assert_truth_in_three_orders(&options);
}
END_TEST

START_TEST(fractions_are_of_all_lines)
{
    struct generator_options options = USUAL;
    struct generator g;

    options.lines = 1000000;
    options.duplicates = 0.29;
    options.conflicts = 0.01;
    generator_init(&g, &options);
    ck_assert_uint_eq(g.truth.lines, 1000000);
    ck_assert_uint_eq(g.truth.duplicates, 290000);
    ck_assert_uint_eq(g.truth.conflicts, 10000);
    ck_assert_uint_eq(g.truth.originals, 700000);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_bytes_and_another_does_not)
{
    struct generator_options options = USUAL;
    struct feed_text *a = generate(&options), *b = generate(&options);

    options.seed++;
    struct feed_text *c = generate(&options);

    ck_assert_uint_eq(a->all.len, b->all.len);
    ck_assert_mem_eq(a->all.at, b->all.at, a->all.len);
    ck_assert(a->all.len != c->all.len || memcmp(a->all.at, c->all.at, a->all.len) != 0);
    drop(a);
    drop(b);
    drop(c);
}
END_TEST

START_TEST(the_first_line_looks_as_canonical_trades_do)
{
    struct generator_options options = USUAL;
    struct text line = {0};
    struct generator g;

    options.ids = GENERATOR_SEQUENTIAL;
    options.symbols = 1;
    generator_init(&g, &options);
    ck_assert(generator_next(&g, &line));
    ck_assert_ptr_nonnull(strstr(text_terminate(&line),
                                 "{\"source\":\"XNAS\",\"symbol\":\"PMCY\",\"id\":\"1\","
                                 "\"price\":\""));
    ck_assert_ptr_nonnull(strstr(line.at, "\"time\":\"2026-12-01T14:30:00.000000Z\"}\n"));
    text_done(&line);
}
END_TEST

START_TEST(a_uuid_is_one_of_version_4)
{
    struct generator_options options = USUAL;
    struct text line = {0};
    struct generator g;
    char head[9], third[5], fourth[5], tail[13];
    unsigned second;

    options.ids = GENERATOR_UUID;
    generator_init(&g, &options);
    generator_next(&g, &line);
    const char *id = strstr(text_terminate(&line), "\"id\":\"");

    ck_assert_int_eq(sscanf(id + 6, "%8[0-9a-f]-%4x-%4[0-9a-f]-%4[0-9a-f]-%12[0-9a-f]\"", head, &second,
                            third, fourth, tail),
                     5);
    ck_assert_int_eq(third[0], '4');
    ck_assert_ptr_nonnull(strchr("89ab", fourth[0]));
    ck_assert_uint_eq(strlen(head) + strlen(third) + strlen(fourth) + strlen(tail), 28);
    text_done(&line);
}
END_TEST

START_TEST(no_line_is_longer_than_it_may_be)
{
    struct generator_options options = USUAL;

    options.conflicts = 0.7;
    options.ids = GENERATOR_UUID;
    struct feed_text *feed = generate(&options);

    for (size_t i = 0; i < feed->n; i++)
        ck_assert_uint_lt(feed->len[i], GENERATOR_LINE_MAX);
    ck_assert_uint_gt(feed->all.len / feed->n, 130);
    ck_assert_uint_lt(feed->all.len / feed->n, 180);
    drop(feed);
}
END_TEST

/* Distances of the repeats, in lines: some at once, some across half of the feed. */
START_TEST(repeats_come_near_and_far)
{
    struct generator_options options = USUAL;
    size_t near = 0, far = 0;

    options.conflicts = 0;
    struct feed_text *feed = generate(&options);

    for (size_t i = 0; i < feed->n; i++) {
        size_t j = i;

        while (j-- > 0)
            if (feed->len[i] == feed->len[j] &&
                memcmp(line_of(feed, i), line_of(feed, j), feed->len[i]) == 0)
                break;
        if (j == (size_t)-1)
            continue;
        near += i - j <= 4;
        far += i - j >= 1000;
    }
    ck_assert_uint_gt(near, 20);
    ck_assert_uint_gt(far, 20);
    drop(feed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gen");
    TCase *feed = tcase_create("feed");

    tcase_set_timeout(feed, 60);
    tcase_add_loop_test(feed, truth_holds_forwards_backwards_and_shuffled, 0,
                        (int)(sizeof mixes / sizeof *mixes));
    tcase_add_test(feed, fractions_are_of_all_lines);
    tcase_add_test(feed, the_same_seed_gives_the_same_bytes_and_another_does_not);
    tcase_add_test(feed, the_first_line_looks_as_canonical_trades_do);
    tcase_add_test(feed, a_uuid_is_one_of_version_4);
    tcase_add_test(feed, no_line_is_longer_than_it_may_be);
    tcase_add_test(feed, repeats_come_near_and_far);
    suite_add_tcase(suite, feed);
    return suite_run(suite);
}
