/* ledger: what a store has to hold, as plain lists, at each of its commits: the judge of crash images.
 *
 * Trades are written as store_fixture writes them; the key of number n is made from n alone, so that a
 * ledger can say it again. It is told of every batch before its commit, and of the moments in between; a
 * disagreement is a sentence, not a failed test, because a control wants to see one. */
#ifndef TESTS_LIB_LEDGER_H
#define TESTS_LIB_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "store_fixture.h"

struct ledger_row {
    int key;
    uint64_t fingerprint;
    int64_t received_us;
    bool other_feed;
};

/* A conflicting version, or a reject: seq 0. */
struct ledger_extra {
    int64_t seq;
    uint64_t fingerprint;
    uint64_t home; /* number of the segment that keeps it */
};

/* What was there after a commit; the first entry is the state before all of them. */
struct ledger_commit {
    size_t begun, done; /* moments; done: the trades could be acknowledged from then on */
    size_t rows, extras;
};

/* The window's beginning; the first entry is the one before all expiries. */
struct ledger_expiry {
    size_t begun, done;
    uint64_t segment; /* number of the oldest that stays */
};

struct ledger {
    struct ledger_row *rows; /* row i has seq i + 1 */
    size_t rows_n;
    struct ledger_extra *extras;
    size_t extras_n;
    struct ledger_commit *commits;
    size_t commits_n;
    struct ledger_expiry *expiries;
    size_t expiries_n;
    uint64_t segment;  /* number of the oldest one in the window now */
    int64_t first_seq; /* its first */
};

void ledger_init(struct ledger *ledger); /* nothing is stored */
void ledger_done(struct ledger *ledger);

/* The ledger as it was after a commit, with the window of an opened store; its moments are over. */
struct ledger ledger_cut(const struct ledger *ledger, size_t commit, const struct store *store);

/* Appends a word for a trade: "KEY=fingerprint", or "KEY@other". */
void ledger_word(struct text *words, int key, uint64_t fingerprint, bool other_feed);

/* Holds a judged batch against the ledger and takes in what was new; home: number of the segment that
 * was active. NULL, or what is wrong, in memory that the next call takes. */
const char *ledger_judge(struct ledger *ledger, const struct batch *batch, uint64_t home);

/* The rows so far are one commit more. */
void ledger_commit(struct ledger *ledger, size_t begun, size_t done);
/* The window is the store's now. */
void ledger_expire(struct ledger *ledger, size_t begun, size_t done, const struct store *store);

/* Which of the states that are right for a power cut at a moment an opened store is in: the last that was
 * acknowledged, or the one whose commit was under way. NULL, or what is wrong. */
const char *ledger_place(const struct ledger *ledger, size_t moment, struct store_fixture *fixture,
                         size_t *ret_commit);

/* Reads every row, version and reject of the closed files in dir, in order of the segments' names. */
const char *ledger_read(const struct ledger *ledger, const char *dir);

#endif
