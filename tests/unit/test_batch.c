#include <string.h>

#include "store/batch.h"
#include "suite.h"

static struct batch *batch;

static void setup(void)
{
    batch = batch_open();
}

static void teardown(void)
{
    batch_close(batch);
}

START_TEST(a_line_begins_with_the_trades_that_follow_it)
{
    batch_add_line(batch)->trades_n = 2;
    batch_add_trade(batch);
    batch_add_trade(batch);
    ck_assert_uint_eq(batch_add_line(batch)->trades_first, 2);
    ck_assert_uint_eq(batch->lines[0].trades_first, 0);
    ck_assert_uint_eq(batch->lines_n, 2);
}
END_TEST

START_TEST(appended_entries_are_zeroed_and_earlier_ones_survive_growth)
{
    static const struct batch_trade zero;

    for (size_t i = 0; i < 1000; i++) {
        struct batch_trade *trade = batch_add_trade(batch);

        ck_assert_mem_eq(trade, &zero, sizeof zero);
        trade->fingerprint = i;
        batch_add_line(batch)->number = i;
    }
    for (size_t i = 0; i < 1000; i++) {
        ck_assert_uint_eq(batch->trades[i].fingerprint, i);
        ck_assert_uint_eq(batch->lines[i].number, i);
    }
}
END_TEST

START_TEST(entries_appended_after_a_reset_are_zeroed_too)
{
    memset(batch_add_trade(batch), 0xff, sizeof(struct batch_trade));
    memset(batch_add_line(batch), 0xff, sizeof(struct batch_line));
    batch_reset(batch);
    ck_assert_uint_eq(batch_add_trade(batch)->verdict, VERDICT_NONE);
    ck_assert_uint_eq(batch->trades[0].key_len, 0);
    ck_assert_uint_eq(batch_add_line(batch)->number, 0);
}
END_TEST

START_TEST(reset_forgets_everything_that_was_said)
{
    batch->feed = "test";
    batch->owner = batch;
    batch->ask_n = 3;
    batch->received_us = 4;
    text_add_str(&batch->bytes, "bytes");
    text_add_str(&batch->arena, "arena");
    batch_reset(batch);
    ck_assert_ptr_null(batch->feed);
    ck_assert_ptr_null(batch->owner);
    ck_assert_uint_eq(batch->ask_n, 0);
    ck_assert_int_eq(batch->received_us, 0);
    ck_assert_uint_eq(batch->bytes.len, 0);
    ck_assert_uint_eq(batch->arena.len, 0);
}
END_TEST

START_TEST(reset_keeps_buffers_of_the_usual_size)
{
    text_reserve(&batch->bytes, 64 * 1024);
    batch_add_trade(batch);
    batch_add_line(batch);
    size_t before = batch_memory(batch);

    batch_reset(batch);
    ck_assert_uint_eq(batch_memory(batch), before);
}
END_TEST

START_TEST(reset_lets_go_of_what_one_huge_message_needed)
{
    text_reserve(&batch->bytes, 4 << 20);
    text_reserve(&batch->arena, 4 << 20);
    for (int i = 0; i < 10000; i++) {
        batch_add_trade(batch);
        batch_add_line(batch);
    }
    batch_reset(batch);
    ck_assert_uint_eq(batch_memory(batch), sizeof *batch);
}
END_TEST

START_TEST(memory_counts_all_four_buffers)
{
    size_t empty = batch_memory(batch);

    text_reserve(&batch->bytes, 1000);
    text_reserve(&batch->arena, 1000);
    batch_add_trade(batch);
    batch_add_line(batch);
    ck_assert_uint_ge(batch_memory(batch),
                      empty + 2000 + sizeof(struct batch_trade) + sizeof(struct batch_line));
}
END_TEST

START_TEST(a_key_is_found_by_its_offset)
{
    text_add_str(&batch->arena, "BINANCE/BTCUSDT/1");
    batch_add_trade(batch)->key_at = 8;
    ck_assert_mem_eq(batch_key(batch, &batch->trades[0]), "BTCUSDT/1", 9);
}
END_TEST

START_TEST(every_verdict_and_reason_has_a_name_of_its_own)
{
    for (int i = 0; i < VERDICT_COUNT; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(verdict_name((enum verdict)i), verdict_name((enum verdict)j));
    for (int i = 0; i < REASON_COUNT; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(reason_name((enum reason)i), reason_name((enum reason)j));
    ck_assert_str_eq(verdict_name(VERDICT_CONFLICT), "conflict");
    ck_assert_str_eq(reason_name(REASON_STORE_FULL), "store_full");
}
END_TEST

START_TEST(closing_no_batch_is_fine)
{
    batch_close(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch");
    TCase *cases = tcase_create("batch");

    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, a_line_begins_with_the_trades_that_follow_it);
    tcase_add_test(cases, appended_entries_are_zeroed_and_earlier_ones_survive_growth);
    tcase_add_test(cases, entries_appended_after_a_reset_are_zeroed_too);
    tcase_add_test(cases, reset_forgets_everything_that_was_said);
    tcase_add_test(cases, reset_keeps_buffers_of_the_usual_size);
    tcase_add_test(cases, reset_lets_go_of_what_one_huge_message_needed);
    tcase_add_test(cases, memory_counts_all_four_buffers);
    tcase_add_test(cases, a_key_is_found_by_its_offset);
    tcase_add_test(cases, every_verdict_and_reason_has_a_name_of_its_own);
    tcase_add_test(cases, closing_no_batch_is_fine);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
