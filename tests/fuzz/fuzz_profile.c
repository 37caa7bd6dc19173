/* Feed profiles: comments around one change nothing, a refusal is one line of text, and what is accepted
 * judges any line without harm, the profile's own text among them. */
#include <string.h>

#include "comments.h"
#include "fuzz.h"
#include "ingest/feed.h"
#include "judged.h"
#include "second.h"

static const char *const lines[] = {
    "{\"source\":\"S\",\"symbol\":\"A/"
    "B\",\"id\":1,\"s\":\"X\",\"t\":1700000000000,\"p\":\"1.50\",\"e\":\"trade\"}",
    "{\"data\":[{\"id\":1,\"p\":1},{\"id\":\"\\u0041\"},[1,2]],\"trades\":[{\"id\":-0}],\"channel\":"
    "\"trades\"}",
    "[17,\"te\",[401597393,1574694475039,0.005,7244.9]]",
    "{\"a\":{\"b\":{\"c\":\"2026-12-01T14:30:00Z\"}},\"a\":1,\"\":null,\"~\":true}",
    "7",
    "{",
};

static void judge(const struct feed *feed, const struct feed_context *context, const char *line,
                  size_t len)
{
    struct batch *batch = batch_open();

    text_reserve(&batch->bytes, 1);
    text_add(&batch->bytes, line, len);
    feed_judge(feed, context, batch, 0, len, 1);
    judged_check(batch, 0, len, context, false);
    batch_close(batch);
}

static void judge_all(const struct feed *feed, const char *json, size_t len)
{
    static const struct feed_context context = {
        .source = "SRC", .max_key_bytes = 64, .max_trades_per_line = 100};

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        judge(feed, &context, lines[i], strlen(lines[i]));
    judge(feed, &context, json, len);
}

/* What any profile needs to be one, by the second reader. */
static void check_shape(const struct text *plain)
{
    struct second second = second_read(plain->at, plain->len, SECOND_LEVELS);
    const struct second_value *key = second_get(second.root, "key");
    size_t n = 0;

    FUZZ_REQUIRE(second.result == SECOND_OK && key && key->kind == SECOND_ARRAY);
    for (const struct second_value *part = key->first; part; part = part->next)
        n++;
    FUZZ_REQUIRE(n >= 1 && n <= FEED_PARTS_MAX);
    second_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *json = (const char *)data;
    struct feed *feed = NULL, *again = NULL;
    struct err err;
    int bad;
    struct text plain = comments_blank(json, size, &bad), wrapped = comments_wrap(json, size);
    int rc = feed_parse(&feed, "fuzz", json, size, &err);

    if (rc) {
        comments_check_refusal(rc, &err);
    } else {
        FUZZ_REQUIRE(!bad);
        check_shape(&plain);
        judge_all(feed, json, size);
    }
    FUZZ_REQUIRE(bad || feed_parse(&again, "fuzz", wrapped.at, wrapped.len, &err) == rc);
    feed_close(feed);
    feed_close(again);
    text_done(&plain);
    text_done(&wrapped);
    return 0;
}
