/* bank: the Bloom filters of one unsealed segment side by side, bit-sliced: row i holds bit i of every
 * column, so that one question to all of them ANDs k rows and is left with the mask of candidates.
 *
 * A column is the filter of one generation. Columns share their positions (one shape). Rows are as
 * wide as the segment is planned to have generations, in 64-bit words, and widen when more begin. */
#ifndef STORE_BANK_H
#define STORE_BANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/bloom.h"

struct bank_column {
    uint64_t keys; /* added, ghosts included: the load */
    uint64_t bits_set;
};

struct bank {
    struct bloom_shape shape;   /* of each column: rows and positions */
    uint32_t words;             /* 64-bit words of a row */
    uint32_t columns;           /* begun; column i < columns <= words * 64 */
    uint64_t *bits;             /* shape.bits rows of `words` words; mapped memory, zeroed */
    struct bank_column *column; /* words * 64 entries */
    uint64_t *mask;             /* `words` words: the candidates of the last bank_ask */
};

/* columns_planned: how many generations the segment will probably have, at least 1. Begins none. */
void bank_init(struct bank *bank, struct bloom_shape shape, uint32_t columns_planned);
void bank_done(struct bank *bank);
size_t bank_memory(const struct bank *bank); /* bytes of its bits */

/* What a bank that is begun like this takes. */
size_t bank_memory_for(struct bloom_shape shape, uint32_t columns_planned);

/* Begins the next column and returns its number. Widens the rows when they are full: a copy. */
uint32_t bank_begin_column(struct bank *bank);

void bank_add(struct bank *bank, uint32_t column, struct bloom_hash hash);

/* Asks for the rows of a hash to be fetched into the cache. */
void bank_prefetch(const struct bank *bank, struct bloom_hash hash);

/* Whether any column answers maybe; bank->mask then says which. */
bool bank_ask(struct bank *bank, struct bloom_hash hash);

/* Whether one column answers maybe. */
bool bank_ask_column(const struct bank *bank, uint32_t column, struct bloom_hash hash);

/* Counts the bits of columns from `first` on anew. Reads every row: tens of milliseconds. */
void bank_count_bits(struct bank *bank, uint32_t first);

/* The index of the position at which the last column is ruled out, -1 if a column remains. Writes the
 * shape.hashes positions to ret_positions. */
int bank_explain(const struct bank *bank, struct bloom_hash hash, uint64_t *ret_positions);

/* Bits [from, to) of one column, densely: bit i of ret (zeroed before) is bit from + i. Some milliseconds a million. */
void bank_copy_column(const struct bank *bank, uint32_t column, uint64_t from, uint64_t to,
                      uint64_t *ret);

#endif
