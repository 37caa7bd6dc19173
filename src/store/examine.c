/* Questions about the store itself: one key (store_check) and the self-test, which asks stored keys
 * through the screen and the exact path, and keys that cannot exist through the screen. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/store_state.h"

enum {
    MEMBERS_MAX = 1024,  /* stored keys asked in one self-test */
    SEALED_MEMBERS = 16, /* of them in each sealed segment */
    STRANGERS_N = 1024,  /* never-issued keys asked in one self-test */
};

void store_answer_done(struct store_answer *answer)
{
    for (size_t i = 0; i < answer->filters_n; i++)
        free(answer->filters[i].positions);
    free(answer->filters);
    free(answer->candidates);
    *answer = (struct store_answer){0};
}

static void answer_filter(const struct screen_part *part, struct bloom_hash hash,
                          struct store_filter_answer *ret)
{
    struct bloom_shape shape = part->sealed ? part->bloom.shape : part->bank.shape;

    ret->bank = !part->sealed;
    ret->bits = shape.bits;
    ret->hashes = shape.hashes;
    ret->positions = mem_alloc(shape.hashes * sizeof *ret->positions);
    ret->zero = part->sealed ? bloom_explain(&part->bloom, hash, ret->positions)
                             : bank_explain(&part->bank, hash, ret->positions);
}

static void answer_filters(struct store *store, struct bloom_hash hash, struct store_answer *ret)
{
    ret->filters = mem_zalloc(store->segments_n, sizeof *ret->filters);
    ret->filters_n = store->segments_n;
    for (size_t i = 0; i < store->segments_n; i++) {
        memcpy(ret->filters[i].segment, store->segments[i].name, SEGMENT_NAME_MAX);
        answer_filter(&store->screen.parts[i], hash, &ret->filters[i]);
    }
}

static int answer_exactly(struct store *store, const char *key, size_t len, struct store_answer *ret,
                          struct err *err)
{
    struct segment_found found;

    for (size_t i = 0; i < store->screen.candidates_n && !ret->present; i++)
        if (store_find(store, &store->screen.candidates[i], key, len, &ret->present, &found, err) < 0)
            return err->code;
    if (ret->present) {
        ret->seq = found.seq;
        ret->received_us = found.received_us;
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

/* Where the self-test looks: each generation of a segment, or a sealed segment so many times. */
static uint32_t places_of(const struct store_segment *segment)
{
    if (segment->state == SEGMENT_SEALED)
        return segment->rows ? SEALED_MEMBERS : 0;
    return segment->generations_n;
}

static int64_t random_seq(const struct store_segment *segment, uint32_t place)
{
    bool sealed = segment->state == SEGMENT_SEALED;
    int64_t first = sealed ? segment->meta.first_seq : segment->generation_first_seq[place];
    int64_t end = sealed || place + 1 == segment->generations_n
                      ? store_next_seq(segment)
                      : segment->generation_first_seq[place + 1];
    uint64_t random = (uint64_t)randombytes_random() << 32 | randombytes_random();

    return end > first ? first + (int64_t)(random % (uint64_t)(end - first)) : 0;
}

/* One random stored key: must be maybe in its place, and found exactly. */
static int ask_member(struct store *store, size_t part, uint32_t place, char *key, struct err *err)
{
    struct store_segment *segment = &store->segments[part];
    bool sealed = segment->state == SEGMENT_SEALED;
    int64_t seq = random_seq(segment, place);
    struct segment *db = store_segment_db(store, part, err);
    struct screen_candidate candidate = {part, sealed ? -1 : (int64_t)place};
    struct segment_found found;
    uint32_t generation;
    bool there;
    size_t len;

    if (!db)
        return err->code;
    if (seq == 0) /* a generation of ghosts only */
        return 0;
    if (segment_key_at(db, seq, key, STORE_KEY_BYTES_MAX, &len, &generation, &there, err) < 0 ||
        (there && store_find(store, &candidate, key, len, &there, &found, err) < 0))
        return err->code;
    if (!there || (sealed ? found.seq > seq : found.seq != seq))
        return err_set(err, ERR_CORRUPT, "%s.db: the self-test does not find the key of row %lld",
                       segment->name, (long long)seq);
    store->members_asked++;
    if (screen_holds(&store->screen, part, generation, screen_hash(&store->screen, key, len)))
        store->members_maybe++;
    else if (!segment->rebuild)
        store_false_negative(store, part, "the self-test");
    return 0;
}

/* Every place has its turn; the cursor carries over to the next self-test. */
static int ask_members(struct store *store, struct err *err)
{
    uint64_t total = 0;
    char *key = mem_alloc(STORE_KEY_BYTES_MAX);
    int ret = 0;

    for (size_t i = 0; i < store->segments_n; i++)
        total += places_of(&store->segments[i]);
    for (uint64_t asked = 0; asked < total && asked < MEMBERS_MAX && ret == 0; asked++) {
        uint64_t at = store->self_test_cursor++ % total;
        size_t part = 0;

        while (at >= places_of(&store->segments[part]))
            at -= places_of(&store->segments[part++]);
        ret = ask_member(store, part, (uint32_t)at, key, err);
    }
    free(key);
    return ret;
}

/* Sealed filters never change: a part of one is summed each time, and the sum held against what it was
 * when the filter was made or read. */
static void sweep_filters(struct store *store)
{
    struct store_sweep *sweep = &store->sweep;
    unsigned char sum[STORE_SUM_BYTES];

    if (sweep->part >= store->segments_n || store->segments[sweep->part].state != SEGMENT_SEALED) {
        sweep->part = sweep->part + 1 < store->segments_n ? sweep->part + 1 : 0;
        sweep->at = 0;
        return;
    }
    const struct bloom *bloom = &store->screen.parts[sweep->part].bloom;
    size_t rest = bloom_memory(bloom) - sweep->at;
    size_t len = rest < STORE_SWEEP_BYTES ? rest : STORE_SWEEP_BYTES;

    if (sweep->at == 0)
        crypto_generichash_init(&sweep->sum, NULL, 0, sizeof sum);
    crypto_generichash_update(&sweep->sum, (const unsigned char *)bloom->words + sweep->at, len);
    sweep->at += len;
    if (sweep->at < bloom_memory(bloom))
        return;
    crypto_generichash_final(&sweep->sum, sum, sizeof sum);
    if (memcmp(sum, store->segments[sweep->part].filter_sum, sizeof sum) != 0)
        store_distrust(store, sweep->part, "the bits of its sealed filter have changed in memory");
    sweep->part++;
    sweep->at = 0;
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
    sweep_filters(store);
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
