#include "tool/page.h"

#include <stdbool.h>
#include <string.h>

#include "tool/figure.h"
#include "tool/member.h"

enum { BAR_CELLS = 32, COUNT_WIDTH = 15, NAME_WIDTH = 16 };

static void add_name(struct text *out, const char *name)
{
    text_add_format(out, "  %-*s", NAME_WIDTH, name);
}

static void add_count_column(struct text *out, const cJSON *object, const char *path)
{
    size_t begin = out->len;

    member_add(out, object, path, member_as_count);
    figure_align_right(out, begin, COUNT_WIDTH);
}

static void add_rate(struct text *out, double difference, double seconds)
{
    size_t begin = out->len;

    member_as_count(out, difference / seconds);
    text_add_str(out, "/s");
    figure_align_right(out, begin, COUNT_WIDTH);
}

static void add_head(struct text *out, const cJSON *stats)
{
    member_add_string(out, stats, "name");
    text_add_char(out, ' ');
    member_add_string(out, stats, "version");
    text_add_str(out, "   ");
    member_add_string(out, stats, "state");
    text_add_str(out, "   up ");
    member_add(out, stats, "uptime_s", figure_add_duration);
    text_add_char(out, '\n');
}

static void add_trades(struct text *out, const cJSON *stats, const cJSON *before, double seconds)
{
    static const char *const rows[] = {"received", "new",     "duplicate", "conflict",
                                       "invalid",  "ignored", "retry",     "unanswered"};
    const cJSON *trades = member_find(stats, "trades"), *old = member_find(before, "trades");

    text_add_str(out, "\nTrades\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        add_name(out, rows[i]);
        add_count_column(out, trades, rows[i]);
        if (old && seconds > 0)
            add_rate(out, member_number(trades, rows[i]) - member_number(old, rows[i]), seconds);
        text_add_char(out, '\n');
    }
    add_name(out, "lines");
    add_count_column(out, stats, "lines/received");
    text_add_str(out, " (opening lines included), truncated ");
    member_add(out, stats, "lines/truncated", member_as_count);
    text_add_char(out, '\n');
}

static void add_fill(struct text *out, const cJSON *filter)
{
    add_name(out, "fill");
    figure_add_bar(out, member_number(filter, "fill_ratio"), BAR_CELLS);
    text_add_char(out, ' ');
    member_add(out, filter, "fill_ratio", figure_add_percent);
    text_add_str(out, ", the fullest ");
    member_add(out, filter, "fullest", figure_add_percent);
    text_add_char(out, '\n');
    add_name(out, "keys");
    member_add(out, filter, "keys", member_as_count);
    text_add_str(out, " of ");
    member_add(out, filter, "capacity", member_as_count);
    text_add_str(out, " in ");
    member_add(out, filter, "memory_bytes", figure_add_bytes);
    text_add_str(out, ", hashes ");
    member_add(out, filter, "hashes", member_as_count);
    text_add_str(out, " (best ");
    member_add(out, filter, "optimal_hashes", member_as_count);
    text_add_str(out, ")\n");
}

static void add_false_positives(struct text *out, const cJSON *filter)
{
    add_name(out, "false positives");
    text_add_str(out, "measured ");
    member_add(out, filter, "measured_fpr", figure_add_percent);
    text_add_str(out, " (95 %: ");
    member_add(out, filter, "measured_fpr_low", figure_add_percent);
    text_add_str(out, " to ");
    member_add(out, filter, "measured_fpr_high", figure_add_percent);
    text_add_str(out, "), expected ");
    member_add(out, filter, "expected_fpr", figure_add_percent);
    text_add_char(out, '\n');
    add_name(out, "");
    text_add_str(out, "predicted now ");
    member_add(out, filter, "predicted_fpr", figure_add_percent);
    text_add_str(out, ", recent ");
    member_add(out, filter, "recent_fpr", figure_add_percent);
    text_add_str(out, ", target ");
    member_add(out, filter, "target_fpr", figure_add_percent);
    text_add_str(out, "\n");
}

static void add_answers(struct text *out, const cJSON *filter)
{
    add_name(out, "answers");
    text_add_str(out, "absent ");
    member_add(out, filter, "absent", member_as_count);
    text_add_str(out, ", maybe ");
    member_add(out, filter, "maybe", member_as_count);
    text_add_str(out, ": true ");
    member_add(out, filter, "true_positive", member_as_count);
    text_add_str(out, ", false ");
    member_add(out, filter, "false_positive", member_as_count);
    text_add_str(out, " (");
    member_add(out, filter, "false_discovery_rate", figure_add_percent);
    text_add_str(out, ")\n");
    add_name(out, "false negatives");
    member_add(out, filter, "false_negative", member_as_count);
    text_add_str(out, member_number(filter, "false_negative") > 0 ? "   NOT AS IT SHOULD BE\n" : "\n");
    add_name(out, "self-test");
    text_add_str(out, "stored keys ");
    member_add(out, filter, "self_test/members_maybe", member_as_count);
    text_add_str(out, " maybe of ");
    member_add(out, filter, "self_test/members_asked", member_as_count);
    text_add_str(out, ", never issued ");
    member_add(out, filter, "self_test/strangers_maybe", member_as_count);
    text_add_str(out, " maybe of ");
    member_add(out, filter, "self_test/strangers_asked", member_as_count);
    text_add_char(out, '\n');
}

static void add_store(struct text *out, const cJSON *stats)
{
    const cJSON *store = member_find(stats, "store");

    text_add_str(out, "\nStore\n");
    add_name(out, "rows");
    member_add(out, store, "rows", member_as_count);
    text_add_str(out, " in ");
    member_add(out, store, "segments", member_as_count);
    text_add_str(out, " segments, ");
    member_add(out, store, "bytes", figure_add_bytes);
    text_add_str(out, " and ");
    member_add(out, store, "wal_bytes", figure_add_bytes);
    text_add_str(out, " of WAL\n");
    add_name(out, "commits");
    member_add(out, store, "commits", member_as_count);
    text_add_str(out, ", oldest trade ");
    member_add_string(out, store, "window_start");
    text_add_char(out, '\n');
    add_name(out, "kept beside");
    member_add(out, store, "conflicts", member_as_count);
    text_add_str(out, " conflicts, ");
    member_add(out, store, "rejects", member_as_count);
    text_add_str(out, " rejects   (SQLite ");
    member_add_string(out, store, "sqlite_version");
    text_add_str(out, ")\n");
}

static void add_latency(struct text *out, const cJSON *stats)
{
    const cJSON *latency = member_find(stats, "latency_ms");

    text_add_str(out, "\nLatency\n");
    add_name(out, "acknowledge");
    text_add_str(out, "median ");
    member_add(out, latency, "ack_p50", member_as_milliseconds);
    text_add_str(out, ", 99 % ");
    member_add(out, latency, "ack_p99", member_as_milliseconds);
    text_add_str(out, ", longest ");
    member_add(out, latency, "ack_max", member_as_milliseconds);
    text_add_char(out, '\n');
    add_name(out, "commit");
    text_add_str(out, "median ");
    member_add(out, latency, "commit_p50", member_as_milliseconds);
    text_add_str(out, ", 99 % ");
    member_add(out, latency, "commit_p99", member_as_milliseconds);
    text_add_char(out, '\n');
}

static void add_connections(struct text *out, const cJSON *stats)
{
    static const char *const members[] = {"open", "accepted", "paused", "refused"};

    text_add_str(out, "\nConnections\n  ");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        text_add_format(out, "%s%s ", i ? ", " : "", members[i]);
        member_add(out, member_find(stats, "connections"), members[i], member_as_count);
    }
    text_add_char(out, '\n');
}

static void add_feeds(struct text *out, const cJSON *stats)
{
    static const char *const columns[] = {"received", "new",     "duplicate",
                                          "conflict", "invalid", "ignored"};
    const size_t columns_n = sizeof columns / sizeof *columns;
    const cJSON *feeds = member_find(stats, "feeds"), *feed;

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
    const cJSON *filter = member_find(stats, "filter");

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
    if (cJSON_IsNumber(member_find(check, member)))
        member_add(out, check, member, member_as_count);
    else
        member_add_string(out, check, member);
    text_add_char(out, '\n');
}

static void add_candidate(struct text *out, const cJSON *candidate)
{
    text_add_format(out, "%-12s", "candidate");
    member_add_string(out, candidate, "segment");
    if (cJSON_IsNumber(member_find(candidate, "generation"))) {
        text_add_str(out, ", generation ");
        member_add(out, candidate, "generation", member_as_count);
    }
    text_add_char(out, '\n');
}

/* "ruled out at position 3 of 7, bit 12345", or that no position is zero. */
static void add_outcome(struct text *out, const cJSON *filter)
{
    const cJSON *zero = member_find(filter, "zero");

    if (!cJSON_IsNumber(zero)) {
        text_add_str(out, "maybe: every position is set");
        return;
    }
    const cJSON *position = cJSON_GetArrayItem(member_find(filter, "positions"), zero->valueint);

    text_add_str(out, "absent: ruled out at position ");
    member_as_count(out, zero->valuedouble + 1);
    if (cJSON_IsNumber(position)) {
        text_add_str(out, ", bit ");
        member_as_count(out, position->valuedouble);
    }
}

static void add_filter(struct text *out, const cJSON *filter)
{
    text_add_format(out, "%-12s", "filter");
    member_add_string(out, filter, "segment");
    text_add_str(out, ", ");
    member_add_string(out, filter, "kind");
    text_add_str(out, ", ");
    member_add(out, filter, "bits", member_as_count);
    text_add_str(out, " bits, ");
    member_add(out, filter, "hashes", member_as_count);
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
    cJSON_ArrayForEach(item, member_find(check, "candidates")) add_candidate(out, item);
    cJSON_ArrayForEach(item, member_find(check, "filters")) add_filter(out, item);
}
