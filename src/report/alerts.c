#include "report/alerts.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "store/bloom.h"

static const uint64_t wal_limit_bytes = 64 << 20; /* checkpoints keep it far below that */
static const int64_t conflict_us = INT64_C(15) * 60 * 1000000;
static const uint64_t recent_min = 100; /* strangers: fewer prove nothing */
static const double rate_factor = 3, rate_useless = 0.5, reserve_factor = 2;

struct judge {
    struct alert *next;
    const struct stats_values *stats;
    const struct figures *figures;
    const char *stuck;
};

__attribute__((format(printf, 5, 6))) static void
add(struct judge *judge, const char *name, const char *severity, bool firing, const char *reason, ...)
{
    struct alert *alert = judge->next++;
    va_list args;

    *alert = (struct alert){.name = name, .severity = severity, .firing = firing};
    va_start(args, reason);
    vsnprintf(alert->reason, sizeof alert->reason, reason, args);
    va_end(args);
}

#define U(n) ((unsigned long long)(n))

static void judge_store(struct judge *judge)
{
    const struct figures *figures = judge->figures;
    bool failed = figures->state == STORE_FAILED, full = figures->state == STORE_FULL;

    add(judge, "store_failed", "critical", failed, "%s", failed ? figures->reason : "the store works");
    add(judge, "store_full", "critical", full, "%s",
        full ? figures->reason : "the store takes trades or is not open yet");
}

static void judge_members(struct judge *judge)
{
    const struct figures *figures = judge->figures;
    uint64_t lost = figures->members_asked - figures->members_maybe;

    add(judge, "false_negative", "critical", figures->false_negative > 0,
        "%llu stored keys were answered absent", U(figures->false_negative));
    add(judge, "self_test", "critical", lost > 0, "of %llu stored keys asked, %llu were answered maybe",
        U(figures->members_asked), U(figures->members_maybe));
}

static void judge_acks(struct judge *judge)
{
    uint64_t unanswered = stats_unanswered(judge->stats);

    add(judge, "acks_stalled", "critical", unanswered && judge->stuck, "%llu trades unanswered, %s",
        U(unanswered), judge->stuck ? judge->stuck : "loop and store make progress");
}

static bool is_high(uint64_t maybe, uint64_t asked, double limit)
{
    double low, high;

    if (!asked)
        return false;
    wilson_interval(maybe, asked, &low, &high);
    return low > limit;
}

static void judge_rates(struct judge *judge)
{
    const struct figures *figures = judge->figures;
    double limit = rate_factor * figures->target_fpr;
    bool useless =
        figures->predicted_fpr > rate_useless ||
        (figures->recent_absent_asked >= recent_min &&
         (double)figures->recent_false_positive > rate_useless * (double)figures->recent_absent_asked);
    bool high = is_high(figures->recent_false_positive, figures->recent_absent_asked, limit) ||
                is_high(figures->strangers_maybe, figures->strangers_asked, limit);

    add(judge, "filter_useless", "critical", useless,
        "maybe is predicted for %.3g of all strangers, and was said to %llu of the last %llu",
        figures->predicted_fpr, U(figures->recent_false_positive), U(figures->recent_absent_asked));
    add(judge, "rate_high", "warning", high,
        "maybe to %llu of %llu strangers lately, %llu of %llu in self-tests; the target is %.3g",
        U(figures->recent_false_positive), U(figures->recent_absent_asked), U(figures->strangers_maybe),
        U(figures->strangers_asked), figures->target_fpr);
    add(judge, "over_capacity", "warning", figures->keys > figures->capacity,
        "%llu keys, the capacity is %llu", U(figures->keys), U(figures->capacity));
}

static void judge_disk(struct judge *judge)
{
    const struct figures *figures = judge->figures;
    double wanted = reserve_factor * (double)figures->disk_reserve_bytes;

    add(judge, "wal_growing", "warning", figures->wal_bytes > wal_limit_bytes,
        "%llu bytes of write-ahead log, the limit is %llu", U(figures->wal_bytes), U(wal_limit_bytes));
    add(judge, "disk_filling", "warning",
        figures->sqlite_version && (double)figures->disk_free_bytes < wanted,
        "%llu bytes free, the reserve is %llu", U(figures->disk_free_bytes),
        U(figures->disk_reserve_bytes));
}

void alerts_judge(const struct stats_values *stats, const struct figures *figures, const char *stuck,
                  int64_t now_us, struct alert ret[ALERTS_N])
{
    struct judge judge = {ret, stats, figures, stuck};
    int64_t ago_us = now_us - stats->conflict_mono_us;
    bool conflict = stats->conflict_mono_us && ago_us < conflict_us;

    judge_store(&judge);
    judge_members(&judge);
    judge_acks(&judge);
    judge_rates(&judge);
    judge_disk(&judge);
    add(&judge, "conflicts", "warning", conflict, "%llu trades came again with other content%s",
        U(stats->verdicts[VERDICT_CONFLICT]), conflict ? ", the last within 15 minutes" : "");
    add(&judge, "expiry_held", "warning", figures->expiry_held, "%s",
        figures->expiry_held ? "a clock is not believed: nothing expires" : "the clocks agree");
    assert(judge.next == ret + ALERTS_N);
}
