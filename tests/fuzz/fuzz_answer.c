/* The tool's reader of replies.
 *
 * Any bytes: what is no JSON is foreign, a verdict is counted only where there is one. And the bytes as
 * recipe for a batch: what the daemon writes about it is read back as what it was, in every mode. */
#include "tool/answer.h"

#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "ingest/reply.h"
#include "second.h"

enum { RECIPE_BYTES_MAX = 256 };

static uint64_t sum(const struct answer *answer)
{
    uint64_t n = 0;

    for (int i = 0; i < VERDICT_COUNT; i++)
        n += answer->verdicts[i];
    return n;
}

/* Digits alone, and their value. */
static void check_number(const char *text, const struct second_value *value, uint64_t number)
{
    char digits[24] = {0}, *end;

    FUZZ_REQUIRE(value && value->kind == SECOND_NUMBER && value->len < sizeof digits);
    memcpy(digits, text + value->at, value->len);
    errno = 0;
    FUZZ_REQUIRE(strtoull(digits, &end, 10) == number && !*end && !errno);
}

/* How often `text` names each verdict, by the second reader. */
static void count_verdict(const struct second_value *object, uint64_t counts[VERDICT_COUNT])
{
    const struct second_value *value = second_get(object, "verdict");

    for (int i = VERDICT_NEW; i < VERDICT_COUNT; i++) {
        const char *name = verdict_name((enum verdict)i);

        counts[i] += value && value->kind == SECOND_STRING && value->text.len == strlen(name) &&
                     memcmp(value->text.at, name, value->text.len) == 0;
    }
}

static void check_line(const char *text, const struct second_value *root, const struct answer *answer)
{
    const struct second_value *trades = second_get(root, "trades");
    uint64_t counts[VERDICT_COUNT] = {0};

    check_number(text, second_get(root, "line"), answer->line);
    if (!trades)
        count_verdict(root, counts);
    for (const struct second_value *trade = trades ? trades->first : NULL; trade; trade = trade->next)
        count_verdict(trade, counts);
    FUZZ_REQUIRE(memcmp(counts, answer->verdicts, sizeof counts) == 0);
    FUZZ_REQUIRE(trades || sum(answer) == 1);
}

static void check_any(const struct answer_wants *wants, const char *text, size_t len)
{
    struct second second = second_read(text, len, SECOND_LEVELS);
    struct answer answer;

    answer_read(wants, text, len, &answer);
    if (second.result != SECOND_OK)
        FUZZ_REQUIRE(answer.kind == ANSWER_FOREIGN);
    if (answer.kind == ANSWER_LINE)
        check_line(text, second.root, &answer);
    for (int i = VERDICT_NEW; i < VERDICT_COUNT && answer.kind == ANSWER_THROUGH; i++)
        check_number(text, second_get(second.root, verdict_name((enum verdict)i)), answer.verdicts[i]);
    if (answer.kind == ANSWER_THROUGH)
        check_number(text, second_get(second.root, "through"), answer.line);
    if (answer.kind == ANSWER_OPENING)
        FUZZ_REQUIRE(second_get(second.root, "tradesieve")->kind == SECOND_OBJECT);
    second_done(&second);
}

/* ---- round trip ---- */

/* A byte above 0x7f begins a line; it and those that follow are a trade each. */
static void build(struct batch *batch, const uint8_t *data, size_t size)
{
    uint64_t random = fuzz_seed(data, size);
    struct batch_line *line = NULL;

    for (size_t i = 0; i < size; i++) {
        if (!line || data[i] >= 0x80) {
            line = batch_add_line(batch);
            line->number = batch->lines_n;
            line->trades_first = (uint32_t)batch->trades_n;
            line->form = data[i] & 1 ? LINE_TRADES : LINE_SINGLE;
        } else if (line->form == LINE_SINGLE && line->trades_n == 1) {
            continue;
        }
        struct batch_trade *trade = batch_add_trade(batch);

        trade->verdict = (uint8_t)(VERDICT_NEW + data[i] / 2 % (VERDICT_COUNT - VERDICT_NEW));
        trade->reason = (uint8_t)(data[i] % REASON_COUNT);
        trade->seq = (int64_t)fuzz_below(&random, INT64_MAX);
        trade->detail_at = (uint32_t)batch->arena.len;
        trade->detail_len = (uint32_t)(size - i < 9 ? size - i : 9);
        text_add(&batch->arena, data + i, trade->detail_len);
        line->trades_n++;
    }
}

static void add_counts(const struct batch *batch, const struct batch_line *line,
                       uint64_t counts[VERDICT_COUNT])
{
    for (uint32_t i = 0; i < line->trades_n; i++)
        counts[batch->trades[line->trades_first + i].verdict]++;
}

/* Cuts the next reply off and reads it; false when none is left. */
static bool next_answer(const struct answer_wants *wants, const struct text *replies, size_t *at,
                        struct answer *ret)
{
    if (*at == replies->len)
        return false;
    const char *begin = replies->at + *at;
    const char *end = memchr(begin, '\n', replies->len - *at);

    FUZZ_REQUIRE(end);
    answer_read(wants, begin, (size_t)(end - begin), ret);
    *at = (size_t)(end - replies->at) + 1;
    return true;
}

static void check_each(const struct answer_wants *wants, const struct batch *batch,
                       const struct text *replies)
{
    struct answer answer;
    size_t at = 0;

    for (size_t i = 0; i < batch->lines_n; i++) {
        uint64_t counts[VERDICT_COUNT] = {0};

        add_counts(batch, &batch->lines[i], counts);
        FUZZ_REQUIRE(next_answer(wants, replies, &at, &answer));
        FUZZ_REQUIRE(answer.kind == ANSWER_LINE && answer.line == batch->lines[i].number);
        FUZZ_REQUIRE(memcmp(counts, answer.verdicts, sizeof counts) == 0);
    }
    FUZZ_REQUIRE(at == replies->len);
}

static void check_batch(const struct answer_wants *wants, const struct batch *batch,
                        const struct text *replies)
{
    uint64_t counts[VERDICT_COUNT] = {0}, last_line = 0;
    struct answer answer = {0};
    size_t at = 0;

    for (size_t i = 0; i < batch->lines_n; i++)
        add_counts(batch, &batch->lines[i], counts);
    while (next_answer(wants, replies, &at, &answer) && answer.kind == ANSWER_LINE) {
        FUZZ_REQUIRE(answer.line > last_line);
        last_line = answer.line;
    }
    FUZZ_REQUIRE(answer.kind == (batch->lines_n ? ANSWER_THROUGH : ANSWER_FOREIGN));
    FUZZ_REQUIRE(answer.line == batch->lines_n && at == replies->len);
    FUZZ_REQUIRE(memcmp(counts, answer.verdicts, sizeof counts) == 0);
}

static void check_round_trip(const struct answer_wants *wants, const uint8_t *data, size_t size)
{
    struct batch *batch = batch_open();
    struct reply_progress progress = {0};
    struct text replies = {0};

    build(batch, data, size < RECIPE_BYTES_MAX ? size : RECIPE_BYTES_MAX);
    reply_add(&replies, ACK_EACH, batch, &progress);
    check_each(wants, batch, &replies);
    replies.len = 0;
    reply_add(&replies, ACK_BATCH, batch, &progress);
    reply_add_progress(&replies, &progress);
    check_batch(wants, batch, &replies);
    text_done(&replies);
    batch_close(batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct answer_wants wants;

    answer_wants_init(&wants);
    check_any(&wants, (const char *)data, size);
    check_round_trip(&wants, data, size);
    return 0;
}
