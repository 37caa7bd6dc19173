#include "judged.h"

#include <string.h>

#include "fuzz.h"
#include "second.h"

static void check_key(const char *key, size_t len)
{
    FUZZ_REQUIRE(len > 0 && key[len - 1] != '/');
    for (size_t at = 0; at < len; at++) {
        FUZZ_REQUIRE((unsigned char)key[at] >= 0x20 && key[at] != 0x7f);
        if (key[at] == '%')
            FUZZ_REQUIRE(len - at >= 3 && (!memcmp(key + at, "%25", 3) || !memcmp(key + at, "%2F", 3)));
    }
}

/* Through the second reader, as a JSON string. */
static bool is_utf8(const char *bytes, size_t len)
{
    struct text string = {0};

    text_add_char(&string, '"');
    for (size_t i = 0; i < len; i++)
        text_add_char(&string, bytes[i] == '"' || bytes[i] == '\\' ? '?' : bytes[i]);
    text_add_char(&string, '"');
    struct second second = second_read(string.at, string.len, SECOND_LEVELS);
    bool good = second.result == SECOND_OK;

    second_done(&second);
    text_done(&string);
    return good;
}

static void check_asked(const struct batch *batch, const struct batch_trade *trade,
                        const struct feed_context *context, bool replayed)
{
    struct second second =
        second_read(batch->bytes.at + trade->message_at, trade->message_len, SECOND_LEVELS);

    FUZZ_REQUIRE(!trade->message_len || second.result == SECOND_OK);
    second_done(&second);
    FUZZ_REQUIRE(trade->key_len > 0 && trade->key_len <= context->max_key_bytes);
    FUZZ_REQUIRE(trade->key_at + trade->key_len <= batch->arena.len);
    FUZZ_REQUIRE(is_utf8(batch_key(batch, trade), trade->key_len));
    if (!replayed)
        check_key(batch_key(batch, trade), trade->key_len);
}

static void check_trade(const struct batch_trade *trade, size_t at, size_t len)
{
    bool invalid = trade->verdict == VERDICT_INVALID;

    FUZZ_REQUIRE(trade->verdict == VERDICT_NONE || trade->verdict == VERDICT_IGNORED || invalid);
    FUZZ_REQUIRE(invalid == (trade->reason != REASON_NONE) && invalid == (trade->detail_len > 0));
    FUZZ_REQUIRE(!trade->message_len ||
                 (trade->message_at >= at && trade->message_at + trade->message_len <= at + len));
}

void judged_check(const struct batch *batch, size_t at, size_t len, const struct feed_context *context,
                  bool replayed)
{
    const struct batch_line *line = &batch->lines[batch->lines_n - 1];

    FUZZ_REQUIRE(line->trades_n >= 1 && line->trades_n <= context->max_trades_per_line);
    FUZZ_REQUIRE(line->form == LINE_TRADES || (line->form == LINE_SINGLE && line->trades_n == 1));
    FUZZ_REQUIRE(line->trades_first + line->trades_n == batch->trades_n);
    for (size_t i = line->trades_first; i < batch->trades_n; i++) {
        check_trade(&batch->trades[i], at, len);
        if (batch->trades[i].verdict == VERDICT_NONE)
            check_asked(batch, &batch->trades[i], context, replayed);
    }
}
