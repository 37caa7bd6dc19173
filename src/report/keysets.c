#include "report/keysets.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/segment.h"

enum { ROWS_AT_ONCE = 4096, ENOUGH = 1 }; /* ENOUGH: of a scan that is to end, which is no error */

void keysets_init(struct keysets *keysets, const char *data_dir, const _Atomic bool *stop)
{
    *keysets = (struct keysets){.data_dir = data_dir, .stop = stop};
}

void keysets_done(struct keysets *keysets)
{
    for (int i = 0; i < KEYSETS_KEPT; i++)
        free(keysets->kept[i].hashes);
}

/* The set of a filter; an empty one takes the place that was not used for longest. */
static struct keyset *set_of(struct keysets *keysets, const struct view *view)
{
    struct keyset *set = &keysets->kept[0];

    for (int i = 0; i < KEYSETS_KEPT; i++) {
        struct keyset *kept = &keysets->kept[i];

        if (kept->hashes && strcmp(kept->segment, view->segment) == 0 &&
            kept->generation == view->generation && kept->first_seq == view->first_seq)
            return kept;
        if (kept->last_use < set->last_use)
            set = kept;
    }
    free(set->hashes);
    *set = (struct keyset){.generation = view->generation, .first_seq = view->first_seq};
    memcpy(set->segment, view->segment, sizeof set->segment);
    return set;
}

struct reading {
    struct keyset *set;
    const struct view *view;
    size_t wanted; /* keys in the set at which it is over */
    size_t pause;  /* and at which this transaction is */
};

static int on_row(void *arg, const struct segment_row *row, struct err *err)
{
    struct reading *reading = arg;
    struct keyset *set = reading->set;

    if (row->seq != set->first_seq + (int64_t)set->n)
        return err_set(err, ERR_CORRUPT, "%s.db: there is no trade %lld", set->segment,
                       (long long)set->first_seq + (long long)set->n);
    if (set->n == set->cap) {
        set->cap = set->cap ? set->cap * 2 : ROWS_AT_ONCE;
        set->hashes = mem_realloc(set->hashes, set->cap, sizeof *set->hashes);
    }
    set->hashes[set->n++] = bloom_hash(reading->view->secret, row->key, row->key_len);
    return set->n >= reading->pause ? ENOUGH : 0;
}

/* A transaction: what is read is a part of the segment as it was at one moment, and the rows of a filter do
 * not change. */
static int read_some(struct reading *reading, struct segment *db, struct err *err)
{
    struct keyset *set = reading->set;
    size_t before = set->n;

    reading->pause = reading->wanted - set->n > ROWS_AT_ONCE ? set->n + ROWS_AT_ONCE : reading->wanted;
    int rc = segment_scan(db, set->first_seq + (int64_t)set->n, on_row, reading, err);

    if (rc < 0)
        return rc;
    return set->n > before ? 0 : err_set(err, ERR_CORRUPT, "%s.db: trades are missing", set->segment);
}

static int read_until(struct reading *reading, const struct keysets *keysets, struct err *err)
{
    int64_t end_us = clock_mono_us() + (int64_t)KEYSETS_READ_MS * 1000;
    struct segment_meta meta;
    struct segment *db;
    int rc = 0;

    if (segment_open(&db, keysets->data_dir, reading->set->segment, false, &meta, err) < 0)
        return err->code;
    while (rc == 0 && reading->set->n < reading->wanted && clock_mono_us() < end_us &&
           !atomic_load(keysets->stop))
        rc = read_some(reading, db, err);
    segment_close(db);
    return rc;
}

int keysets_read(struct keysets *keysets, const struct view *view, const struct bloom_hash **ret,
                 size_t *ret_n, struct err *err)
{
    struct keyset *set = set_of(keysets, view);
    size_t rows = (size_t)(view->end_seq - view->first_seq);
    struct reading reading = {.set = set, .view = view};

    reading.wanted = rows < KEYSETS_KEYS_MAX ? rows : KEYSETS_KEYS_MAX;
    set->last_use = ++keysets->use_tick;
    if (set->n < reading.wanted && read_until(&reading, keysets, err) < 0)
        return err->code;
    *ret = set->hashes;
    *ret_n = set->n < reading.wanted ? set->n : reading.wanted;
    return 0;
}
