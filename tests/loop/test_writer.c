/* The store thread from outside: what is submitted comes back in order, judged and durable, or untouched.
 * Where the order of events matters, the thread is held inside its own call of on_wake. */
#include "store/writer.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "failing_sql.h"
#include "store/catalog.h"
#include "store_fixture.h"
#include "suite.h"

enum { PATIENCE_S = 60 }; /* a test that waits longer has failed */

static struct store_fixture f; /* its directory, configuration and batches; its store stays closed */
static struct writer_config config;
static struct writer *writer;
static sem_t woken;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* held: the store thread stands in on_wake */

static void on_wake(void *arg)
{
    (void)arg;
    sem_post(&woken);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

static void setup(void)
{
    store_fixture_init(&f);
    f.config.generation_keys = 16;
    f.config.segment_rows = 1000;
    f.config.on_event = NULL; /* would be called on the store thread */
    f.now_us = clock_wall_us();
    config = (struct writer_config){
        .store = f.config,
        .commit_max_trades = 1000,
        .on_wake = on_wake,
    };
    sem_init(&woken, 0, 0);
}

static void teardown(void)
{
    writer_close(writer);
    writer = NULL;
    sem_destroy(&woken);
    store_fixture_done(&f);
}

static void wait_for_wake(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    ck_assert_int_eq(sem_timedwait(&woken, &until), 0);
}

static void wait_for_state(enum store_state state)
{
    while (writer_state(writer) != state)
        wait_for_wake();
}

static void start(void)
{
    struct err err;

    if (writer_start(&writer, &config, &err) < 0)
        ck_abort_msg("%s", err.text);
}

static void start_ready(void)
{
    start();
    wait_for_state(STORE_READY);
}

/* Started, and held right after it became ready. */
static void start_held(void)
{
    pthread_mutex_lock(&gate);
    start_ready();
}

static void release(void)
{
    pthread_mutex_unlock(&gate);
}

static void submit(const char *words)
{
    writer_submit(writer, store_fixture_batch(&f, words));
}

/* The next n finished batches, in order; they are the caller's. */
static void take(struct batch **ret, size_t n)
{
    size_t have = 0;

    for (;;) {
        struct batch *list = writer_take_finished(writer);

        for (; list; list = list->next) {
            ck_assert_uint_lt(have, n);
            ret[have++] = list;
        }
        if (have == n)
            return;
        wait_for_wake();
    }
}

/* The next finished batch says this. */
static void says(const char *verdicts)
{
    struct batch *batch;

    take(&batch, 1);
    ck_assert_str_eq(store_fixture_verdicts(batch), verdicts);
    batch_close(batch);
}

static struct figures figures(void)
{
    struct figures ret;

    writer_figures(writer, &ret);
    return ret;
}

static uint64_t commits(void)
{
    struct figures now = figures();
    uint64_t ret = now.commits;

    ck_assert_uint_eq(now.commit.n, now.commits);
    figures_done(&now);
    return ret;
}

static void stop_and_close(void)
{
    writer_stop(writer);
    writer_close(writer);
    writer = NULL;
}

/* ---- commits ---- */

START_TEST(a_writer_that_starts_is_ready_with_figures)
{
    start_ready();
    struct figures now = figures();

    ck_assert_int_eq(now.state, STORE_READY);
    ck_assert_str_eq(now.reason, "");
    ck_assert_uint_eq(now.segments_n, 1);
    ck_assert_ptr_nonnull(now.sqlite_version);
    ck_assert_uint_eq(now.strangers_asked, 1024); /* the self-test at the start */
    figures_done(&now);
}
END_TEST

START_TEST(trades_come_back_judged)
{
    start_ready();
    submit("a b a a=2 !x ~");
    says("new:1 new:2 duplicate:1 conflict:1 invalid ignored");
    struct figures now = figures(); /* published before the batch came back */

    ck_assert_uint_eq(now.rows, 2);
    ck_assert_uint_eq(now.conflicts, 1);
    ck_assert_uint_eq(now.rejects, 1);
    figures_done(&now);
}
END_TEST

START_TEST(waiting_batches_are_committed_together_and_come_back_in_order)
{
    struct batch *batches[50];
    char words[64];

    start_held();
    for (int i = 0; i < 50; i++) {
        snprintf(words, sizeof words, "a b k%d", i);
        submit(words);
    }
    release();
    take(batches, 50);
    for (int i = 0; i < 50; i++) {
        snprintf(words, sizeof words, "%s:1 %s:2 new:%d", i ? "duplicate" : "new",
                 i ? "duplicate" : "new", i + 3);
        ck_assert_str_eq(store_fixture_verdicts(batches[i]), words);
        batch_close(batches[i]);
    }
    ck_assert_uint_eq(commits(), 1);
}
END_TEST

START_TEST(a_commit_takes_no_more_trades_than_it_may)
{
    struct batch *batches[10];

    config.commit_max_trades = 6;
    start_held();
    for (int i = 0; i < 10; i++)
        submit("a b c");
    release();
    take(batches, 10);
    ck_assert_uint_eq(commits(), 5);
    for (int i = 0; i < 10; i++)
        batch_close(batches[i]);
}
END_TEST

START_TEST(a_batch_that_asks_nothing_keeps_its_place)
{
    struct batch *batches[4];

    start_held();
    submit("a");
    submit("~");
    submit("");
    submit("b");
    release();
    take(batches, 4);
    ck_assert_uint_eq(batches[0]->ask_n, 1);
    ck_assert_str_eq(store_fixture_verdicts(batches[1]), "ignored");
    ck_assert_uint_eq(batches[2]->trades_n, 0);
    ck_assert_str_eq(store_fixture_verdicts(batches[3]), "new:2");
    for (int i = 0; i < 4; i++)
        batch_close(batches[i]);
}
END_TEST

START_TEST(a_group_that_meets_a_border_is_committed_on_both_sides_of_it)
{
    struct batch *batches[3];

    config.store.segment_rows = 4;
    start_held();
    submit("a b c");
    submit("d e");
    submit("a f");
    release();
    take(batches, 3);
    ck_assert_str_eq(store_fixture_verdicts(batches[1]), "new:4 new:5");
    ck_assert_str_eq(store_fixture_verdicts(batches[2]), "duplicate:1 new:6");
    struct figures now = figures();

    ck_assert_uint_eq(now.commits, 2);
    ck_assert_uint_eq(now.segments_n, 2);
    figures_done(&now);
    for (int i = 0; i < 3; i++)
        batch_close(batches[i]);
}
END_TEST

/* A group in two segments, of which the second's commit gives rc: the first's verdicts stand, whatever
 * comes of that. Between the two a commit makes the second segment. */
static void second_commit_gives(int rc, const char *second)
{
    struct batch *batches[3];

    config.store.segment_rows = 4;
    start_held();
    submit("a b c");
    submit("d e");
    submit("f");
    failing_sql_arm("COMMIT", 2, rc);
    release();
    take(batches, 3);
    ck_assert_uint_ge(failing_sql_disarm(), 1); /* and the seal thread's, which follows */
    free(failing_sql_take_last());
    ck_assert_str_eq(store_fixture_verdicts(batches[0]), "new:1 new:2 new:3");
    for (int i = 1; i < 3; i++)
        ck_assert_msg(strncmp(store_fixture_verdicts(batches[i]), second, strlen(second)) == 0, "%s",
                      store_fixture_verdicts(batches[i]));
    for (int i = 0; i < 3; i++)
        batch_close(batches[i]);
}

START_TEST(a_second_commit_that_is_refused_leaves_the_first_its_verdicts)
{
    second_commit_gives(_i ? SQLITE_BUSY : SQLITE_FULL, "retry");
    wait_for_state(STORE_READY);
    submit("a b c d e f");
    says("duplicate:1 duplicate:2 duplicate:3 new:4 new:5 new:6");
}
END_TEST

START_TEST(a_second_commit_of_unknown_outcome_leaves_the_first_its_verdicts)
{
    second_commit_gives(SQLITE_IOERR_FSYNC, verdict_name(VERDICT_NONE));
    ck_assert_int_eq(writer_state(writer), STORE_FAILED);
    stop_and_close();
    start_ready();
    submit("a b c d");
    says("duplicate:1 duplicate:2 duplicate:3 new:4");
}
END_TEST

START_TEST(a_verdict_is_in_the_file_when_it_comes_back)
{
    start_ready();
    submit("a b");
    says("new:1 new:2");
    char *copy = store_fixture_copy(f.dir); /* as a kill would leave it */

    stop_and_close();
    config.store.data_dir = copy;
    start_ready();
    submit("b a c");
    says("duplicate:2 duplicate:1 new:3");
    stop_and_close();
    free(copy);
}
END_TEST

START_TEST(stopping_commits_what_was_submitted)
{
    struct batch *batches[20];
    char words[32];

    config.commit_max_trades = 3;
    start_held();
    for (int i = 0; i < 20; i++) {
        snprintf(words, sizeof words, "k%d", i);
        submit(words);
    }
    release();
    writer_stop(writer);
    take(batches, 20);
    for (int i = 0; i < 20; i++) {
        snprintf(words, sizeof words, "new:%d", i + 1);
        ck_assert_str_eq(store_fixture_verdicts(batches[i]), words);
        batch_close(batches[i]);
    }
    writer_stop(writer); /* again: fine */
    stop_and_close();
    start_ready();
    submit("k19 k0");
    says("duplicate:20 duplicate:1");
}
END_TEST

START_TEST(what_is_submitted_before_the_store_is_open_is_judged_too)
{
    start();
    submit("a");
    says("new:1");
}
END_TEST

START_TEST(closing_without_taking_what_is_finished_loses_no_memory)
{
    start_ready();
    submit("a b c");
    submit("d");
    stop_and_close(); /* the leak checker is the judge */
    writer_close(NULL);
}
END_TEST

START_TEST(the_thread_shows_progress)
{
    start_ready();
    int64_t before = writer_progress_us(writer);

    ck_assert_int_le(before, clock_mono_us());
    submit("a");
    says("new:1");
    ck_assert_int_gt(writer_progress_us(writer), before);
}
END_TEST

START_TEST(a_stop_that_is_begun_wakes_us_when_it_has_ended)
{
    start_held();
    submit("a");
    writer_begin_stop(writer);
    ck_assert(!writer_has_ended(writer));
    release();
    while (!writer_has_ended(writer))
        wait_for_wake();
    says("new:1");
}
END_TEST

/* Stores n keys, a hundred a batch. */
static void store_keys(int n)
{
    struct batch *batch;
    char words[1000];

    for (int key = 0; key < n; key += 100) {
        for (int i = 0, at = 0; i < 100; i++)
            at += snprintf(words + at, sizeof words - (size_t)at, "%sk%d", i ? " " : "", key + i);
        submit(words);
        take(&batch, 1);
        batch_close(batch);
    }
}

START_TEST(a_start_without_snapshots_says_how_many_keys_it_reads)
{
    char command[300];

    config.store.generation_keys = 1000;
    config.store.segment_rows = 100000;
    start_ready();
    store_keys(5000);
    ck_assert_uint_eq(writer_keys_read(writer), 0);
    stop_and_close();
    start_ready();
    ck_assert_uint_eq(writer_keys_read(writer), 0);
    stop_and_close();
    snprintf(command, sizeof command, "rm %s/*.bloom", config.store.data_dir);
    ck_assert_int_eq(system(command), 0);
    start_ready();
    ck_assert_uint_eq(writer_keys_read(writer), 4096); /* told every 4096 */
}
END_TEST

static void count_events(void *arg, enum store_event_level level, const char *text)
{
    (void)text;
    atomic_fetch_add((_Atomic int *)arg + level, 1);
}

START_TEST(events_reach_whoever_asked_for_them)
{
    _Atomic int events[3] = {0};

    config.store.on_event = count_events;
    config.store.arg = events;
    config.store.segment_rows = 2;
    start_ready();
    submit("a b");
    says("new:1 new:2");
    submit("c");
    says("new:3");
    ck_assert_int_eq(atomic_load(&events[STORE_INFO]), 1);
}
END_TEST

START_TEST(the_self_test_comes_round)
{
    config.self_test_interval_s = 1;
    start_ready();
    submit("a");
    says("new:1");
    struct figures now = figures();
    int64_t until_us = clock_mono_us() + PATIENCE_S * INT64_C(1000000);

    while (now.members_asked == 0 && clock_mono_us() < until_us) {
        struct store_answer answer;
        struct err err; /* each question brings the thread round its loop */

        figures_done(&now);
        ck_assert_int_eq(writer_check(writer, "a", 1, 10000, &answer, &err), 0);
        store_answer_done(&answer);
        now = figures();
    }
    ck_assert_uint_eq(now.members_asked, 1);
    ck_assert_uint_eq(now.members_maybe, 1);
    figures_done(&now);
}
END_TEST

/* ---- questions ---- */

START_TEST(a_question_about_a_key_is_answered)
{
    struct store_answer answer;
    struct err err;

    start_ready();
    submit("a");
    says("new:1");
    ck_assert_int_eq(writer_check(writer, "a", 1, 10000, &answer, &err), 0);
    ck_assert(answer.present && answer.seq == 1 && answer.screen == SCREEN_MAYBE);
    store_answer_done(&answer);
    ck_assert_int_eq(writer_check(writer, "b", 1, 10000, &answer, &err), 0);
    ck_assert(!answer.present);
    store_answer_done(&answer);
}
END_TEST

START_TEST(a_question_waits_no_longer_than_its_deadline)
{
    struct store_answer answer;
    struct err err;

    start_held();
    ck_assert_int_eq(writer_check(writer, "a", 1, 20, &answer, &err), ERR_BUSY);
    ck_assert_ptr_nonnull(strstr(err.text, "20 ms"));
    release();
    ck_assert_int_eq(writer_check(writer, "a", 1, 10000, &answer, &err), 0);
    store_answer_done(&answer);
}
END_TEST

struct asker {
    pthread_t thread;
    int result;
    struct err err;
};

static void *ask(void *arg)
{
    struct asker *asker = arg;
    struct store_answer answer = {0};

    asker->result = writer_check(writer, "a", 1, PATIENCE_S * 1000, &answer, &asker->err);
    store_answer_done(&answer);
    return NULL;
}

START_TEST(many_threads_may_ask_at_once)
{
    struct asker askers[8];

    start_ready();
    submit("a");
    says("new:1");
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(askers[i].thread, NULL);
        ck_assert_int_eq(askers[i].result, 0);
    }
}
END_TEST

START_TEST(more_questions_than_may_wait_are_refused_at_once)
{
    struct asker askers[70];
    int busy = 0;

    start_held();
    for (int i = 0; i < 70; i++)
        ck_assert_int_eq(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    for (int i = 0; i < 6; i++) { /* the six refused ones end while the store stands still */
        bool joined = false;

        while (!joined)
            for (int k = 0; k < 70 && !joined; k++)
                if (askers[k].thread && pthread_tryjoin_np(askers[k].thread, NULL) == 0) {
                    askers[k].thread = 0;
                    joined = true;
                    busy += askers[k].result == ERR_BUSY;
                }
    }
    ck_assert_int_eq(busy, 6);
    release();
    for (int k = 0; k < 70; k++)
        if (askers[k].thread) {
            pthread_join(askers[k].thread, NULL);
            ck_assert_int_eq(askers[k].result, 0);
        }
}
END_TEST

enum { INSISTENT = 4, INSISTENT_ASKS = 20 }; /* threads; questions of each at most */

static _Atomic int asked;
static _Atomic bool enough;

/* Asks for what takes the store thread longer than it takes us to ask again. */
static void *insist(void *arg)
{
    for (int i = 0; i < INSISTENT_ASKS && !atomic_load(&enough); i++) {
        struct view view = {.generation = VIEW_NEWEST, .to = VIEW_BITS_MAX};
        int64_t took_us;
        struct err err;

        ck_assert_int_eq(writer_view(writer, PATIENCE_S * 1000, &view, &took_us, &err), 0);
        ck_assert_ptr_null(view.missing);
        view_done(&view);
        atomic_fetch_add(&asked, 1);
    }
    return arg;
}

START_TEST(questions_without_end_do_not_keep_trades_waiting)
{
    pthread_t threads[INSISTENT];

    config.store.generation_keys = 1 << 18;
    config.store.segment_rows = 1 << 18;
    start_ready();
    submit("a");
    says("new:1");
    for (int i = 0; i < INSISTENT; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, insist, NULL), 0);
    while (atomic_load(&asked) < INSISTENT)
        sched_yield();
    submit("b");
    says("new:2");
    int before = atomic_load(&asked);

    atomic_store(&enough, true);
    for (int i = 0; i < INSISTENT; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_lt(before, INSISTENT * INSISTENT_ASKS / 2);
}
END_TEST

START_TEST(nobody_answers_after_the_stop)
{
    struct store_answer answer;
    struct err err;

    start_ready();
    writer_stop(writer);
    ck_assert_int_eq(writer_check(writer, "a", 1, 10000, &answer, &err), ERR_BUSY);
}
END_TEST

START_TEST(a_question_that_waits_when_the_store_stops_gets_its_answer)
{
    struct asker asker;

    start_held();
    ck_assert_int_eq(pthread_create(&asker.thread, NULL, ask, &asker), 0);
    release();
    writer_stop(writer);
    pthread_join(asker.thread, NULL);
    ck_assert(asker.result == 0 || asker.result == ERR_BUSY);
}
END_TEST

/* ---- failures ---- */

/* What was submitted comes back without verdicts, and the state tells why. */
static void fails(const char *why, int code)
{
    struct batch *batch;
    struct figures now;
    struct err err;

    submit("a !x");
    wait_for_state(STORE_FAILED);
    writer_stop(writer);
    take(&batch, 1);
    ck_assert_str_eq(store_fixture_verdicts(batch), "none invalid");
    batch_close(batch);
    ck_assert_int_eq(writer_error(writer, &err), code);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    now = figures();
    ck_assert_int_eq(now.state, STORE_FAILED);
    ck_assert_str_eq(now.reason, err.text);
    figures_done(&now);
}

START_TEST(a_directory_that_is_not_there_fails_the_store)
{
    config.store.data_dir = "/nonexistent/tradesieve";
    start();
    fails("/nonexistent/tradesieve", ERR_SYSTEM);
}
END_TEST

/* The writer is started as somebody else, to whom the directory has this mode. */
static void start_as_stranger(mode_t mode)
{
    char parent[CATALOG_PATH_MAX];

    catalog_path(parent, f.dir, "..", "");
    ck_assert_int_eq(chmod(f.dir, mode) + chmod(parent, 0755), 0);
    if (geteuid() == 0) /* root may write anywhere */
        ck_assert_int_eq(seteuid(65534), 0);
    start();
}

static void become_owner_again(void)
{
    ck_assert(getuid() != 0 || seteuid(0) == 0);
    chmod(f.dir, 0755);
}

START_TEST(a_directory_that_is_not_writable_fails_the_store)
{
    start_as_stranger(0555);
    fails(f.dir, ERR_SYSTEM);
    become_owner_again();
}
END_TEST

START_TEST(a_segment_that_is_not_writable_fails_the_store)
{
    char path[CATALOG_PATH_MAX];
    struct figures now;

    start_ready();
    now = figures();
    catalog_path(path, f.dir, now.segments[0].segment, ".db");
    figures_done(&now);
    stop_and_close();
    ck_assert_int_eq(chmod(path, 0444), 0);
    start_as_stranger(0777);
    fails(".db", ERR_SYSTEM);
    become_owner_again();
}
END_TEST

START_TEST(what_is_submitted_after_the_end_comes_back_as_it_is)
{
    start_ready();
    writer_stop(writer);
    submit("a !x");
    says("none invalid");
}
END_TEST

START_TEST(a_failed_store_takes_no_questions)
{
    struct store_answer answer;
    struct err err;

    config.store.data_dir = "/nonexistent/tradesieve";
    start();
    wait_for_state(STORE_FAILED);
    ck_assert_int_eq(writer_check(writer, "a", 1, 10000, &answer, &err), ERR_BUSY);
}
END_TEST

/* Another program at the active segment. */
static sqlite3 *other_open(void)
{
    struct figures now = figures();
    char path[CATALOG_PATH_MAX];
    sqlite3 *other;

    catalog_path(path, f.dir, now.segments[0].segment, ".db");
    figures_done(&now);
    ck_assert_int_eq(sqlite3_open(path, &other), SQLITE_OK);
    return other;
}

START_TEST(a_store_that_breaks_while_running_gives_no_verdict_at_all)
{
    start_ready();
    submit("b");
    says("new:1");
    sqlite3 *other = other_open();

    ck_assert_int_eq(sqlite3_exec(other, "DROP TABLE trade", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    fails(".db", ERR_CORRUPT);
}
END_TEST

START_TEST(a_question_that_meets_a_broken_store_fails_it)
{
    struct store_answer answer;
    struct err err;

    start_ready();
    submit("b");
    says("new:1");
    sqlite3 *other = other_open();

    ck_assert_int_eq(sqlite3_exec(other, "DROP TABLE trade", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    ck_assert_int_eq(writer_check(writer, "b", 1, 10000, &answer, &err), ERR_CORRUPT);
    wait_for_state(STORE_FAILED);
}
END_TEST

/* ---- no space ---- */

START_TEST(below_the_disk_reserve_every_trade_is_told_to_retry)
{
    struct figures now;

    config.store.disk_reserve_bytes = UINT64_MAX;
    start_ready();
    submit("a b !x ~");
    says("retry retry invalid ignored");
    ck_assert_int_eq(writer_state(writer), STORE_FULL);
    now = figures();
    ck_assert_uint_eq(now.rows, 0);
    ck_assert_uint_eq(now.commits, 0);
    ck_assert_ptr_nonnull(strstr(now.reason, "disk_reserve_bytes"));
    figures_done(&now);
    submit("a");
    writer_stop(writer);
    says("retry");
    stop_and_close();
    config.store.disk_reserve_bytes = 0;
    start_ready();
    submit("a");
    says("new:1");
}
END_TEST

START_TEST(a_full_store_still_answers_questions)
{
    struct store_answer answer;
    struct err err;

    config.store.disk_reserve_bytes = UINT64_MAX;
    start_ready();
    submit("a");
    says("retry");
    ck_assert_int_eq(writer_check(writer, "a", 1, 10000, &answer, &err), 0);
    ck_assert(!answer.present);
    store_answer_done(&answer);
}
END_TEST

/* Somebody else's lock is no failure of ours: retry, and by itself ready again. */
START_TEST(a_locked_database_means_retry_and_passes)
{
    start_ready();
    sqlite3 *other = other_open();

    ck_assert_int_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    submit("a b");
    says("retry retry");
    ck_assert_int_eq(writer_state(writer), STORE_FULL);
    sqlite3_close(other);
    wait_for_state(STORE_READY);
    submit("a b");
    says("new:1 new:2");
}
END_TEST

/* A file system of our own, of so many bytes, in a name space of our own: it goes with the process. */
static bool mount_small(const char *dir, const char *size)
{
    char options[64];

    snprintf(options, sizeof options, "size=%s", size);
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", dir, "tmpfs", 0, options) == 0;
}

static void fill_up(const char *path, uint64_t bytes)
{
    static const char block[4096];
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    for (uint64_t i = 0; i < bytes; i += sizeof block)
        if (fwrite(block, 1, sizeof block, file) != sizeof block)
            break;
    fclose(file);
}

START_TEST(when_space_returns_the_store_goes_on_by_itself)
{
    char path[CATALOG_PATH_MAX];

    if (!mount_small(f.dir, "16m")) {
        printf("skipped: no file system can be mounted here\n");
        return;
    }
    config.store.disk_reserve_bytes = 8 << 20;
    start_ready();
    submit("a");
    says("new:1");
    catalog_path(path, f.dir, "ballast", "");
    fill_up(path, 12 << 20);
    submit("a b");
    says("retry retry");
    ck_assert_int_eq(writer_state(writer), STORE_FULL);
    unlink(path);
    wait_for_state(STORE_READY);
    submit("b a");
    says("new:2 duplicate:1");
    stop_and_close();
}
END_TEST

/* A trade whose message is one MiB. */
static void submit_large(unsigned number)
{
    struct batch *batch = store_fixture_batch(&f, "");
    struct batch_trade *trade = batch_add_trade(batch);

    memset(text_reserve(&batch->bytes, 1 << 20), 'x', 1 << 20);
    batch->bytes.len = trade->message_len = 1 << 20;
    text_add_u64(&batch->arena, number);
    trade->key_len = (uint32_t)batch->arena.len;
    batch->ask_n = 1;
    writer_submit(writer, batch);
}

START_TEST(a_disk_that_is_really_full_loses_nothing_and_invents_nothing)
{
    int64_t stored = 0;
    bool retry = false;

    if (!mount_small(f.dir, "12m")) {
        printf("skipped: no file system can be mounted here\n");
        return;
    }
    start_ready();
    for (unsigned i = 1; i <= 20 && !retry; i++) {
        struct batch *batch;

        submit_large(i);
        take(&batch, 1);
        retry = batch->trades[0].verdict == VERDICT_RETRY;
        ck_assert(retry || (batch->trades[0].verdict == VERDICT_NEW && batch->trades[0].seq == i));
        stored += !retry;
        batch_close(batch);
    }
    ck_assert(retry);
    ck_assert_int_eq(writer_state(writer), STORE_FULL);
    struct figures now = figures();

    ck_assert_int_eq((int64_t)now.rows, stored);
    figures_done(&now);
    stop_and_close();
}
END_TEST

static void add_commits(TCase *cases)
{
    tcase_add_test(cases, a_writer_that_starts_is_ready_with_figures);
    tcase_add_test(cases, trades_come_back_judged);
    tcase_add_test(cases, waiting_batches_are_committed_together_and_come_back_in_order);
    tcase_add_test(cases, a_commit_takes_no_more_trades_than_it_may);
    tcase_add_test(cases, a_batch_that_asks_nothing_keeps_its_place);
    tcase_add_test(cases, a_group_that_meets_a_border_is_committed_on_both_sides_of_it);
    tcase_add_loop_test(cases, a_second_commit_that_is_refused_leaves_the_first_its_verdicts, 0, 2);
    tcase_add_test(cases, a_second_commit_of_unknown_outcome_leaves_the_first_its_verdicts);
    tcase_add_test(cases, a_verdict_is_in_the_file_when_it_comes_back);
    tcase_add_test(cases, stopping_commits_what_was_submitted);
    tcase_add_test(cases, what_is_submitted_before_the_store_is_open_is_judged_too);
    tcase_add_test(cases, closing_without_taking_what_is_finished_loses_no_memory);
    tcase_add_test(cases, the_thread_shows_progress);
    tcase_add_test(cases, a_stop_that_is_begun_wakes_us_when_it_has_ended);
    tcase_add_test(cases, a_start_without_snapshots_says_how_many_keys_it_reads);
    tcase_add_test(cases, events_reach_whoever_asked_for_them);
    tcase_add_test(cases, the_self_test_comes_round);
}

static void add_questions(TCase *cases)
{
    tcase_add_test(cases, a_question_about_a_key_is_answered);
    tcase_add_test(cases, a_question_waits_no_longer_than_its_deadline);
    tcase_add_test(cases, many_threads_may_ask_at_once);
    tcase_add_test(cases, more_questions_than_may_wait_are_refused_at_once);
    tcase_add_test(cases, questions_without_end_do_not_keep_trades_waiting);
    tcase_add_test(cases, nobody_answers_after_the_stop);
    tcase_add_test(cases, a_question_that_waits_when_the_store_stops_gets_its_answer);
}

static void add_failures(TCase *cases)
{
    tcase_add_test(cases, a_directory_that_is_not_there_fails_the_store);
    tcase_add_test(cases, a_directory_that_is_not_writable_fails_the_store);
    tcase_add_test(cases, a_segment_that_is_not_writable_fails_the_store);
    tcase_add_test(cases, what_is_submitted_after_the_end_comes_back_as_it_is);
    tcase_add_test(cases, a_failed_store_takes_no_questions);
    tcase_add_test(cases, a_store_that_breaks_while_running_gives_no_verdict_at_all);
    tcase_add_test(cases, a_question_that_meets_a_broken_store_fails_it);
    tcase_add_test(cases, below_the_disk_reserve_every_trade_is_told_to_retry);
    tcase_add_test(cases, a_full_store_still_answers_questions);
    tcase_add_test(cases, a_locked_database_means_retry_and_passes);
    tcase_add_test(cases, when_space_returns_the_store_goes_on_by_itself);
    tcase_add_test(cases, a_disk_that_is_really_full_loses_nothing_and_invents_nothing);
}

int main(void)
{
    Suite *suite = suite_create("writer");
    TCase *cases = tcase_create("writer");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    add_commits(cases);
    add_questions(cases);
    add_failures(cases);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
