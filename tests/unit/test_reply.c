/* reply: the exact bytes of replies, and of what answers an opening line. */
#include "ingest/reply.h"

#include <string.h>

#include "ingest/opening.h"
#include "suite.h"

static struct batch *batch;
static struct text out;
static struct reply_progress progress;

static void setup(void)
{
    batch = batch_open();
    progress = (struct reply_progress){0};
}

static void teardown(void)
{
    batch_close(batch);
    text_done(&out);
}

static void add_line(uint64_t number, enum line_form form)
{
    struct batch_line *line = batch_add_line(batch);

    line->number = number;
    line->form = (uint8_t)form;
}

static struct batch_trade *add_trade(enum verdict verdict)
{
    struct batch_trade *trade = batch_add_trade(batch);

    trade->verdict = (uint8_t)verdict;
    batch->lines[batch->lines_n - 1].trades_n++;
    return trade;
}

static void add_stored(enum verdict verdict, int64_t seq, enum screen_answer screen)
{
    struct batch_trade *trade = add_trade(verdict);

    trade->seq = seq;
    trade->screen = (uint8_t)screen;
    trade->received_us = 1796135400123456; /* 2026-12-01T14:30:00.123456Z */
}

static void add_error(enum verdict verdict, enum reason reason, const char *detail)
{
    struct batch_trade *trade = add_trade(verdict);

    trade->reason = (uint8_t)reason;
    if (!detail)
        return;
    trade->detail_at = (uint32_t)batch->arena.len;
    trade->detail_len = (uint32_t)strlen(detail);
    text_add_str(&batch->arena, detail);
}

static void add_opening(uint64_t number, const char *reply)
{
    struct batch_line *line;

    add_line(number, LINE_OPENING);
    line = &batch->lines[batch->lines_n - 1];
    line->reply_at = (uint32_t)batch->arena.len;
    line->reply_len = (uint32_t)strlen(reply);
    text_add_str(&batch->arena, reply);
}

/* One line of every form. */
static void add_every_form(void)
{
    add_opening(1, "{\"tradesieve\":{}}");
    add_line(2, LINE_SINGLE);
    add_stored(VERDICT_NEW, 1, SCREEN_ABSENT);
    add_line(3, LINE_SINGLE);
    add_stored(VERDICT_DUPLICATE, 1, SCREEN_MAYBE);
    add_line(5, LINE_SINGLE);
    add_stored(VERDICT_CONFLICT, 1, SCREEN_MAYBE);
    add_line(6, LINE_SINGLE);
    add_error(VERDICT_INVALID, REASON_ID_MISSING, "no member \"/id\"\n");
    add_line(7, LINE_SINGLE);
    add_trade(VERDICT_IGNORED);
    add_line(8, LINE_SINGLE);
    add_error(VERDICT_RETRY, REASON_STORE_FULL, NULL);
    add_line(9, LINE_TRADES);
    add_stored(VERDICT_NEW, 2, SCREEN_ABSENT);
    add_error(VERDICT_INVALID, REASON_ID_TYPE, NULL);
    add_line(10, LINE_TRADES);
    add_stored(VERDICT_NEW, INT64_MAX, SCREEN_MAYBE);
    add_trade(VERDICT_IGNORED);
}

#define CONFLICT                                                                                       \
    "{\"line\":5,\"verdict\":\"conflict\",\"seq\":1,\"received\":\"2026-12-01T14:30:00.123456Z\","     \
    "\"screen\":\"maybe\"}\n"
#define INVALID                                                                                        \
    "{\"line\":6,\"verdict\":\"invalid\",\"error\":\"id_missing\",\"detail\":\"no member "             \
    "\\\"/id\\\"\\n\"}\n"
#define RETRY "{\"line\":8,\"verdict\":\"retry\",\"error\":\"store_full\"}\n"
#define MIXED                                                                                          \
    "{\"line\":9,\"trades\":[{\"verdict\":\"new\",\"seq\":2,\"screen\":\"absent\"},"                   \
    "{\"verdict\":\"invalid\",\"error\":\"id_type\"}]}\n"

START_TEST(each_answers_every_line_in_order)
{
    add_every_form();
    reply_add(&out, ACK_EACH, batch, &progress);
    ck_assert_str_eq(
        text_terminate(&out),
        "{\"tradesieve\":{}}\n"
        "{\"line\":2,\"verdict\":\"new\",\"seq\":1,\"screen\":\"absent\"}\n"
        "{\"line\":3,\"verdict\":\"duplicate\",\"seq\":1,\"received\":\"2026-12-01T14:30:00.123456Z\","
        "\"screen\":\"maybe\"}\n" CONFLICT INVALID "{\"line\":7,\"verdict\":\"ignored\"}\n" RETRY MIXED
        "{\"line\":10,\"trades\":[{\"verdict\":\"new\",\"seq\":9223372036854775807,\"screen\":"
        "\"maybe\"},"
        "{\"verdict\":\"ignored\"}]}\n");
}
END_TEST

START_TEST(each_owes_no_through_line)
{
    add_every_form();
    reply_add(&out, ACK_EACH, batch, &progress);
    out.len = 0;
    reply_add_progress(&out, &progress);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

START_TEST(batch_shows_what_went_wrong_and_counts_all)
{
    add_every_form();
    reply_add(&out, ACK_BATCH, batch, &progress);
    reply_add_progress(&out, &progress);
    ck_assert_str_eq(text_terminate(&out),
                     "{\"tradesieve\":{}}\n" CONFLICT INVALID RETRY MIXED
                     "{\"through\":10,\"new\":3,\"duplicate\":1,\"conflict\":1,\"invalid\":2,"
                     "\"ignored\":2,\"retry\":1}\n");
}
END_TEST

START_TEST(batches_since_the_last_through_line_share_one)
{
    add_line(1, LINE_SINGLE);
    add_stored(VERDICT_NEW, 1, SCREEN_ABSENT);
    reply_add(&out, ACK_BATCH, batch, &progress);
    batch_reset(batch);
    add_line(4, LINE_SINGLE);
    add_stored(VERDICT_NEW, 2, SCREEN_ABSENT);
    reply_add(&out, ACK_BATCH, batch, &progress);
    reply_add_progress(&out, &progress);
    reply_add_progress(&out, &progress);
    ck_assert_str_eq(text_terminate(&out), "{\"through\":4,\"new\":2,\"duplicate\":0,\"conflict\":0,"
                                           "\"invalid\":0,\"ignored\":0,\"retry\":0}\n");
}
END_TEST

START_TEST(an_opening_line_alone_is_no_progress)
{
    add_opening(1, "{}");
    reply_add(&out, ACK_BATCH, batch, &progress);
    reply_add_progress(&out, &progress);
    ck_assert_str_eq(text_terminate(&out), "{}\n");
}
END_TEST

START_TEST(none_owes_nothing)
{
    add_every_form();
    reply_add(&out, ACK_NONE, batch, &progress);
    reply_add_progress(&out, &progress);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

START_TEST(a_mode_has_one_name)
{
    for (enum ack_mode mode = ACK_EACH; mode <= ACK_NONE; mode++)
        ck_assert_int_eq(ack_mode_of(ack_mode_name(mode), strlen(ack_mode_name(mode))), (int)mode);
    ck_assert_int_eq(ack_mode_of("eac", 3), -1);
    ck_assert_int_eq(ack_mode_of("Each", 4), -1);
    ck_assert_int_eq(ack_mode_of("", 0), -1);
}
END_TEST

static const struct {
    const char *line;
    enum opening_result result;
    enum ack_mode mode;
} openings[] = {
    {"{\"tradesieve\":{\"ack\":\"each\"}}", OPENING_GOOD, ACK_EACH},
    {" { \"tradesieve\" : { \"ack\" : \"batch\" } } ", OPENING_GOOD, ACK_BATCH},
    {"{\"trade\\u0073ieve\":{\"\\u0061ck\":\"n\\u006fne\"}}", OPENING_GOOD, ACK_NONE},
    {"{\"tradesieve\":{\"ack\":\"all\"}}", OPENING_BAD, ACK_EACH},
    {"{\"tradesieve\":{\"ack\":1}}", OPENING_BAD, ACK_EACH},
    {"{\"tradesieve\":{\"ack\":null}}", OPENING_BAD, ACK_EACH},
    {"{\"tradesieve\":{\"ack\":\"each\",\"ack\":\"each\"}}", OPENING_BAD, ACK_EACH},
    {"{\"tradesieve\":{\"ack\":\"each\",\"more\":1}}", OPENING_BAD, ACK_EACH},
    {"{\"tradesieve\":{\"ACK\":\"each\"}}", OPENING_BAD, ACK_EACH},
    {"{\"tradesieve\":{}}", OPENING_BAD, ACK_EACH},
    {"{\"tradesieve\":\"each\"}", OPENING_BAD, ACK_EACH},
    {"{\"tradesieve\":[\"each\"]}", OPENING_BAD, ACK_EACH},
    {"{\"tradesieve\":{\"ack\":\"each\"},\"id\":1}", OPENING_NONE, ACK_EACH},
    {"{\"Tradesieve\":{\"ack\":\"batch\"}}", OPENING_NONE, ACK_EACH},
    {"{\"tradesieve\":{\"ack\":\"batch\"}", OPENING_NONE, ACK_EACH},
    {"[{\"tradesieve\":{\"ack\":\"batch\"}}]", OPENING_NONE, ACK_EACH},
    {"{}", OPENING_NONE, ACK_EACH},
    {"1", OPENING_NONE, ACK_EACH},
};

START_TEST(an_opening_line_is_told_from_a_message)
{
    enum ack_mode mode = ACK_EACH;
    const char *detail = NULL;

    ck_assert_int_eq(opening_read(openings[_i].line, strlen(openings[_i].line), &mode, &detail),
                     openings[_i].result);
    ck_assert_int_eq(mode, openings[_i].mode);
    ck_assert_int_eq(detail != NULL, openings[_i].result == OPENING_BAD);
}
END_TEST

START_TEST(a_good_opening_is_answered_with_version_mode_and_feed)
{
    opening_add_reply(&out, ACK_BATCH, "canonical");
    ck_assert_str_eq(text_terminate(&out), "{\"tradesieve\":{\"version\":\"" TRADESIEVE_VERSION
                                           "\",\"ack\":\"batch\",\"feed\":\"canonical\"}}");
}
END_TEST

START_TEST(a_bad_opening_is_answered_invalid)
{
    opening_add_refusal(&out, 3, "no");
    ck_assert_str_eq(
        text_terminate(&out),
        "{\"line\":3,\"verdict\":\"invalid\",\"error\":\"bad_opening\",\"detail\":\"no\"}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply");
    TCase *tcase = tcase_create("reply");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, each_answers_every_line_in_order);
    tcase_add_test(tcase, each_owes_no_through_line);
    tcase_add_test(tcase, batch_shows_what_went_wrong_and_counts_all);
    tcase_add_test(tcase, batches_since_the_last_through_line_share_one);
    tcase_add_test(tcase, an_opening_line_alone_is_no_progress);
    tcase_add_test(tcase, none_owes_nothing);
    tcase_add_test(tcase, a_mode_has_one_name);
    tcase_add_loop_test(tcase, an_opening_line_is_told_from_a_message, 0,
                        sizeof openings / sizeof *openings);
    tcase_add_test(tcase, a_good_opening_is_answered_with_version_mode_and_feed);
    tcase_add_test(tcase, a_bad_opening_is_answered_invalid);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
