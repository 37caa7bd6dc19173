#include "ledger.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/catalog.h"
#include "store/store_state.h"

static const char *fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *fault(const char *format, ...)
{
    static char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return text;
}

static void *append(void **list, size_t *n, size_t bytes)
{
    *list = mem_realloc(*list, *n + 1, bytes);
    return (char *)*list + (*n)++ * bytes;
}

#define APPEND(list, n) append((void **)&(list), &(n), sizeof *(list))

/* ---- life ---- */

static void begin_window(struct ledger *ledger, size_t begun, size_t done)
{
    *(struct ledger_expiry *)APPEND(ledger->expiries, ledger->expiries_n) =
        (struct ledger_expiry){.begun = begun, .done = done, .segment = ledger->segment};
}

void ledger_init(struct ledger *ledger)
{
    *ledger = (struct ledger){.segment = 1, .first_seq = 1};
    begin_window(ledger, 0, 0);
    ledger_commit(ledger, 0, 0);
}

void ledger_done(struct ledger *ledger)
{
    free(ledger->rows);
    free(ledger->extras);
    free(ledger->commits);
    free(ledger->expiries);
}

struct ledger ledger_cut(const struct ledger *ledger, size_t commit, const struct store *store)
{
    const struct ledger_commit *state = &ledger->commits[commit];
    struct ledger ret = {0};

    for (size_t i = 0; i < state->rows; i++)
        *(struct ledger_row *)APPEND(ret.rows, ret.rows_n) = ledger->rows[i];
    for (size_t i = 0; i < state->extras; i++)
        *(struct ledger_extra *)APPEND(ret.extras, ret.extras_n) = ledger->extras[i];
    ledger_expire(&ret, 0, 0, store);
    ledger_commit(&ret, 0, 0);
    return ret;
}

void ledger_commit(struct ledger *ledger, size_t begun, size_t done)
{
    *(struct ledger_commit *)APPEND(ledger->commits, ledger->commits_n) = (struct ledger_commit){
        .begun = begun,
        .done = done,
        .rows = ledger->rows_n,
        .extras = ledger->extras_n,
    };
}

void ledger_expire(struct ledger *ledger, size_t begun, size_t done, const struct store *store)
{
    ledger->segment = store->segments[0].number;
    ledger->first_seq = store->segments[0].meta.first_seq;
    begin_window(ledger, begun, done);
}

/* ---- batches ---- */

static void add_key(struct text *words, int key)
{
    static const char padding[] = "................................................................";

    text_add_format(words, "k%d.", key);
    for (int n = key * 53 % 4; n > 0; n--) /* rows of many lengths */
        text_add_str(words, padding);
}

void ledger_word(struct text *words, int key, uint64_t fingerprint, bool other_feed)
{
    add_key(words, key);
    if (other_feed)
        text_add_str(words, "@other");
    else
        text_add_format(words, "=%llu", (unsigned long long)fingerprint);
}

static const struct ledger_row *find(const struct ledger *ledger, int key, int64_t *ret_seq)
{
    for (*ret_seq = (int64_t)ledger->rows_n; *ret_seq >= ledger->first_seq; --*ret_seq)
        if (ledger->rows[*ret_seq - 1].key == key)
            return &ledger->rows[*ret_seq - 1];
    return NULL;
}

static void keep(struct ledger *ledger, int64_t seq, uint64_t fingerprint, uint64_t home)
{
    for (size_t i = 0; seq && i < ledger->extras_n; i++) {
        const struct ledger_extra *extra = &ledger->extras[i];

        if (extra->seq == seq && extra->fingerprint == fingerprint && extra->home >= ledger->segment)
            return;
    }
    *(struct ledger_extra *)APPEND(ledger->extras, ledger->extras_n) =
        (struct ledger_extra){.seq = seq, .fingerprint = fingerprint, .home = home};
}

static const char *judge_new(struct ledger *ledger, const struct batch *batch,
                             const struct batch_trade *trade, int key)
{
    struct ledger_row *row = APPEND(ledger->rows, ledger->rows_n);

    *row = (struct ledger_row){
        .key = key,
        .fingerprint = trade->fingerprint,
        .received_us = batch->received_us,
        .other_feed = trade->feed_len > 0,
    };
    if (trade->verdict != VERDICT_NEW)
        return fault("k%d: %s (%lld) instead of new", key, verdict_name(trade->verdict),
                     (long long)trade->seq);
    return trade->seq == (int64_t)ledger->rows_n
               ? NULL
               : fault("k%d: seq %lld instead of %zu", key, (long long)trade->seq, ledger->rows_n);
}

static const char *judge_trade(struct ledger *ledger, const struct batch *batch,
                               const struct batch_trade *trade, uint64_t home)
{
    int key = atoi(batch_key(batch, trade) + 1);
    int64_t seq;
    const struct ledger_row *row = find(ledger, key, &seq);

    if (!row)
        return judge_new(ledger, batch, trade, key);
    bool same = row->fingerprint == trade->fingerprint;
    enum verdict right = same ? VERDICT_DUPLICATE : VERDICT_CONFLICT;

    if (trade->verdict != right)
        return fault("k%d: %s instead of %s", key, verdict_name(trade->verdict), verdict_name(right));
    if (trade->seq != seq || trade->received_us != row->received_us)
        return fault("k%d: of seq %lld instead of %lld, or of another time", key, (long long)trade->seq,
                     (long long)seq);
    if (!same)
        keep(ledger, seq, trade->fingerprint, home);
    return NULL;
}

const char *ledger_judge(struct ledger *ledger, const struct batch *batch, uint64_t home)
{
    const char *wrong = NULL;

    for (size_t i = 0; i < batch->trades_n && !wrong; i++) {
        const struct batch_trade *trade = &batch->trades[i];

        if (trade->key_len)
            wrong = judge_trade(ledger, batch, trade, home);
        else if (trade->verdict == VERDICT_INVALID)
            keep(ledger, 0, 0, home);
    }
    return wrong;
}

/* ---- where an opened store stands ---- */

static void count_extras(const struct ledger *ledger, size_t commit, uint64_t segment,
                         uint64_t *ret_versions, uint64_t *ret_rejects)
{
    *ret_versions = *ret_rejects = 0;
    for (size_t i = 0; i < ledger->commits[commit].extras; i++) {
        const struct ledger_extra *extra = &ledger->extras[i];

        if (extra->home >= segment)
            ++*(extra->seq ? ret_versions : ret_rejects);
    }
}

static bool is_at(const struct ledger *ledger, size_t commit, struct store_fixture *fixture)
{
    const struct figures *figures = store_fixture_figures(fixture);
    uint64_t versions, rejects;

    count_extras(ledger, commit, fixture->store->segments[0].number, &versions, &rejects);
    return store_next_seq(store_active(fixture->store)) == (int64_t)ledger->commits[commit].rows + 1 &&
           figures->conflicts == versions && figures->rejects == rejects;
}

static const char *check_window(const struct ledger *ledger, size_t moment, uint64_t segment)
{
    uint64_t least = 0, most = 0;

    for (size_t i = 0; i < ledger->expiries_n; i++) {
        if (ledger->expiries[i].done <= moment)
            least = ledger->expiries[i].segment;
        if (ledger->expiries[i].begun < moment)
            most = ledger->expiries[i].segment;
    }
    return segment >= least && segment <= most
               ? NULL
               : fault("the window begins with segment %llu instead of %llu to %llu",
                       (unsigned long long)segment, (unsigned long long)least,
                       (unsigned long long)most);
}

const char *ledger_place(const struct ledger *ledger, size_t moment, struct store_fixture *fixture,
                         size_t *ret_commit)
{
    const char *wrong = check_window(ledger, moment, fixture->store->segments[0].number);
    size_t last = 0;

    while (last + 1 < ledger->commits_n && ledger->commits[last + 1].done <= moment)
        last++;
    if (wrong)
        return wrong;
    if (last + 1 < ledger->commits_n && ledger->commits[last + 1].begun < moment &&
        is_at(ledger, last + 1, fixture))
        last++;
    else if (!is_at(ledger, last, fixture))
        return fault("%llu rows up to seq %lld, %llu conflicts, %llu rejects: neither those of the last"
                     " acknowledged commit, which ended with seq %zu, nor of the one under way",
                     (unsigned long long)fixture->figures.rows,
                     (long long)store_next_seq(store_active(fixture->store)) - 1,
                     (unsigned long long)fixture->figures.conflicts,
                     (unsigned long long)fixture->figures.rejects, ledger->commits[last].rows);
    *ret_commit = last;
    return NULL;
}

/* ---- the files ---- */

struct reading {
    const struct ledger *ledger;
    const char *name;
    uint64_t home;    /* the segment's number */
    int64_t next_seq; /* that the next row must have */
};

static bool is_text(sqlite3_stmt *row, int column, const char *text)
{
    const char *stored = (const char *)sqlite3_column_text(row, column);

    return stored && strcmp(stored, text) == 0;
}

static const char *read_row(struct reading *reading, sqlite3_stmt *row)
{
    size_t at = (size_t)reading->next_seq - 1;
    const struct ledger_row *right = at < reading->ledger->rows_n ? &reading->ledger->rows[at] : NULL;
    struct text key = {0}, word = {0};

    if (!right || sqlite3_column_int64(row, 0) != reading->next_seq)
        return fault("%s.db: row %lld where row %lld of %zu should stand", reading->name,
                     (long long)sqlite3_column_int64(row, 0), (long long)reading->next_seq,
                     reading->ledger->rows_n);
    add_key(&key, right->key);
    ledger_word(&word, right->key, right->fingerprint, right->other_feed);
    bool same = is_text(row, 1, text_terminate(&key)) &&
                (uint64_t)sqlite3_column_int64(row, 2) == right->fingerprint &&
                sqlite3_column_int64(row, 3) == right->received_us &&
                is_text(row, 4, right->other_feed ? "other" : "test") &&
                is_text(row, 5, text_terminate(&word));

    text_done(&key);
    text_done(&word);
    reading->next_seq++;
    return same ? NULL
                : fault("%s.db: row %lld is not what was sent", reading->name,
                        (long long)reading->next_seq - 1);
}

static const char *read_version(struct reading *reading, sqlite3_stmt *row)
{
    for (size_t i = 0; i < reading->ledger->extras_n; i++) {
        const struct ledger_extra *extra = &reading->ledger->extras[i];

        if (extra->home == reading->home && extra->seq == sqlite3_column_int64(row, 0) &&
            extra->fingerprint == (uint64_t)sqlite3_column_int64(row, 1))
            return NULL;
    }
    return fault("%s.db: a conflict of row %lld that was never sent", reading->name,
                 (long long)sqlite3_column_int64(row, 0));
}

static const char *read_check(struct reading *reading, sqlite3_stmt *row)
{
    return is_text(row, 0, "ok")
               ? NULL
               : fault("%s.db: %s", reading->name, (const char *)sqlite3_column_text(row, 0));
}

static const char *read_first(struct reading *reading, sqlite3_stmt *row)
{
    int64_t first = sqlite3_column_int64(row, 0);

    return first == reading->next_seq
               ? NULL
               : fault("%s.db begins with seq %lld instead of %lld", reading->name, (long long)first,
                       (long long)reading->next_seq);
}

static const struct query {
    const char *sql;
    const char *(*on_row)(struct reading *reading, sqlite3_stmt *row);
} queries[] = {
    {"PRAGMA integrity_check", read_check},
    {"SELECT first_seq FROM meta", read_first},
    {"SELECT seq, key, fingerprint, received, feed, message FROM trade ORDER BY seq", read_row},
    {"SELECT seq, fingerprint FROM conflict", read_version},
};

static const char *read_query(struct reading *reading, sqlite3 *db, const struct query *query)
{
    sqlite3_stmt *statement = NULL;
    const char *wrong = NULL;
    int rc = sqlite3_prepare_v2(db, query->sql, -1, &statement, NULL);

    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(statement);
        if (rc != SQLITE_ROW || (wrong = query->on_row(reading, statement)))
            break;
    }
    if (!wrong && rc != SQLITE_DONE)
        wrong = fault("%s.db: %s: %s", reading->name, query->sql, sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    return wrong;
}

static const char *read_segment(struct reading *reading, const char *dir)
{
    char path[CATALOG_PATH_MAX];
    const char *wrong = NULL;
    sqlite3 *db;

    catalog_path(path, dir, reading->name, ".db");
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        wrong = fault("%s.db: %s", reading->name, sqlite3_errmsg(db));
    for (size_t i = 0; i < sizeof queries / sizeof *queries && !wrong; i++)
        wrong = read_query(reading, db, &queries[i]);
    sqlite3_close(db);
    return wrong;
}

const char *ledger_read(const struct ledger *ledger, const char *dir)
{
    struct reading reading = {.ledger = ledger, .next_seq = ledger->first_seq};
    const char *wrong = NULL;
    struct catalog_entry *entries;
    struct err err;
    size_t n;

    if (catalog_list(dir, &entries, &n, &err) < 0)
        return fault("%s", err.text);
    for (size_t i = 0; i < n && !wrong; i++) {
        reading.name = entries[i].name;
        reading.home = entries[i].number;
        wrong = read_segment(&reading, dir);
    }
    free(entries);
    if (!wrong && reading.next_seq != (int64_t)ledger->rows_n + 1)
        wrong = fault("the rows end with seq %lld instead of %zu", (long long)reading.next_seq - 1,
                      ledger->rows_n);
    return wrong;
}
