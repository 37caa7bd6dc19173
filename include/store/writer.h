/* writer: the store thread. It alone touches SQLite and the filters.
 *
 *   1. wait until batches, questions or a stop are there, or a second has passed
 *   2. take the waiting batches, up to commit_max_trades: group commit
 *   3. below the disk reserve: every trade is `retry`, nothing is stored
 *   4. begin; screen, settle and insert every trade in order; COMMIT (synchronous=FULL)
 *   5. only now do verdicts exist: publish the figures, hand the batches back, wake the loop
 *   6. between commits: answer questions for some milliseconds, checkpoint, roll, self-test
 *
 * What fails: SQLITE_FULL -> roll back, `retry`, state STORE_FULL, until space returns.
 * Anything else in or around a COMMIT -> state STORE_FAILED, the batches come back without verdicts
 * (VERDICT_NONE), the thread ends; the daemon closes connections and leaves with writer_error's code. */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/batch.h"
#include "store/figures.h"
#include "store/store.h"

struct writer;

struct writer_config {
    struct store_config store;
    size_t commit_max_trades;   /* a commit takes batches up to so many trades */
    int self_test_interval_s;   /* 0: only at start */
    void (*on_wake)(void *arg); /* called on the store thread after 5., after a change of state; by
                                 * writer_submit when the thread has ended */
    void *arg;                  /* for on_wake: wake the loop, nothing else */
};

/* Starts the thread, which opens the store; returns at once. State STORE_STARTING until it is open, also
 * while it waits for space to open it (the figures' reason says so), then READY or FAILED. */
int writer_start(struct writer **ret, const struct writer_config *config, struct err *err);

/* Loop thread. Never blocks. A batch that holds no question for the store still goes through, so that
 * replies keep their order and rejects are kept. Once the thread has ended a batch comes back as it is. */
void writer_submit(struct writer *writer, struct batch *batch);

/* Loop thread: the batches that are finished, as a list in order, or NULL. */
struct batch *writer_take_finished(struct writer *writer);

/* Any thread. */
enum store_state writer_state(struct writer *writer);
void writer_figures(struct writer *writer, struct figures *ret); /* a copy: figures_done it */

/* Monotonic microseconds when the thread last came round its loop or reported progress in a long
 * piece of work (opening, rebuilding); for the watchdog and /livez. Any thread. */
int64_t writer_progress_us(struct writer *writer);

/* Keys that were read from files into filters so far, by a start or a rebuild; in steps, so a little fewer
 * than there were. Any thread. */
uint64_t writer_keys_read(struct writer *writer);

/* What made it fail; loop thread, state STORE_FAILED. Returns err->code. */
int writer_error(struct writer *writer, struct err *err);

/* Asks the store about a key and waits, at most deadline_ms; not on the loop thread. 0, or ERR_BUSY
 * when the deadline passed or the store is not open. ret is the caller's: store_answer_done it. */
int writer_check(struct writer *writer, const char *key, size_t len, int deadline_ms,
                 struct store_answer *ret, struct err *err);

/* A copy of a filter's bits, likewise; ret says which. Between two commits. *ret_us: processor time that it took the store thread. */
int writer_view(struct writer *writer, int deadline_ms, struct view *ret, int64_t *ret_us,
                struct err *err);

/* Commits what was submitted, closes the store, ends the thread. Finished batches can still be taken
 * until writer_close. */
void writer_stop(struct writer *writer);

/* The same without waiting: on_wake is called once writer_has_ended, and writer_stop then takes no time. */
void writer_begin_stop(struct writer *writer);
bool writer_has_ended(struct writer *writer);
void writer_close(struct writer *writer);

#endif
