#include "ingest/feed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "ingest/identity.h"
#include "ingest/match.h"
#include "ingest/outcome.h"
#include "ingest/profile.h"
#include "ingest/replay.h"

/* The order of judgement is interface.md's, and judge_line is that order:
 *
 * 1. the line is JSON, and the message is what it holds or what it wraps;
 * 2. the conditions on the message decide which match objects are still alive;
 * 3. the first trades path that is there says which elements are trades;
 * 4. each element: its conditions, its shape, its key, its content.
 *
 * A value is read when its turn comes, and only a value that is read can be a duplicate_member. */

struct feed {
    char name[FEED_NAME_MAX + 1];
    struct profile *profile; /* NULL: replay */
};

struct judge {
    const struct profile *profile;
    const struct feed_context *context;
    struct outcome *outcome;
    struct scan_value values[SCAN_WANT_MAX]; /* of the message, by node of profile->message */
    uint64_t alive;                          /* match objects whose `$` conditions hold, a bit each */
};

static bool read_message(struct judge *j);
static bool message_matches(struct judge *j);
static const struct profile_trades *find_trades(struct judge *j);
static void walk(struct judge *j, const struct profile_trades *trades, unsigned star,
                 const struct scan_value *array);
static void judge_trade(struct judge *j, const struct scan_value *trade);
static void judge_values(struct judge *j, const struct scan_value *trade,
                         const struct profile_values *values);

static void judge_line(struct judge *j)
{
    if (!read_message(j) || !message_matches(j))
        return;
    const struct profile_trades *trades = find_trades(j);

    if (!trades)
        return;
    if (trades->stars)
        walk(j, trades, 0, &j->values[trades->node]);
    else
        judge_trade(j, &j->values[trades->node]);
    if (!j->outcome->over && !outcome_trades(j->outcome))
        outcome_ignore_line(j->outcome);
}

void feed_judge(const struct feed *feed, const struct feed_context *context, struct batch *batch,
                size_t at, size_t len, uint64_t line_number)
{
    bool stars = feed->profile && feed->profile->stars;
    struct outcome outcome;
    struct judge j;

    assert(context->source || !feed_uses_source(feed));
    outcome_begin(&outcome, batch, at, len, line_number, stars ? LINE_TRADES : LINE_SINGLE);
    if (!feed->profile) {
        replay_judge(&outcome, context);
        return;
    }
    j.profile = feed->profile;
    j.context = context;
    j.outcome = &outcome;
    j.alive = 0;
    judge_line(&j);
}

/* 1: the message */

static bool unwrap(struct judge *j)
{
    struct scan_value values[SCAN_WANT_MAX];
    const struct profile_choice *unwrap = &j->profile->unwrap;

    if (!outcome_scan(j->outcome, &j->profile->line, values))
        return false;
    struct profile_values line = {values, values};
    const struct scan_value *inner = profile_choose(unwrap, &line, false);

    if (inner->twice) {
        outcome_refuse_line(j->outcome, REASON_DUPLICATE_MEMBER, "it stands twice: %s", unwrap->label);
        return false;
    }
    scan_again(inner->kind != SCAN_NOTHING ? inner : &values[0], &j->profile->message, j->values);
    return true;
}

static bool read_message(struct judge *j)
{
    if (j->profile->unwraps)
        return unwrap(j);
    return outcome_scan(j->outcome, &j->profile->message, j->values);
}

/* 2: conditions */

static bool message_matches(struct judge *j)
{
    struct profile_values values = {j->values, j->values};
    struct text *scratch = &j->outcome->batch->arena;
    const char *label = "";

    for (unsigned i = 0; i < j->profile->alternatives_n; i++) {
        const struct profile_alternative *one = &j->profile->alternatives[i];

        switch (match_all(one->of_message, one->of_message_n, &values, scratch, &label)) {
        case MATCH_TWICE:
            outcome_refuse_line(j->outcome, REASON_DUPLICATE_MEMBER, "it stands twice: %s", label);
            return false;
        case MATCH_YES:
            j->alive |= UINT64_C(1) << i;
            break;
        case MATCH_NO:
            break;
        }
    }
    if (j->profile->alternatives_n && !j->alive) {
        outcome_ignore_line(j->outcome);
        return false;
    }
    return true;
}

static enum match_answer trade_matches(struct judge *j, const struct profile_values *values,
                                       const char **ret_label)
{
    struct text *scratch = &j->outcome->batch->arena;

    if (!j->profile->alternatives_n)
        return MATCH_YES;
    for (unsigned i = 0; i < j->profile->alternatives_n; i++) {
        const struct profile_alternative *one = &j->profile->alternatives[i];

        if (!(j->alive >> i & 1))
            continue;
        enum match_answer answer =
            match_all(one->of_trade, one->of_trade_n, values, scratch, ret_label);

        if (answer != MATCH_NO)
            return answer;
    }
    return MATCH_NO;
}

/* 3: where the trades are */

static const struct profile_trades *find_trades(struct judge *j)
{
    const struct profile *profile = j->profile;

    for (unsigned i = 0; i < profile->trades_n; i++) {
        const struct profile_trades *trades = &profile->trades[i];
        const struct scan_value *value = &j->values[trades->node];

        if (value->twice) {
            outcome_refuse_line(j->outcome, REASON_DUPLICATE_MEMBER, "it stands twice: %s",
                                trades->label);
            return NULL;
        }
        if (trades->stars ? value->kind == SCAN_ARRAY : value->kind != SCAN_NOTHING)
            return trades;
    }
    /* Only a match or a `*` can tell that this line was never meant to be a trade. */
    if (profile->has_conditions || profile->stars)
        outcome_ignore_line(j->outcome);
    else
        outcome_refuse_line(j->outcome, REASON_NOT_A_TRADE_OBJECT, "no member %s",
                            profile->trades->label);
    return NULL;
}

static void walk(struct judge *j, const struct profile_trades *trades, unsigned star,
                 const struct scan_value *array)
{
    const struct scan_want *below = trades->below[star];
    struct scan_value values[SCAN_WANT_MAX], element;
    size_t cursor = 0;

    while (!j->outcome->over && scan_next_element(array, &cursor, &element)) {
        const struct scan_value *found = &element;

        if (below->n > 1) {
            scan_again(&element, below, values);
            found = &values[below->n - 1];
        }
        if (found->twice)
            outcome_refuse_line(j->outcome, REASON_DUPLICATE_MEMBER,
                                "a member on the way stands twice: %s", trades->label);
        else if (star + 1 == trades->stars && found->kind != SCAN_NOTHING)
            judge_trade(j, found);
        else if (star + 1 < trades->stars && found->kind == SCAN_ARRAY)
            walk(j, trades, star + 1, found);
    }
}

/* 4: one trade */

static void judge_trade(struct judge *j, const struct scan_value *trade)
{
    struct scan_value values[SCAN_WANT_MAX];

    if (outcome_trades(j->outcome) == j->context->max_trades_per_line) {
        outcome_refuse_line(j->outcome, REASON_TOO_MANY_TRADES, "more than %u trades in one line",
                            (unsigned)j->context->max_trades_per_line);
        return;
    }
    if (!outcome_check_room(j->outcome, j->context->max_key_bytes))
        return;
    if (j->profile->trade_is_message) {
        judge_values(j, trade, &(struct profile_values){j->values, j->values});
        return;
    }
    scan_again(trade, &j->profile->trade, values);
    judge_values(j, trade, &(struct profile_values){j->values, values});
}

static void add_trade(struct judge *j, const struct scan_value *trade,
                      const struct profile_values *values)
{
    struct text *arena = &j->outcome->batch->arena;
    size_t key_at = arena->len;
    struct identity_fault fault;
    uint64_t print = 0;

    if (identity_add_key(arena, j->profile, j->context, values, &fault) ||
        identity_fingerprint(arena, j->profile, values, &print, &fault)) {
        arena->len = key_at;
        outcome_add_invalid(j->outcome, trade, fault.reason, "%s%s", fault.sentence, fault.label);
        return;
    }
    struct batch_trade *added = outcome_add(j->outcome, trade);

    added->key_at = (uint32_t)key_at;
    added->key_len = (uint32_t)(arena->len - key_at);
    added->fingerprint = print;
}

static void judge_values(struct judge *j, const struct scan_value *trade,
                         const struct profile_values *values)
{
    const char *label = "";

    switch (trade_matches(j, values, &label)) {
    case MATCH_NO:
        outcome_add_ignored(j->outcome, trade);
        return;
    case MATCH_TWICE:
        outcome_add_invalid(j->outcome, trade, REASON_DUPLICATE_MEMBER, "it stands twice: %s", label);
        return;
    case MATCH_YES:
        break;
    }
    if (trade->kind == SCAN_OBJECT || trade->kind == SCAN_ARRAY)
        add_trade(j, trade, values);
    else
        outcome_add_invalid(j->outcome, trade, REASON_NOT_A_TRADE_OBJECT,
                            "neither an object nor an array");
}

/* Loading */

static const char canonical_json[] =
    "{\"key\":[[\"/source\",{\"const\":\"\"}],[\"/symbol\",{\"const\":\"\"}],\"/id\"],"
    "\"content\":[{\"decimal\":\"/price\"},{\"decimal\":\"/quantity\"},\"/side\",\"/time\"]}";

static bool is_name(const char *name, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    return len && len <= FEED_NAME_MAX && strspn(name, letters) >= len;
}

static struct feed *open_feed(const char *name, size_t len, struct profile *profile)
{
    struct feed *feed = mem_zalloc(1, sizeof *feed);

    memcpy(feed->name, name, len);
    feed->profile = profile;
    return feed;
}

static int parse(struct feed **ret, const char *name, size_t name_len, const char *json, size_t len,
                 struct err *err)
{
    struct profile *profile;

    if (!is_name(name, name_len))
        return err_set(err, ERR_CONFIG,
                       "a feed's name has 1 to %d letters, digits, '-', '_' or '.': %.*s",
                       FEED_NAME_MAX, (int)name_len, name);
    if (profile_parse(&profile, json, len, err))
        return err->code;
    *ret = open_feed(name, name_len, profile);
    return 0;
}

int feed_parse(struct feed **ret, const char *name, const char *json, size_t len, struct err *err)
{
    return parse(ret, name, strlen(name), json, len, err);
}

int feed_load(struct feed **ret, const char *file, struct err *err)
{
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    size_t len = strlen(name);
    struct text json = {0};

    if (len > 5 && !strcmp(name + len - 5, ".json"))
        len -= 5;
    int rc = file_read(file, FEED_FILE_MAX, &json, err);

    if (!rc)
        rc = parse(ret, name, len, json.at, json.len, err);
    if (rc)
        err_prefix(err, "%s", file);
    text_done(&json);
    return rc;
}

struct feed *feed_builtin(const char *name)
{
    struct profile *profile = NULL;
    struct err err;

    if (!strcmp(name, "canonical")) {
        int rc = profile_parse(&profile, canonical_json, sizeof canonical_json - 1, &err);

        assert(!rc);
        (void)rc;
        return open_feed(name, strlen(name), profile);
    }
    return strcmp(name, "replay") ? NULL : open_feed(name, strlen(name), NULL);
}

void feed_close(struct feed *feed)
{
    if (!feed)
        return;
    profile_close(feed->profile);
    free(feed);
}

const char *feed_name(const struct feed *feed)
{
    return feed->name;
}

bool feed_uses_source(const struct feed *feed)
{
    return feed->profile && feed->profile->uses_source;
}

size_t feed_line_bytes(const struct feed *feed, const struct feed_context *context,
                       size_t message_bytes)
{
    return message_bytes + (feed->profile ? 0 : replay_envelope_bytes(context->max_key_bytes));
}
