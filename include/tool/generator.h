/* generator: a feed of canonical trades whose truth is known before the first line.
 *
 * Every original (a key that nothing before it had) can be made again from its number alone, so that
 * repeats may reach back as far as they like and memory stays constant. Each original is repeated by
 * duplicates or by conflicts, never both, and no two conflicts of one original are equal. Hence the
 * truth holds in any order of arrival: whichever version of a key comes first is new, and each other
 * line of that key is a duplicate (all equal) or a conflict (all different).
 *
 * The same options give the same bytes. Pure; the caller owns the struct. */
#ifndef TOOL_GENERATOR_H
#define TOOL_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum {
    GENERATOR_SYMBOLS_MAX = 26 * 26 * 26 * 26, /* four letters */
    GENERATOR_LINE_MAX = 256,                  /* no line is longer, bytes; most are about 150 */
};
#define GENERATOR_LINES_MAX UINT64_C(1000000000000)

enum generator_ids {
    GENERATOR_SEQUENTIAL, /* 1, 2, 3, ... in the order of the originals */
    GENERATOR_RANDOM,     /* 64-bit integers in decimal, all distinct */
    GENERATOR_UUID,       /* version 4 in form, all distinct */
};

struct generator_truth {
    uint64_t lines;      /* the sum of the others */
    uint64_t originals;  /* new */
    uint64_t duplicates; /* duplicate */
    uint64_t conflicts;  /* conflict */
};

struct generator_options {
    uint64_t lines;    /* 1 to GENERATOR_LINES_MAX */
    double duplicates; /* fraction of all lines; */
    double conflicts;  /* both together below 1 */
    enum generator_ids ids;
    uint64_t symbols; /* 1 to GENERATOR_SYMBOLS_MAX */
    uint64_t seed;
};

struct generator {
    struct generator_options options;
    struct generator_truth truth; /* of the whole feed */
    struct generator_truth done;  /* of the lines so far */
    uint64_t salt;                /* seed, mixed: shifts every hash */
    uint64_t random;              /* state of the choices */
};

void generator_init(struct generator *g, const struct generator_options *options);

/* Appends the next line with its line feed; false when the feed is over. */
bool generator_next(struct generator *g, struct text *out);

#endif
