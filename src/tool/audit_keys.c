/* Every key of every segment, in order, by a merge of the generations' cursors; beside it, in the same
 * order, the sealed keys of each segment, which must be the same. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/merge.h"
#include "tool/audit.h"

enum { PROGRESS_KEYS = 4096 };

struct place {
    size_t segment;
    int64_t seq;
};

struct keys {
    struct audit *audit;
    struct merge merge;
    struct key_cursor *sealed; /* of each segment; no statement: none to compare with, or at its end */
    struct text last;          /* the key that came last */
    struct place last_place;   /* where it stood first */
    struct text shown;         /* for messages */
    uint64_t n;
};

static struct audit_segment *segment_of(struct keys *keys, size_t i)
{
    return &keys->audit->segments[i];
}

static void close_sealed(struct keys *keys, size_t i)
{
    key_cursor_close(&keys->sealed[i]);
}

static void next_sealed(struct keys *keys, size_t i)
{
    struct err err;

    if (key_cursor_next(&keys->sealed[i], &err) == 0)
        return;
    audit_find(keys->audit, segment_of(keys, i), "%s", err.text);
    close_sealed(keys, i);
}

/* Sealed keys up to a key (NULL: all that are left) of which the segment has no row. */
static void skip_sealed(struct keys *keys, size_t i, const struct key_cursor *until)
{
    struct key_cursor *sealed = &keys->sealed[i];

    while (sealed->key &&
           (!until || merge_compare(sealed->key, sealed->len, until->key, until->len) < 0)) {
        audit_find(keys->audit, segment_of(keys, i), "%s.keys: %s, row %" PRId64 ", has no such row",
                   segment_of(keys, i)->name, audit_key(&keys->shown, sealed->key, sealed->len),
                   sealed->seq);
        next_sealed(keys, i);
    }
}

static void judge_sealed(struct keys *keys, const struct key_cursor *row)
{
    struct key_cursor *sealed = &keys->sealed[row->owner];
    struct audit_segment *segment = segment_of(keys, row->owner);

    if (!sealed->statement)
        return;
    skip_sealed(keys, row->owner, row);
    if (!sealed->key || merge_compare(sealed->key, sealed->len, row->key, row->len) != 0) {
        audit_find(keys->audit, segment, "%s.keys: %s, row %" PRId64 ", is not in it", segment->name,
                   audit_key(&keys->shown, row->key, row->len), row->seq);
        return;
    }
    if (sealed->seq != row->seq)
        audit_find(keys->audit, segment, "%s.keys: %s is row %" PRId64 ", not %" PRId64, segment->name,
                   audit_key(&keys->shown, row->key, row->len), row->seq, sealed->seq);
    next_sealed(keys, row->owner);
}

static void judge_key(struct keys *keys, const struct key_cursor *row)
{
    bool again = keys->n && merge_compare(keys->last.at, keys->last.len, row->key, row->len) == 0;

    if (again)
        audit_find(keys->audit, segment_of(keys, row->owner),
                   "%s stands twice: row %" PRId64 " of %s and row %" PRId64 " of %s",
                   audit_key(&keys->shown, row->key, row->len), keys->last_place.seq,
                   segment_of(keys, keys->last_place.segment)->name, row->seq,
                   segment_of(keys, row->owner)->name);
    if (!again || row->owner != keys->last_place.segment)
        judge_sealed(keys, row); /* the second within a segment is in no sealed file */
    if (again)
        return;
    keys->last.len = 0;
    text_add(&keys->last, row->key, row->len);
    keys->last_place = (struct place){row->owner, row->seq};
}

/* One cursor for each generation, and one for the sealed keys. */
static void open_cursors(struct keys *keys, size_t i)
{
    struct audit_segment *segment = segment_of(keys, i);
    struct key_cursor cursor;
    int64_t generation = -1;
    struct err err;
    int code = 0;

    while (segment->db && code == 0) {
        code = segment_next_generation(segment->db, generation, &generation, &err);
        if (code < 0 || generation < 0)
            break;
        code = segment_open_keys(segment->db, generation, &cursor, &err);
        cursor.owner = i;
        if (code == 0)
            merge_add(&keys->merge, &cursor);
        else
            key_cursor_close(&cursor);
    }
    if (code == 0 && segment->keys && sealed_open_keys(segment->keys, &keys->sealed[i], &err) < 0) {
        close_sealed(keys, i);
        code = err.code;
    }
    if (code < 0)
        audit_find(keys->audit, segment, "%s", err.text);
}

void audit_keys(struct audit *audit)
{
    struct keys keys = {.audit = audit};
    struct key_cursor *row;
    struct err err;

    keys.sealed = mem_zalloc(audit->segments_n, sizeof *keys.sealed);
    for (size_t i = 0; i < audit->segments_n; i++)
        open_cursors(&keys, i);
    merge_order(&keys.merge);
    while ((row = merge_first(&keys.merge))) {
        size_t owner = row->owner;

        judge_key(&keys, row);
        if (++keys.n % PROGRESS_KEYS == 0)
            audit_progress(audit, PROGRESS_KEYS);
        if (merge_next(&keys.merge, &err) < 0)
            audit_find(audit, segment_of(&keys, owner), "%s", err.text);
    }
    for (size_t i = 0; i < audit->segments_n; i++) {
        skip_sealed(&keys, i, NULL);
        close_sealed(&keys, i);
        audit_end_pass(audit, &audit->segments[i]);
    }
    merge_done(&keys.merge);
    text_done(&keys.last);
    text_done(&keys.shown);
    free(keys.sealed);
}

/* ---- conflicts ---- */

struct conflicts {
    struct audit *audit;
    struct audit_segment *segment;     /* whose table it is */
    const struct segment_row *version; /* the conflict that is being judged */
    struct text shown;
    bool found;
};

static int judge_version(void *arg, const struct segment_row *trade, struct err *err)
{
    struct conflicts *c = arg;
    const struct segment_row *version = c->version;

    (void)err;
    c->found = true;
    if (merge_compare(trade->key, trade->key_len, version->key, version->key_len) != 0)
        audit_find(c->audit, c->segment, "%s.db: a conflict names row %" PRId64 ", whose key is not %s",
                   c->segment->name, version->seq,
                   audit_key(&c->shown, version->key, version->key_len));
    else if (trade->fingerprint == version->fingerprint)
        audit_find(c->audit, c->segment,
                   "%s.db: a conflict with row %" PRId64 ", %s, has its fingerprint", c->segment->name,
                   version->seq, audit_key(&c->shown, version->key, version->key_len));
    return 0;
}

/* The segment that must hold a seq; NULL: it may have expired, or cannot be read. */
static struct audit_segment *holder_of(struct audit *audit, int64_t seq)
{
    for (size_t i = audit->segments_n; i-- > 0;)
        if (!audit->segments[i].db || seq >= audit->segments[i].meta.first_seq)
            return audit->segments[i].db ? &audit->segments[i] : NULL;
    return NULL;
}

static int judge_conflict(void *arg, const struct segment_row *version, struct err *err)
{
    struct conflicts *c = arg;
    struct audit_segment *holder = holder_of(c->audit, version->seq);

    c->audit->conflicts++;
    c->version = version;
    c->found = false;
    if (!holder)
        return 0;
    if (segment_read(holder->db, version->seq, version->seq, judge_version, c, err) < 0)
        return err->code;
    if (!c->found)
        audit_find(c->audit, c->segment,
                   "%s.db: a conflict names row %" PRId64 ", %s, which is not there", c->segment->name,
                   version->seq, audit_key(&c->shown, version->key, version->key_len));
    return 0;
}

void audit_conflicts(struct audit *audit)
{
    for (size_t i = 0; i < audit->segments_n; i++) {
        struct conflicts c = {.audit = audit, .segment = &audit->segments[i]};
        struct err err;

        if (c.segment->db &&
            segment_read_conflicts(c.segment->db, INT64_MIN, 0, judge_conflict, &c, &err) < 0)
            audit_find(audit, c.segment, "%s", err.text);
        text_done(&c.shown);
        audit_end_pass(audit, c.segment);
    }
}
