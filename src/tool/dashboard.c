#include "tool/dashboard.h"

#include <math.h>
#include <string.h>

#include "tool/figure.h"
#include "tool/member.h"
#include "tool/table.h"

enum {
    NAME_WIDTH = 12,
    TOTAL_WIDTH = 18,
    TOTAL_NARROW = 14,
    RATE_WIDTH = 13,
    WIDE = 120,  /* columns from which two sections stand side by side */
    NARROW = 80, /* below, headers are short */
    GAP = 3,     /* between them */
    SECTIONS_MAX = 6,
};

/* Ways to stand out, by what they say. */
enum style { STYLE_PLAIN, STYLE_HEAD, STYLE_GOOD, STYLE_BAD, STYLE_DIM };

static const char *const SGR[] = {"", "\033[1m", "\033[32m", "\033[1;31m", "\033[2m"};

/* ---- what came ---- */

static void remember(struct dashboard *d, double rate)
{
    d->history[d->history_n++ % DASHBOARD_HISTORY] = rate;
}

void dashboard_note(struct dashboard *d, const cJSON *stats, double seconds)
{
    bool same = d->stats && member_number(stats, "uptime_s") >= member_number(d->stats, "uptime_s");
    double more = member_number(stats, "trades/received") - member_number(d->stats, "trades/received");

    d->before = same && seconds > 0 ? d->stats : NULL;
    d->stats = stats;
    d->seconds = seconds;
    d->trouble = NULL;
    d->silent_s = 0;
    remember(d, d->before ? fmax(more, 0) / seconds : -1);
}

void dashboard_note_silence(struct dashboard *d, const char *trouble, double silent_s)
{
    d->before = NULL;
    d->trouble = trouble;
    d->silent_s = silent_s;
    remember(d, -1);
}

/* ---- pieces of lines ---- */

static void add_styled(struct text *out, const struct dashboard *d, enum style style, const char *words)
{
    text_add_str(out, d->colours ? SGR[style] : "");
    text_add_str(out, words);
    text_add_str(out, d->colours && style ? "\033[0m" : "");
}

/* The first column of a line; a section's first line names it and stands out. */
static void add_label(struct text *out, const struct dashboard *d, enum style style, const char *name)
{
    add_styled(out, d, style, name);
    text_add_format(out, "%*s", NAME_WIDTH - (int)strlen(name), "");
}

/* "a 1, b 2": each member behind its words. */
struct words_of {
    const char *words, *path;
    member_as *as;
};

static void add_members(struct text *out, const cJSON *object, const struct words_of *members, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        text_add_str(out, members[i].words);
        member_add(out, object, members[i].path, members[i].as);
    }
    text_add_char(out, '\n');
}

#define ADD_MEMBERS(out, object, ...)                                                                  \
    add_members(out, object, (const struct words_of[]){__VA_ARGS__},                                   \
                sizeof(const struct words_of[]){__VA_ARGS__} / sizeof(struct words_of))

static void add_bar(struct text *out, const struct dashboard *d, double fraction, unsigned cells)
{
    double eighths = round(fmin(fmax(fraction, 0), 1) * cells * 8);

    if (!d->blocks) {
        figure_add_bar(out, fraction, cells > 2 ? cells - 2 : 1);
        return;
    }
    for (unsigned i = 0; i < cells; i++, eighths -= 8) {
        char block[] = "\xe2\x96\x88"; /* U+2588, full; U+2589 to U+258F are 7 to 1 eighths of it */

        block[2] = (char)(block[2] + (eighths < 8 ? 8 - (int)eighths : 0));
        text_add_str(out, eighths >= 1 ? block : "\xc2\xb7");
    }
}

static double latest(const struct dashboard *d, size_t back)
{
    bool there = back < DASHBOARD_HISTORY && back < d->history_n;

    return there ? d->history[(d->history_n - 1 - back) % DASHBOARD_HISTORY] : -1;
}

/* The last `cells` rates, the newest to the right, as parts of the highest. */
static void add_sparkline(struct text *out, const struct dashboard *d, unsigned cells, double highest)
{
    static const char ascii[] = "_.-:=+*#";

    for (unsigned i = cells; i-- > 0;) {
        double rate = latest(d, i);
        int level = highest > 0 ? (int)fmin(rate / highest * 8, 7) : 0;
        char block[] = "\xe2\x96\x81"; /* U+2581, one eighth, to U+2588 */

        block[2] = (char)(block[2] + level);
        if (rate < 0)
            text_add_char(out, ' ');
        else if (d->blocks)
            text_add_str(out, block);
        else
            text_add_char(out, ascii[level]);
    }
}

/* ---- sections ---- */

static void add_state(struct text *out, const struct dashboard *d)
{
    struct text state = {0};

    member_add_string(&state, d->stats, "state");
    add_styled(out, d, strcmp(text_terminate(&state), "ready") == 0 ? STYLE_GOOD : STYLE_BAD, state.at);
    text_done(&state);
}

static void add_head(struct text *out, const struct dashboard *d)
{
    text_add_str(out, d->colours ? SGR[STYLE_HEAD] : "");
    member_add_string(out, d->stats, "name");
    text_add_str(out, d->colours ? "\033[0m " : " ");
    member_add_string(out, d->stats, "version");
    text_add_str(out, "  ");
    if (d->trouble)
        add_styled(out, d, STYLE_BAD, "NO ANSWER");
    else
        add_state(out, d);
    text_add_str(out, d->trouble ? "  was up " : "  up ");
    member_add(out, d->stats, "uptime_s", figure_add_duration);
    text_add_format(out, "  %s  ", d->from);
    add_styled(out, d, STYLE_DIM, "q quits");
    text_add_char(out, '\n');
}

static void add_alert(struct text *out, const struct dashboard *d, const char *words)
{
    text_add_str(out, "! ");
    add_styled(out, d, STYLE_BAD, words);
    text_add_char(out, '\n');
}

/* What is not as it should be, a line each. */
static void add_alerts(struct text *out, const struct dashboard *d)
{
    const cJSON *filter = member_find(d->stats, "filter");
    double target = member_number(filter, "target_fpr");

    if (d->trouble) {
        text_add_str(out, "! no answer for ");
        figure_add_duration(out, d->silent_s);
        text_add_str(out, ", below is the last one: ");
        figure_add_foreign(out, d->trouble, strlen(d->trouble));
        text_add_char(out, '\n');
    }
    if (member_number(filter, "false_negative") > 0 ||
        member_number(filter, "self_test/members_maybe") <
            member_number(filter, "self_test/members_asked"))
        add_alert(out, d, "a filter answered absent for a stored trade: see the daemon's log");
    if (target > 0 && member_number(filter, "predicted_fpr") > target)
        add_alert(out, d, "the filters hold more than they are sized for: raise filter.capacity");
}

static void add_trade_row(struct text *out, const struct dashboard *d, const char *name, unsigned total,
                          unsigned bar)
{
    const cJSON *now = member_find(d->stats, "trades"), *old = member_find(d->before, "trades");
    double n = member_number(now, name), all = member_number(now, "received");
    bool known = cJSON_IsNumber(member_find(now, name));

    add_label(out, d, STYLE_PLAIN, name);
    size_t begin = out->len;

    member_add(out, now, name, member_as_count);
    figure_align_right(out, begin, total);
    begin = out->len;
    if (old && known)
        member_as_count(out, round((n - member_number(old, name)) / d->seconds));
    else
        text_add_char(out, '-');
    figure_align_right(out, begin, RATE_WIDTH);
    if (bar > 0 && all > 0 && known) {
        text_add_str(out, "  ");
        add_bar(out, d, n / all, bar);
        text_add_format(out, "%4.0f %%", n / all * 100);
    }
    text_add_char(out, '\n');
}

static void add_speed(struct text *out, const struct dashboard *d, unsigned width)
{
    unsigned taken = NAME_WIDTH + 16;
    unsigned cells = width > taken ? width - taken : 0;
    double highest = 0;

    if (cells > DASHBOARD_HISTORY)
        cells = DASHBOARD_HISTORY;
    for (unsigned i = 0; i < cells; i++)
        highest = fmax(highest, latest(d, i));
    add_label(out, d, STYLE_PLAIN, "a second");
    add_sparkline(out, d, cells, highest);
    text_add_str(out, "  up to ");
    figure_add_short(out, highest);
    text_add_char(out, '\n');
}

static void add_trades(struct text *out, const struct dashboard *d, unsigned width)
{
    static const char *const rows[] = {"received", "new",     "duplicate", "conflict",
                                       "invalid",  "ignored", "retry"};
    unsigned total = width < NAME_WIDTH + TOTAL_WIDTH + RATE_WIDTH ? TOTAL_NARROW : TOTAL_WIDTH;
    unsigned taken = NAME_WIDTH + total + RATE_WIDTH + 9;
    unsigned bar = width > taken + 4 ? width - taken : 0;

    add_label(out, d, STYLE_HEAD, "Trades");
    text_add_format(out, "%*s%*s\n", (int)total, "total", RATE_WIDTH, "a second");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_trade_row(out, d, rows[i], total, i > 0 ? bar : 0);
    add_speed(out, d, width);
}

static void add_filter(struct text *out, const struct dashboard *d, unsigned width)
{
    const cJSON *filter = member_find(d->stats, "filter");
    unsigned taken = NAME_WIDTH + 28;

    add_label(out, d, STYLE_HEAD, "Filter");
    add_bar(out, d, member_number(filter, "fill_ratio"), width > taken + 8 ? width - taken : 8);
    ADD_MEMBERS(out, filter, {" ", "fill_ratio", figure_add_percent},
                {", fullest ", "fullest", figure_add_percent});
    add_label(out, d, STYLE_PLAIN, "keys");
    ADD_MEMBERS(out, filter, {"", "keys", member_as_count}, {" of ", "capacity", figure_add_short},
                {" in ", "memory_bytes", figure_add_bytes});
    add_label(out, d, STYLE_PLAIN, "wrong maybe");
    ADD_MEMBERS(out, filter, {"", "measured_fpr", figure_add_percent},
                {", 95 %: ", "measured_fpr_low", figure_add_percent},
                {" to ", "measured_fpr_high", figure_add_percent});
    add_label(out, d, STYLE_PLAIN, "expected");
    ADD_MEMBERS(out, filter, {"", "expected_fpr", figure_add_percent},
                {", now ", "predicted_fpr", figure_add_percent},
                {", target ", "target_fpr", figure_add_percent});
    add_label(out, d, STYLE_PLAIN, "absent");
    ADD_MEMBERS(out, filter, {"", "absent", member_as_count}, {", maybe ", "maybe", member_as_count});
    add_label(out, d, STYLE_PLAIN, "maybe");
    ADD_MEMBERS(out, filter, {"right ", "true_positive", member_as_count},
                {", wrong ", "false_positive", member_as_count});
    add_label(out, d, STYLE_PLAIN, "missed");
    ADD_MEMBERS(out, filter, {"", "false_negative", member_as_count},
                {"; self-test ", "self_test/members_maybe", member_as_count},
                {" of ", "self_test/members_asked", member_as_count});
}

static void add_latency(struct text *out, const struct dashboard *d)
{
    const cJSON *latency = member_find(d->stats, "latency_ms");

    add_label(out, d, STYLE_HEAD, "Latency");
    ADD_MEMBERS(out, latency, {"reply median ", "ack_p50", member_as_milliseconds},
                {", 99 % ", "ack_p99", member_as_milliseconds},
                {", max ", "ack_max", member_as_milliseconds});
    add_label(out, d, STYLE_PLAIN, "");
    ADD_MEMBERS(out, latency, {"commit median ", "commit_p50", member_as_milliseconds},
                {", 99 % ", "commit_p99", member_as_milliseconds});
    add_label(out, d, STYLE_HEAD, "Peers");
    ADD_MEMBERS(out, d->stats, {"open ", "connections/open", member_as_count},
                {", paused ", "connections/paused", member_as_count},
                {", refused ", "connections/refused", member_as_count},
                {"; unanswered ", "trades/unanswered", member_as_count});
}

static void add_store(struct text *out, const struct dashboard *d)
{
    const cJSON *store = member_find(d->stats, "store");

    add_label(out, d, STYLE_HEAD, "Store");
    ADD_MEMBERS(out, store, {"rows ", "rows", member_as_count},
                {", segments ", "segments", member_as_count}, {", ", "bytes", figure_add_bytes},
                {", WAL ", "wal_bytes", figure_add_bytes});
    add_label(out, d, STYLE_PLAIN, "");
    text_add_str(out, "since ");
    member_add_string(out, store, "window_start");
    ADD_MEMBERS(out, store, {", commits ", "commits", figure_add_short});
}

static void add_rate_cell(struct table *table, const cJSON *now, const cJSON *old, const char *member,
                          double seconds)
{
    struct text *cell = table_cell(table);

    if (old)
        figure_add_short(cell,
                         fmax(member_number(now, member) - member_number(old, member), 0) / seconds);
    else
        text_add_char(cell, '-');
}

static void add_feeds(struct text *out, const struct dashboard *d)
{
    static const char *const full[] = {"Feeds",     "a second", "received", "new",
                                       "duplicate", "conflict", "invalid",  "ignored"};
    static const char *const brief[] = {"Feeds", "/s", "recv", "new", "dup", "conf", "inv", "ign"};
    static const char *const members[] = {"received", "new",     "duplicate",
                                          "conflict", "invalid", "ignored"};
    const cJSON *feeds = member_find(d->stats, "feeds"), *old = member_find(d->before, "feeds"), *feed;
    struct table table;

    if (!cJSON_IsObject(feeds))
        return;
    table_init(&table, d->columns < NARROW ? brief : full, sizeof full / sizeof *full, 1);
    cJSON_ArrayForEach(feed, feeds)
    {
        figure_add_foreign(table_cell(&table), feed->string, strlen(feed->string));
        add_rate_cell(&table, feed, cJSON_GetObjectItemCaseSensitive(old, feed->string), "received",
                      d->seconds);
        for (size_t i = 0; i < sizeof members / sizeof *members; i++)
            member_add(table_cell(&table), feed, members[i], figure_add_short);
    }
    table_add(out, &table);
    table_done(&table);
}

/* The newest on top: it is the one that grows. */
static void add_segments(struct text *out, const struct dashboard *d)
{
    static const char *const headers[] = {"Segments", "state", "trades", "size", "full", "predicted"};
    const cJSON *segments = member_find(d->stats, "segments");
    struct table table;

    table_init(&table, headers, sizeof headers / sizeof *headers, 1 | 2);
    for (int i = cJSON_GetArraySize(segments); i-- > 0;) {
        const cJSON *segment = cJSON_GetArrayItem(segments, i);

        member_add_string(table_cell(&table), segment, "segment");
        member_add_string(table_cell(&table), segment, "state");
        member_add(table_cell(&table), segment, "rows", figure_add_short);
        member_add(table_cell(&table), segment, "bytes", figure_add_bytes);
        member_add(table_cell(&table), segment, "fill_ratio", figure_add_percent);
        member_add(table_cell(&table), segment, "predicted_fpr", figure_add_percent);
    }
    table_add(out, &table);
    table_done(&table);
}

/* ---- the page ---- */

/* Lines to be placed, one after the other. */
struct section {
    struct text lines;
    size_t at; /* where the next begins */
};

static size_t count_lines(const struct section *section)
{
    size_t n = 0;

    for (size_t i = section->at; i < section->lines.len; i++)
        n += section->lines.at[i] == '\n';
    return n;
}

/* The bytes of the next character, or of a sequence for the terminal: nobody but us writes escapes. */
static size_t next_bytes(const char *at, const char *end)
{
    size_t n = 1;

    if (*at == '\033')
        while (at + n < end && at[n - 1] != 'm')
            n++;
    else
        while (at + n < end && ((unsigned char)at[n] & 0xc0) == 0x80)
            n++;
    return n;
}

/* Appends the section's next line, cut to `width` columns; returns how many it took. */
static unsigned take_line(struct text *out, struct section *section, unsigned width)
{
    const char *at = section->lines.at + section->at, *end = section->lines.at + section->lines.len;
    unsigned used = 0;

    while (at < end && *at != '\n') {
        size_t n = next_bytes(at, end);
        bool visible = *at != '\033';

        if (!visible || used < width)
            text_add(out, at, n);
        used += visible && used < width;
        at += n;
    }
    section->at = (size_t)(at - section->lines.at) + (at < end);
    return used;
}

/* Both, line by line, in two columns. */
static void add_side_by_side(struct text *out, struct section *left, struct section *right,
                             unsigned width)
{
    while (count_lines(left) + count_lines(right) > 0) {
        unsigned used = take_line(out, left, width);

        text_add_format(out, "%*s", (int)(width - used) + GAP, "");
        take_line(out, right, width);
        text_add_char(out, '\n');
    }
}

static void add_beside(struct text *out, const struct dashboard *d, unsigned width)
{
    struct section left = {0}, right = {0};

    add_trades(&left.lines, d, width);
    text_add_char(&left.lines, '\n');
    add_latency(&left.lines, d);
    add_filter(&right.lines, d, width);
    text_add_char(&right.lines, '\n');
    add_store(&right.lines, d);
    add_side_by_side(out, &left, &right, width);
    text_done(&left.lines);
    text_done(&right.lines);
}

static size_t build(struct section *sections, const struct dashboard *d, unsigned width)
{
    size_t n = 0;

    add_head(&sections[n].lines, d);
    add_alerts(&sections[n++].lines, d);
    if (d->columns >= WIDE)
        add_beside(&sections[n++].lines, d, (width - GAP) / 2);
    else {
        add_trades(&sections[n++].lines, d, width);
        add_filter(&sections[n++].lines, d, width);
        add_latency(&sections[n].lines, d);
        add_store(&sections[n++].lines, d);
    }
    add_feeds(&sections[n++].lines, d);
    add_segments(&sections[n++].lines, d);
    return n;
}

/* Empty lines between sections are for when there is room for everything. */
static void place(struct text *out, struct section *sections, size_t n, unsigned rows, unsigned width)
{
    size_t lines = 0, left = rows;

    for (size_t i = 0; i < n; i++)
        lines += count_lines(&sections[i]) + (i > 0 && count_lines(&sections[i]) > 0);
    bool airy = lines <= rows;

    for (size_t i = 0; i < n; i++) {
        if (i > 0 && airy && count_lines(&sections[i]) > 0)
            text_add_char(out, '\n');
        for (size_t more; left > 0 && (more = count_lines(&sections[i])) > 0; left--) {
            if (left == 1 && more > 1)
                text_add_format(out, "%.*s", (int)width, "... (a taller window shows more)");
            else
                take_line(out, &sections[i], width);
            text_add_char(out, '\n');
        }
    }
}

void dashboard_add(struct text *out, const struct dashboard *d)
{
    struct section sections[SECTIONS_MAX] = {0};
    unsigned width = d->columns > 1 ? d->columns - 1 : 1;
    size_t n = build(sections, d, width);

    place(out, sections, n, d->rows > 1 ? d->rows : 1, width);
    for (size_t i = 0; i < n; i++)
        text_done(&sections[i].lines);
}
