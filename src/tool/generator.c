#include "tool/generator.h"

#include <math.h>
#include <string.h>

enum {
    MICROSECONDS_APART = 37, /* of one original after the other */
    TICKS_MIN = 100000,      /* prices are counted in ticks of 0.0001 */
    TICKS_SPAN = 4000000,
    QUANTITY_MAX = 1000,
};

static const int64_t FIRST_TIME_US = INT64_C(1796135400000000); /* 2026-12-01T14:30:00Z */
static const uint64_t GOLDEN = UINT64_C(0x9E3779B97F4A7C15);    /* 2^64 over the golden ratio */
static const uint64_t MASK_62 = (UINT64_C(1) << 62) - 1;

/* A bijection of 64-bit numbers: xor-shifts and odd multipliers, each of which can be undone
 * (the finaliser of SplitMix64: Steele, Lea, Flood, 2014). Distinct in, distinct out. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Likewise a bijection of the numbers below 2^62, which is what a version 4 UUID leaves free in its
 * second half. */
static uint64_t mix_62(uint64_t x)
{
    x = ((x ^ x >> 31) * UINT64_C(0xBF58476D1CE4E5B9)) & MASK_62;
    x = ((x ^ x >> 29) * UINT64_C(0x94D049BB133111EB)) & MASK_62;
    return x ^ x >> 31;
}

/* A number below n, n > 0 (the high half of the product with 64 random bits). */
static uint64_t choose(struct generator *g, uint64_t n)
{
    g->random += GOLDEN;
    return (uint64_t)((unsigned __int128)mix(g->random) * n >> 64);
}

/* Rounds the fractions to whole lines. At least one original stays, and two when some are to be
 * repeated by duplicates and others by conflicts. */
static struct generator_truth plan(const struct generator_options *options)
{
    struct generator_truth truth = {.lines = options->lines};
    uint64_t left = options->lines - 1;

    truth.duplicates = (uint64_t)llround((double)options->lines * options->duplicates);
    truth.conflicts = (uint64_t)llround((double)options->lines * options->conflicts);
    if (truth.duplicates > left)
        truth.duplicates = left;
    left -= truth.duplicates;
    if (left > 0 && truth.duplicates > 0)
        left--;
    if (truth.conflicts > left)
        truth.conflicts = left;
    truth.originals = truth.lines - truth.duplicates - truth.conflicts;
    return truth;
}

void generator_init(struct generator *g, const struct generator_options *options)
{
    *g = (struct generator){.options = *options, .truth = plan(options)};
    g->salt = mix(options->seed + GOLDEN);
    g->random = mix(g->salt);
}

static void add_symbol(struct text *out, uint64_t symbol)
{
    char letters[4];
    /* the multiplier has no divisor in common with 26^4: distinct numbers, distinct names */
    uint64_t code = (symbol * 123457 + 271828) % GENERATOR_SYMBOLS_MAX;

    for (size_t i = sizeof letters; i-- > 0; code /= 26)
        letters[i] = (char)('A' + code % 26);
    text_add(out, letters, sizeof letters);
}

static void add_uuid(struct text *out, uint64_t high, uint64_t low)
{
    char *at = text_reserve(out, 36);

    high = (high & ~UINT64_C(0xF000)) | UINT64_C(0x4000); /* version 4 */
    low = (low & MASK_62) | UINT64_C(1) << 63;            /* variant 10 */
    for (size_t i = 36; i-- > 0;) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            at[i] = '-';
            continue;
        }
        uint64_t *half = i > 18 ? &low : &high;

        at[i] = "0123456789abcdef"[*half & 15];
        *half >>= 4;
    }
    out->len += 36;
}

static void add_id(const struct generator *g, struct text *out, uint64_t original)
{
    switch (g->options.ids) {
    case GENERATOR_SEQUENTIAL:
        text_add_u64(out, original + 1);
        return;
    case GENERATOR_RANDOM:
        text_add_u64(out, mix(original + g->salt));
        return;
    case GENERATOR_UUID:
        add_uuid(out, mix(original + g->salt), mix_62((original + g->salt) & MASK_62));
        return;
    }
}

static void add_price(struct text *out, uint64_t ticks)
{
    uint64_t rest = ticks % 10000;
    char digits[5] = {'.', (char)('0' + rest / 1000), (char)('0' + rest / 100 % 10),
                      (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};

    text_add_u64(out, ticks / 10000);
    text_add(out, digits, sizeof digits);
}

#define ADD(out, literal) text_add(out, literal, sizeof(literal) - 1)

/* The line of an original, its price raised by `correction` ticks: 0 is the original itself. */
static void add_trade(const struct generator *g, struct text *out, uint64_t original,
                      uint64_t correction)
{
    uint64_t hash = mix(original ^ g->salt);

    ADD(out, "{\"source\":\"XNAS\",\"symbol\":\"");
    add_symbol(out, hash % g->options.symbols);
    ADD(out, "\",\"id\":\"");
    add_id(g, out, original);
    ADD(out, "\",\"price\":\"");
    add_price(out, TICKS_MIN + (hash >> 32) % TICKS_SPAN + correction);
    ADD(out, "\",\"quantity\":\"");
    text_add_u64(out, 1 + (hash >> 16) % QUANTITY_MAX);
    if (hash >> 63)
        ADD(out, "\",\"side\":\"buy\",\"time\":\"");
    else
        ADD(out, "\",\"side\":\"sell\",\"time\":\"");
    text_add_time_us(out, FIRST_TIME_US + (int64_t)original * MICROSECONDS_APART);
    ADD(out, "\"}\n");
}

/* One of the `n` originals of a kind that are out, n > 0, as its place among them. Every octave of
 * distance is equally likely: some repeats come at once, some after the whole feed. */
static uint64_t choose_repeated(struct generator *g, uint64_t n)
{
    unsigned octaves = 64 - (unsigned)__builtin_clzll(n);
    uint64_t span = UINT64_C(1) << choose(g, octaves + 1);

    return n - 1 - choose(g, span < n ? span : n);
}

/* When both kinds are asked for, even originals are repeated by duplicates, odd ones by conflicts. */
static bool split(const struct generator *g)
{
    return g->truth.duplicates > 0 && g->truth.conflicts > 0;
}

static uint64_t repeatable(const struct generator *g, bool conflict)
{
    return split(g) ? (g->done.originals + !conflict) / 2 : g->done.originals;
}

static void add_original(struct generator *g, struct text *out)
{
    add_trade(g, out, g->done.originals++, 0);
}

static void add_repeat(struct generator *g, struct text *out, bool conflict)
{
    uint64_t place = choose_repeated(g, repeatable(g, conflict));
    uint64_t original = split(g) ? 2 * place + conflict : place;

    if (!conflict) {
        g->done.duplicates++;
        add_trade(g, out, original, 0);
        return;
    }
    /* the running number of the conflict as its correction: no two versions of a key are equal */
    add_trade(g, out, original, ++g->done.conflicts);
}

/* Each line is of a kind with the chance that this kind has among the lines that are left
 * (selection sampling: Knuth, volume 2, 3.4.2, algorithm S), so that the totals come out exactly. */
bool generator_next(struct generator *g, struct text *out)
{
    uint64_t duplicates = g->truth.duplicates - g->done.duplicates;
    uint64_t conflicts = g->truth.conflicts - g->done.conflicts;

    if (g->done.lines == g->truth.lines)
        return false;
    uint64_t pick = choose(g, g->truth.lines - g->done.lines++);
    bool conflict = pick >= duplicates;

    if (pick < duplicates + conflicts && repeatable(g, conflict) > 0)
        add_repeat(g, out, conflict);
    else
        add_original(g, out);
    return true;
}
