#include "store/bank.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Widths up to a cache line are rounded to a power of two, so that no row lies across two lines. */
static uint32_t words_for(uint32_t columns)
{
    uint32_t words = (columns + 63) / 64;

    if (words > 4 && words < 8)
        return 8;
    return words == 3 ? 4 : words;
}

static void allocate(struct bank *bank, uint32_t words)
{
    bank->words = words;
    bank->bits = mem_map(bank_memory(bank));
    bank->column = mem_realloc(bank->column, (size_t)words * 64, sizeof *bank->column);
    bank->mask = mem_realloc(bank->mask, words, sizeof *bank->mask);
}

void bank_init(struct bank *bank, struct bloom_shape shape, uint32_t columns_planned)
{
    *bank = (struct bank){.shape = shape};
    allocate(bank, words_for(columns_planned));
}

void bank_done(struct bank *bank)
{
    mem_unmap(bank->bits, bank_memory(bank));
    free(bank->column);
    free(bank->mask);
    *bank = (struct bank){0};
}

size_t bank_memory(const struct bank *bank)
{
    return bank->shape.bits * bank->words * sizeof *bank->bits;
}

size_t bank_memory_for(struct bloom_shape shape, uint32_t columns_planned)
{
    return bank_memory(&(struct bank){.shape = shape, .words = words_for(columns_planned)});
}

static void widen(struct bank *bank)
{
    uint64_t *old = bank->bits;
    uint32_t old_words = bank->words;
    size_t old_bytes = bank_memory(bank);

    allocate(bank, words_for(old_words * 64 * 2));
    for (uint64_t row = 0; row < bank->shape.bits; row++)
        memcpy(bank->bits + row * bank->words, old + row * old_words, old_words * sizeof *old);
    mem_unmap(old, old_bytes);
}

uint32_t bank_begin_column(struct bank *bank)
{
    if (bank->columns == bank->words * 64)
        widen(bank);
    bank->column[bank->columns] = (struct bank_column){0};
    return bank->columns++;
}

void bank_add(struct bank *bank, uint32_t column, struct bloom_hash hash)
{
    uint64_t bit = (uint64_t)1 << column % 64;

    assert(column < bank->columns);
    for (uint32_t i = 0; i < bank->shape.hashes; i++) {
        uint64_t row = bloom_next_position(&hash, bank->shape.bits, i);
        uint64_t *word = &bank->bits[row * bank->words + column / 64];

        bank->column[column].bits_set += !(*word & bit);
        *word |= bit;
    }
    bank->column[column].keys++;
}

void bank_prefetch(const struct bank *bank, struct bloom_hash hash)
{
    for (uint32_t i = 0; i < bank->shape.hashes; i++)
        __builtin_prefetch(bank->bits + bloom_next_position(&hash, bank->shape.bits, i) * bank->words);
}

/* Inlined once for each common width, so that the inner loops are unrolled. */
static inline __attribute__((always_inline)) bool ask(const struct bank *bank, struct bloom_hash hash,
                                                      uint32_t words, uint32_t used, uint64_t *mask)
{
    uint64_t any = 0;

    for (uint32_t i = 0; i < bank->shape.hashes; i++) {
        const uint64_t *row = bank->bits + bloom_next_position(&hash, bank->shape.bits, i) * words;

        any = 0;
        for (uint32_t w = 0; w < used; w++) {
            mask[w] = i ? mask[w] & row[w] : row[w];
            any |= mask[w];
        }
        if (!any)
            return false;
    }
    return any != 0;
}

bool bank_ask(struct bank *bank, struct bloom_hash hash)
{
    uint32_t used = (bank->columns + 63) / 64;

    switch (bank->words) {
    case 1:
        return ask(bank, hash, 1, 1, bank->mask);
    case 2:
        return ask(bank, hash, 2, 2, bank->mask);
    case 4:
        return ask(bank, hash, 4, 4, bank->mask);
    default:
        return ask(bank, hash, bank->words, used, bank->mask);
    }
}

bool bank_ask_column(const struct bank *bank, uint32_t column, struct bloom_hash hash)
{
    for (uint32_t i = 0; i < bank->shape.hashes; i++) {
        uint64_t row = bloom_next_position(&hash, bank->shape.bits, i);

        if (!(bank->bits[row * bank->words + column / 64] >> column % 64 & 1))
            return false;
    }
    return true;
}

void bank_count_bits(struct bank *bank, uint32_t first)
{
    for (uint32_t c = first; c < bank->columns; c++)
        bank->column[c].bits_set = 0;
    for (uint64_t row = 0; row < bank->shape.bits; row++)
        for (uint32_t c = first; c < bank->columns; c++)
            bank->column[c].bits_set += bank->bits[row * bank->words + c / 64] >> c % 64 & 1;
}

int bank_explain(const struct bank *bank, struct bloom_hash hash, uint64_t *ret_positions)
{
    uint64_t *mask = mem_alloc(bank->words * sizeof *mask);
    int zero = -1;

    memset(mask, 0xff, bank->words * sizeof *mask);
    for (uint32_t i = 0; i < bank->shape.hashes; i++) {
        uint64_t any = 0;

        ret_positions[i] = bloom_next_position(&hash, bank->shape.bits, i);
        for (uint32_t w = 0; w < bank->words; w++)
            any |= mask[w] &= bank->bits[ret_positions[i] * bank->words + w];
        if (!any && zero < 0)
            zero = (int)i;
    }
    free(mask);
    return zero;
}

void bank_copy_column(const struct bank *bank, uint32_t column, uint64_t from, uint64_t to,
                      uint64_t *ret)
{
    const uint64_t *word = bank->bits + from * bank->words + column / 64;

    for (uint64_t i = 0; i < to - from; i++, word += bank->words)
        ret[i / 64] |= (*word >> column % 64 & 1) << i % 64;
}
