#include "store/bloom.h"

#include <assert.h>
#include <math.h>
#include <sodium.h>
#include <string.h>

#include "base/mem.h"

static const double ln2 = 0.69314718055994530942;

struct bloom_shape bloom_shape_for(uint64_t keys, double rate)
{
    assert(rate > 0 && rate < 1);
    double n = keys ? (double)keys : 1;
    double bits = ceil(-n * log(rate) / (ln2 * ln2));
    double hashes = round(bits / n * ln2);
    struct bloom_shape shape = {
        .bits = bits < BLOOM_BITS_MIN ? BLOOM_BITS_MIN : (uint64_t)bits,
        .hashes = (uint32_t)fmin(fmax(hashes, 1), BLOOM_HASHES_MAX),
    };

    return shape;
}

double bloom_predict(struct bloom_shape shape, uint64_t keys)
{
    double k = shape.hashes;

    return pow(-expm1(-k * (double)keys / (double)shape.bits), k);
}

double bloom_optimal_hashes(uint64_t bits, uint64_t keys)
{
    return keys ? (double)bits / (double)keys * ln2 : 0;
}

double bloom_optimal_keys(struct bloom_shape shape)
{
    return (double)shape.bits / shape.hashes * ln2;
}

void wilson_interval(uint64_t hits, uint64_t n, double *ret_low, double *ret_high)
{
    const double z = 1.959963984540054;
    double total = (double)n;
    double p = (double)hits / total;
    double scale = 1 + z * z / total;
    double middle = (p + z * z / (2 * total)) / scale;
    double half = z / scale * sqrt(p * (1 - p) / total + z * z / (4 * total * total));

    *ret_low = hits == 0 ? 0 : fmax(0, middle - half);
    *ret_high = hits == n ? 1 : fmin(1, middle + half);
}

_Static_assert(crypto_shorthash_siphashx24_KEYBYTES == BLOOM_KEY_BYTES, "the secret's size");

struct bloom_hash bloom_hash(const unsigned char secret[BLOOM_KEY_BYTES], const char *key, size_t len)
{
    unsigned char out[crypto_shorthash_siphashx24_BYTES];
    struct bloom_hash hash;

    crypto_shorthash_siphashx24(out, (const unsigned char *)key, len, secret);
    memcpy(&hash.x, out, 8);
    memcpy(&hash.y, out + 8, 8);
    return hash;
}

void bloom_init(struct bloom *bloom, struct bloom_shape shape)
{
    *bloom = (struct bloom){.shape = shape};
    bloom->words = mem_map(bloom_memory(bloom));
}

void bloom_done(struct bloom *bloom)
{
    mem_unmap(bloom->words, bloom_memory(bloom));
    *bloom = (struct bloom){0};
}

size_t bloom_memory(const struct bloom *bloom)
{
    return (bloom->shape.bits + 63) / 64 * 8;
}

void bloom_add(struct bloom *bloom, struct bloom_hash hash)
{
    for (uint32_t i = 0; i < bloom->shape.hashes; i++) {
        uint64_t at = bloom_next_position(&hash, bloom->shape.bits, i);
        uint64_t bit = (uint64_t)1 << at % 64;

        bloom->bits_set += !(bloom->words[at / 64] & bit);
        bloom->words[at / 64] |= bit;
    }
    bloom->keys++;
}

bool bloom_ask(const struct bloom *bloom, struct bloom_hash hash)
{
    for (uint32_t i = 0; i < bloom->shape.hashes; i++) {
        uint64_t at = bloom_next_position(&hash, bloom->shape.bits, i);

        if (!(bloom->words[at / 64] >> at % 64 & 1))
            return false;
    }
    return true;
}

void bloom_prefetch(const struct bloom *bloom, struct bloom_hash hash)
{
    for (uint32_t i = 0; i < 2 && i < bloom->shape.hashes; i++)
        __builtin_prefetch(&bloom->words[bloom_next_position(&hash, bloom->shape.bits, i) / 64]);
}

void bloom_prefetch_add(const struct bloom *bloom, struct bloom_hash hash)
{
    for (uint32_t i = 0; i < bloom->shape.hashes; i++)
        __builtin_prefetch(&bloom->words[bloom_next_position(&hash, bloom->shape.bits, i) / 64], 1);
}

int bloom_explain(const struct bloom *bloom, struct bloom_hash hash, uint64_t *ret_positions)
{
    int zero = -1;

    for (uint32_t i = 0; i < bloom->shape.hashes; i++) {
        uint64_t at = bloom_next_position(&hash, bloom->shape.bits, i);

        ret_positions[i] = at;
        if (zero < 0 && !(bloom->words[at / 64] >> at % 64 & 1))
            zero = (int)i;
    }
    return zero;
}

void bloom_copy(const struct bloom *bloom, uint64_t from, uint64_t to, uint64_t *ret)
{
    uint64_t words = (bloom->shape.bits + 63) / 64, shift = from % 64;

    for (uint64_t at = from, i = 0; at < to; at += 64, i++) {
        ret[i] = bloom->words[at / 64] >> shift;
        if (shift && at / 64 + 1 < words)
            ret[i] |= bloom->words[at / 64 + 1] << (64 - shift);
        if (to - at < 64)
            ret[i] &= ((uint64_t)1 << (to - at)) - 1;
    }
}
