/* store_fixture: a store in a directory of its own, batches written as text, and the plain map that a
 * store has to agree with.
 *
 * A batch is written as words: "a b a=2" are three trades with the keys a, b and a; the number is the
 * fingerprint, 1 when it is not said. "!text" is an invalid line, "~" an ignored one, "a@feed" a trade
 * that a replay brings from another feed. The answer reads the same way:
 * "new:1 new:2 conflict:1", the numbers being seq. Everything that fails here fails the test. */
#ifndef TESTS_LIB_STORE_FIXTURE_H
#define TESTS_LIB_STORE_FIXTURE_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/batch.h"
#include "store/store.h"

/* The directory under $TMPDIR that holds all others of a program: the unchecked fixture of a test case,
 * so that it goes also when a test dies. From then on fsync returns at once. */
void store_fixture_make_root(void);
void store_fixture_remove_root(void);

/* A fresh directory in it; free() the path. */
char *store_fixture_directory(void);

/* Copies the files of one directory into a fresh one, as a kill would leave them; free() the path. */
char *store_fixture_copy(const char *dir);
void store_fixture_copy_file(const char *from, const char *to);

/* Removes a directory with its files, and frees the path. */
void store_fixture_remove(char *dir);

#define STORE_FIXTURE_DAY_US (INT64_C(86400) * 1000000)

struct store_fixture {
    char *dir;
    struct store_config config; /* generation_keys 4, segment_rows 16 to begin with */
    struct store *store;        /* NULL: closed */
    struct err err;             /* of the last call that failed */
    int64_t now_us;             /* received of the next batch: from the first segment's midnight on, a
                                 * second later with each batch */
    unsigned events[3];         /* by level */
    char event[ERR_TEXT_MAX];   /* the last one's text */
    struct figures figures;     /* of the last store_fixture_figures */
};

void store_fixture_init(struct store_fixture *fixture); /* nothing is open yet */
void store_fixture_done(struct store_fixture *fixture);

void store_fixture_open(struct store_fixture *fixture);
int store_fixture_try_open(struct store_fixture *fixture); /* the error is in err */
void store_fixture_close(struct store_fixture *fixture);
void store_fixture_reopen(struct store_fixture *fixture);

/* Killed as it stands, in the middle of a transaction too: the store is closed, and what is opened next is
 * the directory as the kill left it. */
void store_fixture_kill(struct store_fixture *fixture);

struct batch *store_fixture_batch(struct store_fixture *fixture, const char *words);

/* The keys PREFIXfrom to PREFIXto, new or not, in batches of `size`, committed. */
void store_fixture_send_range(struct store_fixture *fixture, const char *prefix, int from, int to,
                              int size);

/* What the writer does with a list of batches, rolls included. commit false: rolled back in the end. */
void store_fixture_transact(struct store_fixture *fixture, struct batch **batches, size_t n,
                            bool commit);

/* Sends one batch and returns its verdicts, in memory that the next call takes. */
const char *store_fixture_send(struct store_fixture *fixture, const char *words);
const char *store_fixture_verdicts(const struct batch *batch);

const struct figures *store_fixture_figures(struct store_fixture *fixture);

/* Every row of every segment: seq without gaps, generations in order and not above their size, and
 * how many of the keys their own filter column denies. */
struct store_fixture_census {
    uint64_t rows;
    uint64_t denied;
};
struct store_fixture_census store_fixture_census(struct store_fixture *fixture);

/* Damages: the bits of one column cleared, or every bit of every filter set. */
void store_fixture_zero_column(struct store_fixture *fixture, size_t segment, uint32_t generation);
void store_fixture_saturate(struct store_fixture *fixture);

/* The plain map. */
struct store_model;
struct store_model *store_model_open(void);
void store_model_close(struct store_model *model);

/* Holds the verdicts of a committed batch against the map, and puts into it what was new. */
void store_model_judge(struct store_model *model, const struct batch *batch);

/* The trades before this seq have left the store with their segments; their keys are new again. */
void store_model_expire(struct store_model *model, int64_t first_seq);

/* Asks the store for one key, or for every key that was ever in the map; the latter compares the totals too. */
void store_model_check(const struct store_model *model, struct store_fixture *fixture, const char *key);
void store_model_verify(const struct store_model *model, struct store_fixture *fixture);
size_t store_model_size(const struct store_model *model);                   /* that have not left */
int64_t store_model_received(const struct store_model *model, int64_t seq); /* when it came, in us */

/* Numbers for random tests (splitmix64). The first seed comes from TRADESIEVE_SEED and is printed. */
struct store_random {
    uint64_t state;
};
uint64_t store_random_seed(void);
uint64_t store_random_next(struct store_random *random);
uint64_t store_random_below(struct store_random *random, uint64_t bound); /* 0 to bound - 1 */

#endif
