#include "tool/page.h"

#include <stdbool.h>
#include <string.h>

#include "tool/figure.h"

enum { BAR_CELLS = 32, COUNT_WIDTH = 15, NAME_WIDTH = 16 };

static const double COUNT_MAX = 1e19; /* below 2^64: a double up to here can become a uint64_t */

/* How a number is shown. */
typedef void add_number(struct text *out, double n);

const cJSON *page_member(const cJSON *object, const char *path)
{
    char name[64];

    while (object && *path) {
        size_t len = strcspn(path, "/");

        if (len >= sizeof name)
            return NULL;
        memcpy(name, path, len);
        name[len] = '\0';
        object = cJSON_GetObjectItemCaseSensitive(object, name);
        path += len + (path[len] == '/');
    }
    return object;
}

static void add_count(struct text *out, double n)
{
    figure_add_count(out, n > 0 ? (uint64_t)(n < COUNT_MAX ? n : COUNT_MAX) : 0, 0);
}

static void add_milliseconds(struct text *out, double n)
{
    text_add_format(out, "%.*f ms", n < 10 ? 2 : n < 100, n);
}

static void add_as(struct text *out, const cJSON *object, const char *path, add_number *add)
{
    const cJSON *member = page_member(object, path);

    if (cJSON_IsNumber(member))
        add(out, member->valuedouble);
    else
        text_add_char(out, '-');
}

static void add_string(struct text *out, const cJSON *object, const char *path)
{
    const cJSON *member = page_member(object, path);

    if (cJSON_IsString(member))
        figure_add_foreign(out, member->valuestring, strlen(member->valuestring));
    else
        text_add_char(out, '-');
}

static double number(const cJSON *object, const char *path)
{
    const cJSON *member = page_member(object, path);

    return cJSON_IsNumber(member) ? member->valuedouble : 0;
}

static void add_name(struct text *out, const char *name)
{
    text_add_format(out, "  %-*s", NAME_WIDTH, name);
}

static void add_count_column(struct text *out, const cJSON *object, const char *path)
{
    size_t begin = out->len;

    add_as(out, object, path, add_count);
    figure_align_right(out, begin, COUNT_WIDTH);
}

static void add_rate(struct text *out, double difference, double seconds)
{
    size_t begin = out->len;

    add_count(out, difference / seconds);
    text_add_str(out, "/s");
    figure_align_right(out, begin, COUNT_WIDTH);
}

static void add_head(struct text *out, const cJSON *stats)
{
    add_string(out, stats, "name");
    text_add_char(out, ' ');
    add_string(out, stats, "version");
    text_add_str(out, "   ");
    add_string(out, stats, "state");
    text_add_str(out, "   up ");
    add_as(out, stats, "uptime_s", figure_add_duration);
    text_add_char(out, '\n');
}

static void add_trades(struct text *out, const cJSON *stats, const cJSON *before, double seconds)
{
    static const char *const rows[] = {"received", "new",     "duplicate", "conflict",
                                       "invalid",  "ignored", "retry",     "unanswered"};
    const cJSON *trades = page_member(stats, "trades"), *old = page_member(before, "trades");

    text_add_str(out, "\nTrades\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        add_name(out, rows[i]);
        add_count_column(out, trades, rows[i]);
        if (old && seconds > 0)
            add_rate(out, number(trades, rows[i]) - number(old, rows[i]), seconds);
        text_add_char(out, '\n');
    }
    add_name(out, "lines");
    add_count_column(out, stats, "lines/received");
    text_add_str(out, " (opening lines included), truncated ");
    add_as(out, stats, "lines/truncated", add_count);
    text_add_char(out, '\n');
}

static void add_fill(struct text *out, const cJSON *filter)
{
    add_name(out, "fill");
    figure_add_bar(out, number(filter, "fill_ratio"), BAR_CELLS);
    text_add_char(out, ' ');
    add_as(out, filter, "fill_ratio", figure_add_percent);
    text_add_str(out, ", the fullest ");
    add_as(out, filter, "fullest", figure_add_percent);
    text_add_char(out, '\n');
    add_name(out, "keys");
    add_as(out, filter, "keys", add_count);
    text_add_str(out, " of ");
    add_as(out, filter, "capacity", add_count);
    text_add_str(out, " in ");
    add_as(out, filter, "memory_bytes", figure_add_bytes);
    text_add_str(out, ", hashes ");
    add_as(out, filter, "hashes", add_count);
    text_add_str(out, " (best ");
    add_as(out, filter, "optimal_hashes", add_count);
    text_add_str(out, ")\n");
}

static void add_false_positives(struct text *out, const cJSON *filter)
{
    add_name(out, "false positives");
    text_add_str(out, "measured ");
    add_as(out, filter, "measured_fpr", figure_add_percent);
    text_add_str(out, " (95 %: ");
    add_as(out, filter, "measured_fpr_low", figure_add_percent);
    text_add_str(out, " to ");
    add_as(out, filter, "measured_fpr_high", figure_add_percent);
    text_add_str(out, "), expected ");
    add_as(out, filter, "expected_fpr", figure_add_percent);
    text_add_char(out, '\n');
    add_name(out, "");
    text_add_str(out, "predicted now ");
    add_as(out, filter, "predicted_fpr", figure_add_percent);
    text_add_str(out, ", recent ");
    add_as(out, filter, "recent_fpr", figure_add_percent);
    text_add_str(out, ", target ");
    add_as(out, filter, "target_fpr", figure_add_percent);
    text_add_str(out, "\n");
}

static void add_answers(struct text *out, const cJSON *filter)
{
    add_name(out, "answers");
    text_add_str(out, "absent ");
    add_as(out, filter, "absent", add_count);
    text_add_str(out, ", maybe ");
    add_as(out, filter, "maybe", add_count);
    text_add_str(out, ": true ");
    add_as(out, filter, "true_positive", add_count);
    text_add_str(out, ", false ");
    add_as(out, filter, "false_positive", add_count);
    text_add_str(out, " (");
    add_as(out, filter, "false_discovery_rate", figure_add_percent);
    text_add_str(out, ")\n");
    add_name(out, "false negatives");
    add_as(out, filter, "false_negative", add_count);
    text_add_str(out, number(filter, "false_negative") > 0 ? "   NOT AS IT SHOULD BE\n" : "\n");
    add_name(out, "self-test");
    text_add_str(out, "stored keys ");
    add_as(out, filter, "self_test/members_maybe", add_count);
    text_add_str(out, " maybe of ");
    add_as(out, filter, "self_test/members_asked", add_count);
    text_add_str(out, ", never issued ");
    add_as(out, filter, "self_test/strangers_maybe", add_count);
    text_add_str(out, " maybe of ");
    add_as(out, filter, "self_test/strangers_asked", add_count);
    text_add_char(out, '\n');
}

static void add_store(struct text *out, const cJSON *stats)
{
    const cJSON *store = page_member(stats, "store");

    text_add_str(out, "\nStore\n");
    add_name(out, "rows");
    add_as(out, store, "rows", add_count);
    text_add_str(out, " in ");
    add_as(out, store, "segments", add_count);
    text_add_str(out, " segments, ");
    add_as(out, store, "bytes", figure_add_bytes);
    text_add_str(out, " and ");
    add_as(out, store, "wal_bytes", figure_add_bytes);
    text_add_str(out, " of WAL\n");
    add_name(out, "commits");
    add_as(out, store, "commits", add_count);
    text_add_str(out, ", oldest trade ");
    add_string(out, store, "window_start");
    text_add_char(out, '\n');
    add_name(out, "kept beside");
    add_as(out, store, "conflicts", add_count);
    text_add_str(out, " conflicts, ");
    add_as(out, store, "rejects", add_count);
    text_add_str(out, " rejects   (SQLite ");
    add_string(out, store, "sqlite_version");
    text_add_str(out, ")\n");
}

static void add_latency(struct text *out, const cJSON *stats)
{
    const cJSON *latency = page_member(stats, "latency_ms");

    text_add_str(out, "\nLatency\n");
    add_name(out, "acknowledge");
    text_add_str(out, "median ");
    add_as(out, latency, "ack_p50", add_milliseconds);
    text_add_str(out, ", 99 % ");
    add_as(out, latency, "ack_p99", add_milliseconds);
    text_add_str(out, ", longest ");
    add_as(out, latency, "ack_max", add_milliseconds);
    text_add_char(out, '\n');
    add_name(out, "commit");
    text_add_str(out, "median ");
    add_as(out, latency, "commit_p50", add_milliseconds);
    text_add_str(out, ", 99 % ");
    add_as(out, latency, "commit_p99", add_milliseconds);
    text_add_char(out, '\n');
}

static void add_connections(struct text *out, const cJSON *stats)
{
    static const char *const members[] = {"open", "accepted", "paused", "refused"};

    text_add_str(out, "\nConnections\n  ");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        text_add_format(out, "%s%s ", i ? ", " : "", members[i]);
        add_as(out, page_member(stats, "connections"), members[i], add_count);
    }
    text_add_char(out, '\n');
}

static void add_feeds(struct text *out, const cJSON *stats)
{
    static const char *const columns[] = {"received", "new",     "duplicate",
                                          "conflict", "invalid", "ignored"};
    const size_t columns_n = sizeof columns / sizeof *columns;
    const cJSON *feeds = page_member(stats, "feeds"), *feed;

    if (!cJSON_IsObject(feeds))
        return;
    text_add_str(out, "\nFeeds\n");
    add_name(out, "");
    for (size_t i = 0; i < columns_n; i++)
        text_add_format(out, "%*s", COUNT_WIDTH, columns[i]);
    text_add_char(out, '\n');
    cJSON_ArrayForEach(feed, feeds)
    {
        size_t begin = out->len;

        text_add_str(out, "  ");
        figure_add_foreign(out, feed->string, strlen(feed->string));
        while (out->len - begin < NAME_WIDTH + 2)
            text_add_char(out, ' ');
        for (size_t i = 0; i < columns_n; i++)
            add_count_column(out, feed, columns[i]);
        text_add_char(out, '\n');
    }
}

void page_add_stats(struct text *out, const cJSON *stats, const cJSON *before, double seconds)
{
    const cJSON *filter = page_member(stats, "filter");

    add_head(out, stats);
    add_trades(out, stats, before, seconds);
    text_add_str(out, "\nFilter\n");
    add_fill(out, filter);
    add_false_positives(out, filter);
    add_answers(out, filter);
    add_store(out, stats);
    add_latency(out, stats);
    add_connections(out, stats);
    add_feeds(out, stats);
}

static void add_row(struct text *out, const cJSON *check, const char *member)
{
    text_add_format(out, "%-12s", member);
    if (cJSON_IsNumber(page_member(check, member)))
        add_as(out, check, member, add_count);
    else
        add_string(out, check, member);
    text_add_char(out, '\n');
}

static void add_candidate(struct text *out, const cJSON *candidate)
{
    text_add_format(out, "%-12s", "candidate");
    add_string(out, candidate, "segment");
    if (cJSON_IsNumber(page_member(candidate, "generation"))) {
        text_add_str(out, ", generation ");
        add_as(out, candidate, "generation", add_count);
    }
    text_add_char(out, '\n');
}

/* "ruled out at position 3 of 7, bit 12345", or that no position is zero. */
static void add_outcome(struct text *out, const cJSON *filter)
{
    const cJSON *zero = page_member(filter, "zero");

    if (!cJSON_IsNumber(zero)) {
        text_add_str(out, "maybe: every position is set");
        return;
    }
    const cJSON *position = cJSON_GetArrayItem(page_member(filter, "positions"), zero->valueint);

    text_add_str(out, "absent: ruled out at position ");
    add_count(out, zero->valuedouble + 1);
    if (cJSON_IsNumber(position)) {
        text_add_str(out, ", bit ");
        add_count(out, position->valuedouble);
    }
}

static void add_filter(struct text *out, const cJSON *filter)
{
    text_add_format(out, "%-12s", "filter");
    add_string(out, filter, "segment");
    text_add_str(out, ", ");
    add_string(out, filter, "kind");
    text_add_str(out, ", ");
    add_as(out, filter, "bits", add_count);
    text_add_str(out, " bits, ");
    add_as(out, filter, "hashes", add_count);
    text_add_str(out, " hashes; ");
    add_outcome(out, filter);
    text_add_char(out, '\n');
}

void page_add_check(struct text *out, const cJSON *check)
{
    static const char *const rows[] = {"key", "screen", "exact", "seq", "received"};
    const cJSON *item;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_row(out, check, rows[i]);
    cJSON_ArrayForEach(item, page_member(check, "candidates")) add_candidate(out, item);
    cJSON_ArrayForEach(item, page_member(check, "filters")) add_filter(out, item);
}
