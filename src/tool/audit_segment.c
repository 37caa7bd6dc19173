#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "store/bank.h"
#include "store/batch.h"
#include "store/bloom.h"
#include "store/snapshot.h"
#include "tool/audit.h"

enum { PROGRESS_ROWS = 4096 };

struct filter {
    enum { FILTER_NONE, FILTER_BANK, FILTER_CLASSIC } kind;
    struct snapshot_origin origin;
    struct bank bank;
    struct bloom bloom;
};

struct scan {
    struct audit *audit;
    struct audit_segment *segment;
    struct filter *filter;
    struct text key; /* for messages */
    int64_t next_seq;
    uint32_t generation; /* of the last row */
    uint64_t in_generation, rows;
};

/* ---- the filter ---- */

static void open_filter(struct audit *audit, struct audit_segment *segment, struct filter *filter)
{
    const struct bloom_shape any = {0};
    int64_t *first_seqs;
    const char *why;

    *filter = (struct filter){0};
    if (catalog_bytes(audit->dir, segment->name, ".bloom") == 0)
        return;
    if (!audit->has_secret) {
        audit_find(audit, segment, "%s.bloom: cannot be read, filter.key is missing or damaged",
                   segment->name);
        return;
    }
    memcpy(filter->origin.segment_id, segment->meta.id, SEGMENT_ID_BYTES);
    memcpy(filter->origin.secret, audit->secret, BLOOM_KEY_BYTES);
    if (snapshot_read_bank(audit->dir, segment->name, &filter->origin, any, &filter->bank, &first_seqs,
                           &why)) {
        filter->kind = FILTER_BANK;
        free(first_seqs);
    } else if (strcmp(why, "of another format") == 0 &&
               snapshot_read_classic(audit->dir, segment->name, &filter->origin, any, &filter->bloom,
                                     &why)) {
        filter->kind = FILTER_CLASSIC;
    } else {
        audit_find(audit, segment, "%s.bloom: %s", segment->name, why);
    }
}

static void close_filter(struct filter *filter)
{
    if (filter->kind == FILTER_BANK)
        bank_done(&filter->bank);
    if (filter->kind == FILTER_CLASSIC)
        bloom_done(&filter->bloom);
}

/* What the filter says of itself, against the segment. */
static void judge_filter(struct audit *audit, struct audit_segment *segment,
                         const struct filter *filter)
{
    int64_t last_seq = filter->origin.last_seq;
    struct err err;
    bool holds = true;

    if (filter->kind == FILTER_NONE)
        return;
    if (last_seq > segment->last_seq || last_seq < segment->meta.first_seq - 1 ||
        (filter->kind == FILTER_CLASSIC && last_seq != segment->last_seq))
        audit_find(audit, segment, "%s.bloom: made for rows up to %" PRId64 ", the last is %" PRId64,
                   segment->name, last_seq, segment->last_seq);
    if (filter->kind == FILTER_CLASSIC)
        return;
    if (segment_run_holds(segment->db, filter->origin.run, last_seq, &holds, &err) < 0)
        audit_find(audit, segment, "%s", err.text);
    if (!holds)
        audit_find(audit, segment, "%s.bloom: of a run that the segment does not know", segment->name);
}

/* Whether a key is `maybe` where it must be, and the key that the filter noted is this one. */
static void ask_filter(struct scan *scan, const struct segment_row *row)
{
    const struct filter *filter = scan->filter;

    if (filter->kind == FILTER_NONE || row->seq > filter->origin.last_seq)
        return;
    struct bloom_hash hash = bloom_hash(filter->origin.secret, row->key, row->key_len);
    bool maybe = filter->kind == FILTER_CLASSIC
                     ? bloom_ask(&filter->bloom, hash)
                     : row->generation < filter->bank.columns &&
                           bank_ask_column(&filter->bank, row->generation, hash);

    if (!maybe)
        audit_find(scan->audit, scan->segment, "%s.bloom: says absent of row %" PRId64 ", %s",
                   scan->segment->name, row->seq, audit_key(&scan->key, row->key, row->key_len));
    if (row->seq == filter->origin.last_seq && hash.x != filter->origin.last_hash)
        audit_find(scan->audit, scan->segment,
                   "%s.bloom: of other rows: row %" PRId64 " is not its last", scan->segment->name,
                   row->seq);
}

/* ---- rows ---- */

static void judge_seq(struct scan *scan, int64_t seq)
{
    const char *name = scan->segment->name;

    if (seq < scan->segment->meta.first_seq)
        audit_find(scan->audit, scan->segment, "%s.db: row %" PRId64 " stands before its first seq",
                   name, seq);
    else if (seq == scan->next_seq + 1)
        audit_find(scan->audit, scan->segment, "%s.db: row %" PRId64 " is missing", name,
                   scan->next_seq);
    else if (seq != scan->next_seq)
        audit_find(scan->audit, scan->segment, "%s.db: rows %" PRId64 " to %" PRId64 " are missing",
                   name, scan->next_seq, seq - 1);
    if (seq >= scan->segment->meta.first_seq)
        scan->next_seq = seq + 1;
}

static void judge_generation(struct scan *scan, const struct segment_row *row)
{
    if (scan->rows && row->generation < scan->generation)
        audit_find(scan->audit, scan->segment,
                   "%s.db: row %" PRId64 " is of generation %u, after one of %u", scan->segment->name,
                   row->seq, row->generation, scan->generation);
    if (!scan->rows || row->generation != scan->generation)
        scan->in_generation = 0;
    scan->generation = row->generation;
    if (++scan->in_generation == (uint64_t)scan->segment->meta.generation_keys + 1)
        audit_find(scan->audit, scan->segment, "%s.db: generation %u holds more than %u rows",
                   scan->segment->name, row->generation, scan->segment->meta.generation_keys);
}

/* A key is UTF-8 without control characters. */
static bool is_key(const char *key, size_t len)
{
    size_t n;

    for (size_t at = 0; at < len; at += n) {
        n = utf8_length(key + at, len - at);
        if (n == 0 || (unsigned char)key[at] < 0x20 || key[at] == 0x7f)
            return false;
    }
    return len > 0;
}

static int judge_row(void *arg, const struct segment_row *row, struct err *err)
{
    struct scan *scan = arg;

    (void)err;
    judge_seq(scan, row->seq);
    judge_generation(scan, row);
    if (!is_key(row->key, row->key_len))
        audit_find(scan->audit, scan->segment, "%s.db: row %" PRId64 ": %s is no key",
                   scan->segment->name, row->seq, audit_key(&scan->key, row->key, row->key_len));
    ask_filter(scan, row);
    if (++scan->rows % PROGRESS_ROWS == 0)
        audit_progress(scan->audit, PROGRESS_ROWS);
    return 0;
}

static void judge_rows(struct audit *audit, struct audit_segment *segment, struct filter *filter)
{
    struct scan scan = {
        .audit = audit, .segment = segment, .filter = filter, .next_seq = segment->meta.first_seq};
    struct err err;

    if (segment_scan(segment->db, INT64_MIN, judge_row, &scan, &err) < 0)
        audit_find(audit, segment, "%s", err.text);
    audit->rows += scan.rows;
    audit_progress(audit, scan.rows % PROGRESS_ROWS);
    text_done(&scan.key);
}

/* ---- rejects ---- */

static int judge_reject(void *arg, const struct segment_reject *reject, struct err *err)
{
    struct scan *scan = arg;
    bool known = false;

    (void)err;
    for (int reason = REASON_NONE + 1; reason < REASON_COUNT && !known; reason++)
        known = strcmp(reason_name((enum reason)reason), reject->error) == 0;
    if (!known || !*reject->feed)
        audit_find(scan->audit, scan->segment, "%s.db: a reject of feed \"%s\" with the error \"%s\"",
                   scan->segment->name, reject->feed,
                   audit_key(&scan->key, reject->error, strlen(reject->error)));
    scan->audit->rejects++;
    return 0;
}

static void judge_rejects(struct audit *audit, struct audit_segment *segment)
{
    struct scan scan = {.audit = audit, .segment = segment};
    struct err err;

    if (segment_scan_rejects(segment->db, judge_reject, &scan, &err) < 0)
        audit_find(audit, segment, "%s", err.text);
    text_done(&scan.key);
}

/* ---- the files ---- */

struct check {
    struct audit *audit;
    struct audit_segment *segment;
    const char *suffix;
};

static void on_fault(void *arg, const char *text)
{
    const struct check *check = arg;
    size_t len = strcspn(text, "\n"); /* SQLite begins some with a line of their own */

    if (text[len])
        text += len + 1;
    audit_find(check->audit, check->segment, "%s%s: %.*s", check->segment->name, check->suffix,
               (int)strcspn(text, "\n"), text);
}

static void check_file(struct audit *audit, struct audit_segment *segment)
{
    struct check check = {audit, segment, ".db"};
    struct err err;

    if (segment_check(segment->db, on_fault, &check, &err) < 0)
        audit_find(audit, segment, "%s", err.text);
    audit_progress(audit, segment->rows);
}

/* A closed segment may wait to be sealed; one whose filter is that of a sealed one was. */
static void open_sealed(struct audit *audit, struct audit_segment *segment, bool last, bool was_sealed)
{
    struct check check = {audit, segment, ".keys"};
    struct err err;

    if (catalog_bytes(audit->dir, segment->name, ".keys") == 0) {
        if (was_sealed)
            audit_find(audit, segment, "%s.keys: is not there", segment->name);
        return;
    }
    if (last)
        audit_find(audit, segment, "%s.keys: sealed keys of the segment that is written",
                   segment->name);
    if (sealed_open_still(&segment->keys, audit->dir, segment->name, segment->meta.id, &err) < 0 ||
        sealed_check(segment->keys, on_fault, &check, &err) < 0)
        audit_find(audit, segment, "%s", err.text);
    if (segment->keys && sealed_rows(segment->keys) != segment->rows)
        audit_find(audit, segment, "%s.keys: made of %" PRIu64 " rows, the segment has %" PRIu64,
                   segment->name, sealed_rows(segment->keys), segment->rows);
}

void audit_segment(struct audit *audit, size_t i)
{
    struct audit_segment *segment = &audit->segments[i];
    struct filter filter;

    if (segment->db) {
        check_file(audit, segment);
        open_filter(audit, segment, &filter);
        judge_filter(audit, segment, &filter);
        judge_rows(audit, segment, &filter);
        open_sealed(audit, segment, i + 1 == audit->segments_n, filter.kind == FILTER_CLASSIC);
        close_filter(&filter);
        judge_rejects(audit, segment);
        segment_trim(segment->db);
    }
    audit_end_pass(audit, segment);
}
