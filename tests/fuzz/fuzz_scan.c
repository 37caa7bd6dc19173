/* The scanner against a second reader: the same texts are JSON, the first fault stands at the same byte,
 * and of a text that is JSON every value, every member and every string is the same. */
#include "ingest/scan.h"

#include <string.h>

#include "fuzz.h"
#include "second.h"

enum { POINTERS = 12, STEPS_MAX = 5 };

static const enum scan_result results[] = {
    [SECOND_OK] = SCAN_OK,
    [SECOND_BAD_JSON] = SCAN_BAD_JSON,
    [SECOND_BAD_UTF8] = SCAN_BAD_UTF8,
    [SECOND_TOO_DEEP] = SCAN_TOO_DEEP,
};

static const enum scan_kind kinds[] = {
    [SECOND_NULL] = SCAN_NULL,     [SECOND_FALSE] = SCAN_FALSE,   [SECOND_TRUE] = SCAN_TRUE,
    [SECOND_NUMBER] = SCAN_NUMBER, [SECOND_STRING] = SCAN_STRING, [SECOND_ARRAY] = SCAN_ARRAY,
    [SECOND_OBJECT] = SCAN_OBJECT,
};

static void check_string(const struct scan_value *ours, const struct second_text *text)
{
    struct text decoded = {0};

    FUZZ_REQUIRE(ours->kind == SCAN_STRING);
    FUZZ_REQUIRE(scan_decode(ours, &decoded) == !text->lone);
    FUZZ_REQUIRE(decoded.len == text->len && (!text->len || !memcmp(decoded.at, text->at, text->len)));
    FUZZ_REQUIRE(scan_string_is(ours, text->at, text->len));
    FUZZ_REQUIRE(!text->len || !scan_string_is(ours, text->at, text->len - 1));
    FUZZ_REQUIRE(ours->escaped == (memchr(ours->at, '\\', ours->len) != NULL));
    text_done(&decoded);
}

static void check_span(const char *begin, const struct scan_value *ours,
                       const struct second_value *theirs)
{
    FUZZ_REQUIRE(ours->kind == kinds[theirs->kind]);
    FUZZ_REQUIRE(ours->at == begin + theirs->at && ours->len == theirs->len);
    if (theirs->kind == SECOND_STRING)
        check_string(ours, &theirs->text);
}

/* Walks both trees; the depth is bounded, the scanner has accepted the text. */
static void check_value(const char *begin, const struct scan_value *ours,
                        const struct second_value *theirs)
{
    struct scan_value name, item;
    size_t cursor = 0;

    check_span(begin, ours, theirs);
    if (theirs->kind != SECOND_ARRAY && theirs->kind != SECOND_OBJECT)
        return;
    for (const struct second_value *other = theirs->first; other; other = other->next) {
        if (theirs->kind == SECOND_ARRAY) {
            FUZZ_REQUIRE(scan_next_element(ours, &cursor, &item));
        } else {
            FUZZ_REQUIRE(scan_next_member(ours, &cursor, &name, &item));
            check_string(&name, &other->name);
        }
        check_value(begin, &item, other);
    }
    FUZZ_REQUIRE(!(theirs->kind == SECOND_ARRAY ? scan_next_element(ours, &cursor, &item)
                                                : scan_next_member(ours, &cursor, &name, &item)));
}

/* ---- what a trie finds ---- */

/* What a node should find, kept beside the trie. */
struct found {
    const struct second_value *value; /* or NULL */
    bool twice;
};

static size_t count(const struct second_value *container)
{
    size_t n = 0;

    for (const struct second_value *item = container->first; item; item = item->next)
        n++;
    return n;
}

static struct found step_down(struct found at, const char *step, size_t len, size_t index)
{
    struct found below = {.twice = at.twice};
    size_t n = 0;

    if (at.value && at.value->kind == SECOND_OBJECT)
        below.value = second_member(at.value, step, len, &n);
    else if (at.value && at.value->kind == SECOND_ARRAY)
        below.value = second_item(at.value, index);
    below.twice |= n > 1;
    return below;
}

/* A step that is there most of the time: the name or the index of a random item, else a wrong one. */
static struct found add_step(struct scan_want *want, int *node, struct found at, uint64_t *random)
{
    static const char digits[] = "0123456789";
    const struct second_value *item = NULL;
    const char *step = "a";
    size_t len = 1, index = SIZE_MAX;

    if (at.value && at.value->first && fuzz_below(random, 8))
        item = second_item(at.value, fuzz_below(random, count(at.value)));
    if (item && at.value->kind == SECOND_OBJECT) {
        step = item->name.at;
        len = item->name.len;
    } else if (at.value && at.value->kind == SECOND_ARRAY) {
        index = fuzz_below(random, 10);
        step = digits + index;
    }
    *node = scan_want_add(want, (unsigned)*node, step, len);
    return step_down(at, step, len, index);
}

static void check_found(const char *begin, const struct scan_want *want,
                        const struct scan_value *values, const struct found *expected)
{
    for (unsigned i = 0; i < want->n; i++) {
        FUZZ_REQUIRE(values[i].twice == expected[i].twice);
        if (expected[i].value)
            check_span(begin, &values[i], expected[i].value);
        else
            FUZZ_REQUIRE(values[i].kind == SCAN_NOTHING);
    }
}

static void check_pointers(const char *begin, size_t size, const struct second_value *root,
                           uint64_t random)
{
    struct found expected[SCAN_WANT_MAX] = {{root, false}};
    struct scan_value values[SCAN_WANT_MAX], again[SCAN_WANT_MAX];
    struct scan_want want;

    scan_want_init(&want);
    for (int i = 0; i < POINTERS; i++) {
        int node = 0;

        for (size_t steps = 1 + fuzz_below(&random, STEPS_MAX); steps--;) {
            struct found below = add_step(&want, &node, expected[node], &random);

            if (node < 0)
                break;
            expected[node] = below;
        }
    }
    FUZZ_REQUIRE(scan_text(begin, size, &want, values, NULL) == SCAN_OK);
    check_found(begin, &want, values, expected);
    scan_again(&values[0], &want, again);
    check_found(begin, &want, again, expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct second second = second_read(text, size, SECOND_LEVELS);
    size_t at = SIZE_MAX;

    FUZZ_REQUIRE(scan_text(text, size, NULL, NULL, &at) == results[second.result]);
    if (second.result != SECOND_OK) {
        FUZZ_REQUIRE(at == second.fault);
        return 0;
    }
    struct scan_value root;
    struct scan_want want;

    scan_want_init(&want);
    FUZZ_REQUIRE(scan_text(text, size, &want, &root, NULL) == SCAN_OK);
    check_value(text, &root, second.root);
    check_pointers(text, size, second.root, fuzz_seed(data, size));
    second_done(&second);
    return 0;
}
