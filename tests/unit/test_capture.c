/* Real frames through every profile, held against an independent count (tests/daemon/count_trades.py).
 *
 * The frames stand outside the project, in TRADESIEVE_DATA or ../shared/data; without them there is
 * nothing to test, and the program says so. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judging.h"
#include "suite.h"

enum { FEEDS_MAX = 64, PATH_BYTES = 512 };

struct counts {
    char feed[FEED_NAME_MAX + 1];
    unsigned lines, trades, keys;
};

/* Of the venues that the capture's own description gives figures for. */
static const struct counts documented[] = {
    {"ascendex", 13, 16, 16},   {"hitbtc", 120, 8040, 2010},
    {"huobi", 44, 73, 73},      {"coinbase-exchange", 107, 107, 107},
    {"huobi-swap", 19, 25, 25}, {"kraken-futures", 13, 1003, 1003},
    {"upbit", 304, 304, 304},   {"bitmex", 17, 27, 27},
};

static void capture_path(const char *name, char *ret, size_t bytes)
{
    const char *directory = getenv("TRADESIEVE_DATA");

    snprintf(ret, bytes, "%s/%s", directory ? directory : "../shared/data", name);
}

static bool has_capture(void)
{
    char path[PATH_BYTES];

    capture_path("cryptofeed-trades.ndjson", path, sizeof path);
    return !access(path, R_OK);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the keys, frees them and says how many different ones there were. */
static unsigned count_distinct(char **keys, unsigned n)
{
    unsigned distinct = 0;

    if (n)
        qsort(keys, n, sizeof *keys, compare_keys);
    for (unsigned i = 0; i < n; i++)
        distinct += !i || strcmp(keys[i], keys[i - 1]);
    for (unsigned i = 0; i < n; i++)
        free(keys[i]);
    free(keys);
    return distinct;
}

/* One line, whose trades are keys to add and whose rest must be ignored. */
static unsigned take_keys(struct judging *judging, char ***keys, unsigned *keys_n)
{
    const struct batch *batch = judging->batch;
    unsigned before = *keys_n;

    for (size_t i = 0; i < batch->trades_n; i++) {
        const struct batch_trade *trade = &batch->trades[i];

        if (trade->verdict == VERDICT_IGNORED)
            continue;
        ck_assert_msg(trade->verdict == VERDICT_NONE, "%s: %s in %.*s", feed_name(judging->feed),
                      judging->shown.at, (int)trade->message_len, batch->bytes.at + trade->message_at);
        *keys = realloc(*keys, (*keys_n + 1) * sizeof **keys);
        (*keys)[(*keys_n)++] = strndup(batch_key(batch, trade), trade->key_len);
    }
    return *keys_n - before;
}

static struct counts count_with_profile(const char *feed, const char *capture)
{
    struct counts counts = {0};
    struct judging judging;
    char path[PATH_BYTES], *line = NULL, **keys = NULL;
    size_t cap = 0;
    ssize_t len;
    FILE *file = fopen(capture, "r");

    ck_assert_ptr_nonnull(file);
    snprintf(path, sizeof path, "config/feeds/%s.json", feed);
    judging_load(&judging, path);
    while ((len = getline(&line, &cap, file)) > 0) {
        judging_line(&judging, line, (size_t)len - (line[len - 1] == '\n'));
        counts.lines += take_keys(&judging, &keys, &counts.trades) > 0;
    }
    counts.keys = count_distinct(keys, counts.trades);
    free(line);
    fclose(file);
    judging_done(&judging);
    return counts;
}

/* What the independent counter says, one entry a feed. */
static unsigned count_independently(const char *capture, struct counts *ret)
{
    char command[PATH_BYTES * 2];
    unsigned n = 0;

    snprintf(command, sizeof command, "python3 tests/daemon/count_trades.py '%s'", capture);
    FILE *output = popen(command, "r");

    ck_assert_ptr_nonnull(output);
    while (n < FEEDS_MAX && fscanf(output, "%64s %u %u %u", ret[n].feed, &ret[n].lines, &ret[n].trades,
                                   &ret[n].keys) == 4)
        n++;
    ck_assert_int_eq(pclose(output), 0);
    return n;
}

static void check_counts(const struct counts *expected, const char *capture)
{
    struct counts counts = count_with_profile(expected->feed, capture);

    ck_assert_msg(counts.lines == expected->lines && counts.trades == expected->trades &&
                      counts.keys == expected->keys,
                  "%s: %u lines, %u trades, %u keys; expected %u, %u, %u", expected->feed, counts.lines,
                  counts.trades, counts.keys, expected->lines, expected->trades, expected->keys);
}

static unsigned count_profiles(void)
{
    DIR *directory = opendir("config/feeds");
    unsigned n = 0;

    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        n += strstr(entry->d_name, ".json") != NULL;
    closedir(directory);
    return n;
}

START_TEST(the_documented_counts_of_the_capture_come_out)
{
    char capture[PATH_BYTES];

    capture_path("cryptofeed-trades.ndjson", capture, sizeof capture);
    check_counts(&documented[_i], capture);
}
END_TEST

static const char *const captures[] = {"cryptofeed-trades.ndjson", "binance-combined-20k.ndjson"};

START_TEST(every_profile_agrees_with_an_independent_count)
{
    struct counts expected[FEEDS_MAX];
    char capture[PATH_BYTES];

    capture_path(captures[_i], capture, sizeof capture);
    unsigned n = count_independently(capture, expected);

    ck_assert_uint_eq(n, count_profiles());
    for (unsigned i = 0; i < n; i++)
        check_counts(&expected[i], capture);
}
END_TEST

int main(void)
{
    if (!has_capture()) {
        printf("skipped: no recorded frames in TRADESIEVE_DATA or ../shared/data\n");
        return EXIT_SUCCESS;
    }

    Suite *suite = suite_create("capture");
    TCase *tcase = tcase_create("capture");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, the_documented_counts_of_the_capture_come_out, 0,
                        (int)(sizeof documented / sizeof *documented));
    tcase_add_loop_test(tcase, every_profile_agrees_with_an_independent_count, 0,
                        (int)(sizeof captures / sizeof *captures));
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
