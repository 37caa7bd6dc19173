/* What reply lines say. */
#include <string.h>

#include "suite.h"
#include "tool/answer.h"

#define N(...)                                                                                         \
    {                                                                                                  \
        [VERDICT_NONE] = 0, __VA_ARGS__                                                                \
    }

static const struct {
    const char *reply;
    struct answer answer;
} cases[] = {
    {"{\"line\":1,\"verdict\":\"new\",\"seq\":1,\"screen\":\"absent\"}",
     {ANSWER_LINE, 1, N([VERDICT_NEW] = 1)}},
    {"{\"line\":2,\"verdict\":\"duplicate\",\"seq\":1,\"received\":\"2026-12-01T14:30:00.123456Z\"}",
     {ANSWER_LINE, 2, N([VERDICT_DUPLICATE] = 1)}},
    {"{\"line\":3,\"verdict\":\"conflict\",\"seq\":1}", {ANSWER_LINE, 3, N([VERDICT_CONFLICT] = 1)}},
    {"{\"line\":4,\"verdict\":\"invalid\",\"error\":\"id_missing\",\"detail\":\"no member /id\"}",
     {ANSWER_LINE, 4, N([VERDICT_INVALID] = 1)}},
    {"{\"line\":5,\"verdict\":\"ignored\"}", {ANSWER_LINE, 5, N([VERDICT_IGNORED] = 1)}},
    {" { \"verdict\" : \"retry\" , \"line\" : 18446744073709551 } ",
     {ANSWER_LINE, 18446744073709551U, N([VERDICT_RETRY] = 1)}},
    {"{\"line\":7,\"trades\":[{\"verdict\":\"new\",\"seq\":2},{\"verdict\":\"invalid\",\"error\":\"id_"
     "type\"},"
     "{\"verdict\":\"new\",\"seq\":3}]}",
     {ANSWER_LINE, 7, N([VERDICT_NEW] = 2, [VERDICT_INVALID] = 1)}},
    {"{\"line\":8,\"trades\":[]}", {ANSWER_LINE, 8, N(0)}},
    {"{\"through\":9,\"new\":1,\"duplicate\":2,\"conflict\":3,\"invalid\":4,\"ignored\":5,\"retry\":6}",
     {ANSWER_THROUGH, 9, {0, 1, 2, 3, 4, 5, 6}}},
    {"{\"tradesieve\":{\"version\":\"0.1.0\",\"ack\":\"each\",\"feed\":\"canonical\"}}",
     {ANSWER_OPENING, 0, N(0)}},
    {"", {ANSWER_FOREIGN, 0, N(0)}},
    {"HTTP/1.1 400 Bad Request", {ANSWER_FOREIGN, 0, N(0)}},
    {"[]", {ANSWER_FOREIGN, 0, N(0)}},
    {"{\"verdict\":\"new\"}", {ANSWER_FOREIGN, 0, N(0)}},
    {"{\"line\":\"1\",\"verdict\":\"new\"}", {ANSWER_FOREIGN, 0, N(0)}},
    {"{\"line\":-1,\"verdict\":\"new\"}", {ANSWER_FOREIGN, 0, N(0)}},
    {"{\"line\":1,\"verdict\":\"none\"}", {ANSWER_FOREIGN, 1, N(0)}},
    {"{\"line\":1,\"verdict\":1}", {ANSWER_FOREIGN, 1, N(0)}},
    {"{\"line\":1}", {ANSWER_FOREIGN, 1, N(0)}},
    {"{\"line\":1,\"trades\":{}}", {ANSWER_FOREIGN, 1, N(0)}},
    {"{\"line\":1,\"trades\":[1]}", {ANSWER_FOREIGN, 1, N(0)}},
    {"{\"through\":9,\"new\":1}", {ANSWER_FOREIGN, 9, N([VERDICT_NEW] = 1)}},
};

START_TEST(a_reply_is_read_as_the_contract_has_it)
{
    struct answer_wants wants;
    struct answer answer;

    answer_wants_init(&wants);
    answer_read(&wants, cases[_i].reply, strlen(cases[_i].reply), &answer);
    ck_assert_msg(answer.kind == cases[_i].answer.kind, "%s", cases[_i].reply);
    ck_assert_uint_eq(answer.line, cases[_i].answer.line);
    ck_assert_mem_eq(answer.verdicts, cases[_i].answer.verdicts, sizeof answer.verdicts);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("answer");
    TCase *replies = tcase_create("replies");

    tcase_add_loop_test(replies, a_reply_is_read_as_the_contract_has_it, 0,
                        (int)(sizeof cases / sizeof *cases));
    suite_add_tcase(suite, replies);
    return suite_run(suite);
}
