/* What the store says about trades and about itself, where nothing is damaged. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/catalog.h"
#include "store/store_state.h"
#include "store_fixture.h"
#include "suite.h"

static struct store_fixture f;

static void setup(void)
{
    store_fixture_init(&f);
    store_fixture_open(&f);
}

static void teardown(void)
{
    store_fixture_done(&f);
}

/* The store is opened again under the changed configuration. */
static void reconfigured(void)
{
    store_fixture_reopen(&f);
}

static void says(const char *words, const char *verdicts)
{
    ck_assert_str_eq(store_fixture_send(&f, words), verdicts);
}

static void must(int result)
{
    if (result < 0)
        ck_abort_msg("%s", f.err.text);
}

static const char *segment_name(size_t i)
{
    return f.store->segments[i].name;
}

/* The first column of the first row that another program reads in a segment, as text. */
static const char *reads(size_t segment, const char *sql)
{
    static char text[256];
    char path[CATALOG_PATH_MAX];
    sqlite3 *other;
    sqlite3_stmt *statement;

    catalog_path(path, f.dir, segment_name(segment), ".db");
    ck_assert_int_eq(sqlite3_open_v2(path, &other, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(other, sql, -1, &statement, NULL), SQLITE_OK);
    int rc = sqlite3_step(statement);
    const void *column = rc == SQLITE_ROW ? sqlite3_column_text(statement, 0) : NULL;

    snprintf(text, sizeof text, "%s", column ? (const char *)column : "NULL");
    sqlite3_finalize(statement);
    sqlite3_close(other);
    return text;
}

/* ---- verdicts ---- */

START_TEST(a_trade_is_new_once_and_then_judged_by_its_content)
{
    says("a b", "new:1 new:2");
    says("b a=2 c a", "duplicate:2 conflict:1 new:3 duplicate:1");
}
END_TEST

START_TEST(twins_in_one_batch_see_each_other)
{
    says("a a b a", "new:1 duplicate:1 new:2 duplicate:1");
}
END_TEST

START_TEST(conflicting_twins_in_one_batch_are_kept_once)
{
    says("a=1 a=2 a=2 a=1 a=3", "new:1 conflict:1 conflict:1 duplicate:1 conflict:1");
    ck_assert_str_eq(reads(0, "SELECT count(*) FROM conflict"), "2");
}
END_TEST

START_TEST(twins_in_two_batches_of_one_transaction_see_each_other)
{
    struct batch *batches[] = {
        store_fixture_batch(&f, "a b"),
        store_fixture_batch(&f, "b=2 a c"),
    };

    store_fixture_transact(&f, batches, 2, true);
    ck_assert_str_eq(store_fixture_verdicts(batches[0]), "new:1 new:2");
    ck_assert_str_eq(store_fixture_verdicts(batches[1]), "conflict:2 duplicate:1 new:3");
    ck_assert_int_eq(batches[1]->trades[1].received_us, batches[0]->received_us);
    batch_close(batches[0]);
    batch_close(batches[1]);
}
END_TEST

START_TEST(invalid_and_ignored_lines_leave_their_neighbours_alone)
{
    says("!{ a ~ a !] b", "invalid new:1 ignored duplicate:1 invalid new:2");
}
END_TEST

START_TEST(a_batch_without_trades_is_fine)
{
    says("", "");
    says("~ ~", "ignored ignored");
}
END_TEST

START_TEST(keys_are_equal_byte_for_byte_only)
{
    says("a A a/ /a a%2F a%2f \xc3\xa4 a\xcc\x88 0 00",
         "new:1 new:2 new:3 new:4 new:5 new:6 new:7 new:8 new:9 new:10");
    says("\xc3\xa4 a%2F", "duplicate:7 duplicate:5");
}
END_TEST

START_TEST(the_longest_key_is_stored_and_found)
{
    char words[8193];

    memset(words, 'k', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    says(words, "new:1");
    says(words, "duplicate:1");
    must(store_self_test(f.store, &f.err));
    ck_assert_uint_eq(store_fixture_figures(&f)->members_maybe, 1);
}
END_TEST

START_TEST(a_duplicate_tells_when_the_first_came)
{
    struct batch *first = store_fixture_batch(&f, "a"), *second = store_fixture_batch(&f, "a a=2");

    store_fixture_transact(&f, &first, 1, true);
    store_fixture_transact(&f, &second, 1, true);
    ck_assert_int_eq(second->trades[0].received_us, first->received_us);
    ck_assert_int_eq(second->trades[1].received_us, first->received_us);
    batch_close(first);
    batch_close(second);
}
END_TEST

START_TEST(the_screen_answers_absent_before_and_maybe_after)
{
    struct batch *batch = store_fixture_batch(&f, "a a ~");

    store_fixture_transact(&f, &batch, 1, true);
    ck_assert_int_eq(batch->trades[0].screen, SCREEN_ABSENT);
    ck_assert_int_eq(batch->trades[1].screen, SCREEN_MAYBE);
    ck_assert_int_eq(batch->trades[2].screen, SCREEN_NOT_ASKED);
    batch_close(batch);
}
END_TEST

START_TEST(restarts_change_no_answer)
{
    store_fixture_send_range(&f, "k", 1, 40, 7);
    says("k3=2", "conflict:3");
    for (int i = 0; i < 3; i++) {
        store_fixture_reopen(&f);
        says("k1 k3=2 k3=3 k40 k3=3", "duplicate:1 conflict:3 conflict:3 duplicate:40 conflict:3");
    }
    ck_assert_uint_eq(store_fixture_figures(&f)->conflicts, 2);
    says("new", "new:41");
}
END_TEST

/* ---- what is written ---- */

START_TEST(a_row_holds_the_trade_as_it_came)
{
    says("a=18446744073709551615", "new:1");
    ck_assert_str_eq(reads(0, "SELECT seq || ' ' || generation || ' ' || key || ' ' || feed || ' '"
                              " || fingerprint || ' ' || message FROM trade"),
                     "1 0 a test -1 a=18446744073709551615");
    says("a=18446744073709551615", "duplicate:1");
}
END_TEST

START_TEST(without_keep_message_the_column_stays_null)
{
    f.config.keep_message = false;
    reconfigured();
    says("a", "new:1");
    ck_assert_str_eq(reads(0, "SELECT message FROM trade"), "NULL");
}
END_TEST

START_TEST(a_conflict_is_kept_in_full_beside_the_trade)
{
    f.config.keep_message =
        false; /* a version of which only the hash stays would tell nobody anything */
    reconfigured();
    says("a a=2", "new:1 conflict:1");
    ck_assert_str_eq(reads(0, "SELECT seq || ' ' || fingerprint || ' ' || key || ' ' || feed || ' '"
                              " || message FROM conflict"),
                     "1 2 a test a=2");
}
END_TEST

START_TEST(a_conflict_is_kept_once_across_segments)
{
    store_fixture_send_range(&f, "k", 1, 16, 16);
    says("k1=2", "conflict:1");
    store_fixture_send_range(&f, "l", 1, 16, 16);
    says("k1=2 k1=3", "conflict:1 conflict:1");
    store_fixture_send_range(&f, "m", 1, 16, 16);
    says("k1=3 k1=2", "conflict:1 conflict:1");
    ck_assert_uint_eq(store_fixture_figures(&f)->conflicts, 2);
}
END_TEST

START_TEST(a_replayed_trade_keeps_the_name_of_its_feed)
{
    says("a@binance-spot b", "new:1 new:2");
    ck_assert_str_eq(reads(0, "SELECT group_concat(feed) FROM trade"), "binance-spot,test");
}
END_TEST

START_TEST(a_trade_without_a_message_is_stored_with_none)
{
    struct batch *batch = store_fixture_batch(&f, "a");

    batch->trades[0].message_len = 0;
    store_fixture_transact(&f, &batch, 1, true);
    batch_close(batch);
    ck_assert_str_eq(reads(0, "SELECT message FROM trade"), "NULL");
}
END_TEST

/* ---- rejects ---- */

START_TEST(an_invalid_line_is_kept_with_its_reason)
{
    says("!{\"id\":", "invalid");
    ck_assert_str_eq(reads(0, "SELECT feed || ' ' || error || ' ' || CAST(line AS TEXT) FROM reject"),
                     "test bad_json !{\"id\":");
}
END_TEST

START_TEST(rejects_are_bounded_in_rows_and_the_oldest_goes)
{
    f.config.reject_rows = 3;
    reconfigured();
    says("!1 !2 !3 !4 !5", "invalid invalid invalid invalid invalid");
    ck_assert_str_eq(reads(0, "SELECT group_concat(CAST(line AS TEXT)) FROM reject"), "!3,!4,!5");
    store_fixture_reopen(&f);
    says("!6", "invalid");
    ck_assert_str_eq(reads(0, "SELECT group_concat(CAST(line AS TEXT)) FROM reject"), "!4,!5,!6");
    ck_assert_uint_eq(store_fixture_figures(&f)->rejects, 3);
}
END_TEST

START_TEST(rejects_are_bounded_in_bytes)
{
    f.config.reject_bytes = 10;
    reconfigured();
    says("!aaaa !bbb !cc", "invalid invalid invalid");
    ck_assert_str_eq(reads(0, "SELECT group_concat(CAST(line AS TEXT)) FROM reject"), "!bbb,!cc");
    says("!01234567890", "invalid"); /* alone too long: the others stay */
    ck_assert_str_eq(reads(0, "SELECT group_concat(CAST(line AS TEXT)) FROM reject"), "!bbb,!cc");
}
END_TEST

START_TEST(rejects_are_bounded_over_all_segments)
{
    f.config.reject_rows = 5;
    reconfigured();
    says("!1 !2 !3 a", "invalid invalid invalid new:1");
    store_fixture_send_range(&f, "k", 1, 16, 16);
    says("!4 !5 !6 !7", "invalid invalid invalid invalid");
    ck_assert_str_eq(reads(1, "SELECT group_concat(CAST(line AS TEXT)) FROM reject"), "!6,!7");
    ck_assert_uint_eq(store_fixture_figures(&f)->rejects, 5);
}
END_TEST

START_TEST(earlier_segments_that_use_up_the_bound_leave_no_room)
{
    f.config.reject_rows = 2;
    reconfigured();
    says("!1 !2 a", "invalid invalid new:1");
    store_fixture_send_range(&f, "k", 1, 16, 16);
    says("!3", "invalid");
    ck_assert_uint_eq(store_fixture_figures(&f)->rejects, 2);
}
END_TEST

START_TEST(no_rejects_are_kept_when_none_are_wanted)
{
    f.config.reject_rows = 0;
    reconfigured();
    says("!1", "invalid");
    ck_assert_uint_eq(store_fixture_figures(&f)->rejects, 0);
}
END_TEST

/* ---- generations and segments ---- */

START_TEST(generations_hold_so_many_keys_and_follow_each_other)
{
    store_fixture_send_range(&f, "k", 1, 10, 10);
    ck_assert_str_eq(reads(0, "SELECT group_concat(generation, '') FROM trade"), "0000111122");
}
END_TEST

START_TEST(a_segment_rolls_before_the_batch_that_would_overflow_it)
{
    store_fixture_send_range(&f, "k", 1, 14, 14);
    says("a b", "new:15 new:16");
    ck_assert_uint_eq(f.store->segments_n, 1);
    says("c a", "new:17 duplicate:15");
    ck_assert_uint_eq(f.store->segments_n, 2);
    ck_assert_int_eq(f.store->segments[1].meta.first_seq, 17);
    ck_assert_str_eq(reads(1, "SELECT seq || ' ' || generation FROM trade"), "17 0");
}
END_TEST

START_TEST(a_batch_larger_than_a_segment_stays_in_one)
{
    store_fixture_send_range(&f, "k", 1, 50, 50);
    ck_assert_uint_eq(f.store->segments_n, 1);
    says("a", "new:51");
    ck_assert_uint_eq(f.store->segments_n, 2);
    store_fixture_send_range(&f, "l", 1, 50, 50);
    ck_assert_uint_eq(f.store->segments_n, 3);
    ck_assert_uint_eq(store_fixture_census(&f).rows, 101);
}
END_TEST

START_TEST(duplicates_count_towards_the_roll_only_while_they_are_asked)
{
    store_fixture_send_range(&f, "k", 1, 15, 15);
    says("k1 k2", "duplicate:1 duplicate:2"); /* might have been new */
    ck_assert_uint_eq(f.store->segments_n, 2);
    says("k1 k2 k3", "duplicate:1 duplicate:2 duplicate:3");
    ck_assert_uint_eq(f.store->segments_n, 2);
}
END_TEST

static void is_of_day(size_t segment, int64_t day)
{
    char name[SEGMENT_NAME_MAX];

    catalog_name(name, day, segment + 1);
    ck_assert_str_eq(segment_name(segment), name);
}

START_TEST(a_segment_rolls_at_midnight_utc)
{
    int64_t day = f.now_us / STORE_FIXTURE_DAY_US;

    f.now_us = (day + 1) * STORE_FIXTURE_DAY_US - 1;
    says("a", "new:1");
    f.now_us = (day + 1) * STORE_FIXTURE_DAY_US;
    says("a b", "duplicate:1 new:2");
    is_of_day(0, day);
    is_of_day(1, day + 1);
    ck_assert_str_eq(reads(1, "SELECT count(*) FROM trade"), "1");
}
END_TEST

START_TEST(a_clock_that_goes_back_over_midnight_does_not_roll)
{
    int64_t day = f.now_us / STORE_FIXTURE_DAY_US;

    says("a", "new:1");
    f.now_us -= 3 * STORE_FIXTURE_DAY_US;
    says("b a", "new:2 duplicate:1");
    ck_assert_uint_eq(f.store->segments_n, 1);
    store_fixture_send_range(&f, "k", 1, 16, 16);
    is_of_day(1, day); /* segments never go backwards in time */
}
END_TEST

START_TEST(an_empty_segment_of_an_earlier_day_takes_no_trade_of_a_later_one)
{
    int64_t day = f.now_us / STORE_FIXTURE_DAY_US;

    f.now_us += 2 * STORE_FIXTURE_DAY_US;
    says("a", "new:1");
    says("b", "new:2");
    ck_assert_uint_eq(f.store->segments_n, 2);
    is_of_day(1, day + 2);
    ck_assert_str_eq(reads(0, "SELECT count(*) FROM trade"), "0");
    store_fixture_reopen(&f);
    says("a b c", "duplicate:1 duplicate:2 new:3");
}
END_TEST

START_TEST(a_batch_that_asks_nothing_begins_no_day)
{
    says("a", "new:1");
    f.now_us += STORE_FIXTURE_DAY_US;
    says("~ !x", "ignored invalid");
    ck_assert_uint_eq(f.store->segments_n, 1);
}
END_TEST

START_TEST(an_empty_newest_segment_does_not_restart_seq)
{
    store_fixture_send_range(&f, "k", 1, 5, 5);
    must(store_roll(f.store, f.now_us, &f.err));
    for (int i = 0; i < 2; i++) {
        store_fixture_reopen(&f);
        ck_assert_int_eq(store_next_seq(store_active(f.store)), 6);
    }
    says("k5 a", "duplicate:5 new:6");
}
END_TEST

START_TEST(a_segment_keeps_the_generation_size_it_began_with)
{
    store_fixture_send_range(&f, "k", 1, 6, 6);
    f.config.generation_keys = 8;
    reconfigured();
    store_fixture_send_range(&f, "l", 1, 10, 10);
    ck_assert_str_eq(reads(0, "SELECT max(generation) FROM trade"), "3");
    store_fixture_send_range(&f, "m", 1, 16, 16);
    ck_assert_str_eq(reads(1, "SELECT max(generation) FROM trade"), "1");
    says("k1 l1 m1", "duplicate:1 duplicate:7 duplicate:17");
}
END_TEST

START_TEST(rolling_is_told_and_leaves_a_plain_file_behind)
{
    store_fixture_send_range(&f, "k", 1, 17, 1);
    ck_assert_uint_eq(f.events[STORE_INFO], 1);
    ck_assert_msg(strstr(f.event, segment_name(1)) == f.event, "%s", f.event);
    ck_assert_uint_eq(catalog_bytes(f.dir, segment_name(0), ".db-wal"), 0);
    ck_assert_str_eq(store_fixture_figures(&f)->segments[0].state, "closed");
}
END_TEST

START_TEST(many_segments_are_looked_up_with_few_open_files)
{
    size_t open = 0;

    f.config.segment_rows = 4;
    reconfigured();
    store_fixture_send_range(&f, "k", 1, 4 * 50, 4);
    ck_assert_uint_eq(f.store->segments_n, 50);
    for (int round = 0; round < 2; round++)
        for (int i = 1; i <= 200; i += 4) {
            char word[32], verdict[32];

            snprintf(word, sizeof word, "k%d", i);
            snprintf(verdict, sizeof verdict, "duplicate:%d", i);
            says(word, verdict);
        }
    for (size_t i = 0; i < f.store->segments_n; i++)
        open += f.store->segments[i].db != NULL;
    ck_assert_uint_le(open, STORE_OPEN_SEGMENTS_MAX + 1);
}
END_TEST

/* ---- rollback ---- */

static void roll_back(const char *words)
{
    struct batch *batch = store_fixture_batch(&f, words);

    store_fixture_transact(&f, &batch, 1, false);
    batch_close(batch);
}

START_TEST(after_a_rollback_the_same_trades_are_new_with_the_same_seq)
{
    says("a", "new:1");
    roll_back("b c d e f g a=2 !x");
    ck_assert_uint_eq(store_fixture_figures(&f)->rows, 1);
    ck_assert_uint_eq(store_fixture_figures(&f)->conflicts, 0);
    ck_assert_uint_eq(store_fixture_figures(&f)->rejects, 0);
    says("b c d a=2", "new:2 new:3 new:4 conflict:1");
    store_fixture_reopen(&f);
    says("d c b a=2 e", "duplicate:4 duplicate:3 duplicate:2 conflict:1 new:5");
    ck_assert_uint_eq(store_fixture_figures(&f)->conflicts, 1);
}
END_TEST

START_TEST(a_transaction_rolled_back_is_not_counted_as_screened)
{
    struct batch *batch = store_fixture_batch(&f, "a b c");

    store_fixture_transact(&f, &batch, 1, false);
    ck_assert_uint_eq(f.store->screen.absent, 0);
    ck_assert(f.store->screen.expected_sum == 0);
    batch_close(batch);
}
END_TEST

START_TEST(a_first_transaction_rolled_back_leaves_no_window)
{
    roll_back("a b");
    ck_assert_int_eq(store_fixture_figures(&f)->window_start_us, 0);
    says("a", "new:1");
    ck_assert_int_gt(store_fixture_figures(&f)->window_start_us, 0);
}
END_TEST

START_TEST(ghosts_count_as_load_so_no_column_is_overfilled)
{
    for (int i = 0; i < 30; i++) {
        const struct figures *figures = store_fixture_figures(&f);

        for (size_t g = 0; g < figures->generations_n; g++)
            ck_assert_uint_le(figures->generations[g].filter.keys, 4);
        roll_back("a b c");
    }
    must(store_self_test(f.store, &f.err));
    says("a b c", "new:1 new:2 new:3");
    must(store_self_test(f.store, &f.err));
    ck_assert_uint_eq(f.events[STORE_CRITICAL], 0);
}
END_TEST

START_TEST(ghosts_of_a_thousand_failures_do_not_make_the_filter_grow)
{
    says("a", "new:1");
    for (int i = 0; i < 1000; i++) {
        roll_back("b c d");
        must(store_maintain(f.store, &f.err));
        ck_assert_uint_le(f.store->screen.parts[0].bank.columns, 64);
    }
    says("a b c d", "duplicate:1 new:2 new:3 new:4");
    ck_assert_uint_eq(store_fixture_figures(&f)->false_negative, 0);
}
END_TEST

START_TEST(a_rollback_leaves_generations_in_order_for_the_next_start)
{
    says("a b c", "new:1 new:2 new:3");
    for (int i = 0; i < 5; i++)
        roll_back("v w x y z");
    says("d e", "new:4 new:5");
    must(store_self_test(f.store, &f.err));
    store_fixture_reopen(&f);
    ck_assert_uint_eq(store_fixture_census(&f).rows, 5);
    says("a b c d e f", "duplicate:1 duplicate:2 duplicate:3 duplicate:4 duplicate:5 new:6");
}
END_TEST

/* ---- questions ---- */

static struct store_answer check(const char *key)
{
    struct store_answer answer;

    must(store_check(f.store, key, strlen(key), &answer, &f.err));
    return answer;
}

START_TEST(a_check_of_a_stored_key_says_where_it_is)
{
    store_fixture_send_range(&f, "k", 1, 20, 4);
    struct store_answer answer = check("k6");

    ck_assert_int_eq(answer.screen, SCREEN_MAYBE);
    ck_assert(answer.present);
    ck_assert_int_eq(answer.seq, 6);
    ck_assert_uint_ge(answer.candidates_n, 1);
    ck_assert_str_eq(answer.candidates[answer.candidates_n - 1].segment, segment_name(0));
    ck_assert_int_eq(answer.candidates[answer.candidates_n - 1].generation, 1);
    ck_assert_uint_eq(answer.filters_n, 2);
    ck_assert_str_eq(answer.filters[0].segment, segment_name(0));
    ck_assert(answer.filters[0].bank);
    ck_assert_int_eq(answer.filters[0].zero, -1);
    store_answer_done(&answer);
}
END_TEST

START_TEST(a_check_of_a_stranger_names_the_position_that_rules_it_out)
{
    store_fixture_send_range(&f, "k", 1, 20, 4);
    struct store_answer answer = check("stranger");

    ck_assert_int_eq(answer.screen, SCREEN_ABSENT);
    ck_assert(!answer.present);
    ck_assert_uint_eq(answer.candidates_n, 0);
    for (size_t i = 0; i < answer.filters_n; i++) {
        ck_assert_int_ge(answer.filters[i].zero, 0);
        ck_assert_int_lt(answer.filters[i].zero, (int)answer.filters[i].hashes);
        for (uint32_t k = 0; k < answer.filters[i].hashes; k++)
            ck_assert_uint_lt(answer.filters[i].positions[k], answer.filters[i].bits);
    }
    store_answer_done(&answer);
}
END_TEST

START_TEST(a_check_changes_no_count)
{
    says("a", "new:1");
    uint64_t before = store_fixture_figures(&f)->absent + f.figures.maybe;
    struct store_answer answer = check("a");

    store_answer_done(&answer);
    ck_assert_uint_eq(store_fixture_figures(&f)->absent + f.figures.maybe, before);
}
END_TEST

/* ---- the self-test ---- */

START_TEST(the_self_test_asks_a_member_of_every_generation_and_strangers)
{
    store_fixture_send_range(&f, "k", 1, 40, 8);
    must(store_self_test(f.store, &f.err));
    const struct figures *figures = store_fixture_figures(&f);

    ck_assert_uint_eq(figures->members_asked, 10);
    ck_assert_uint_eq(figures->members_maybe, 10);
    ck_assert_uint_eq(figures->strangers_asked, 1024);
    ck_assert_uint_lt(figures->strangers_maybe, 100);
    ck_assert_uint_eq(figures->absent + figures->maybe, 40); /* its own questions do not count */
    ck_assert_uint_eq(f.events[STORE_WARNING] + f.events[STORE_CRITICAL], 0);
}
END_TEST

START_TEST(the_self_test_of_an_empty_store_asks_strangers_only)
{
    must(store_self_test(f.store, &f.err));
    ck_assert_uint_eq(store_fixture_figures(&f)->members_asked, 0);
    ck_assert_uint_eq(f.figures.strangers_maybe, 0);
}
END_TEST

START_TEST(the_self_test_of_many_generations_takes_turns)
{
    f.config.generation_keys = 1;
    f.config.segment_rows = 5000;
    store_fixture_done(&f);
    store_fixture_init(&f);
    f.config.generation_keys = 1;
    f.config.segment_rows = 5000;
    store_fixture_open(&f);
    store_fixture_send_range(&f, "k", 1, 1500, 1500);
    must(store_self_test(f.store, &f.err));
    ck_assert_uint_eq(store_fixture_figures(&f)->members_asked, 1024);
    must(store_self_test(f.store, &f.err));
    ck_assert_uint_eq(store_fixture_figures(&f)->members_maybe, 2048);
    ck_assert_uint_eq(f.store->self_test_cursor, 2048);
}
END_TEST

/* ---- figures ---- */

static void figures_must_agree(void)
{
    const struct figures *figures = store_fixture_figures(&f);
    uint64_t rows = 0, bytes = 0, bits_set = 0, keys = 0;
    size_t segment = 0, g = 0;

    ck_assert_uint_eq(figures->segments_n, f.store->segments_n);
    for (; segment < figures->segments_n; segment++) {
        const struct segment_figures *of = &figures->segments[segment];

        ck_assert_str_eq(of->segment, segment_name(segment));
        ck_assert_int_eq(of->first_seq, (int64_t)rows + 1);
        if (segment + 1 == figures->segments_n)
            ck_assert_str_eq(of->state, "active");
        else
            ck_assert(strcmp(of->state, "closed") == 0 || strcmp(of->state, "sealed") == 0);
        for (uint32_t i = 0;
             g < figures->generations_n && strcmp(figures->generations[g].segment, of->segment) == 0;
             i++, g++) {
            ck_assert_uint_eq(figures->generations[g].generation, i);
            bits_set += figures->generations[g].filter.bits_set;
            keys += figures->generations[g].filter.keys;
        }
        if (strcmp(of->state, "sealed") == 0) {
            bits_set += of->filter.bits_set;
            keys += of->filter.keys;
        }
        rows += of->rows;
        bytes += of->bytes;
        ck_assert_uint_gt(of->bytes, 0);
    }
    ck_assert_uint_eq(g, figures->generations_n);
    ck_assert_uint_eq(figures->rows, rows);
    ck_assert_uint_eq(figures->bytes, bytes);
    ck_assert_uint_eq(figures->bits_set, bits_set);
    ck_assert_uint_eq(figures->keys, keys);
    ck_assert_uint_eq(figures->absent + figures->maybe,
                      figures->absent + figures->true_positive + figures->false_positive);
}

START_TEST(figures_agree_with_each_other_through_rolls_and_rebuilds)
{
    figures_must_agree();
    for (int i = 1; i <= 60; i += 3) {
        store_fixture_send_range(&f, "k", i, i + 2, 3);
        figures_must_agree();
        if (i % 9 == 1) {
            f.store->segments[f.store->segments_n / 2].rebuild = f.store->distrust = true;
            must(store_maintain(f.store, &f.err));
            figures_must_agree();
        }
    }
    ck_assert_uint_eq(f.figures.rows, 60);
    ck_assert_uint_eq(f.figures.keys, 60);
    store_fixture_reopen(&f);
    figures_must_agree();
    ck_assert_uint_eq(f.figures.rows, 60);
}
END_TEST

START_TEST(every_question_is_counted_once)
{
    store_fixture_send_range(&f, "k", 1, 30, 6);
    store_fixture_send_range(&f, "k", 1, 30, 6);
    const struct figures *figures = store_fixture_figures(&f);

    ck_assert_uint_eq(figures->absent + figures->maybe, 60);
    ck_assert_uint_eq(figures->true_positive, 30);
    ck_assert_uint_eq(figures->absent + figures->false_positive, 30);
    ck_assert_uint_eq(figures->false_negative, 0);
    ck_assert_uint_eq(figures->recent_absent_asked, 30);
}
END_TEST

START_TEST(the_window_begins_with_the_oldest_stored_trade)
{
    int64_t first_us = f.now_us;

    store_fixture_send_range(&f, "k", 1, 40, 8);
    ck_assert_int_eq(store_fixture_figures(&f)->window_start_us, first_us);
    store_fixture_reopen(&f);
    ck_assert_int_eq(store_fixture_figures(&f)->window_start_us, first_us);
}
END_TEST

START_TEST(a_segment_that_a_reader_keeps_open_drains_and_is_closed_later)
{
    char path[CATALOG_PATH_MAX];
    sqlite3 *other;

    says("a", "new:1");
    catalog_path(path, f.dir, segment_name(0), ".db");
    ck_assert_int_eq(sqlite3_open(path, &other), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(other, "BEGIN; SELECT * FROM trade", NULL, NULL, NULL), SQLITE_OK);
    store_fixture_send_range(&f, "k", 1, 16, 16);
    ck_assert_str_eq(store_fixture_figures(&f)->segments[0].state, "draining");
    must(store_maintain(f.store, &f.err));
    says("a k1", "duplicate:1 duplicate:2");
    ck_assert_str_eq(store_fixture_figures(&f)->segments[0].state, "draining");
    sqlite3_close(other);
    must(store_maintain(f.store, &f.err));
    ck_assert_str_eq(store_fixture_figures(&f)->segments[0].state, "closed");
    figures_must_agree();
    says("a", "duplicate:1");
}
END_TEST

enum { MIB = 1 << 20 };

/* A trade whose message takes a MiB, so that the WAL grows fast. */
static void send_mib(int i)
{
    static char message[MIB];
    struct batch *batch = store_fixture_batch(&f, "");
    struct batch_trade *trade = batch_add_trade(batch);

    memset(message, 'x', sizeof message);
    text_add(&batch->bytes, message, sizeof message);
    text_add_u64(&batch->arena, (uint64_t)i);
    trade->key_len = (uint32_t)batch->arena.len;
    trade->message_len = sizeof message;
    batch->ask_n = 1;
    store_fixture_transact(&f, &batch, 1, true);
    batch_close(batch);
}

START_TEST(a_reader_that_pins_the_wal_makes_the_segment_roll)
{
    char path[CATALOG_PATH_MAX];
    sqlite3 *other;

    says("a", "new:1");
    catalog_path(path, f.dir, segment_name(0), ".db");
    ck_assert_int_eq(sqlite3_open(path, &other), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(other, "BEGIN; SELECT * FROM trade", NULL, NULL, NULL), SQLITE_OK);
    f.store->config.segment_rows = 1000;
    for (int i = 0; f.store->segments_n == 1 && i < 80; i++) {
        send_mib(i);
        must(store_maintain(f.store, &f.err));
    }
    ck_assert_uint_eq(f.store->segments_n, 2);
    ck_assert_uint_eq(f.events[STORE_WARNING], 1);
    ck_assert_str_eq(store_fixture_figures(&f)->segments[0].state, "draining");
    sqlite3_close(other);
    must(store_maintain(f.store, &f.err));
    ck_assert_str_eq(store_fixture_figures(&f)->segments[0].state, "closed");
}
END_TEST

START_TEST(the_wal_is_moved_into_the_file_between_commits)
{
    f.store->config.segment_rows = 1000;
    for (int i = 0; i <= STORE_CHECKPOINT_BYTES / MIB; i++)
        send_mib(i);
    ck_assert_uint_gt(store_fixture_figures(&f)->wal_bytes, STORE_CHECKPOINT_BYTES);
    must(store_maintain(f.store, &f.err));
    ck_assert_uint_eq(store_fixture_figures(&f)->wal_bytes, 0);
}
END_TEST

START_TEST(the_disk_is_full_below_the_reserve_only)
{
    ck_assert(!store_is_full(f.store));
    f.store->config.disk_reserve_bytes = UINT64_MAX;
    ck_assert(store_is_full(f.store));
}
END_TEST

static void add_verdicts(TCase *cases)
{
    tcase_add_test(cases, a_trade_is_new_once_and_then_judged_by_its_content);
    tcase_add_test(cases, twins_in_one_batch_see_each_other);
    tcase_add_test(cases, conflicting_twins_in_one_batch_are_kept_once);
    tcase_add_test(cases, twins_in_two_batches_of_one_transaction_see_each_other);
    tcase_add_test(cases, invalid_and_ignored_lines_leave_their_neighbours_alone);
    tcase_add_test(cases, a_batch_without_trades_is_fine);
    tcase_add_test(cases, keys_are_equal_byte_for_byte_only);
    tcase_add_test(cases, the_longest_key_is_stored_and_found);
    tcase_add_test(cases, a_duplicate_tells_when_the_first_came);
    tcase_add_test(cases, the_screen_answers_absent_before_and_maybe_after);
    tcase_add_test(cases, restarts_change_no_answer);
}

static void add_written(TCase *cases)
{
    tcase_add_test(cases, a_row_holds_the_trade_as_it_came);
    tcase_add_test(cases, without_keep_message_the_column_stays_null);
    tcase_add_test(cases, a_conflict_is_kept_in_full_beside_the_trade);
    tcase_add_test(cases, a_conflict_is_kept_once_across_segments);
    tcase_add_test(cases, a_replayed_trade_keeps_the_name_of_its_feed);
    tcase_add_test(cases, a_trade_without_a_message_is_stored_with_none);
    tcase_add_test(cases, an_invalid_line_is_kept_with_its_reason);
    tcase_add_test(cases, rejects_are_bounded_in_rows_and_the_oldest_goes);
    tcase_add_test(cases, rejects_are_bounded_in_bytes);
    tcase_add_test(cases, rejects_are_bounded_over_all_segments);
    tcase_add_test(cases, earlier_segments_that_use_up_the_bound_leave_no_room);
    tcase_add_test(cases, no_rejects_are_kept_when_none_are_wanted);
}

static void add_segments(TCase *cases)
{
    tcase_add_test(cases, generations_hold_so_many_keys_and_follow_each_other);
    tcase_add_test(cases, a_segment_rolls_before_the_batch_that_would_overflow_it);
    tcase_add_test(cases, a_batch_larger_than_a_segment_stays_in_one);
    tcase_add_test(cases, duplicates_count_towards_the_roll_only_while_they_are_asked);
    tcase_add_test(cases, a_segment_rolls_at_midnight_utc);
    tcase_add_test(cases, a_clock_that_goes_back_over_midnight_does_not_roll);
    tcase_add_test(cases, an_empty_segment_of_an_earlier_day_takes_no_trade_of_a_later_one);
    tcase_add_test(cases, a_batch_that_asks_nothing_begins_no_day);
    tcase_add_test(cases, an_empty_newest_segment_does_not_restart_seq);
    tcase_add_test(cases, a_segment_keeps_the_generation_size_it_began_with);
    tcase_add_test(cases, rolling_is_told_and_leaves_a_plain_file_behind);
    tcase_add_test(cases, many_segments_are_looked_up_with_few_open_files);
    tcase_add_test(cases, after_a_rollback_the_same_trades_are_new_with_the_same_seq);
    tcase_add_test(cases, a_first_transaction_rolled_back_leaves_no_window);
    tcase_add_test(cases, a_transaction_rolled_back_is_not_counted_as_screened);
    tcase_add_test(cases, ghosts_count_as_load_so_no_column_is_overfilled);
    tcase_add_test(cases, ghosts_of_a_thousand_failures_do_not_make_the_filter_grow);
    tcase_add_test(cases, a_rollback_leaves_generations_in_order_for_the_next_start);
}

static void add_answers(TCase *cases)
{
    tcase_add_test(cases, a_check_of_a_stored_key_says_where_it_is);
    tcase_add_test(cases, a_check_of_a_stranger_names_the_position_that_rules_it_out);
    tcase_add_test(cases, a_check_changes_no_count);
    tcase_add_test(cases, the_self_test_asks_a_member_of_every_generation_and_strangers);
    tcase_add_test(cases, the_self_test_of_an_empty_store_asks_strangers_only);
    tcase_add_test(cases, the_self_test_of_many_generations_takes_turns);
    tcase_add_test(cases, figures_agree_with_each_other_through_rolls_and_rebuilds);
    tcase_add_test(cases, every_question_is_counted_once);
    tcase_add_test(cases, the_window_begins_with_the_oldest_stored_trade);
    tcase_add_test(cases, a_segment_that_a_reader_keeps_open_drains_and_is_closed_later);
    tcase_add_test(cases, a_reader_that_pins_the_wal_makes_the_segment_roll);
    tcase_add_test(cases, the_wal_is_moved_into_the_file_between_commits);
    tcase_add_test(cases, the_disk_is_full_below_the_reserve_only);
}

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *cases = tcase_create("store");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    add_verdicts(cases);
    add_written(cases);
    add_segments(cases);
    add_answers(cases);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
