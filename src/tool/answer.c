#include "tool/answer.h"

#include <stdbool.h>
#include <string.h>

/* Nodes of the reply trie. The verdicts are members of a `through` line and stand behind these; their
 * nodes are VERDICT_FIRST + enum verdict. */
enum { NODE_LINE = 1, NODE_THROUGH, NODE_OPENING, NODE_TRADES, NODE_VERDICT, NODE_COUNTS };

static void want(struct scan_want *wants, const char *member)
{
    scan_want_add(wants, 0, member, strlen(member));
}

void answer_wants_init(struct answer_wants *wants)
{
    scan_want_init(&wants->trade);
    want(&wants->trade, "verdict");
    scan_want_init(&wants->reply);
    want(&wants->reply, "line");
    want(&wants->reply, "through");
    want(&wants->reply, "tradesieve");
    want(&wants->reply, "trades");
    want(&wants->reply, "verdict");
    for (int i = 0; i < VERDICT_COUNT; i++)
        want(&wants->reply, verdict_name((enum verdict)i));
}

static bool read_number(const char *at, size_t len, uint64_t *ret)
{
    uint64_t n = 0;

    if (len == 0 || len > 19)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (at[i] < '0' || at[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(at[i] - '0');
    }
    *ret = n;
    return true;
}

static bool count_verdict(struct answer *answer, const struct scan_value *name)
{
    for (int i = VERDICT_NEW; i < VERDICT_COUNT; i++) {
        const char *text = verdict_name((enum verdict)i);

        if (name->kind == SCAN_STRING && scan_string_is(name, text, strlen(text))) {
            answer->verdicts[i]++;
            return true;
        }
    }
    return false;
}

static bool count_trades(const struct answer_wants *wants, struct answer *answer,
                         const struct scan_value *trades)
{
    struct scan_value trade, values[SCAN_WANT_MAX];
    size_t cursor = 0;

    if (trades->kind != SCAN_ARRAY)
        return false;
    while (scan_next_element(trades, &cursor, &trade)) {
        scan_again(&trade, &wants->trade, values);
        if (!count_verdict(answer, &values[1]))
            return false;
    }
    return true;
}

static bool read_counts(struct answer *answer, const struct scan_value *counts)
{
    for (int i = VERDICT_NEW; i < VERDICT_COUNT; i++)
        if (!read_number(counts[i].at, counts[i].len, &answer->verdicts[i]))
            return false;
    return true;
}

static enum answer_kind read_any(const struct answer_wants *wants, const char *at, size_t len,
                                 struct answer *ret)
{
    struct scan_value values[SCAN_WANT_MAX];
    const struct scan_value *line = &values[NODE_LINE], *through = &values[NODE_THROUGH];

    if (scan_text(at, len, &wants->reply, values, NULL) != SCAN_OK)
        return ANSWER_FOREIGN;
    if (values[NODE_OPENING].kind == SCAN_OBJECT)
        return ANSWER_OPENING;
    if (through->kind == SCAN_NUMBER && read_number(through->at, through->len, &ret->line))
        return read_counts(ret, &values[NODE_COUNTS]) ? ANSWER_THROUGH : ANSWER_FOREIGN;
    if (line->kind != SCAN_NUMBER || !read_number(line->at, line->len, &ret->line))
        return ANSWER_FOREIGN;
    if (values[NODE_TRADES].kind != SCAN_NOTHING)
        return count_trades(wants, ret, &values[NODE_TRADES]) ? ANSWER_LINE : ANSWER_FOREIGN;
    return count_verdict(ret, &values[NODE_VERDICT]) ? ANSWER_LINE : ANSWER_FOREIGN;
}

void answer_read(const struct answer_wants *wants, const char *at, size_t len, struct answer *ret)
{
    *ret = (struct answer){0};
    ret->kind = read_any(wants, at, len, ret);
}
