#include "report/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

enum { NUMBER_TEXT_MAX = 40 };

/* cJSON reports a failed allocation by leaving a member out, and a figure that is missing looks like
 * one that does not exist: it allocates as everything here does, or not at all. */
static void use_mem(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = mem_alloc, .free_fn = free});
}

static cJSON *object_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, use_mem);
    return cJSON_CreateObject();
}

static char *object_print(cJSON *object)
{
    char *text = cJSON_PrintUnformatted(object);

    cJSON_Delete(object);
    return text;
}

/* Counters are written digit by digit: cJSON's own numbers are doubles, exact only up to 2^53. */
static void put_u64(cJSON *object, const char *name, uint64_t n)
{
    char digits[NUMBER_TEXT_MAX];

    snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    cJSON_AddRawToObject(object, name, digits);
}

static void put_i64(cJSON *object, const char *name, int64_t n)
{
    char digits[NUMBER_TEXT_MAX];

    snprintf(digits, sizeof digits, "%lld", (long long)n);
    cJSON_AddRawToObject(object, name, digits);
}

/* JSON has no word for NaN and infinity. */
static void put_double(cJSON *object, const char *name, double value)
{
    struct text digits = {0};

    if (!isfinite(value)) {
        cJSON_AddNullToObject(object, name);
        return;
    }
    text_add_double(&digits, value);
    cJSON_AddRawToObject(object, name, text_terminate(&digits));
    text_done(&digits);
}

static void put_text(cJSON *object, const char *name, const char *bytes, size_t len)
{
    struct text text = {0};

    text_add_json(&text, bytes, len);
    cJSON_AddRawToObject(object, name, text_terminate(&text));
    text_done(&text);
}

static void put_time(cJSON *object, const char *name, int64_t us)
{
    struct text text = {0};

    text_add_time_us(&text, us);
    cJSON_AddStringToObject(object, name, text_terminate(&text));
    text_done(&text);
}

static void put_lines(cJSON *root, const struct stats_values *stats)
{
    cJSON *lines = cJSON_AddObjectToObject(root, "lines");

    put_u64(lines, "received", stats->lines_received);
    put_u64(lines, "truncated", stats->lines_truncated);
}

static void put_trades(cJSON *root, const struct stats_values *stats)
{
    cJSON *trades = cJSON_AddObjectToObject(root, "trades");

    put_u64(trades, "received", stats->received);
    for (int v = VERDICT_NEW; v < VERDICT_COUNT; v++)
        put_u64(trades, verdict_name((enum verdict)v), stats->verdicts[v]);
    put_u64(trades, "unanswered", stats_unanswered(stats));
}

static void put_rates(cJSON *filter, const struct figures *figures)
{
    struct figures_rates rates = figures_rates(figures);

    put_double(filter, "target_fpr", figures->target_fpr);
    put_double(filter, "predicted_fpr", figures->predicted_fpr);
    put_double(filter, "expected_fpr", rates.expected);
    put_double(filter, "measured_fpr", rates.measured);
    put_double(filter, "measured_fpr_low", rates.measured_low);
    put_double(filter, "measured_fpr_high", rates.measured_high);
    put_double(filter, "recent_fpr", rates.recent);
    put_double(filter, "false_discovery_rate", rates.false_discovery);
}

static void put_screen(cJSON *root, const struct figures *figures)
{
    cJSON *filter = cJSON_AddObjectToObject(root, "filter");

    put_double(filter, "fill_ratio",
               figures->bits ? (double)figures->bits_set / (double)figures->bits : 0);
    put_double(filter, "fullest", figures->fullest);
    put_u64(filter, "bits", figures->bits);
    put_u64(filter, "bits_set", figures->bits_set);
    put_u64(filter, "hashes", figures->hashes);
    put_double(filter, "optimal_hashes", figures->optimal_hashes);
    put_u64(filter, "keys", figures->keys);
    put_u64(filter, "capacity", figures->capacity);
    put_u64(filter, "memory_bytes", figures->memory_bytes);
    put_rates(filter, figures);
    put_u64(filter, "absent", figures->absent);
    put_u64(filter, "maybe", figures->maybe);
    put_u64(filter, "true_positive", figures->true_positive);
    put_u64(filter, "false_positive", figures->false_positive);
    put_u64(filter, "false_negative", figures->false_negative);

    cJSON *self_test = cJSON_AddObjectToObject(filter, "self_test");

    put_u64(self_test, "members_asked", figures->members_asked);
    put_u64(self_test, "members_maybe", figures->members_maybe);
    put_u64(self_test, "strangers_asked", figures->strangers_asked);
    put_u64(self_test, "strangers_maybe", figures->strangers_maybe);
}

static void put_filter(cJSON *object, const struct filter_figures *filter)
{
    put_u64(object, "keys", filter->keys);
    put_u64(object, "bits", filter->bits);
    put_u64(object, "bits_set", filter->bits_set);
    put_double(object, "fill_ratio",
               filter->bits ? (double)filter->bits_set / (double)filter->bits : 0);
    put_u64(object, "hashes", filter->hashes);
    put_double(object, "predicted_fpr", filter->predicted_fpr);
}

static cJSON *append_object(cJSON *array)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddItemToArray(array, object);
    return object;
}

static void put_generations(cJSON *root, const struct figures *figures)
{
    cJSON *array = cJSON_AddArrayToObject(root, "generations");

    for (size_t i = 0; i < figures->generations_n; i++) {
        const struct generation_figures *generation = &figures->generations[i];
        cJSON *object = append_object(array);

        cJSON_AddStringToObject(object, "segment", generation->segment);
        put_u64(object, "generation", generation->generation);
        put_filter(object, &generation->filter);
    }
}

static void put_segments(cJSON *root, const struct figures *figures)
{
    cJSON *array = cJSON_AddArrayToObject(root, "segments");

    for (size_t i = 0; i < figures->segments_n; i++) {
        const struct segment_figures *segment = &figures->segments[i];
        cJSON *object = append_object(array);

        cJSON_AddStringToObject(object, "segment", segment->segment);
        cJSON_AddStringToObject(object, "state", segment->state);
        put_u64(object, "rows", segment->rows);
        put_i64(object, "first_seq", segment->first_seq);
        put_u64(object, "bytes", segment->bytes);
        put_filter(object, &segment->filter);
    }
}

static void put_store(cJSON *root, const struct figures *figures)
{
    cJSON *store = cJSON_AddObjectToObject(root, "store");

    put_u64(store, "rows", figures->rows);
    put_u64(store, "segments", figures->segments_n);
    put_u64(store, "bytes", figures->bytes);
    put_u64(store, "wal_bytes", figures->wal_bytes);
    put_u64(store, "commits", figures->commits);
    if (figures->window_start_us)
        put_time(store, "window_start", figures->window_start_us);
    else
        cJSON_AddNullToObject(store, "window_start");
    put_u64(store, "conflicts", figures->conflicts);
    put_u64(store, "rejects", figures->rejects);
    if (figures->sqlite_version)
        cJSON_AddStringToObject(store, "sqlite_version", figures->sqlite_version);
    else
        cJSON_AddNullToObject(store, "sqlite_version");
}

static void put_latency(cJSON *root, const struct stats_values *stats, const struct figures *figures)
{
    cJSON *latency = cJSON_AddObjectToObject(root, "latency_ms");

    put_double(latency, "ack_p50", histogram_quantile_us(&stats->ack, 0.5) / 1000);
    put_double(latency, "ack_p99", histogram_quantile_us(&stats->ack, 0.99) / 1000);
    put_double(latency, "ack_max", (double)stats->ack.max_us / 1000);
    put_double(latency, "commit_p50", histogram_quantile_us(&figures->commit, 0.5) / 1000);
    put_double(latency, "commit_p99", histogram_quantile_us(&figures->commit, 0.99) / 1000);
}

static void put_connections(cJSON *root, const struct stats_values *stats)
{
    cJSON *connections = cJSON_AddObjectToObject(root, "connections");

    put_u64(connections, "open", stats->connections_open);
    put_u64(connections, "accepted", stats->connections_accepted);
    put_u64(connections, "paused", stats->connections_paused);
    put_u64(connections, "refused", stats->connections_refused);
}

static void put_feeds(cJSON *root, const struct stats_values *stats)
{
    cJSON *feeds = cJSON_AddObjectToObject(root, "feeds");

    for (unsigned i = 0; i < stats->feeds_n; i++) {
        const struct feed_counts *counts = &stats->feeds[i];
        cJSON *feed = cJSON_AddObjectToObject(feeds, counts->name);

        put_u64(feed, "received", counts->received);
        for (int v = VERDICT_NEW; v <= VERDICT_IGNORED; v++)
            put_u64(feed, verdict_name((enum verdict)v), counts->verdicts[v]);
    }
}

char *json_stats(const struct stats_values *stats, const struct figures *figures)
{
    int64_t uptime_ms = (clock_mono_us() - stats->started_mono_us) / 1000;
    cJSON *root = object_open();

    cJSON_AddStringToObject(root, "name", "tradesieve");
    cJSON_AddStringToObject(root, "version", TRADESIEVE_VERSION);
    cJSON_AddStringToObject(root, "state", stats_state(stats, figures->state));
    put_double(root, "uptime_s", (double)uptime_ms / 1000);
    put_lines(root, stats);
    put_trades(root, stats);
    put_screen(root, figures);
    put_generations(root, figures);
    put_segments(root, figures);
    put_store(root, figures);
    put_latency(root, stats, figures);
    put_connections(root, stats);
    put_feeds(root, stats);
    return object_print(root);
}

static void put_candidates(cJSON *root, const struct store_answer *answer)
{
    cJSON *array = cJSON_AddArrayToObject(root, "candidates");

    for (size_t i = 0; i < answer->candidates_n; i++) {
        const struct store_candidate *candidate = &answer->candidates[i];
        cJSON *object = append_object(array);

        cJSON_AddStringToObject(object, "segment", candidate->segment);
        if (candidate->generation >= 0)
            put_i64(object, "generation", candidate->generation);
        else
            cJSON_AddNullToObject(object, "generation");
    }
}

static void put_positions(cJSON *filter, const struct store_filter_answer *answer)
{
    struct text text = {0};

    text_add_char(&text, '[');
    for (uint32_t i = 0; i < answer->hashes; i++) {
        if (i)
            text_add_char(&text, ',');
        text_add_u64(&text, answer->positions[i]);
    }
    text_add_char(&text, ']');
    cJSON_AddRawToObject(filter, "positions", text_terminate(&text));
    text_done(&text);
}

static void put_filters(cJSON *root, const struct store_answer *answer)
{
    cJSON *array = cJSON_AddArrayToObject(root, "filters");

    for (size_t i = 0; i < answer->filters_n; i++) {
        const struct store_filter_answer *filter = &answer->filters[i];
        cJSON *object = append_object(array);

        cJSON_AddStringToObject(object, "segment", filter->segment);
        cJSON_AddStringToObject(object, "kind", filter->bank ? "bank" : "classic");
        put_u64(object, "bits", filter->bits);
        put_u64(object, "hashes", filter->hashes);
        put_positions(object, filter);
        if (filter->zero >= 0)
            put_i64(object, "zero", filter->zero);
        else
            cJSON_AddNullToObject(object, "zero");
    }
}

char *json_check(const char *key, size_t len, const struct store_answer *answer)
{
    cJSON *root = object_open();

    put_text(root, "key", key, len);
    cJSON_AddStringToObject(root, "screen", answer->screen == SCREEN_ABSENT ? "absent" : "maybe");
    cJSON_AddStringToObject(root, "exact", answer->present ? "present" : "absent");
    if (answer->present) {
        put_i64(root, "seq", answer->seq);
        put_time(root, "received", answer->received_us);
    } else {
        cJSON_AddNullToObject(root, "seq");
        cJSON_AddNullToObject(root, "received");
    }
    put_candidates(root, answer);
    put_filters(root, answer);
    return object_print(root);
}

char *json_ready(const struct stats_values *stats, const struct figures *figures, bool *ret_ready)
{
    const char *state = stats_state(stats, figures->state);
    bool ready = figures->state == STORE_READY && !stats->draining;
    cJSON *root = object_open();

    cJSON_AddBoolToObject(root, "ready", ready);
    if (!ready && (stats->draining || !figures->reason[0]))
        cJSON_AddStringToObject(root, "reason", state);
    else if (!ready)
        put_text(root, "reason", figures->reason, strlen(figures->reason));
    *ret_ready = ready;
    return object_print(root);
}

char *json_live(const char *stuck)
{
    cJSON *root = object_open();

    cJSON_AddBoolToObject(root, "live", !stuck);
    if (stuck)
        cJSON_AddStringToObject(root, "reason", stuck);
    return object_print(root);
}

char *json_alerts(const struct alert *alerts, size_t n)
{
    cJSON *root = object_open(), *array;
    uint64_t firing = 0;

    for (size_t i = 0; i < n; i++)
        firing += alerts[i].firing;
    put_u64(root, "firing", firing);
    array = cJSON_AddArrayToObject(root, "alerts");
    for (size_t i = 0; i < n; i++) {
        cJSON *object = append_object(array);

        cJSON_AddStringToObject(object, "name", alerts[i].name);
        cJSON_AddStringToObject(object, "severity", alerts[i].severity);
        cJSON_AddBoolToObject(object, "firing", alerts[i].firing);
        put_text(object, "reason", alerts[i].reason, strlen(alerts[i].reason));
    }
    return object_print(root);
}

char *json_error(const char *reason)
{
    cJSON *root = object_open();

    put_text(root, "error", reason, strlen(reason));
    return object_print(root);
}
