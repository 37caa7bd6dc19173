#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/queue.h"

enum {
    TICK_US = 1000000,       /* the thread comes round at least so often: progress, self-test */
    FULL_TICK_US = 200000,   /* the same while the store is full: is there space again? */
    LINGER_US = 2000,        /* a stream of trades is let gather so long before a small commit */
    LINGER_FROM_TRADES = 16, /* a stream: the last commit held so many */
    LINGER_ENOUGH_TRADES = 512,
    QUESTIONS_MAX = 64,      /* questions that may wait at one time */
    ANSWERS_US = 5000,       /* questions are answered so long at a time, at least one */
    FULL_RETRY_US = 1000000, /* after SQLITE_FULL or BUSY: how long until it is tried again */
};

/* A question, owned by the asking thread until it is answered or taken back. */
struct question {
    struct question *next;
    int (*answer)(struct store *store, void *arg, struct err *err); /* on the store thread */
    void *arg;
    struct err *err;
    int64_t took_us; /* of processor time, to answer it */
    int result;      /* of answer */
    enum { WAITING, TAKEN, ANSWERED } state;
};

struct writer {
    struct writer_config config;
    struct store *store; /* store thread only */
    pthread_t thread;
    bool joined;
    _Atomic int64_t progress_us; /* writer_progress_us */
    _Atomic uint64_t keys_read;  /* writer_keys_read */
    _Atomic int state;           /* enum store_state */

    pthread_mutex_t lock;    /* guards all below */
    pthread_cond_t work;     /* batches, questions or a stop are there */
    pthread_cond_t answered; /* some question has its answer */
    bool stop;
    bool ended;                 /* the thread takes nothing any more */
    struct question *questions; /* waiting, oldest first */
    size_t questions_n;
    struct figures figures; /* as of the last commit or tick */
    struct err err;         /* why it failed */

    struct queue waiting;      /* loop -> store */
    struct queue finished;     /* store -> loop */
    int64_t full_until_us;     /* store thread: not tried before this moment (monotonic) */
    size_t last_commit_trades; /* store thread: how many the last group held */
    int64_t self_test_at_us;   /* store thread: when the next is due (monotonic) */
};

static void show_progress(struct writer *writer)
{
    atomic_store(&writer->progress_us, clock_mono_us());
}

static void on_progress(void *arg, uint64_t keys)
{
    struct writer *writer = arg;

    atomic_fetch_add(&writer->keys_read, keys);
    show_progress(writer);
}

static void pass_on_event(void *arg, enum store_event_level level, const char *text)
{
    const struct store_config *asked = &((struct writer *)arg)->config.store;

    if (asked->on_event)
        asked->on_event(asked->arg, level, text);
}

static void wake_loop(struct writer *writer)
{
    if (writer->config.on_wake)
        writer->config.on_wake(writer->config.arg);
}

/* ---- what is shown ---- */

static void publish(struct writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    store_fill_figures(writer->store, &writer->figures);
    pthread_mutex_unlock(&writer->lock);
}

static void set_state(struct writer *writer, enum store_state state, const char *reason)
{
    pthread_mutex_lock(&writer->lock);
    writer->figures.state = state;
    snprintf(writer->figures.reason, sizeof writer->figures.reason, "%s", reason);
    pthread_mutex_unlock(&writer->lock);
    atomic_store(&writer->state, state);
}

static void fail(struct writer *writer, const struct err *err)
{
    pthread_mutex_lock(&writer->lock);
    writer->err = *err;
    pthread_mutex_unlock(&writer->lock);
    set_state(writer, STORE_FAILED, err->text);
}

/* ---- commits ---- */

/* Takes back what the store said in this transaction; `verdict` stands instead. */
static void take_back(struct batch *batch, enum verdict verdict, enum reason reason)
{
    for (size_t i = 0; i < batch->trades_n; i++) {
        struct batch_trade *trade = &batch->trades[i];

        if (!trade->key_len)
            continue; /* invalid or ignored: no question of the store's */
        trade->verdict = (uint8_t)verdict;
        trade->reason = (uint8_t)reason;
        trade->screen = SCREEN_NOT_ASKED;
    }
}

static void finish(struct writer *writer, struct batch **list, const struct batch *until)
{
    while (*list != until) {
        struct batch *batch = *list;

        *list = batch->next;
        queue_push(&writer->finished, batch);
    }
}

static void count_commit(struct writer *writer, int64_t us)
{
    pthread_mutex_lock(&writer->lock);
    writer->figures.commits++;
    histogram_add(&writer->figures.commit, us, 1);
    pthread_mutex_unlock(&writer->lock);
}

/* One transaction: batches from *list on, as many as stay in one segment. On success they are finished
 * and *list is what remains. */
static int commit_some(struct writer *writer, struct batch **list, struct err *err)
{
    struct batch *batch = *list;

    if (store_must_roll(writer->store, batch) && store_roll(writer->store, batch->received_us, err) < 0)
        return err->code;
    int64_t began_us = clock_mono_us();

    if (store_begin(writer->store, err) < 0)
        return err->code;
    do {
        if (store_judge(writer->store, batch, err) < 0)
            goto rollback;
        batch = batch->next;
    } while (batch && !store_must_roll(writer->store, batch));
    if (store_commit(writer->store, err) < 0)
        goto rollback;
    count_commit(writer, clock_mono_us() - began_us);
    publish(writer);
    finish(writer, list, batch);
    return 0;
rollback:
    store_rollback(writer->store);
    return err->code;
}

/* Nothing of the rest of the list was stored, and each of its trades is told so. */
static void refuse(struct writer *writer, struct batch **list)
{
    for (struct batch *batch = *list; batch; batch = batch->next)
        take_back(batch, VERDICT_RETRY, REASON_STORE_FULL);
    publish(writer);
    finish(writer, list, NULL);
}

static void become_full(struct writer *writer, const char *reason)
{
    writer->full_until_us = clock_mono_us() + FULL_RETRY_US;
    if (atomic_load(&writer->state) != STORE_FULL) {
        pass_on_event(writer, STORE_WARNING, reason);
        set_state(writer, STORE_FULL, reason);
    }
}

static void commit_group(struct writer *writer, struct batch *list)
{
    struct err err;

    if (store_is_full(writer->store))
        become_full(writer, "the disk reserve is reached (disk_reserve_bytes)");
    while (list && atomic_load(&writer->state) == STORE_READY) {
        if (commit_some(writer, &list, &err) == 0)
            continue;
        if (err.code == ERR_FULL || err.code == ERR_BUSY) {
            become_full(writer, err.text);
            break;
        }
        for (struct batch *batch = list; batch; batch = batch->next)
            take_back(batch, VERDICT_NONE, REASON_NONE); /* the outcome is unknown: no verdict at all */
        fail(writer, &err);
        finish(writer, &list, NULL);
    }
    if (list)
        refuse(writer, &list);
    wake_loop(writer);
}

/* ---- between commits ---- */

static struct question *take_question(struct writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    struct question *question = writer->questions;

    if (question) {
        writer->questions = question->next;
        writer->questions_n--;
        question->state = TAKEN;
    }
    pthread_mutex_unlock(&writer->lock);
    return question;
}

static int answer_question(struct writer *writer, struct question *question, struct err *err)
{
    int64_t began_us = clock_thread_us();
    int result = question->answer(writer->store, question->arg, question->err);

    if (result < 0)
        *err = *question->err;
    pthread_mutex_lock(&writer->lock);
    question->result = result;
    question->took_us = clock_thread_us() - began_us;
    question->state = ANSWERED;
    pthread_cond_broadcast(&writer->answered);
    pthread_mutex_unlock(&writer->lock);
    return result;
}

/* Some of those that wait: whoever is answered may ask again at once, and trades would wait for ever. */
static int answer_questions(struct writer *writer, struct err *err)
{
    int64_t until_us = clock_mono_us() + ANSWERS_US;
    struct question *question;

    do {
        question = take_question(writer);
        if (question && answer_question(writer, question, err) < 0)
            return err->code;
    } while (question && clock_mono_us() < until_us);
    return 0;
}

static void leave_full(struct writer *writer)
{
    if (atomic_load(&writer->state) == STORE_FULL && clock_mono_us() >= writer->full_until_us &&
        !store_is_full(writer->store)) {
        set_state(writer, STORE_READY, "");
        wake_loop(writer);
    }
}

/* Out of space is no reason to end: everything committed is in the WAL. */
static int tolerate_full(struct writer *writer, int result, const struct err *err)
{
    if (result < 0 && (err->code == ERR_FULL || err->code == ERR_BUSY)) {
        become_full(writer, err->text);
        return 0;
    }
    return result;
}

static int maintain(struct writer *writer, struct err *err)
{
    int64_t now_us = clock_mono_us();

    if (tolerate_full(writer, answer_questions(writer, err), err) < 0 ||
        tolerate_full(writer, store_maintain(writer->store, err), err) < 0)
        return err->code;
    if (writer->config.self_test_interval_s && now_us >= writer->self_test_at_us) {
        writer->self_test_at_us = now_us + (int64_t)writer->config.self_test_interval_s * 1000000;
        if (tolerate_full(writer, store_self_test(writer->store, err), err) < 0)
            return err->code;
        publish(writer);
    }
    leave_full(writer);
    return 0;
}

/* ---- the thread ---- */

static struct timespec moment_after(int64_t us)
{
    struct timespec ret;

    clock_gettime(CLOCK_MONOTONIC, &ret);
    ret.tv_nsec += us % 1000000 * 1000;
    ret.tv_sec += us / 1000000 + ret.tv_nsec / 1000000000;
    ret.tv_nsec %= 1000000000;
    return ret;
}

static void wait_for_work(struct writer *writer)
{
    struct timespec until =
        moment_after(atomic_load(&writer->state) == STORE_FULL ? FULL_TICK_US : TICK_US);

    pthread_mutex_lock(&writer->lock);
    while (!writer->stop && !writer->questions && queue_empty(&writer->waiting))
        if (pthread_cond_timedwait(&writer->work, &writer->lock, &until) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&writer->lock);
}

/* Commits cost by the page, and a few random keys dirty a page each: a stream that comes in small pieces
 * is gathered for a moment. A lone request, and a queue that is long already, do not wait. */
static void linger(struct writer *writer)
{
    struct timespec until = moment_after(LINGER_US);
    size_t enough = LINGER_ENOUGH_TRADES;

    if (enough > writer->config.commit_max_trades)
        enough = writer->config.commit_max_trades;

    if (writer->last_commit_trades < LINGER_FROM_TRADES)
        return;
    pthread_mutex_lock(&writer->lock);
    while (!writer->stop && !writer->questions && queue_trades(&writer->waiting) < enough)
        if (pthread_cond_timedwait(&writer->work, &writer->lock, &until) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&writer->lock);
}

static bool must_stop(struct writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    bool stop = writer->stop;
    pthread_mutex_unlock(&writer->lock);
    return stop;
}

static int open_store(struct writer *writer, struct err *err)
{
    struct store_config config = writer->config.store;

    config.on_event = pass_on_event;
    config.on_progress = on_progress;
    config.arg = writer;
    if (store_open(&writer->store, &config, err) < 0 || store_self_test(writer->store, err) < 0)
        return err->code;
    writer->self_test_at_us = clock_mono_us() + (int64_t)writer->config.self_test_interval_s * 1000000;
    publish(writer);
    set_state(writer, STORE_READY, "");
    wake_loop(writer);
    return 0;
}

static void wait_for_space(struct writer *writer)
{
    struct timespec until = moment_after(FULL_RETRY_US);

    pthread_mutex_lock(&writer->lock);
    while (!writer->stop)
        if (pthread_cond_timedwait(&writer->work, &writer->lock, &until) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&writer->lock);
    show_progress(writer);
}

/* Without space it is tried again until there is some: to end would only be to be started again. What was
 * answered stands in the files meanwhile. A stop may leave the store unopened, which is no failure. */
static int open_when_there_is_space(struct writer *writer, struct err *err)
{
    bool told = false;

    while (open_store(writer, err) < 0) {
        if (err->code != ERR_FULL || writer->store)
            return err->code;
        err_prefix(err, "waiting for space");
        set_state(writer, STORE_STARTING, err->text);
        if (!told)
            pass_on_event(writer, STORE_WARNING, err->text);
        told = true;
        wait_for_space(writer);
        if (must_stop(writer))
            break;
    }
    return 0;
}

static void serve(struct writer *writer)
{
    struct batch *list;
    struct err err;

    while (atomic_load(&writer->state) != STORE_FAILED) {
        wait_for_work(writer);
        show_progress(writer);
        bool stop = must_stop(writer);

        if (!stop)
            linger(writer);
        list = queue_pop(&writer->waiting, writer->config.commit_max_trades);
        writer->last_commit_trades = 0;
        for (const struct batch *batch = list; batch; batch = batch->next)
            writer->last_commit_trades += batch->trades_n;
        if (list)
            commit_group(writer, list);
        else if (stop)
            break;
        if (atomic_load(&writer->state) != STORE_FAILED && maintain(writer, &err) < 0)
            fail(writer, &err);
        else if (!list)
            publish(writer); /* what was sealed or expired meanwhile */
    }
}

/* Batches that no commit will take come back without verdicts, questions without answers. */
static void give_back_rest(struct writer *writer)
{
    struct batch *list;

    pthread_mutex_lock(&writer->lock);
    writer->ended = true;
    list = queue_pop_all(&writer->waiting);
    finish(writer, &list, NULL);
    for (struct question *question = writer->questions; question; question = question->next) {
        question->result = err_set(question->err, ERR_BUSY, "the store is closed");
        question->state = ANSWERED;
    }
    writer->questions = NULL;
    writer->questions_n = 0;
    pthread_cond_broadcast(&writer->answered);
    pthread_mutex_unlock(&writer->lock);
}

/* After a failure nothing more is written; a stop may have come before the store was open. */
static void save_filters(struct writer *writer)
{
    struct err err;

    if (writer->store && atomic_load(&writer->state) != STORE_FAILED &&
        store_save_filters(writer->store, &err) < 0)
        pass_on_event(writer, STORE_WARNING, err.text);
}

static void *run(void *arg)
{
    struct writer *writer = arg;
    struct err err;

    if (open_when_there_is_space(writer, &err) < 0)
        fail(writer, &err);
    else if (writer->store)
        serve(writer);
    save_filters(writer);
    store_close(writer->store);
    writer->store = NULL;
    give_back_rest(writer);
    wake_loop(writer);
    return NULL;
}

/* ---- the other threads' side ---- */

int writer_start(struct writer **ret, const struct writer_config *config, struct err *err)
{
    struct writer *writer = mem_zalloc(1, sizeof *writer);
    pthread_condattr_t monotonic;

    writer->config = *config;
    show_progress(writer);
    pthread_mutex_init(&writer->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&writer->work, &monotonic);
    pthread_cond_init(&writer->answered, &monotonic);
    pthread_condattr_destroy(&monotonic);
    queue_init(&writer->waiting);
    queue_init(&writer->finished);
    set_state(writer, STORE_STARTING, "the store is being opened");
    int rc = pthread_create(&writer->thread, NULL, run, writer);

    if (rc != 0) {
        writer->joined = true;
        writer_close(writer);
        return err_set(err, ERR_SYSTEM, "store thread: %s", strerror(rc));
    }
    *ret = writer;
    return 0;
}

void writer_submit(struct writer *writer, struct batch *batch)
{
    pthread_mutex_lock(&writer->lock);
    bool ended = writer->ended;

    queue_push(ended ? &writer->finished : &writer->waiting, batch);
    pthread_cond_signal(&writer->work);
    pthread_mutex_unlock(&writer->lock);
    if (ended)
        wake_loop(writer);
}

struct batch *writer_take_finished(struct writer *writer)
{
    return queue_pop_all(&writer->finished);
}

enum store_state writer_state(struct writer *writer)
{
    return (enum store_state)atomic_load(&writer->state);
}

void writer_figures(struct writer *writer, struct figures *ret)
{
    pthread_mutex_lock(&writer->lock);
    figures_copy(ret, &writer->figures);
    pthread_mutex_unlock(&writer->lock);
}

int64_t writer_progress_us(struct writer *writer)
{
    return atomic_load(&writer->progress_us);
}

uint64_t writer_keys_read(struct writer *writer)
{
    return atomic_load(&writer->keys_read);
}

int writer_error(struct writer *writer, struct err *err)
{
    pthread_mutex_lock(&writer->lock);
    *err = writer->err;
    pthread_mutex_unlock(&writer->lock);
    return err->code;
}

/* With the lock held. */
static void take_back_question(struct writer *writer, struct question *question)
{
    struct question **at = &writer->questions;

    while (*at != question)
        at = &(*at)->next;
    *at = question->next;
    writer->questions_n--;
}

static bool add_question(struct writer *writer, struct question *question)
{
    struct question **last = &writer->questions;
    enum store_state state = writer_state(writer);

    if (writer->questions_n >= QUESTIONS_MAX || writer->stop || state == STORE_STARTING ||
        state == STORE_FAILED)
        return false;
    while (*last)
        last = &(*last)->next;
    *last = question;
    writer->questions_n++;
    return true;
}

static int ask(struct writer *writer, struct question *question, int deadline_ms)
{
    struct timespec until = moment_after((int64_t)deadline_ms * 1000);
    int rc = 0;

    pthread_mutex_lock(&writer->lock);
    if (!add_question(writer, question)) {
        pthread_mutex_unlock(&writer->lock);
        return err_set(question->err, ERR_BUSY, "the store takes no questions now");
    }
    pthread_cond_signal(&writer->work);
    while (question->state == WAITING && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&writer->answered, &writer->lock, &until);
    if (question->state == WAITING) {
        take_back_question(writer, question);
        question->result =
            err_set(question->err, ERR_BUSY, "the store did not answer within %d ms", deadline_ms);
    }
    while (question->state == TAKEN) /* one answer long: it writes to our memory */
        pthread_cond_wait(&writer->answered, &writer->lock);
    pthread_mutex_unlock(&writer->lock);
    return question->result;
}

struct check {
    const char *key;
    size_t len;
    struct store_answer *ret;
};

static int answer_check(struct store *store, void *arg, struct err *err)
{
    struct check *check = arg;

    return store_check(store, check->key, check->len, check->ret, err);
}

int writer_check(struct writer *writer, const char *key, size_t len, int deadline_ms,
                 struct store_answer *ret, struct err *err)
{
    struct check check = {key, len, ret};

    return ask(writer, &(struct question){.answer = answer_check, .arg = &check, .err = err},
               deadline_ms);
}

static int answer_view(struct store *store, void *arg, struct err *err)
{
    (void)err;
    store_view(store, arg);
    return 0;
}

int writer_view(struct writer *writer, int deadline_ms, struct view *ret, int64_t *ret_us,
                struct err *err)
{
    struct question question = {.answer = answer_view, .arg = ret, .err = err};

    if (ask(writer, &question, deadline_ms) < 0)
        return err->code;
    *ret_us = question.took_us;
    return 0;
}

void writer_begin_stop(struct writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    writer->stop = true;
    pthread_cond_signal(&writer->work);
    pthread_mutex_unlock(&writer->lock);
}

bool writer_has_ended(struct writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    bool ended = writer->ended;
    pthread_mutex_unlock(&writer->lock);
    return ended;
}

void writer_stop(struct writer *writer)
{
    writer_begin_stop(writer);
    if (!writer->joined)
        pthread_join(writer->thread, NULL);
    writer->joined = true;
}

void writer_close(struct writer *writer)
{
    if (!writer)
        return;
    if (!writer->joined)
        writer_stop(writer);
    queue_done(&writer->waiting);
    queue_done(&writer->finished);
    figures_done(&writer->figures);
    pthread_cond_destroy(&writer->work);
    pthread_cond_destroy(&writer->answered);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}
