/* What is said of filters while they change: copies that are kept, and bits that are looked at one by one. */
#include "report/wall.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "report/copies.h"
#include "store_fixture.h"
#include "suite.h"

enum { PATIENCE_MS = 60000, BITS_ASKED = 16, ROUNDS = 3 };

static struct store_fixture f; /* its directory, configuration and batches; its store stays closed */
static struct writer *writer;
static struct wall *wall;
static _Atomic bool stop;

static void start(uint32_t generation_keys)
{
    struct writer_config config;
    struct err err;

    f.config.generation_keys = generation_keys;
    f.config.segment_rows = generation_keys;
    config = (struct writer_config){.store = f.config, .commit_max_trades = 1000};
    ck_assert_int_eq(writer_start(&writer, &config, &err), 0);
    while (writer_state(writer) == STORE_STARTING)
        sched_yield();
    wall = wall_open(f.dir, writer);
}

static void setup(void)
{
    store_fixture_init(&f);
    f.config.on_event = NULL; /* would be called on the store thread */
    f.now_us = clock_wall_us();
}

static void teardown(void)
{
    wall_close(wall);
    writer_close(writer);
    store_fixture_done(&f);
}

/* Until it is committed. */
static void store(const char *words)
{
    struct batch *batch;

    writer_submit(writer, store_fixture_batch(&f, words));
    while (!(batch = writer_take_finished(writer)))
        sched_yield();
    ck_assert_int_eq(strncmp(store_fixture_verdicts(batch), "new", 3), 0);
    batch_close(batch);
}

static int64_t copy_of_newest(struct copies *copies)
{
    struct view looked = {.generation = VIEW_NEWEST};
    const struct view *copy;
    struct err err;

    ck_assert_int_eq(copies_look(copies, &looked, &err), 0);
    ck_assert_int_eq(copies_whole(copies, &looked, 0, &copy, &err), 0);
    return copies->kept[0].taken_mono_us;
}

START_TEST(a_copy_of_bits_that_count_the_same_keys_is_kept_for_a_minute_only)
{
    struct copies copies;

    start(16);
    store("a");
    copies_init(&copies, writer, &stop);
    int64_t taken_us = copy_of_newest(&copies);

    ck_assert_int_eq(copy_of_newest(&copies), taken_us);
    copies.kept[0].taken_mono_us -= COPIES_AGE_MAX_US + 1;
    ck_assert_int_ge(copy_of_newest(&copies), taken_us);
    copies_done(&copies);
}
END_TEST

static void add_position(char *query, size_t bytes, const char *key)
{
    struct store_answer answer;
    struct err err;
    size_t len = strlen(query);

    ck_assert_int_eq(writer_check(writer, key, strlen(key), PATIENCE_MS, &answer, &err), 0);
    snprintf(query + len, bytes - len, "%s%llu",
             len ? "," : "at=", (unsigned long long)answer.filters[0].positions[0]);
    store_answer_done(&answer);
}

static void *ask_owners(void *arg)
{
    struct response response = {0};

    wall_owners(wall, arg, &response);
    ck_assert_int_eq(response.status, RESPONSE_OK);
    ck_assert_msg(strstr(text_terminate(&response.body), "\"missing\":0,") != NULL, "%.600s",
                  response.body.at);
    response_done(&response);
    return NULL;
}

START_TEST(keys_that_come_between_two_looks_at_a_large_filter_are_not_called_missing)
{
    char key[16], query[BITS_ASKED * 24] = "";
    pthread_t asker;

    start(1 << 20);
    store("first");
    for (int i = 0; i < BITS_ASKED; i++) {
        snprintf(key, sizeof key, "k%d-%d", _i, i);
        add_position(query, sizeof query, key);
    }
    ck_assert_int_eq(pthread_create(&asker, NULL, ask_owners, query), 0);
    for (int i = BITS_ASKED; i-- > 0;) { /* last whose bit is looked at first */
        snprintf(key, sizeof key, "k%d-%d", _i, i);
        store(key);
    }
    pthread_join(asker, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wall");
    TCase *cases = tcase_create("wall");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_copy_of_bits_that_count_the_same_keys_is_kept_for_a_minute_only);
    tcase_add_loop_test(
        cases, keys_that_come_between_two_looks_at_a_large_filter_are_not_called_missing, 0, ROUNDS);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
