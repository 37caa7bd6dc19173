/* Power loss, against a plain ledger.
 *
 *   1. a life: the real store does random things in a directory of its own: commits, rollbacks, rolls,
 *      seals on the seal thread, checkpoints, snapshots, expiry, restarts. Every change of the directory
 *      is noted (disk_journal.h)
 *   2. the power goes at random changes of it; for each, a disk is made as it may be then (crash_image.h)
 *   3. the real start-up opens it. It must hold exactly what was acknowledged, or that and the whole
 *      commit that was under way; everything sent again must get the answers of the ledger; every file
 *      must then be sound and hold every row with its message
 *   4. the next life goes on in one of the images, so that the power also goes during a start
 *
 * TRADESIEVE_SEED repeats a run, TRADESIEVE_IMAGES says how many images are judged. The seal thread works
 * while the store waits for it, which makes the journal a function of the seed. The controls are disks
 * that lie about a sync: their images must be found wrong. (The sync of a sealed file or of a snapshot is
 * no control: they are derived, and a start that finds one torn makes it anew.) */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "crash_image.h"
#include "ledger.h"
#include "store/segment.h"
#include "store/store_state.h"
#include "suite.h"

enum {
    IMAGES = 500,
    IMAGES_BRIEF = 30,
    LIVES = 2, /* of a round */
    LIFE_IMAGES = 15,
    ROUND_IMAGES = LIVES * LIFE_IMAGES,
    CONTROL_ROUNDS = 40, /* at most, until a lie is found out */
    STEPS = 60,          /* of a life */
    KEYS = 120,
    BATCHES = 3,
    BATCH_TRADES = 10,
    ROUND_LIMIT_S = 60, /* ends only what hangs */
};

static struct store_fixture f;
static struct ledger ledger;
static struct store_random dice;
static uint64_t first_seed;
static enum disk_lie lie;

static uint64_t roll_dice(uint64_t sides)
{
    return store_random_below(&dice, sides);
}

static void must(int result)
{
    if (result < 0)
        ck_abort_msg("%s", f.err.text);
}

static void must_agree(const char *wrong)
{
    if (wrong)
        ck_abort_msg("%s", wrong);
}

/* ---- a life ---- */

static void random_word(struct text *words)
{
    uint64_t kind = roll_dice(20);

    if (kind < 2)
        text_add_str(words, kind ? "~ignored" : "!invalid");
    else
        ledger_word(words, (int)roll_dice(KEYS), kind < 6 ? 1 + roll_dice(4) : 1, kind == 19);
    text_add_char(words, ' ');
}

static struct batch *random_batch(void)
{
    struct text words = {0};

    for (uint64_t n = roll_dice(BATCH_TRADES + 1); n > 0; n--)
        random_word(&words);
    struct batch *batch = store_fixture_batch(&f, text_terminate(&words));

    text_done(&words);
    return batch;
}

/* One transaction; the batches that it has no room for are not sent. */
static void step_transaction(bool commit)
{
    struct batch *batch = random_batch();
    uint64_t n = 1 + roll_dice(BATCHES);

    if (store_must_roll(f.store, batch))
        must(store_roll(f.store, batch->received_us, &f.err));
    size_t begun = disk_now();

    must(store_begin(f.store, &f.err));
    do {
        must(store_judge(f.store, batch, &f.err));
        if (commit)
            must_agree(ledger_judge(&ledger, batch, store_active(f.store)->number));
        batch_close(batch);
        batch = random_batch();
    } while (--n > 0 && !store_must_roll(f.store, batch));
    batch_close(batch);
    if (commit) {
        must(store_commit(f.store, &f.err));
        ledger_commit(&ledger, begun, disk_now());
    } else {
        store_rollback(f.store);
    }
}

/* The batches' clock runs ahead of the wall: a negative retention expires what is older than a few of
 * its days. Everything is sealed first, so that the seal thread has nothing to do meanwhile. */
static void step_expire(void)
{
    int ahead = (int)((f.now_us - clock_wall_us()) / STORE_FIXTURE_DAY_US);

    must(store_settle(f.store, &f.err));
    size_t begun = disk_now();

    f.store->config.retention_days = -(ahead > 2 ? ahead - 1 : 1);
    f.store->expire_next_us = 0;
    must(store_maintain(f.store, &f.err));
    f.store->config.retention_days = 0;
    ledger_expire(&ledger, begun, disk_now(), f.store);
}

static void step_checkpoint(void)
{
    uint64_t rest;

    must(segment_checkpoint(store_active(f.store)->db, &rest, &f.err));
}

static void step_restart(void)
{
    if (roll_dice(2))
        must(store_save_filters(f.store, &f.err));
    store_fixture_reopen(&f);
}

static void step(void)
{
    uint64_t kind = roll_dice(100);

    if (kind < 65)
        step_transaction(true);
    else if (kind < 73)
        step_transaction(false);
    else if (kind < 79)
        step_checkpoint();
    else if (kind < 84)
        must(store_settle(f.store, &f.err));
    else if (kind < 89)
        must(store_save_filters(f.store, &f.err));
    else if (kind < 94)
        f.now_us += (int64_t)roll_dice(3) * STORE_FIXTURE_DAY_US;
    else if (kind < 96)
        step_restart();
    else
        step_expire();
}

static void choose_sizes(void)
{
    static const uint64_t rows[] = {24, 60, 150};

    f.config.generation_keys = 4 + (uint32_t)roll_dice(2) * 12;
    f.config.segment_rows = rows[roll_dice(3)];
}

/* ---- the journal itself ---- */

static size_t count_files(const char *dir, void (*on_file)(const char *dir, const char *name))
{
    DIR *d = opendir(dir);
    struct dirent *file;
    size_t n = 0;

    ck_assert_ptr_nonnull(d);
    while ((file = readdir(d))) {
        if (file->d_name[0] == '.' || strstr(file->d_name, "-shm"))
            continue;
        n++;
        if (on_file)
            on_file(dir, file->d_name);
    }
    closedir(d);
    return n;
}

static void same_file(const char *dir, const char *name)
{
    char real[1024], played[1024];
    struct text a = {0}, b = {0};

    snprintf(real, sizeof real, "%s/%s", f.dir, name);
    snprintf(played, sizeof played, "%s/%s", dir, name);
    must(file_read(real, SIZE_MAX / 2, &a, &f.err));
    must(file_read(played, SIZE_MAX / 2, &b, &f.err));
    ck_assert_msg(a.len == b.len && (!a.len || memcmp(a.at, b.at, a.len) == 0),
                  "%s: the journal missed a change of it", name);
    text_done(&a);
    text_done(&b);
}

/* Nothing escapes the journal: played whole it gives the directory as it is. */
static void check_journal(void)
{
    struct crash_disk *disk = crash_disk_open();
    char *dir = store_fixture_directory();

    crash_disk_play(disk, disk_now());
    crash_disk_whole(disk, dir);
    crash_disk_close(disk);
    ck_assert_uint_eq(count_files(dir, same_file), count_files(f.dir, NULL));
    store_fixture_remove(dir);
}

/* ---- images ---- */

static const char *transact(struct store_fixture *image, struct ledger *after, struct batch *batch)
{
    struct store *store = image->store;

    if ((store_must_roll(store, batch) && store_roll(store, batch->received_us, &image->err) < 0) ||
        store_begin(store, &image->err) < 0 || store_judge(store, batch, &image->err) < 0 ||
        store_commit(store, &image->err) < 0)
        return image->err.text;
    return ledger_judge(after, batch, store_active(store)->number);
}

/* Everything that was ever sent, in any order, a few with other content. */
static const char *send_again(struct store_fixture *image, struct ledger *after)
{
    struct text words = {0};
    const char *wrong = NULL;
    int keys[KEYS];

    for (int i = 0; i < KEYS; i++)
        keys[i] = i;
    for (int i = 0; i < KEYS && !wrong; i++) {
        int other = i + (int)roll_dice((uint64_t)(KEYS - i)), key = keys[other];

        keys[other] = keys[i];
        ledger_word(&words, key, roll_dice(8) ? 1 : 2, false);
        text_add_char(&words, ' ');
        if (i % BATCH_TRADES < BATCH_TRADES - 1)
            continue;
        struct batch *batch = store_fixture_batch(image, text_terminate(&words));

        wrong = transact(image, after, batch);
        batch_close(batch);
        words.len = 0;
    }
    text_done(&words);
    return wrong;
}

static const char *no_alarm(struct store_fixture *image)
{
    return image->events[STORE_CRITICAL] ? image->event : NULL;
}

static const char *judge_opened(struct store_fixture *image, size_t moment, struct ledger *after)
{
    size_t commit;
    const char *wrong = ledger_place(&ledger, moment, image, &commit);

    if (wrong)
        return wrong;
    *after = ledger_cut(&ledger, commit, image->store);
    wrong = send_again(image, after);
    if (!wrong && roll_dice(2) && store_settle(image->store, &image->err) < 0)
        wrong = image->err.text;
    return wrong ? wrong : no_alarm(image);
}

/* NULL, or what is wrong with the store that starts from this image. */
static const char *judge(char *dir, size_t moment)
{
    struct store_fixture image = {.dir = dir, .config = f.config, .now_us = f.now_us};
    struct ledger after = {0};
    static char text[ERR_TEXT_MAX + 512];

    image.config.data_dir = dir;
    image.config.arg = &image;
    const char *wrong = store_fixture_try_open(&image) < 0 ? image.err.text : NULL;

    if (!wrong) {
        wrong = judge_opened(&image, moment, &after);
        store_fixture_close(&image);
    }
    if (!wrong)
        wrong = ledger_read(&after, dir);
    if (wrong)
        snprintf(text, sizeof text, "%s", wrong); /* from memory that goes now */
    figures_done(&image.figures);
    ledger_done(&after);
    return wrong ? text : NULL;
}

/* ---- rounds ---- */

static int by_value(const void *a, const void *b)
{
    size_t left = *(const size_t *)a, right = *(const size_t *)b;

    return (left > right) - (left < right);
}

/* Half of the moments are right behind an acknowledgement, where a lost sync shows. */
static void choose_moments(size_t first, size_t moments[LIFE_IMAGES])
{
    for (int i = 0; i < LIFE_IMAGES; i++) {
        const struct ledger_commit *commit = &ledger.commits[roll_dice(ledger.commits_n)];

        moments[i] =
            i % 2 && commit->done > first ? commit->done : first + roll_dice(disk_now() - first + 1);
    }
    qsort(moments, LIFE_IMAGES, sizeof *moments, by_value);
}

static enum crash_names roll_names(void)
{
    return roll_dice(2) ? CRASH_NAMES_IN_ORDER : CRASH_NAMES_INDEPENDENT;
}

/* The store lives in f.dir until it is stopped; *ret_first: the first change that is its own. *moment: when
 * the power went in the life before; 0: there was none. */
static void live(size_t moment, size_t *ret_first)
{
    choose_sizes();
    disk_record(f.dir, lie);
    *ret_first = disk_now();
    store_fixture_open(&f);
    if (moment) {
        size_t commit;

        must_agree(ledger_place(&ledger, moment, &f, &commit));
        struct ledger rest = ledger_cut(&ledger, commit, f.store);

        ledger_done(&ledger);
        ledger = rest;
    }
    for (int i = 0; i < STEPS; i++)
        step();
    if (roll_dice(2))
        must(store_save_filters(f.store, &f.err));
    store_fixture_close(&f);
    disk_stop();
    check_journal();
}

/* Judges the images of the life that was recorded. *ret_base: another image, of *ret_moment. */
static const char *judge_life(size_t first, char **ret_base, size_t *ret_moment)
{
    struct crash_disk *disk = crash_disk_open();
    size_t moments[LIFE_IMAGES];
    const char *wrong = NULL;

    choose_moments(first, moments);
    *ret_moment = moments[roll_dice(LIFE_IMAGES)];
    for (int i = 0; i < LIFE_IMAGES && !wrong; i++) {
        char *dir = store_fixture_directory();

        crash_disk_play(disk, moments[i]);
        if (moments[i] == *ret_moment && !*ret_base) {
            *ret_base = store_fixture_directory();
            crash_disk_image(disk, &dice, roll_names(), *ret_base);
        }
        crash_disk_image(disk, &dice, roll_names(), dir);
        wrong = judge(dir, moments[i]);
        store_fixture_remove(dir);
    }
    crash_disk_close(disk);
    return wrong;
}

static void move_into(char *dir)
{
    store_fixture_remove(f.dir);
    f.dir = dir;
    f.config.data_dir = dir;
}

/* NULL, or what is wrong with one of the images. */
static const char *play_round(uint64_t seed, int lives)
{
    const char *wrong = NULL;
    size_t moment = 0, first;

    dice = (struct store_random){seed};
    for (int i = 0; i < lives && !wrong; i++) {
        char *base = NULL;

        live(moment, &first);
        wrong = judge_life(first, &base, &moment);
        if (base) /* the round may have ended before it was made */
            move_into(base);
    }
    return wrong;
}

static void setup(void)
{
    store_fixture_init(&f);
    ledger_init(&ledger);
    lie = DISK_HONEST;
}

static void teardown(void)
{
    disk_stop();
    disk_forget();
    store_fixture_done(&f);
    ledger_done(&ledger);
}

START_TEST(after_a_power_cut_what_was_acknowledged_is_there_once_and_whole)
{
    uint64_t seed = first_seed + (uint64_t)_i;
    const char *wrong = play_round(seed, LIVES);

    ck_assert_msg(!wrong, "%s; again with TRADESIEVE_SEED=%llu TRADESIEVE_IMAGES=1", wrong,
                  (unsigned long long)seed);
}
END_TEST

START_TEST(a_disk_that_lies_about_a_sync_is_found_out)
{
    static const char *const names[] = {
        [DISK_FORGETS_WAL] = "the WAL",
        [DISK_FORGETS_DATABASE] = "a database",
        [DISK_FORGETS_RENAMES] = "a rename",
    };
    const char *wrong = NULL;
    int round = 0;

    lie = (enum disk_lie)_i;
    while (round < CONTROL_ROUNDS && !wrong) {
        wrong = play_round(first_seed + (uint64_t)round++, 1);
        teardown();
        store_fixture_init(&f);
        ledger_init(&ledger);
    }
    ck_assert_msg(wrong != NULL, "a disk that forgets to sync %s goes unnoticed", names[_i]);
    printf("forgetting to sync %s, found in round %d: %s\n", names[_i], round, wrong);
    fflush(stdout);
}
END_TEST

int main(void)
{
    int images = suite_amount("TRADESIEVE_IMAGES", IMAGES, IMAGES_BRIEF);
    int rounds = (images + ROUND_IMAGES - 1) / ROUND_IMAGES;
    Suite *suite = suite_create("power_loss");
    TCase *cases = tcase_create("images"), *controls = tcase_create("controls");

    first_seed = store_random_seed();
    printf("%d images\n", rounds * ROUND_IMAGES);
    fflush(stdout);
    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, ROUND_LIMIT_S);
    tcase_add_loop_test(cases, after_a_power_cut_what_was_acknowledged_is_there_once_and_whole, 0,
                        rounds);
    suite_add_tcase(suite, cases);
    tcase_add_unchecked_fixture(controls, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(controls, setup, teardown);
    tcase_set_timeout(controls, ROUND_LIMIT_S);
    tcase_add_loop_test(controls, a_disk_that_lies_about_a_sync_is_found_out, DISK_FORGETS_WAL,
                        DISK_FORGETS_RENAMES + 1);
    suite_add_tcase(suite, controls);
    return suite_run(suite);
}
