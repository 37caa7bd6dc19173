/* screen: the Bloom-filter question over every live segment: `absent` is a proof, `maybe` names the
 * candidates. Owns the filters; knows nothing of SQLite. Store thread only.
 *
 * Part i of the screen belongs to segment i of the store; the last part is the active segment's bank,
 * the only one that takes keys. Rate budget: a third of the configured rate for the active segment,
 * shared equally by its columns; a third for a closed one that waits to be sealed; a third for the sealed. */
#ifndef STORE_SCREEN_H
#define STORE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/bank.h"
#include "store/batch.h"
#include "store/figures.h"

enum { SCREEN_RECENT_MAX = 100000 }; /* absent keys that recent_fpr looks back on */

struct screen_config {
    double false_positive_rate; /* of the whole screen at capacity */
    uint64_t capacity;          /* keys */
    uint64_t segment_rows;      /* planned keys of a segment */
};

struct screen_part {
    bool sealed; /* then bloom is the filter, else bank */
    struct bloom bloom;
    struct bank bank;
    uint32_t generation_keys; /* load at which a column is full and the next begins */
    double log_pass;          /* sum over its full columns of ln(1 - predicted rate) */
    uint64_t bits_set, keys;  /* sums over its full columns */
    double fullest;           /* highest fill ratio among them */
};

struct screen_candidate {
    size_t part;        /* which segment */
    int64_t generation; /* which of its generations; -1: it is sealed */
};

struct screen {
    struct screen_config config;
    unsigned char secret[BLOOM_KEY_BYTES];
    struct screen_part *parts;
    size_t parts_n;
    struct screen_candidate *candidates; /* of the last screen_ask, newest first */
    size_t candidates_n, candidates_cap;
    double predicted;         /* rate of the whole screen now; moves in small steps */
    double log_pass_rest;     /* ln(1 - rate) of everything but the current column */
    uint64_t predicted_until; /* load of the current column at which it is computed again */
    /* what was asked */
    uint64_t absent, true_positive, false_positive;
    uint64_t lookups;    /* exact look-ups that the candidates of its maybes cost */
    double expected_sum; /* of `predicted` over absent + false_positive */
    uint8_t *recent;     /* ring of bits over the last absent keys: was it a false positive? */
    uint64_t recent_asked, recent_false;
};

void screen_init(struct screen *screen, const struct screen_config *config,
                 const unsigned char secret[BLOOM_KEY_BYTES]);
void screen_done(struct screen *screen);

/* Adds the part of the next segment, empty, with no generation begun. columns_known: how many the
 * segment has already, 0 for a fresh one. */
void screen_add_part(struct screen *screen, uint32_t generation_keys, uint64_t columns_known);

/* Empties a part for a rebuild; no question may be asked until its keys are in again. */
void screen_empty_part(struct screen *screen, size_t part, uint64_t columns_known);

/* The shapes that the rate budget gives: of a column of a segment that is planned to have, or has, so
 * many generations; of a sealed segment of n keys: a third of the rate in proportion to the capacity. */
struct bloom_shape screen_column_shape(const struct screen *screen, uint32_t generation_keys,
                                       uint64_t columns_known);
struct bloom_shape screen_sealed_shape(const struct screen *screen, uint64_t keys);

/* Takes over a bank that was read from a snapshot in place of a part's own; *bank is then empty. */
void screen_adopt_bank(struct screen *screen, size_t part, struct bank *bank);

/* The sealed filter answers from now on, and the bank goes; *bloom is then empty. */
void screen_seal_part(struct screen *screen, size_t part, struct bloom *bloom);

/* The oldest segment leaves the screen. */
void screen_remove_first(struct screen *screen);

/* Takes the active bank's memory from the system now, rather than under the first keys. */
void screen_warm(struct screen *screen);

/* Puts a stored key into its generation; the ones before it begin if need be. */
void screen_load(struct screen *screen, size_t part, uint32_t generation, struct bloom_hash hash);

/* A batch of loads is over: sums and prediction are computed again. */
void screen_loaded(struct screen *screen);

struct bloom_hash screen_hash(const struct screen *screen, const char *key, size_t len);
void screen_prefetch(const struct screen *screen, struct bloom_hash hash);

/* The question. SCREEN_MAYBE leaves the candidates in screen->candidates. */
enum screen_answer screen_ask(struct screen *screen, struct bloom_hash hash);

/* Makes every generation of every part a candidate: for a screen that is not to be trusted. */
void screen_suspect_all(struct screen *screen);

/* What the exact check found, for the measured rate: stored or not, after `answer`. */
void screen_count(struct screen *screen, enum screen_answer answer, bool stored);

/* The generation that the next new key goes to; begins one when the current is full. */
uint32_t screen_current_generation(struct screen *screen);

/* Whether the next call of screen_current_generation moves the bank: nobody may read it meanwhile. */
bool screen_will_widen(const struct screen *screen);

/* Adds a key to the current generation of the active part. */
void screen_insert(struct screen *screen, struct bloom_hash hash);

/* Whether a stored key is answered maybe in its own place. */
bool screen_holds(const struct screen *screen, size_t part, uint32_t generation,
                  struct bloom_hash hash);

/* Figures. */
void screen_fill_figures(const struct screen *screen, struct figures *ret);
struct filter_figures screen_column_figures(const struct screen *screen, size_t part,
                                            uint32_t generation);
struct filter_figures screen_part_figures(const struct screen *screen, size_t part);

#endif
