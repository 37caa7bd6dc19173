#include "report/metrics.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

/* A histogram's edges are powers of two of microseconds: they are edges of ours too, so that the counts
 * are exact. 256 us to 33.6 s. */
enum { EDGE_FIRST = 8, EDGE_LAST = 25 };

static void begin(struct text *text, const char *name, const char *type, const char *help)
{
    text_add_format(text, "# HELP tradesieve_%s %s\n# TYPE tradesieve_%s %s\n", name, help, name, type);
}

static void add_value(struct text *text, double value)
{
    if (isfinite(value))
        text_add_double(text, value);
    else
        text_add_str(text, "NaN");
    text_add_char(text, '\n');
}

/* A feed's name is a file's name and may hold anything. */
static void add_label_value(struct text *text, const char *value)
{
    for (; *value; value++) {
        if (*value == '"' || *value == '\\' || *value == '\n')
            text_add_char(text, '\\');
        text_add_char(text, *value == '\n' ? 'n' : *value);
    }
}

static void add_labelled(struct text *text, const char *name, const char *label, const char *of,
                         uint64_t n)
{
    text_add_format(text, "tradesieve_%s{%s=\"", name, label);
    add_label_value(text, of);
    text_add_format(text, "\"} %llu\n", (unsigned long long)n);
}

static void add_number(struct text *text, const char *name, const char *type, const char *help,
                       uint64_t n)
{
    begin(text, name, type, help);
    text_add_format(text, "tradesieve_%s %llu\n", name, (unsigned long long)n);
}

static void add_counter(struct text *text, const char *name, const char *help, uint64_t n)
{
    add_number(text, name, "counter", help, n);
}

static void add_gauge(struct text *text, const char *name, const char *help, uint64_t n)
{
    add_number(text, name, "gauge", help, n);
}

static void add_gauge_real(struct text *text, const char *name, const char *help, double value)
{
    begin(text, name, "gauge", help);
    text_add_format(text, "tradesieve_%s ", name);
    add_value(text, value);
}

static void add_histogram(struct text *text, const char *name, const char *help,
                          const struct histogram *h)
{
    begin(text, name, "histogram", help);
    for (int i = EDGE_FIRST; i <= EDGE_LAST; i++) {
        uint64_t edge_us = (uint64_t)1 << i;

        text_add_format(text, "tradesieve_%s_bucket{le=\"", name);
        text_add_double(text, (double)edge_us / 1e6);
        text_add_format(text, "\"} %llu\n", (unsigned long long)histogram_count_up_to(h, edge_us - 1));
    }
    text_add_format(text, "tradesieve_%s_bucket{le=\"+Inf\"} %llu\ntradesieve_%s_sum ", name,
                    (unsigned long long)h->n, name);
    add_value(text, (double)h->sum_us / 1e6);
    text_add_format(text, "tradesieve_%s_count %llu\n", name, (unsigned long long)h->n);
}

static void add_state(struct text *text, const struct stats_values *stats,
                      const struct figures *figures)
{
    static const char *const states[] = {"starting", "ready", "draining", "store_full", "failed"};
    const char *state = stats_state(stats, figures->state);

    begin(text, "build_info", "gauge", "Version of the daemon and of its SQLite; always 1.");
    text_add_format(text, "tradesieve_build_info{version=\"%s\",sqlite_version=\"%s\"} 1\n",
                    TRADESIEVE_VERSION, figures->sqlite_version ? figures->sqlite_version : "");
    begin(text, "state", "gauge", "1 for the state that the daemon is in, 0 for the others.");
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        add_labelled(text, "state", "state", states[i], strcmp(states[i], state) == 0);
}

static void add_trades(struct text *text, const struct feed_counts *feed, enum verdict verdict)
{
    text_add_str(text, "tradesieve_trades_total{feed=\"");
    add_label_value(text, feed->name);
    text_add_format(text, "\",verdict=\"%s\"} %llu\n", verdict_name(verdict),
                    (unsigned long long)feed->verdicts[verdict]);
}

static void add_feed_trades(struct text *text, const struct stats_values *stats)
{
    begin(text, "trades_received_total", "counter",
          "Trades handed to the store; a line that is none counts as one.");
    for (unsigned i = 0; i < stats->feeds_n; i++)
        add_labelled(text, "trades_received_total", "feed", stats->feeds[i].name,
                     stats->feeds[i].received);
    begin(text, "trades_total", "counter", "Trades by verdict, counted after the commit.");
    for (unsigned i = 0; i < stats->feeds_n; i++)
        for (int v = VERDICT_NEW; v < VERDICT_COUNT; v++)
            add_trades(text, &stats->feeds[i], (enum verdict)v);
}

static void add_ingest(struct text *text, const struct stats_values *stats)
{
    add_counter(text, "lines_total", "Lines read, blank and opening ones too.", stats->lines_received);
    add_counter(text, "lines_truncated_total", "Last lines without an end that were no JSON.",
                stats->lines_truncated);
    add_feed_trades(text, stats);
    add_gauge(text, "trades_unanswered", "Trades that are with the store now.",
              stats_unanswered(stats));
    add_histogram(text, "ack_latency_seconds", "From read to reply, a count a trade.", &stats->ack);
    add_gauge(text, "connections_open", "Connections that are open.", stats->connections_open);
    add_gauge(text, "connections_paused",
              "Connections that are not read from: the queue is full or their peer does not read.",
              stats->connections_paused);
    add_counter(text, "connections_accepted_total", "Connections accepted.",
                stats->connections_accepted);
    add_counter(text, "connections_refused_total", "Connections closed because there were too many.",
                stats->connections_refused);
}

static void add_answers(struct text *text, const struct figures *figures)
{
    begin(text, "screen_total", "counter", "Keys that the filters were asked for, by answer.");
    add_labelled(text, "screen_total", "answer", "absent", figures->absent);
    add_labelled(text, "screen_total", "answer", "maybe", figures->maybe);
    begin(text, "screen_maybe_total", "counter", "What the exact check said of each maybe.");
    add_labelled(text, "screen_maybe_total", "outcome", "true_positive", figures->true_positive);
    add_labelled(text, "screen_maybe_total", "outcome", "false_positive", figures->false_positive);
    add_counter(text, "screen_lookups_total",
                "Exact look-ups in the candidates that maybes named; over the maybes: about 1.",
                figures->lookups);
    add_counter(text, "filter_false_negatives_total",
                "Stored keys that a filter called absent: must stay 0.", figures->false_negative);
    begin(text, "self_test_asked_total", "counter", "Keys that the self-test asked the screen for.");
    add_labelled(text, "self_test_asked_total", "kind", "member", figures->members_asked);
    add_labelled(text, "self_test_asked_total", "kind", "stranger", figures->strangers_asked);
    begin(text, "self_test_maybe_total", "counter",
          "Those answered maybe: every member, and strangers at the predicted rate.");
    add_labelled(text, "self_test_maybe_total", "kind", "member", figures->members_maybe);
    add_labelled(text, "self_test_maybe_total", "kind", "stranger", figures->strangers_maybe);
}

static void add_rates(struct text *text, const struct figures *figures)
{
    struct figures_rates rates = figures_rates(figures);

    add_gauge_real(text, "filter_target_fpr", "Configured false positive rate of the whole screen.",
                   figures->target_fpr);
    add_gauge_real(text, "filter_predicted_fpr", "What the mathematics says at this moment.",
                   figures->predicted_fpr);
    add_gauge_real(text, "filter_expected_fpr",
                   "Mean prediction over the questions asked: hold the measured rate against it.",
                   rates.expected);
    add_gauge_real(text, "filter_measured_fpr",
                   "False positives over false positives and true negatives since the start.",
                   rates.measured);
    add_gauge_real(text, "filter_measured_fpr_low", "Its 95 % Wilson interval, lower end.",
                   rates.measured_low);
    add_gauge_real(text, "filter_measured_fpr_high", "Its 95 % Wilson interval, upper end.",
                   rates.measured_high);
    add_gauge_real(text, "filter_recent_fpr", "The measured rate over the last 100000 absent keys.",
                   rates.recent);
}

static void add_filter(struct text *text, const struct figures *figures)
{
    add_gauge_real(text, "filter_fill_ratio", "Bits set over bits, over all live filters together.",
                   figures->bits ? (double)figures->bits_set / (double)figures->bits : 0);
    add_gauge_real(text, "filter_fullest_ratio", "Fill ratio of the fullest filter.", figures->fullest);
    add_gauge(text, "filter_hashes", "Positions a key in the current generation's filter.",
              figures->hashes);
    add_gauge(text, "filter_keys", "Keys in all live filters.", figures->keys);
    add_gauge(text, "filter_capacity_keys", "Keys up to which the target rate holds.",
              figures->capacity);
    add_gauge(text, "filter_memory_bytes", "Memory of all live filters.", figures->memory_bytes);
    add_rates(text, figures);
}

static void add_segments(struct text *text, const struct figures *figures)
{
    static const char *const states[] = {"active", "draining", "closed", "sealed"};

    begin(text, "store_segments", "gauge",
          "Segments by state; closed ones wait for their seal, draining ones for a reader to go.");
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        uint64_t n = 0;

        for (size_t s = 0; s < figures->segments_n; s++)
            n += strcmp(figures->segments[s].state, states[i]) == 0;
        add_labelled(text, "store_segments", "state", states[i], n);
    }
}

static void add_store(struct text *text, const struct figures *figures)
{
    add_gauge(text, "store_rows", "Trades stored within the window.", figures->rows);
    add_segments(text, figures);
    add_gauge(text, "store_bytes", "Bytes of the segments' files, derived ones included.",
              figures->bytes);
    add_gauge(text, "store_wal_bytes", "Bytes of the active segment's WAL in use.", figures->wal_bytes);
    add_gauge(text, "store_conflicts", "Conflicting versions kept.", figures->conflicts);
    add_gauge(text, "store_rejects", "Invalid lines kept.", figures->rejects);
    add_gauge_real(text, "store_window_start_timestamp_seconds",
                   "When the oldest stored trade came; NaN when nothing is stored.",
                   figures->window_start_us ? (double)figures->window_start_us / 1e6 : NAN);
    add_gauge_real(text, "store_disk_free_bytes",
                   "Free space where the data directory is; NaN until the store is open.",
                   figures->sqlite_version ? (double)figures->disk_free_bytes : NAN);
    add_gauge(text, "store_disk_reserve_bytes", "Below so much the store answers retry.",
              figures->disk_reserve_bytes);
    add_gauge(text, "store_expiry_held", "1 while the clock is not believed, so that nothing expires.",
              figures->expiry_held);
    add_histogram(text, "commit_duration_seconds", "A group commit, from begin to durable.",
                  &figures->commit);
}

/* These carry the names that all exporters share, without our prefix. */
static void add_process_value(struct text *text, const char *name, const char *type, const char *help,
                              double value)
{
    text_add_format(text, "# HELP process_%s %s\n# TYPE process_%s %s\nprocess_%s ", name, help, name,
                    type, name);
    add_value(text, value);
}

static void add_process(struct text *text, const struct process_values *process)
{
    add_process_value(text, "cpu_seconds_total", "counter", "User and system time spent.",
                      process->cpu_s);
    add_process_value(text, "start_time_seconds", "gauge", "Start, seconds since the epoch.",
                      process->start_time_s);
    add_process_value(text, "resident_memory_bytes", "gauge", "Resident memory.",
                      (double)process->resident_bytes);
    add_process_value(text, "virtual_memory_bytes", "gauge", "Virtual memory.",
                      (double)process->virtual_bytes);
    add_process_value(text, "open_fds", "gauge", "Open file descriptors.", (double)process->open_fds);
    add_process_value(text, "max_fds", "gauge", "Limit of open file descriptors.",
                      (double)process->max_fds);
}

char *metrics_text(const struct stats_values *stats, const struct figures *figures,
                   const struct process_values *process, bool live)
{
    struct text text = {0};

    add_state(&text, stats, figures);
    add_gauge(&text, "live", "1 while the loop and the store thread make progress, as /livez says.",
              live);
    add_ingest(&text, stats);
    add_answers(&text, figures);
    add_filter(&text, figures);
    add_store(&text, figures);
    add_process(&text, process);
    text_terminate(&text);
    return text.at;
}

/* ---- the process ---- */

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static uint64_t count_open_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    uint64_t n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n > 3 ? n - 3 : 0; /* ".", ".." and the directory's own */
}

/* The kernel counts the start in ticks since boot; it never changes, so it is worked out once. */
static double start_time_s;

static void read_start_time(void)
{
    FILE *stat = fopen("/proc/self/stat", "re");
    unsigned long long ticks = 0;
    struct timespec boot;

    /* the 22nd field; the second is in parentheses and holds no blank in our case */
    if (stat &&
        fscanf(stat,
               "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d"
               " %*d %*d %*d %llu",
               &ticks) == 1 &&
        clock_gettime(CLOCK_BOOTTIME, &boot) == 0)
        start_time_s = (double)clock_wall_us() / 1e6 - (double)boot.tv_sec -
                       (double)boot.tv_nsec / 1e9 + (double)ticks / (double)sysconf(_SC_CLK_TCK);
    if (stat)
        fclose(stat);
}

void metrics_process(struct process_values *ret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned long long virtual_pages = 0, resident_pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    struct rusage usage = {0};
    struct rlimit limit = {0};

    if (statm) {
        if (fscanf(statm, "%llu %llu", &virtual_pages, &resident_pages) != 2)
            virtual_pages = resident_pages = 0;
        fclose(statm);
    }
    getrusage(RUSAGE_SELF, &usage);
    getrlimit(RLIMIT_NOFILE, &limit);
    pthread_once(&once, read_start_time);
    *ret = (struct process_values){
        .cpu_s = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
        .start_time_s = start_time_s,
        .resident_bytes = resident_pages * (uint64_t)sysconf(_SC_PAGESIZE),
        .virtual_bytes = virtual_pages * (uint64_t)sysconf(_SC_PAGESIZE),
        .open_fds = count_open_fds(),
        .max_fds = limit.rlim_cur,
    };
}
