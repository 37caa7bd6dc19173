/* The window of unanswered lines: cutting, order, what is sent again. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "suite.h"
#include "tool/window.h"

enum { WINDOW_LINES = 4 };

static struct window w;
static struct text out;

static void setup(void)
{
    window_init(&w, WINDOW_LINES);
}

static void teardown(void)
{
    window_done(&w);
    text_done(&out);
}

static uint64_t feed_bytes(const char *bytes, size_t len)
{
    size_t room;
    char *to = window_room(&w, &room);

    ck_assert_uint_ge(room, len);
    memcpy(to, bytes, len);
    return window_add(&w, len);
}

static uint64_t feed(const char *text)
{
    return feed_bytes(text, strlen(text));
}

/* What is unsent, as one text; it counts as sent. */
static const char *take(bool only_rest)
{
    struct iovec pieces[8];
    size_t n = window_gather(&w, pieces, 8, only_rest);

    out.len = 0;
    for (size_t i = 0; i < n; i++)
        text_add(&out, pieces[i].iov_base, pieces[i].iov_len);
    window_sent(&w, out.len);
    return text_terminate(&out);
}

static void answer(bool again)
{
    window_due(&w, 0)->again = again;
    window_answer(&w);
}

START_TEST(lines_leave_in_the_order_in_which_they_came)
{
    ck_assert_uint_eq(feed("a\nb"), 1);
    ck_assert_uint_eq(feed("c\nd\n"), 2);
    ck_assert_str_eq(take(false), "a\nbc\nd\n");
    ck_assert_str_eq(take(false), "");
    ck_assert_uint_eq(window_in_flight(&w), 3);
    for (int i = 0; i < 3; i++)
        answer(false);
    ck_assert_uint_eq(window_count(&w), 0);
    ck_assert_uint_eq(window_bytes_done(&w), 7);
}
END_TEST

START_TEST(blank_lines_are_skipped_and_have_numbers)
{
    ck_assert_uint_eq(feed("\n \t\r\na\r\n\r\nb\n"), 2);
    ck_assert_str_eq(take(false), "a\r\nb\n");
    ck_assert_uint_eq(window_due(&w, 0)->number, 3);
    ck_assert_uint_eq(window_due(&w, 1)->number, 5);
}
END_TEST

START_TEST(a_line_of_two_carriage_returns_is_not_blank)
{
    ck_assert_uint_eq(feed("\r\r\n"), 1);
}
END_TEST

START_TEST(a_byte_order_mark_is_skipped_at_the_start_of_each_file_only)
{
    size_t room;

    feed("\xef\xbb\xbf"
         "a\n\xef\xbb\xbf"
         "b\n");
    window_room(&w, &room);
    window_end_file(&w);
    feed("\xef\xbb\xbf"
         "c\n");
    ck_assert_str_eq(take(false), "a\n\xef\xbb\xbf"
                                  "b\nc\n");
}
END_TEST

START_TEST(the_last_line_of_a_file_gets_its_line_feed)
{
    size_t room;

    ck_assert_uint_eq(feed("a\nb"), 1);
    window_room(&w, &room);
    ck_assert_uint_eq(window_end_file(&w), 1);
    ck_assert_uint_eq(window_end_file(&w), 0);
    ck_assert_str_eq(take(false), "a\nb\n");
}
END_TEST

START_TEST(a_nul_is_a_byte_like_any_other)
{
    struct iovec piece;

    ck_assert_uint_eq(feed_bytes("a\0b\n", 4), 1);
    ck_assert_uint_eq(window_gather(&w, &piece, 1, false), 1);
    ck_assert_uint_eq(piece.iov_len, 4);
}
END_TEST

START_TEST(a_full_window_takes_no_more_until_a_line_is_answered)
{
    size_t room;

    ck_assert_uint_eq(feed("a\nb\nc\nd\ne\n"), WINDOW_LINES);
    window_room(&w, &room);
    ck_assert_uint_eq(room, 0);
    ck_assert_str_eq(take(false), "a\nb\nc\nd\n");
    answer(false);
    ck_assert_uint_eq(window_cut(&w), 1);
    ck_assert_str_eq(take(false), "e\n");
}
END_TEST

START_TEST(a_lost_connection_makes_unanswered_lines_unsent_again)
{
    feed("a\nb\nc\n");
    take(false);
    answer(false);
    ck_assert_uint_eq(window_rewind(&w), 2);
    ck_assert_str_eq(take(false), "b\nc\n");
}
END_TEST

START_TEST(a_line_that_was_sent_in_part_is_sent_again_whole)
{
    feed("abc\ndef\n");
    window_sent(&w, 6);
    ck_assert_uint_eq(window_in_flight(&w), 2);
    ck_assert_str_eq(take(true), "f\n");
    ck_assert_uint_eq(window_rewind(&w), 2);
    window_sent(&w, 5);
    answer(false);
    ck_assert_uint_eq(window_rewind(&w), 1);
    ck_assert_str_eq(take(false), "def\n");
}
END_TEST

START_TEST(only_the_rest_of_a_line_is_sent_when_asked)
{
    feed("abc\ndef\n");
    ck_assert(!window_has_unsent(&w, true));
    window_sent(&w, 1);
    ck_assert_str_eq(take(true), "bc\n");
    ck_assert(!window_has_unsent(&w, true));
    ck_assert(window_has_unsent(&w, false));
}
END_TEST

START_TEST(a_line_answered_while_it_is_sent_is_not_sent_further)
{
    feed("abc\ndef\n");
    window_sent(&w, 2);
    answer(false);
    ck_assert_uint_eq(window_in_flight(&w), 0);
    ck_assert_str_eq(take(false), "def\n");
}
END_TEST

START_TEST(held_lines_go_first_and_in_order_after_the_rewind)
{
    feed("a\nb\nc\nd\n");
    window_sent(&w, 6);
    answer(true);
    answer(false);
    answer(true);
    ck_assert_uint_eq(w.held, 2);
    ck_assert_uint_eq(window_count(&w), 3);
    ck_assert_uint_eq(window_rewind(&w), 2);
    ck_assert_str_eq(take(false), "a\nc\nd\n");
    ck_assert_uint_eq(window_due(&w, 0)->tries, 1);
    ck_assert(!window_due(&w, 0)->again);
}
END_TEST

START_TEST(held_lines_and_unanswered_ones_survive_a_lost_connection_together)
{
    feed("a\nb\nc\nd\n");
    take(false);
    answer(false);
    answer(true);
    ck_assert_uint_eq(window_rewind(&w), 3);
    ck_assert_str_eq(take(false), "b\nc\nd\n");
    ck_assert_uint_eq(window_cut(&w), 0);
    ck_assert_uint_eq(feed("e\n"), 1);
}
END_TEST

START_TEST(a_line_larger_than_the_buffer_goes_through_whole)
{
    size_t cap = w.cap, len = 0, room;

    feed("first\n");
    while (len < 3 * cap) {
        char *to = window_room(&w, &room);

        if (room == 0) {
            take(false);
            answer(false);
            continue;
        }
        memset(to, 'x', room);
        ck_assert_uint_eq(window_add(&w, room), 0);
        len += room;
    }
    ck_assert_uint_eq(feed("\n"), 1);
    ck_assert(!window_line_too_long(&w));
    ck_assert_uint_eq(strlen(take(false)), len + 1);
}
END_TEST

/* Many more bytes than the buffer holds, in a window that is never empty: nothing is lost or moved
 * wrongly. */
START_TEST(bytes_survive_the_moves_of_the_buffer)
{
    char line[3000], got[sizeof line];
    struct iovec pieces[1];
    uint64_t fed = 0, answered = 0;

    while (fed < 4000) {
        memset(line, (int)('a' + fed % 26), sizeof line);
        line[sizeof line - 1] = '\n';
        fed += feed_bytes(line, sizeof line);
        ck_assert_uint_eq(window_gather(&w, pieces, 1, false), 1);
        window_sent(&w, pieces[0].iov_len);
        if (fed - answered < WINDOW_LINES)
            continue;
        const struct window_line *due = window_due(&w, 0);

        memcpy(got, w.bytes + (due->at - w.base), due->len);
        ck_assert_int_eq(got[0], (int)('a' + answered % 26));
        ck_assert_int_eq(got[sizeof got - 2], (int)('a' + answered % 26));
        answer(false);
        answered++;
    }
    ck_assert_uint_le(w.cap, 4 * WINDOW_READ_BYTES);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("window");
    TCase *lines = tcase_create("lines");

    tcase_add_checked_fixture(lines, setup, teardown);
    tcase_add_test(lines, lines_leave_in_the_order_in_which_they_came);
    tcase_add_test(lines, blank_lines_are_skipped_and_have_numbers);
    tcase_add_test(lines, a_line_of_two_carriage_returns_is_not_blank);
    tcase_add_test(lines, a_byte_order_mark_is_skipped_at_the_start_of_each_file_only);
    tcase_add_test(lines, the_last_line_of_a_file_gets_its_line_feed);
    tcase_add_test(lines, a_nul_is_a_byte_like_any_other);
    tcase_add_test(lines, a_full_window_takes_no_more_until_a_line_is_answered);
    tcase_add_test(lines, a_lost_connection_makes_unanswered_lines_unsent_again);
    tcase_add_test(lines, a_line_that_was_sent_in_part_is_sent_again_whole);
    tcase_add_test(lines, only_the_rest_of_a_line_is_sent_when_asked);
    tcase_add_test(lines, a_line_answered_while_it_is_sent_is_not_sent_further);
    tcase_add_test(lines, held_lines_go_first_and_in_order_after_the_rewind);
    tcase_add_test(lines, held_lines_and_unanswered_ones_survive_a_lost_connection_together);
    tcase_add_test(lines, a_line_larger_than_the_buffer_goes_through_whole);
    tcase_add_test(lines, bytes_survive_the_moves_of_the_buffer);
    suite_add_tcase(suite, lines);
    return suite_run(suite);
}
