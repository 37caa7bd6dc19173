/* Questions about the store itself: one key (store_check) and the self-test, which asks stored keys
 * through the screen and the exact path, and keys that cannot exist through the screen. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/store_state.h"

enum {
    MEMBERS_MAX = 1024,    /* stored keys asked in one self-test */
    STRANGERS_N = 1024,    /* never-issued keys asked in one self-test */
    KEY_BYTES_MAX = 65536, /* longest stored key that the self-test reads */
};

void store_answer_done(struct store_answer *answer)
{
    for (size_t i = 0; i < answer->filters_n; i++)
        free(answer->filters[i].positions);
    free(answer->filters);
    free(answer->candidates);
    *answer = (struct store_answer){0};
}

static void answer_filters(struct store *store, struct bloom_hash hash, struct store_answer *ret)
{
    ret->filters = mem_zalloc(store->segments_n, sizeof *ret->filters);
    ret->filters_n = store->segments_n;
    for (size_t i = 0; i < store->segments_n; i++) {
        const struct bank *bank = &store->screen.parts[i].bank;
        struct store_filter_answer *filter = &ret->filters[i];

        memcpy(filter->segment, store->segments[i].name, sizeof filter->segment);
        filter->bank = true;
        filter->bits = bank->shape.bits;
        filter->hashes = bank->shape.hashes;
        filter->positions = mem_alloc(bank->shape.hashes * sizeof *filter->positions);
        filter->zero = bank_explain(bank, hash, filter->positions);
    }
}

static int answer_exactly(struct store *store, const char *key, size_t len, struct store_answer *ret,
                          struct err *err)
{
    for (size_t i = 0; i < store->screen.candidates_n && !ret->present; i++) {
        const struct screen_candidate *candidate = &store->screen.candidates[i];
        struct segment *db = store_segment_db(store, candidate->part, err);
        struct segment_found found;

        if (!db || segment_find(db, candidate->generation, key, len, &ret->present, &found, err) < 0)
            return err->code;
        if (ret->present) {
            ret->seq = found.seq;
            ret->received_us = found.received_us;
        }
    }
    return 0;
}

static void answer_candidates(struct store *store, struct store_answer *ret)
{
    ret->candidates_n = store->screen.candidates_n;
    ret->candidates = mem_zalloc(ret->candidates_n, sizeof *ret->candidates);
    for (size_t i = 0; i < ret->candidates_n; i++) {
        const struct screen_candidate *candidate = &store->screen.candidates[i];

        ret->candidates[i].generation = candidate->generation;
        memcpy(ret->candidates[i].segment, store->segments[candidate->part].name,
               sizeof ret->candidates[i].segment);
    }
}

int store_check(struct store *store, const char *key, size_t len, struct store_answer *ret,
                struct err *err)
{
    struct bloom_hash hash = screen_hash(&store->screen, key, len);

    *ret = (struct store_answer){.screen = screen_ask(&store->screen, hash)};
    answer_candidates(store, ret);
    answer_filters(store, hash, ret);
    if (store->distrust)
        screen_suspect_all(&store->screen);
    if (answer_exactly(store, key, len, ret, err) == 0)
        return 0;
    store_answer_done(ret);
    return err->code;
}

/* ---- self-test ---- */

/* One random stored key of a generation: must be maybe in its place, and found exactly. */
static int ask_member(struct store *store, size_t part, uint32_t generation, char *key, struct err *err)
{
    struct store_segment *segment = &store->segments[part];
    int64_t first = segment->generation_first_seq[generation];
    int64_t end = generation + 1 < segment->generations_n
                      ? segment->generation_first_seq[generation + 1]
                      : store_next_seq(segment);
    struct segment *db = store_segment_db(store, part, err);
    struct segment_found found;
    uint32_t stored_in;
    bool there;
    size_t len;

    if (!db)
        return err->code;
    if (end == first)
        return 0;
    int64_t seq = first + (int64_t)(((uint64_t)randombytes_random() << 32 | randombytes_random()) %
                                    (uint64_t)(end - first));

    if (segment_key_at(db, seq, key, KEY_BYTES_MAX, &len, &stored_in, &there, err) < 0)
        return err->code;
    if (there && segment_find(db, stored_in, key, len, &there, &found, err) < 0)
        return err->code;
    if (!there || stored_in != generation || found.seq != seq)
        return err_set(err, ERR_CORRUPT, "%s.db: the self-test does not find the key of row %lld",
                       segment->name, (long long)seq);
    store->members_asked++;
    if (screen_holds(&store->screen, part, generation, screen_hash(&store->screen, key, len)))
        store->members_maybe++;
    else if (!segment->rebuild)
        store_false_negative(store, part, "the self-test");
    return 0;
}

/* Every generation has its turn; the cursor carries over to the next self-test. */
static int ask_members(struct store *store, struct err *err)
{
    uint64_t total = 0;
    char *key = mem_alloc(KEY_BYTES_MAX);
    int ret = 0;

    for (size_t i = 0; i < store->segments_n; i++)
        total += store->segments[i].generations_n;
    for (uint64_t asked = 0; asked < total && asked < MEMBERS_MAX && ret == 0; asked++) {
        uint64_t at = store->self_test_cursor++ % total;
        size_t part = 0;

        while (at >= store->segments[part].generations_n)
            at -= store->segments[part++].generations_n;
        ret = ask_member(store, part, (uint32_t)at, key, err);
    }
    free(key);
    return ret;
}

/* A key never holds a control character, so one that begins with U+0001 was never issued. */
static void ask_strangers(struct store *store)
{
    char key[17] = "\001";

    for (int i = 0; i < STRANGERS_N; i++) {
        randombytes_buf(key + 1, sizeof key - 1);
        store->strangers_asked++;
        store->strangers_expected += store->screen.predicted;
        store->strangers_maybe +=
            screen_ask(&store->screen, screen_hash(&store->screen, key, sizeof key)) == SCREEN_MAYBE;
    }
}

int store_self_test(struct store *store, struct err *err)
{
    if (ask_members(store, err) < 0)
        return err_prefix(err, "self-test");
    ask_strangers(store);
    double expected = store->strangers_expected / (double)store->strangers_asked;
    double low, high;

    wilson_interval(store->strangers_maybe, store->strangers_asked, &low, &high);
    if (low > 3 * expected)
        store_event(
            store, STORE_WARNING,
            "self-test: %llu of %llu never-issued keys were answered maybe, where %.3g was predicted",
            (unsigned long long)store->strangers_maybe, (unsigned long long)store->strangers_asked,
            expected);
    return 0;
}
