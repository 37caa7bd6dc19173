/* A kill at every step of the life of a segment: created, written, rolled, closed, sealed, snapshot,
 * expired.
 *
 * The calls that change the directory (creating, writing, cutting, renaming, removing: SQLite's too) are
 * counted by standing in for the C library's. A child plays the script below and ends at its n-th call,
 * for every n (`make soak-steps`; else for every few); a second one goes on and ends somewhere too; then the parent opens what is left. By then
 *
 *   every batch that was committed is there, with its seq and its time, and nothing else is,
 *   but perhaps the whole batch that was being committed;
 *
 * it plays the rest of the script, and has what an undisturbed run has. Syncs are not counted: for a kill
 * the moment before one is the moment before the call that follows it. */
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/store_state.h"
#include "store_fixture.h"
#include "suite.h"

/* ---- the script ---- */

enum op_kind { OPEN, SEND, SETTLE, SAVE, LATER, EXPIRE, CLOSE };

struct op {
    enum op_kind kind;
    const char *words; /* of SEND */
    int days;          /* of LATER: how many pass */
};

static const struct op script[] = {
    {.kind = OPEN},
    {.kind = SEND, .words = "a1 a2 a3 a4 a5 a1 a2=2"},
    {.kind = SEND, .words = "a6 a7 a8 a9 !x"},
    {.kind = SAVE},
    {.kind = SEND, .words = "a10 a11 a12 a13"},
    {.kind = SEND, .words = "b1 b2 b3 b4 a13 a1=3"}, /* rolls: 13 rows and 6 questions pass 16 */
    {.kind = SEND, .words = "b5 b6 a1"},
    {.kind = SETTLE}, /* seals the first */
    {.kind = SAVE},
    {.kind = LATER, .days = 1},
    {.kind = SEND, .words = "c1 c2 b6 c3 c4 c5"}, /* rolls: another day */
    {.kind = CLOSE},
    {.kind = OPEN},
    {.kind = SETTLE}, /* seals the second */
    {.kind = SEND, .words = "c6=7 c1=2 a10"},
    {.kind = LATER, .days = 30},
    {.kind = SEND, .words = "d1 d2"},
    {.kind = EXPIRE}, /* the first two, and the third when it is closed */
    {.kind = SEND, .words = "d3 a1 b1 d1=5"},
    {.kind = SETTLE},
    {.kind = SAVE},
    {.kind = CLOSE},
};
enum { OPS = sizeof script / sizeof *script };

/* ---- what the script leads to ---- */

enum {
    KNOWN_MAX = 64,
    NEVER = OPS + 1,
    SECOND_WITHIN = 100, /* calls within which the second kill comes */
    CALLS_MIN = 300,
    STRIDE = 9,
    STRIDE_BRIEF = 40,
};

struct known {
    char *key;
    int64_t seq, received_us;
    int expired_by; /* op; NEVER */
};

static struct known known[KNOWN_MAX];
static size_t known_n;
static int64_t last_seq_after[OPS];

/* ---- stand-ins ---- */

enum sabotage {
    NONE,
    TOLD_TOO_EARLY,   /* a batch counts as committed when its transaction begins */
    CREATED_IN_STEPS, /* a file's name is there before its content */
    EXPIRED_IN_STEPS, /* a segment that expires is removed, not renamed */
};

static enum sabotage sabotage;
static int die_at; /* the call that is not made, counted from 1; 0: all are made */
static bool torn;  /* if it is a write, half of it is made */
static atomic_int calls;
static int64_t later_us; /* how far both clocks have been moved on */

enum { KILLED = 77, BROKEN = 78 };

static bool is_last_call(void)
{
    return die_at && atomic_fetch_add(&calls, 1) + 1 == die_at;
}

static void step(void)
{
    if (is_last_call())
        _exit(KILLED);
}

static int open_at(const char *path, int flags, mode_t mode)
{
    if (flags & (O_CREAT | O_TRUNC))
        step();
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_at(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_at(path, flags, mode);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    if (!is_last_call())
        return syscall(SYS_write, fd, bytes, n);
    if (torn)
        syscall(SYS_write, fd, bytes, n / 2);
    _exit(KILLED);
}

static ssize_t write_at(int fd, const void *bytes, size_t n, off_t at)
{
    if (!is_last_call())
        return syscall(SYS_pwrite64, fd, bytes, n, at);
    if (torn)
        syscall(SYS_pwrite64, fd, bytes, n / 2, at);
    _exit(KILLED);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    return write_at(fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    return write_at(fd, bytes, n, at);
}

int ftruncate(int fd, off_t len)
{
    step();
    return (int)syscall(SYS_ftruncate, fd, len);
}

int ftruncate64(int fd, off64_t len)
{
    step();
    return (int)syscall(SYS_ftruncate, fd, len);
}

int unlink(const char *path)
{
    step();
    return (int)syscall(SYS_unlink, path);
}

int rename(const char *from, const char *to)
{
    if (sabotage == CREATED_IN_STEPS)
        close(open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    if (sabotage == EXPIRED_IN_STEPS && strstr(to, ".expired"))
        return unlink(from);
    step();
    return (int)syscall(SYS_rename, from, to);
}

/* Time stands still but for LATER: every run is like the other. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
    int64_t us = later_us + (id == CLOCK_REALTIME ? INT64_C(1796126400) * 1000000 : 1000000);

    *ret = (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    return 0;
}

/* ---- playing it ---- */

/* What the children tell: how many ops are done. Shared memory. */
static atomic_int *done;

static struct store_fixture f;
static char complaint[ERR_TEXT_MAX + 256];

/* Notes what is wrong; returns false for it. */
__attribute__((format(printf, 1, 2))) static bool complain(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(complaint, sizeof complaint, format, args);
    va_end(args);
    return false;
}

static void move_clocks(int ops)
{
    later_us = 0;
    for (int i = 0; i < ops; i++)
        later_us += script[i].days * STORE_FIXTURE_DAY_US;
}

static int commit(int op, struct batch *batch)
{
    if (store_must_roll(f.store, batch) && store_roll(f.store, batch->received_us, &f.err) < 0)
        return -1;
    if (store_begin(f.store, &f.err) < 0)
        return -1;
    if (sabotage == TOLD_TOO_EARLY)
        atomic_store(done, op + 1);
    if (store_judge(f.store, batch, &f.err) < 0)
        return -1;
    return store_commit(f.store, &f.err);
}

static void note_known(const struct batch *batch)
{
    for (size_t i = 0; i < batch->trades_n; i++) {
        const struct batch_trade *trade = &batch->trades[i];

        if (trade->verdict != VERDICT_NEW)
            continue;
        ck_assert_uint_lt(known_n, KNOWN_MAX);
        known[known_n++] = (struct known){
            .key = strndup(batch_key(batch, trade), trade->key_len),
            .seq = trade->seq,
            .received_us = batch->received_us,
            .expired_by = NEVER,
        };
    }
}

static int send(int op, bool noted)
{
    f.now_us = clock_wall_us() + op * 1000000;
    struct batch *batch = store_fixture_batch(&f, script[op].words);
    int ret = commit(op, batch);

    if (ret == 0 && noted)
        note_known(batch);
    batch_close(batch);
    return ret;
}

static int expire(void)
{
    if (store_settle(f.store, &f.err) < 0)
        return -1;
    f.store->expire_next_us = 0;
    f.store->expiry_held = false; /* as after another start: the last one found old trades only */
    return store_maintain(f.store, &f.err);
}

static int play_op(int op, bool noted)
{
    switch (script[op].kind) {
    case OPEN:
        return store_fixture_try_open(&f);
    case SEND:
        return send(op, noted);
    case SETTLE:
        return store_settle(f.store, &f.err);
    case SAVE:
        return store_save_filters(f.store, &f.err);
    case LATER:
        later_us += script[op].days * STORE_FIXTURE_DAY_US;
        return 0;
    case EXPIRE:
        return expire();
    case CLOSE:
        store_fixture_close(&f);
        return 0;
    }
    return -1;
}

/* From an op on to the end. What is open or not by then follows from the script. */
static bool play(int from, bool noted)
{
    bool is_open = from > 0 && from < OPS && script[from - 1].kind != CLOSE;

    move_clocks(from);
    if (is_open && !f.store && store_fixture_try_open(&f) < 0)
        return complain("start before op %d: %s", from, f.err.text);
    for (int op = from; op < OPS; op++) {
        if (play_op(op, noted) < 0)
            return complain("op %d: %s", op, f.err.text);
        atomic_store(done, op + 1);
        if (noted && f.store)
            last_seq_after[op] = store_next_seq(store_active(f.store)) - 1;
        else if (noted)
            last_seq_after[op] = last_seq_after[op - 1];
    }
    return true;
}

/* ---- holding it against the undisturbed run ---- */

static bool check_known(const struct known *entry, int64_t last_seq, int ops)
{
    struct store_answer answer;
    bool stored = entry->seq <= last_seq;

    if (store_check(f.store, entry->key, strlen(entry->key), &answer, &f.err) < 0)
        return complain("asking for %s: %s", entry->key, f.err.text);
    bool there = answer.present && answer.seq == entry->seq && answer.received_us == entry->received_us;

    store_answer_done(&answer);
    if (there && (!stored || entry->expired_by < ops))
        return complain("%s, seq %lld, should not be there", entry->key, (long long)entry->seq);
    if (!there && stored && entry->expired_by > ops)
        return complain("%s, seq %lld, is lost", entry->key, (long long)entry->seq);
    return true;
}

/* The open store holds what so many ops lead to, the next one's effect included or not. */
static bool check_store(int ops)
{
    int64_t last_seq = store_next_seq(store_active(f.store)) - 1;

    if (last_seq != (ops ? last_seq_after[ops - 1] : 0) &&
        (ops == OPS || last_seq != last_seq_after[ops]))
        return complain("it ends with seq %lld", (long long)last_seq);
    for (size_t i = 0; i < known_n; i++)
        if (!check_known(&known[i], last_seq, ops))
            return false;
    if (store_self_test(f.store, &f.err) < 0)
        return complain("%s", f.err.text);
    if (store_fixture_figures(&f)->false_negative || f.events[STORE_CRITICAL])
        return complain("the filter lacks a key");
    return true;
}

/* The end of the script leaves no file without its segment and nothing half written. */
static bool check_files(void)
{
    DIR *d = opendir(f.dir);
    const struct dirent *file;
    bool ok = true;

    while (ok && (file = readdir(d))) {
        int name_len = (int)strcspn(file->d_name, ".");
        char db[CATALOG_PATH_MAX];

        snprintf(db, sizeof db, "%s/%.*s.db", f.dir, name_len, file->d_name);
        if (strstr(file->d_name, ".new") ||
            (strncmp(file->d_name, "trades-", 7) == 0 && access(db, F_OK) != 0))
            ok = complain("%s is left", file->d_name);
    }
    closedir(d);
    return ok;
}

/* A start on what is left, looked at and left as it is. */
static bool check_directory(int ops)
{
    if (store_fixture_try_open(&f) < 0)
        return complain("start: %s", f.err.text);
    bool ok = check_store(ops);

    if (ok && ops == OPS && f.figures.conflicts != 1)
        ok = complain("%llu conflicts are kept instead of 1", (unsigned long long)f.figures.conflicts);
    store_fixture_close(&f);
    return ok && (ops < OPS || check_files());
}

/* ---- the kills ---- */

static struct store_random dice;

static void begin(void)
{
    store_fixture_init(&f);
    f.config.retention_days = 7;
    atomic_store(done, 0);
    complaint[0] = '\0';
}

/* Plays on in a child; its exit status. */
static int play_in_child(int at, enum sabotage how)
{
    int status;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        sabotage = how;
        die_at = at;
        bool ok = play(atomic_load(done), false);

        if (!ok)
            fprintf(stderr, "%s\n", complaint);
        _exit(ok ? 0 : BROKEN);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : BROKEN;
}

/* Kills at the n-th call, and again after the next start; false with a complaint when that did harm.
 * *ret_killed false: there is no such call. */
static bool survives(int n, enum sabotage how, bool *ret_killed)
{
    begin();
    int status = play_in_child(n, how);
    bool ok = status != BROKEN || complain("the script fails");

    *ret_killed = status == KILLED;
    if (ok && *ret_killed && how == NONE)
        ok = play_in_child(1 + (int)store_random_below(&dice, SECOND_WITHIN), how) != BROKEN ||
             complain("the next start fails");
    int ops = atomic_load(done);

    move_clocks(ops);
    ok = ok && check_directory(ops) && play(ops, false) && check_directory(OPS);
    store_fixture_done(&f);
    return ok;
}

/* The first call at which a kill does harm; 0: none. The seed decides where the counting begins. */
static int first_harm(enum sabotage how, int from, int stride)
{
    bool killed = true;

    dice = (struct store_random){store_random_seed()};
    int n = from + (int)store_random_below(&dice, (uint64_t)stride), kills = 0;

    for (; killed; n += stride, kills += killed)
        if (!survives(n, how, &killed))
            return n;
    ck_assert_int_gt(n, CALLS_MIN); /* SQLite's calls were counted */
    printf("%d kills at %d calls\n", kills, n - stride);
    return 0;
}

/* The run that nothing disturbs. */
static void setup(void)
{
    struct store_answer answer;
    int op = 0;

    done = mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(done, MAP_FAILED);
    begin();
    ck_assert_msg(play(0, true), "%s", complaint);
    while (script[op].kind != EXPIRE)
        op++;
    store_fixture_open(&f);
    for (size_t i = 0; i < known_n; i++) {
        ck_assert_int_eq(store_check(f.store, known[i].key, strlen(known[i].key), &answer, &f.err), 0);
        if (!answer.present || answer.seq != known[i].seq)
            known[i].expired_by = op;
        store_answer_done(&answer);
    }
    store_fixture_done(&f);
    ck_assert(known[0].expired_by == op && known[known_n - 1].expired_by == NEVER);
}

static void teardown(void)
{
    while (known_n)
        free(known[--known_n].key);
    munmap(done, sizeof *done);
}

static void no_kill_does_harm(void)
{
    int n = first_harm(NONE, 1, suite_amount("TRADESIEVE_STRIDE", STRIDE, STRIDE_BRIEF));

    ck_assert_msg(n == 0, "call %d, %d ops done: %s", n, atomic_load(done), complaint);
}

START_TEST(a_kill_before_any_call_loses_nothing)
{
    no_kill_does_harm();
}
END_TEST

START_TEST(a_kill_in_the_middle_of_any_write_loses_nothing)
{
    torn = true;
    no_kill_does_harm();
}
END_TEST

/* ---- what must be caught ---- */

static const struct {
    enum sabotage how;
    int from, stride; /* calls, somewhat before the harm */
    const char *says; /* the complaint */
} sabotages[] = {
    {TOLD_TOO_EARLY, 60, 5, "it ends with seq"},
    {CREATED_IN_STEPS, 40, 1, "not a tradesieve segment"},
    {EXPIRED_IN_STEPS, 400, 2, "is left"}, /* two calls remove its other files */
};

START_TEST(a_step_too_early_is_caught)
{
    int n = first_harm(sabotages[_i].how, sabotages[_i].from, sabotages[_i].stride);

    ck_assert_int_gt(n, 0);
    ck_assert_msg(strstr(complaint, sabotages[_i].says) != NULL, "%s", complaint);
    printf("caught at call %d: %s\n", n, complaint);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crash_steps");
    TCase *cases = tcase_create("crash_steps");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, a_kill_before_any_call_loses_nothing);
    tcase_add_test(cases, a_kill_in_the_middle_of_any_write_loses_nothing);
    tcase_add_loop_test(cases, a_step_too_early_is_caught, 0,
                        (int)(sizeof sabotages / sizeof *sabotages));
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
