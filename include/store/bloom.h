/* bloom: the mathematics of Bloom filters, the keyed hash, and the classic filter. Pure; no locks.
 *
 * Formulas: B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", CACM 13 (1970),
 * in the usual form: after n keys with k positions each in m bits a stranger is answered "maybe" with
 * probability (1 - e^(-kn/m))^k; the smallest m for rate p is -n ln p / (ln 2)^2, at k = (m/n) ln 2. */
#ifndef STORE_BLOOM_H
#define STORE_BLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BLOOM_KEY_BYTES = 16,  /* of the secret that keys the hash */
    BLOOM_BITS_MIN = 64,   /* no filter is smaller */
    BLOOM_HASHES_MAX = 64, /* positions of one key; 1e-9 needs 30 */
};

struct bloom_shape {
    uint64_t bits;   /* m, at least BLOOM_BITS_MIN */
    uint32_t hashes; /* k, 1 to BLOOM_HASHES_MAX */
};

/* The smallest shape whose predicted rate for `keys` keys is `rate` (in (0, 1)); keys may be 0. */
struct bloom_shape bloom_shape_for(uint64_t keys, double rate);

/* (1 - e^(-kn/m))^k */
double bloom_predict(struct bloom_shape shape, uint64_t keys);

/* (m/n) ln 2; 0 for no keys. */
double bloom_optimal_hashes(uint64_t bits, uint64_t keys);

/* (m/k) ln 2: how many keys k positions are best for, with about half of the bits set. */
double bloom_optimal_keys(struct bloom_shape shape);

/* The 95 % Wilson score interval for `hits` of `n` (E. B. Wilson, JASA 22, 1927), z = 1.959963984540054;
 * n > 0. */
void wilson_interval(uint64_t hits, uint64_t n, double *ret_low, double *ret_high);

/* One 128-bit hash of a key: SipHash-2-4-128 (libsodium) under a secret, read as two little-endian
 * words. Every position in every filter comes from it. */
struct bloom_hash {
    uint64_t x, y;
};
struct bloom_hash bloom_hash(const unsigned char secret[BLOOM_KEY_BYTES], const char *key, size_t len);

/* The i-th position, i counting up from 0: multiply-shift of x to m, then x and y move on. Filters on the
 * disk rest on it (docs/format.md). Plain double hashing is worse on small filters, and without the
 * rotation two keys with much the same y meet in every position, which filters of few keys show. */
static inline uint64_t bloom_next_position(struct bloom_hash *hash, uint64_t bits, uint32_t i)
{
    uint64_t position = (uint64_t)((unsigned __int128)hash->x * bits >> 64);

    hash->x += hash->y;
    hash->y = (hash->y << 23 | hash->y >> 41) + (uint64_t)(i + 1) * 0x9E3779B97F4A7C15u;
    return position;
}

/* The classic filter of a sealed segment. */
struct bloom {
    struct bloom_shape shape;
    uint64_t keys; /* added */
    uint64_t bits_set;
    uint64_t *words; /* bit i is bit i % 64 of word i / 64; mapped memory, zeroed */
};

void bloom_init(struct bloom *bloom, struct bloom_shape shape);
void bloom_done(struct bloom *bloom);
size_t bloom_memory(const struct bloom *bloom); /* bytes of its bits */
void bloom_add(struct bloom *bloom, struct bloom_hash hash);

/* false: the key was never added. true: perhaps. */
bool bloom_ask(const struct bloom *bloom, struct bloom_hash hash);
void bloom_prefetch(const struct bloom *bloom, struct bloom_hash hash); /* the first two positions */
void bloom_prefetch_add(const struct bloom *bloom, struct bloom_hash hash); /* all, to be written */

/* The index of the first position whose bit is zero, -1 when all are set. Writes the shape.hashes
 * positions to ret_positions. */
int bloom_explain(const struct bloom *bloom, struct bloom_hash hash, uint64_t *ret_positions);

/* Bits [from, to): bit i of ret is bit from + i; those behind the last are 0. */
void bloom_copy(const struct bloom *bloom, uint64_t from, uint64_t to, uint64_t *ret);

#endif
