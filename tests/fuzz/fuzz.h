/* fuzz: what every fuzz target has. A target is one function over bytes that asserts properties: it
 * returns 0, or the process dies. tests/fuzz/driver.c replays the checked-in corpus through it, libFuzzer
 * (make fuzz) looks for more. The same bytes always do the same: whatever a target draws at random it
 * draws from fuzz_seed of its input. One thread. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A property. Unlike an assertion it may have side effects: it is never compiled away. */
#define FUZZ_REQUIRE(holds) ((holds) ? (void)0 : fuzz_fail(#holds, __FILE__, __LINE__))

static inline _Noreturn void fuzz_fail(const char *property, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, property);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* FNV-1a of the input: the first state of its random numbers. */
static inline uint64_t fuzz_seed(const uint8_t *data, size_t size)
{
    uint64_t state = 0xcbf29ce484222325;

    for (size_t i = 0; i < size; i++)
        state = (state ^ data[i]) * 0x100000001b3;
    return state;
}

/* A number below `end` (at least 1), by splitmix64. */
static inline size_t fuzz_below(uint64_t *state, size_t end)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return (size_t)((x ^ x >> 31) % end);
}

#endif
