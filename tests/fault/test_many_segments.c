/* A store of many small days: what the number of segments costs. TRADESIEVE_SEGMENTS says how many
 * (`make soak-days`: 1,000); every figure is printed. The figures depend on the machine, the bounds that
 * are asserted do not: files held open, questions answered, nothing lost. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/store_state.h"
#include "store_fixture.h"
#include "suite.h"

enum {
    SEGMENTS = 60,
    SEGMENTS_BRIEF = 20,
    ROWS = 20,    /* of a day */
    ASKED = 2000, /* of each kind */
    BATCH = 100,
    FILES_MAX = STORE_OPEN_SEGMENTS_MAX * 2 + 16, /* a segment and its keys; the active one, and ours */
};

static struct store_fixture f;
static int segments_n;

static double since(int64_t began_us)
{
    return (double)(clock_mono_us() - began_us) / 1e6;
}

static int open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n - 3; /* "." and "..", and this directory */
}

static double resident_mib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    ck_assert(file && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return (double)pages * 4096 / (1 << 20);
}

/* Asks for keys DAY-NUMBER of days in [from, from + days), `verdict` to each. Prints the rate. */
static void ask(const char *what, int from, int days, const char *verdict)
{
    struct store_random dice = {(uint64_t)from};
    int64_t began_us = clock_mono_us();
    int right = 0;

    for (int sent = 0; sent < ASKED; sent += BATCH) {
        struct text words = {0};

        for (int i = 0; i < BATCH; i++)
            text_add_format(&words, "%d-%d ", from + (int)store_random_below(&dice, (uint64_t)days),
                            (int)store_random_below(&dice, ROWS));
        const char *said = store_fixture_send(&f, text_terminate(&words));

        while ((said = strstr(said, verdict))) {
            said += strlen(verdict);
            right++;
        }
        text_done(&words);
    }
    printf("%d segments: %s: %.0f a second, %d files open\n", segments_n, what, ASKED / since(began_us),
           open_files());
    ck_assert_int_eq(right, ASKED);
    ck_assert_int_le(open_files(), FILES_MAX);
}

static void fill(void)
{
    int64_t began_us = clock_mono_us();

    for (int day = 0; day < segments_n; day++) {
        struct text words = {0};

        for (int i = 0; i < ROWS; i++)
            text_add_format(&words, "%d-%d ", day, i);
        store_fixture_send(&f, text_terminate(&words));
        text_done(&words);
        ck_assert_int_eq(store_settle(f.store, &f.err), 0);
        f.now_us += STORE_FIXTURE_DAY_US;
    }
    printf("%d segments: made and sealed in %.2f s\n", segments_n, since(began_us));
}

static void start(void)
{
    int64_t began_us = clock_mono_us();

    store_fixture_reopen(&f);
    printf("%d segments: started in %.3f s, %d files open, %.0f MiB resident, filters %.1f MiB\n",
           segments_n, since(began_us), open_files(), resident_mib(),
           (double)store_fixture_figures(&f)->memory_bytes / (1 << 20));
    ck_assert_int_le(open_files(), FILES_MAX);
}

/* So many strangers, all of them new: only then are the words not read as duplicates. */
static void send_new(void)
{
    int64_t began_us = clock_mono_us();

    store_fixture_send_range(&f, "new", 1, ASKED, BATCH);
    printf("%d segments: new: %.0f a second\n", segments_n, ASKED / since(began_us));
}

START_TEST(a_thousand_small_days_still_answer)
{
    fill();
    start();
    ck_assert_uint_eq(f.store->segments_n, (size_t)segments_n);
    send_new();
    ask("duplicates of the last ten days", segments_n - 10, 10, "duplicate");
    ask("duplicates of all days", 0, segments_n, "duplicate");
    ck_assert_uint_eq(store_fixture_figures(&f)->rows, (uint64_t)segments_n * ROWS + ASKED);
    ck_assert_int_eq(store_self_test(f.store, &f.err), 0);
    ck_assert_uint_eq(store_fixture_figures(&f)->false_negative, 0);
}
END_TEST

static void setup(void)
{
    segments_n = suite_amount("TRADESIEVE_SEGMENTS", SEGMENTS, SEGMENTS_BRIEF);
    store_fixture_init(&f);
    f.config.generation_keys = 65536;
    f.config.segment_rows = 1 << 20;
    f.config.capacity = 100000000;
    store_fixture_open(&f);
}

static void teardown(void)
{
    store_fixture_done(&f);
}

int main(void)
{
    Suite *suite = suite_create("many_segments");
    TCase *cases = tcase_create("many_segments");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, a_thousand_small_days_still_answer);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
