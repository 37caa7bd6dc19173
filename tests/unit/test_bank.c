#include <string.h>

#include "store/bank.h"
#include "store_fixture.h"
#include "suite.h"

#define ROWS(table) ((int)(sizeof table / sizeof *table))

static const unsigned char secret[BLOOM_KEY_BYTES] = "sixteen bytes ok";

static struct bloom_hash hash_of(uint64_t number)
{
    return bloom_hash(secret, (const char *)&number, sizeof number);
}

static void fill_column(struct bank *bank, uint32_t column, uint64_t keys)
{
    for (uint64_t i = 0; i < keys; i++)
        bank_add(bank, column, hash_of((uint64_t)column << 32 | i));
}

static bool masked(const struct bank *bank, uint32_t column)
{
    return bank->mask[column / 64] >> column % 64 & 1;
}

/* Planned columns and the words of a row that they need. */
static const struct {
    uint32_t columns, words;
} widths[] = {{1, 1},   {64, 1},  {65, 2},  {128, 2},   {129, 4},  {192, 4},  {256, 4},  {257, 8},
              {320, 8}, {512, 8}, {513, 9}, {1000, 16}, {577, 10}, {641, 11}, {1728, 27}};

START_TEST(rows_up_to_a_cache_line_are_a_power_of_two_wide)
{
    struct bank bank;

    bank_init(&bank, (struct bloom_shape){64, 3}, widths[_i].columns);
    ck_assert_uint_eq(bank.words, widths[_i].words);
    ck_assert_uint_eq(bank_memory(&bank), 64u * 8 * widths[_i].words);
    bank_done(&bank);
}
END_TEST

/* One bank and as many classic filters, filled with the same keys. */
struct twins {
    struct bank bank;
    struct bloom *filters;
    uint32_t columns;
};

static void twins_open(struct twins *twins, struct bloom_shape shape, uint32_t columns, uint64_t keys)
{
    bank_init(&twins->bank, shape, columns);
    twins->columns = columns;
    twins->filters = calloc(columns, sizeof *twins->filters);
    for (uint32_t c = 0; c < columns; c++) {
        ck_assert_uint_eq(bank_begin_column(&twins->bank), c);
        fill_column(&twins->bank, c, keys);
        bloom_init(&twins->filters[c], shape);
        for (uint64_t i = 0; i < keys; i++)
            bloom_add(&twins->filters[c], hash_of((uint64_t)c << 32 | i));
    }
}

static void twins_close(struct twins *twins)
{
    for (uint32_t c = 0; c < twins->columns; c++)
        bloom_done(&twins->filters[c]);
    free(twins->filters);
    bank_done(&twins->bank);
}

static void compare_answers(struct twins *twins, struct bloom_hash hash)
{
    bool any = bank_ask(&twins->bank, hash), expected_any = false;
    uint32_t wrong = 0; /* an assertion a column would take minutes */

    for (uint32_t c = 0; c < twins->columns; c++) {
        bool expected = bloom_ask(&twins->filters[c], hash);

        expected_any |= expected;
        wrong += bank_ask_column(&twins->bank, c, hash) != expected;
        wrong += any && masked(&twins->bank, c) != expected;
    }
    ck_assert_uint_eq(wrong, 0);
    ck_assert_int_eq(any, expected_any);
}

START_TEST(a_bank_answers_like_as_many_classic_filters)
{
    struct twins twins;
    struct bloom_shape shape = bloom_shape_for(16, 0.02);

    twins_open(&twins, shape, widths[_i].columns, 16);
    for (uint64_t i = 0; i < 300; i++) {
        bank_prefetch(&twins.bank, hash_of(i)); /* of no consequence to the answer */
        compare_answers(&twins, hash_of(i % 2 ? UINT64_C(1) << 60 | i : (i % 7) << 32 | i % 16));
    }
    for (uint32_t c = 0; c < twins.columns; c++) {
        ck_assert_uint_eq(twins.bank.column[c].bits_set, twins.filters[c].bits_set);
        ck_assert_uint_eq(twins.bank.column[c].keys, 16);
    }
    twins_close(&twins);
}
END_TEST

START_TEST(a_bank_with_no_column_answers_absent)
{
    struct bank bank;

    bank_init(&bank, bloom_shape_for(16, 0.01), 8);
    ck_assert(!bank_ask(&bank, hash_of(1)));
    bank_done(&bank);
}
END_TEST

START_TEST(a_fresh_column_holds_nothing)
{
    struct bank bank;

    bank_init(&bank, bloom_shape_for(16, 0.01), 2);
    fill_column(&bank, bank_begin_column(&bank), 16);
    bank_begin_column(&bank);
    ck_assert(!bank_ask_column(&bank, 1, hash_of(3)));
    ck_assert_uint_eq(bank.column[1].keys, 0);
    bank_done(&bank);
}
END_TEST

START_TEST(a_bank_that_outgrows_its_rows_widens_and_forgets_nothing)
{
    struct bank bank;
    uint32_t words = 0, widened = 0;

    bank_init(&bank, bloom_shape_for(8, 0.001), 1);
    for (uint32_t c = 0; c < 600; c++) {
        bank_begin_column(&bank);
        fill_column(&bank, c, 8);
        widened += bank.words != words;
        words = bank.words;
    }
    ck_assert_uint_eq(words, 16);
    ck_assert_uint_eq(widened, 5); /* 1, 2, 4, 8, 16 words */
    for (uint32_t c = 0; c < 600; c++)
        for (uint64_t i = 0; i < 8; i++)
            ck_assert(bank_ask(&bank, hash_of((uint64_t)c << 32 | i)) && masked(&bank, c));
    bank_done(&bank);
}
END_TEST

START_TEST(an_odd_width_doubles_when_it_is_full)
{
    struct bank bank;

    bank_init(&bank, bloom_shape_for(4, 0.01), 27 * 64);
    for (uint32_t c = 0; c <= 27 * 64; c++)
        bank_begin_column(&bank);
    fill_column(&bank, 27 * 64, 4);
    ck_assert_uint_eq(bank.words, 54);
    ck_assert(bank_ask(&bank, hash_of((UINT64_C(27) * 64) << 32)));
    ck_assert(masked(&bank, 27 * 64));
    bank_done(&bank);
}
END_TEST

START_TEST(explain_names_the_position_that_rules_the_last_column_out)
{
    struct bank bank;
    uint64_t positions[BLOOM_HASHES_MAX];
    int ruled_out = 0;

    bank_init(&bank, (struct bloom_shape){200, 5}, 3);
    for (int c = 0; c < 3; c++)
        fill_column(&bank, bank_begin_column(&bank), 16);
    for (uint64_t i = 0; i < 500; i++) {
        struct bloom_hash hash = hash_of(UINT64_C(1) << 60 | i), walk = hash;
        int zero = bank_explain(&bank, hash, positions);
        uint64_t left = 7; /* columns that remain */

        for (int k = 0; k < 5; k++) {
            ck_assert_uint_eq(positions[k], bloom_next_position(&walk, 200, (uint32_t)k));
            left &= bank.bits[positions[k]];
            ck_assert(zero < 0 ? left != 0 : (left == 0) == (k >= zero));
        }
        ck_assert_int_eq(zero < 0, bank_ask(&bank, hash));
        ruled_out += zero > 0; /* not already by the first */
    }
    ck_assert_int_gt(ruled_out, 50);
    bank_done(&bank);
}
END_TEST

START_TEST(a_random_bank_never_denies_a_key)
{
    struct store_random random = {store_random_seed()};

    for (int round = 0; round < 30; round++) {
        struct bloom_shape shape = {BLOOM_BITS_MIN + store_random_below(&random, 300),
                                    1 + (uint32_t)store_random_below(&random, 20)};
        uint32_t columns = 1 + (uint32_t)store_random_below(&random, 200);
        uint64_t denied = 0;
        struct bank bank;

        bank_init(&bank, shape, 1 + (uint32_t)store_random_below(&random, 200));
        for (uint32_t c = 0; c < columns; c++) {
            bank_begin_column(&bank);
            fill_column(&bank, c, 10);
        }
        for (uint64_t i = 0; i < columns * 10; i++) {
            uint32_t column = (uint32_t)(i / 10);

            denied +=
                !bank_ask(&bank, hash_of((uint64_t)column << 32 | i % 10)) || !masked(&bank, column);
        }
        ck_assert_uint_eq(denied, 0);
        bank_done(&bank);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bank");
    TCase *cases = tcase_create("bank");

    tcase_add_loop_test(cases, rows_up_to_a_cache_line_are_a_power_of_two_wide, 0, ROWS(widths));
    tcase_add_loop_test(cases, a_bank_answers_like_as_many_classic_filters, 0, ROWS(widths));
    tcase_add_test(cases, a_bank_with_no_column_answers_absent);
    tcase_add_test(cases, a_fresh_column_holds_nothing);
    tcase_add_test(cases, a_bank_that_outgrows_its_rows_widens_and_forgets_nothing);
    tcase_add_test(cases, an_odd_width_doubles_when_it_is_full);
    tcase_add_test(cases, explain_names_the_position_that_rules_the_last_column_out);
    tcase_add_test(cases, a_random_bank_never_denies_a_key);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
