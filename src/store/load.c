/* Filters made to hold every key of their segment, from whatever is the quickest that can be trusted:
 *
 *   sealed    SEGMENT.bloom, else every key of SEGMENT.keys
 *   unsealed  SEGMENT.bloom and the rows after its last seq, else every row
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/store_state.h"

enum { PROGRESS_ROWS = 4096 }; /* a sign of life every so many keys */

void store_tell_progress(const struct store *store, uint64_t keys)
{
    if (store->config.on_progress)
        store->config.on_progress(store->config.arg, keys);
}

struct snapshot_origin store_origin(const struct store *store, size_t i)
{
    struct snapshot_origin origin = {.last_seq = store_next_seq(&store->segments[i]) - 1};

    memcpy(origin.segment_id, store->segments[i].meta.id, sizeof origin.segment_id);
    memcpy(origin.secret, store->screen.secret, sizeof origin.secret);
    return origin;
}

/* x of the hash of the key at seq; *ret_found false: no such row. */
static int hash_at(struct store *store, size_t part, int64_t seq, bool *ret_found, uint64_t *ret,
                   struct err *err)
{
    struct segment *db = store_segment_db(store, part, err);
    uint32_t generation;
    size_t len;

    if (!db)
        return err->code;
    char *key = mem_alloc(STORE_KEY_BYTES_MAX);
    int code = segment_key_at(db, seq, key, STORE_KEY_BYTES_MAX, &len, &generation, ret_found, err);

    if (code == 0 && *ret_found)
        *ret = screen_hash(&store->screen, key, len).x;
    free(key);
    return code;
}

int store_last_hash(struct store *store, size_t part, uint64_t *ret, struct err *err)
{
    struct store_segment *segment = &store->segments[part];
    bool found;

    *ret = 0;
    if (!segment->rows)
        return 0;
    if (hash_at(store, part, store_next_seq(segment) - 1, &found, ret, err) < 0)
        return err->code;
    return found ? 0 : err_set(err, ERR_CORRUPT, "%s.db: its last row is not there", segment->name);
}

/* ---- from rows ---- */

struct load {
    struct store *store;
    size_t part;
    int64_t next_seq;    /* that the next row must have */
    uint32_t generation; /* of the last row */
};

static int load_row(void *arg, const struct segment_row *row, struct err *err)
{
    struct load *load = arg;
    struct store_segment *segment = &load->store->segments[load->part];

    if (row->seq != load->next_seq || row->generation < load->generation)
        return err_set(err, ERR_CORRUPT, "%s.db: row %lld of generation %u where row %lld should stand",
                       segment->name, (long long)row->seq, row->generation, (long long)load->next_seq);
    segment->rows = (uint64_t)(row->seq - segment->meta.first_seq);
    store_note_generation(segment, row->generation);
    screen_load(&load->store->screen, load->part, row->generation,
                screen_hash(&load->store->screen, row->key, row->key_len));
    load->generation = row->generation;
    load->next_seq++;
    if (row->seq % PROGRESS_ROWS == 0)
        store_tell_progress(load->store, PROGRESS_ROWS);
    return 0;
}

/* Puts the keys of the rows from a seq on in again; the rows must go on to the last without a gap. */
static int load_rows(struct store *store, size_t part, int64_t from_seq, struct err *err)
{
    struct store_segment *segment = &store->segments[part];
    struct segment *db = store_segment_db(store, part, err);
    struct load load = {.store = store, .part = part, .next_seq = from_seq};
    uint64_t rows = segment->rows;

    if (!db)
        return err->code;
    int ret = segment_scan(db, from_seq, load_row, &load, err);

    segment->rows = rows;
    if (ret == 0 && load.next_seq != store_next_seq(segment))
        ret = err_set(err, ERR_CORRUPT, "%s.db: %llu rows where %llu should stand", segment->name,
                      (unsigned long long)(load.next_seq - segment->meta.first_seq),
                      (unsigned long long)rows);
    return ret;
}

/* ---- from a snapshot ---- */

/* Whether the row at the snapshot's last seq is the one that the snapshot knew. */
static int knows_row(struct store *store, size_t part, const struct snapshot_origin *origin, bool *ret,
                     struct err *err)
{
    struct store_segment *segment = &store->segments[part];
    uint64_t hash = 0;
    int code = 0;

    if (origin->last_seq < segment->meta.first_seq || origin->last_seq >= store_next_seq(segment))
        *ret = origin->last_seq == segment->meta.first_seq - 1 && origin->last_hash == 0;
    else if ((code = hash_at(store, part, origin->last_seq, ret, &hash, err)) == 0)
        *ret = *ret && hash == origin->last_hash;
    return code;
}

static int knows_run(struct store *store, size_t part, const struct snapshot_origin *origin, bool *ret,
                     struct err *err)
{
    struct segment *db = store_segment_db(store, part, err);

    return db ? segment_run_holds(db, origin->run, origin->last_seq, ret, err) : err->code;
}

static void not_used(const struct store *store, size_t part, const char *why)
{
    if (store->segments[part].rows && strcmp(why, "not there") != 0)
        store_event(store, STORE_WARNING, "%s.bloom: %s; the filter is built from the rows",
                    store->segments[part].name, why);
}

/* Takes over a bank's first seqs; *ret_from is the first row that the snapshot does not hold. */
static int load_snapshot(struct store *store, size_t part, uint32_t generations, int64_t *ret_from,
                         struct err *err)
{
    struct store_segment *segment = &store->segments[part];
    struct snapshot_origin origin = store_origin(store, part);
    struct bank bank;
    int64_t *first_seqs;
    const char *why;
    bool known;

    *ret_from = segment->meta.first_seq;
    store->snapshot.rows_saved = store->snapshot.rows_on_disk = 0;
    if (!snapshot_read_bank(
            store->data_dir, segment->name, &origin,
            screen_column_shape(&store->screen, segment->meta.generation_keys, generations), &bank,
            &first_seqs, &why)) {
        not_used(store, part, why);
        return 0;
    }
    int ret = knows_run(store, part, &origin, &known, err);

    if (ret == 0 && known)
        ret = knows_row(store, part, &origin, &known, err);
    if (ret == 0 && known) {
        free(segment->generation_first_seq);
        segment->generation_first_seq = first_seqs;
        segment->generations_n = bank.columns;
        screen_adopt_bank(&store->screen, part, &bank);
        *ret_from = origin.last_seq + 1;
        store->snapshot.rows_saved = (uint64_t)(*ret_from - segment->meta.first_seq);
        store->snapshot.rows_on_disk = store->snapshot.rows_saved;
        return 0;
    }
    if (ret == 0)
        not_used(store, part, "newer than the rows, or of other rows");
    bank_done(&bank);
    free(first_seqs);
    return ret;
}

static int load_bank(struct store *store, size_t part, uint32_t generations, struct err *err)
{
    int64_t from_seq;

    if (load_snapshot(store, part, generations, &from_seq, err) < 0)
        return err->code;
    uint32_t columns = store->screen.parts[part].bank.columns;

    if (load_rows(store, part, from_seq, err) < 0)
        return err->code;
    if (columns) /* it took keys while it was written: its count is not its bits' */
        bank_count_bits(&store->screen.parts[part].bank, columns - 1);
    screen_loaded(&store->screen);
    return 0;
}

/* ---- sealed ---- */

struct sealed_load {
    struct store *store;
    struct bloom bloom;
    uint64_t keys;
};

static int load_key(void *arg, const char *key, size_t len, struct err *err)
{
    struct sealed_load *load = arg;

    (void)err;
    bloom_add(&load->bloom, screen_hash(&load->store->screen, key, len));
    if (++load->keys % PROGRESS_ROWS == 0)
        store_tell_progress(load->store, PROGRESS_ROWS);
    return 0;
}

void store_sum_filter(struct store *store, size_t i)
{
    const struct bloom *bloom = &store->screen.parts[i].bloom;

    crypto_generichash(store->segments[i].filter_sum, STORE_SUM_BYTES,
                       (const unsigned char *)bloom->words, bloom_memory(bloom), NULL, 0);
}

/* For the next start; that it fails costs that start time only. */
static void save_sealed(struct store *store, size_t part, const struct bloom *bloom)
{
    struct snapshot_origin origin = store_origin(store, part);
    struct err err;

    if (store_last_hash(store, part, &origin.last_hash, &err) < 0 ||
        snapshot_write_classic(store->data_dir, store->segments[part].name, &origin, bloom, &err) < 0)
        store_event(store, STORE_WARNING, "filter snapshot: %s", err.text);
}

static int build_sealed(struct store *store, size_t part, struct err *err)
{
    struct store_segment *segment = &store->segments[part];
    struct sealed *keys = store_segment_keys(store, part, err);
    struct sealed_load load = {.store = store};

    if (!keys)
        return err->code;
    bloom_init(&load.bloom, screen_sealed_shape(&store->screen, segment->rows));
    if (sealed_scan(keys, load_key, &load, err) < 0) {
        bloom_done(&load.bloom);
        return err->code;
    }
    save_sealed(store, part, &load.bloom);
    screen_seal_part(&store->screen, part, &load.bloom);
    return 0;
}

static int load_sealed(struct store *store, size_t part, struct err *err)
{
    struct store_segment *segment = &store->segments[part];
    struct snapshot_origin origin = store_origin(store, part);
    struct bloom bloom;
    const char *why;
    bool known = false;

    if (snapshot_read_classic(store->data_dir, segment->name, &origin,
                              screen_sealed_shape(&store->screen, segment->rows), &bloom, &why)) {
        if (knows_row(store, part, &origin, &known, err) < 0) {
            bloom_done(&bloom);
            return err->code;
        }
        if (known && origin.last_seq == store_next_seq(segment) - 1) {
            screen_seal_part(&store->screen, part, &bloom);
            return 0;
        }
        bloom_done(&bloom);
        why = "of other rows";
    }
    not_used(store, part, why);
    return build_sealed(store, part, err);
}

/* ---- */

int store_load_part(struct store *store, size_t part, uint32_t generations, struct err *err)
{
    bool sealed = store->segments[part].state == SEGMENT_SEALED;
    int ret = sealed ? load_sealed(store, part, err) : load_bank(store, part, generations, err);

    if (ret == 0 && sealed)
        store_sum_filter(store, part);
    store->figures_whole = true;
    return ret;
}

/* Its snapshot goes first: it may have been written from the bank that is not to be trusted. */
static int rebuild_bank(struct store *store, size_t part, struct err *err)
{
    struct store_segment *segment = &store->segments[part];

    catalog_remove(store->data_dir, segment->name, ".bloom");
    if (part + 1 == store->segments_n)
        store->snapshot.rows_saved = store->snapshot.rows_on_disk = 0;
    screen_empty_part(&store->screen, part, segment->generations_n);
    segment->generations_n = 0;
    int ret = load_rows(store, part, segment->meta.first_seq, err);

    screen_loaded(&store->screen);
    return ret;
}

int store_rebuild_part(struct store *store, size_t part, struct err *err)
{
    struct store_segment *segment = &store->segments[part];
    int ret;

    store_stop_snapshot(store);
    store->sweep = (struct store_sweep){.part = part};
    if (segment->state == SEGMENT_SEALED) {
        ret = build_sealed(store, part, err);
        if (ret == 0)
            store_sum_filter(store, part);
    } else {
        ret = rebuild_bank(store, part, err);
    }
    store->figures_whole = true;
    if (ret < 0)
        return ret;
    segment->rebuild = false;
    store_event(store, STORE_WARNING, "%s: filter rebuilt from %llu rows", segment->name,
                (unsigned long long)segment->rows);
    return 0;
}
