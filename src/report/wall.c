/* An answer is made in these steps:
 *
 *   1. the question is read from the query
 *   2. the store thread says what the filter is now (copies_look): which segment, generation, shape, load
 *   3. its bits are copied, or a copy stands already (copies.h); its keys are read on from where the last
 *      reading ended (keysets.h)
 *   4. what was asked is counted from these two alone, and written
 *
 * What fails: a question that is none is 400; a filter that is not there 404; a store that does not answer in
 * time, or a file that has just expired, 503. Results that took long to count are kept (struct result). */
#include "report/wall.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/copies.h"
#include "report/keysets.h"
#include "report/measure.h"
#include "report/query.h"
#include "store/segment.h"

enum {
    WAIT_S = 5,    /* for those who asked before; a request has 10 seconds in all */
    NICENESS = 10, /* of a thread that counts */
    CELLS_DEFAULT = 4096,
    CELLS_MAX = 65536,
    CELL_BITS_MAX = 65535,
    OWNERS_MAX = 4096,         /* bits in a row */
    OWNERS_AT_MAX = 64,        /* bits one by one */
    OWNERS_BODY_MAX = 4 << 20, /* bytes: keys may be long */
    KEY_MAX_BYTES = 65536,     /* of a key that is shown */
    SIMULATED_BITS_MAX = 1 << 24,
    POINTS_MAX = 65,        /* of a curve: 64ths, and the last key */
    SWEEP_HASHES = 12,      /* k that are always tried, */
    SWEEP_BEYOND = 8,       /* and so many beyond the one in use */
    ASKING_US = 500 * 1000, /* strangers are asked for so long */
    RESULTS_KEPT = 8,
    RESULT_AGE_US = 10 * 1000 * 1000, /* of a growing filter, and of figures of the whole screen */
    COPY_AGE_US = 1000 * 1000,        /* of a growing filter */
};

static const char others_first[] = "others are being answered: ask again";

enum result_kind { RESULT_NONE, RESULT_CURVE, RESULT_SWEEP };

/* A body that may be given again. */
struct result {
    enum result_kind kind;
    char segment[SEGMENT_NAME_MAX];
    int64_t generation;
    uint64_t keys;
    int64_t made_us; /* monotonic */
    struct text body;
    uint64_t last_use;
};

struct wall {
    const char *data_dir;
    struct writer *writer;
    _Atomic bool stop;
    pthread_mutex_t counting; /* held while a curve or a sweep is made; locked before lock */
    pthread_mutex_t lock;     /* guards what follows: one question at a time */
    struct copies copies;
    struct keysets keysets;
    struct result results[RESULTS_KEPT];
    uint64_t use_tick;
};

struct wall *wall_open(const char *data_dir, struct writer *writer)
{
    struct wall *wall = mem_zalloc(1, sizeof *wall);

    wall->data_dir = data_dir;
    wall->writer = writer;
    pthread_mutex_init(&wall->counting, NULL);
    pthread_mutex_init(&wall->lock, NULL);
    copies_init(&wall->copies, writer, &wall->stop);
    keysets_init(&wall->keysets, data_dir, &wall->stop);
    return wall;
}

void wall_stop(struct wall *wall)
{
    atomic_store(&wall->stop, true);
}

void wall_close(struct wall *wall)
{
    if (!wall)
        return;
    for (int i = 0; i < RESULTS_KEPT; i++)
        text_done(&wall->results[i].body);
    copies_done(&wall->copies);
    keysets_done(&wall->keysets);
    pthread_mutex_destroy(&wall->lock);
    pthread_mutex_destroy(&wall->counting);
    free(wall);
}

/* ---- 1. the question ---- */

static const char *read_filter(const char *query, struct view *ret)
{
    struct text segment = {0};
    uint64_t generation = 0;
    bool found;
    const char *wrong = query_read(query, "segment", &segment, &found);

    *ret = (struct view){.generation = VIEW_NEWEST};
    if (!wrong && segment.len >= SEGMENT_NAME_MAX)
        wrong = "segment is longer than any name";
    else if (!wrong)
        snprintf(ret->segment, sizeof ret->segment, "%s", segment.len ? text_terminate(&segment) : "");
    text_done(&segment);
    if (!wrong)
        wrong = query_read_number(query, "generation", &generation, &found);
    if (wrong || !found)
        return wrong;
    ret->generation = (int64_t)generation;
    return generation > UINT32_MAX ? "generation is larger than any" : NULL;
}

/* The bits [from, to) that are asked for, cut to what the filter has; all of them when it is not said. */
static const char *read_range(const char *query, uint64_t bits, uint64_t *ret_from, uint64_t *ret_to)
{
    uint64_t from = 0, to = bits;
    bool found;
    const char *wrong = query_read_number(query, "from", &from, &found);

    if (!wrong)
        wrong = query_read_number(query, "to", &to, &found);
    if (wrong)
        return wrong;
    *ret_from = from;
    *ret_to = to < bits ? to : bits;
    return from < *ret_to ? NULL : "no bits: from must be below to, and to what the filter has";
}

/* ---- 2. the filter ---- */

static bool lock(pthread_mutex_t *mutex)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    return pthread_mutex_timedlock(mutex, &until) == 0;
}

/* Counting takes a processor for a while: from here on this thread, which ends with its request, comes after
 * those that take trades in. */
static void yield_to_ingest(void)
{
    setpriority(PRIO_PROCESS, 0, NICENESS);
}

/* Locks the wall when it succeeds; else the answer stands in *ret. */
static bool begin(struct wall *wall, const char *query, struct view *ret_looked, struct response *ret)
{
    const char *wrong = read_filter(query, ret_looked);
    struct err err;

    if (wrong) {
        response_refuse(ret, RESPONSE_BAD, wrong);
        return false;
    }
    if (!lock(&wall->lock)) {
        response_refuse(ret, RESPONSE_UNAVAILABLE, others_first);
        return false;
    }
    if (copies_look(&wall->copies, ret_looked, &err) < 0)
        response_refuse(ret, RESPONSE_UNAVAILABLE, err.text);
    else if (ret_looked->missing)
        response_refuse(ret, RESPONSE_NOT_FOUND, ret_looked->missing);
    else
        return true;
    pthread_mutex_unlock(&wall->lock);
    return false;
}

/* ---- JSON ---- */

/* What stands between the last thing and a new member or element. */
static void add_comma(struct text *text)
{
    if (text->len && !strchr("{[:", text->at[text->len - 1]))
        text_add_char(text, ',');
}

static void add_name(struct text *text, const char *name)
{
    add_comma(text);
    text_add_format(text, "\"%s\":", name);
}

static void add_u64(struct text *text, const char *name, uint64_t n)
{
    add_name(text, name);
    text_add_u64(text, n);
}

static void add_i64(struct text *text, const char *name, int64_t n)
{
    add_name(text, name);
    text_add_i64(text, n);
}

static void add_bool(struct text *text, const char *name, bool value)
{
    add_name(text, name);
    text_add_str(text, value ? "true" : "false");
}

static void add_double(struct text *text, const char *name, double value)
{
    add_name(text, name);
    if (isfinite(value))
        text_add_double(text, value);
    else
        text_add_str(text, "null");
}

/* maybe of asked, with its interval; nulls of nothing. */
static void add_rate(struct text *text, uint64_t maybe, uint64_t asked)
{
    double low = NAN, high = NAN;

    if (asked)
        wilson_interval(maybe, asked, &low, &high);
    add_u64(text, "maybe", maybe);
    add_double(text, "measured", asked ? (double)maybe / (double)asked : NAN);
    add_double(text, "low", low);
    add_double(text, "high", high);
}

/* Opens the object. */
static void add_filter(struct text *text, const struct view *view)
{
    text_add_char(text, '{');
    add_name(text, "segment");
    text_add_json(text, view->segment, strlen(view->segment));
    if (view->generation >= 0)
        add_i64(text, "generation", view->generation);
    else
        text_add_str(text, ",\"generation\":null");
    add_bool(text, "growing", view->growing);
    add_u64(text, "bits", view->shape.bits);
    add_u64(text, "hashes", view->shape.hashes);
    add_u64(text, "keys", view->keys);
    add_u64(text, "bits_set", view->bits_set);
    add_u64(text, "sized_for", view->sized_for);
    add_i64(text, "first_seq", view->first_seq);
    add_i64(text, "last_seq", view->end_seq - 1);
}

static void add_reading(struct text *text, const struct view *view, size_t keys)
{
    add_u64(text, "keys_read", keys);
    add_bool(text, "complete", keys == (uint64_t)(view->end_seq - view->first_seq));
}

/* ---- /bits ---- */

struct cells {
    uint64_t from, to, n;
    uint16_t *counts;
};

static const char *read_cells(const char *query, uint64_t bits, struct cells *ret)
{
    bool found;
    const char *wrong = read_range(query, bits, &ret->from, &ret->to);

    if (wrong)
        return wrong;
    uint64_t width = ret->to - ret->from;

    ret->n = width < CELLS_DEFAULT ? width : CELLS_DEFAULT;
    wrong = query_read_number(query, "cells", &ret->n, &found);
    if (wrong)
        return wrong;
    if (!ret->n || ret->n > CELLS_MAX || ret->n > width)
        return "cells must be 1 to 65536, and no more than there are bits";
    return (width + ret->n - 1) / ret->n > CELL_BITS_MAX
               ? "a cell would have more than 65535 bits: ask for more cells or fewer bits"
               : NULL;
}

static uint64_t cell_start(const struct cells *cells, uint64_t i)
{
    return cells->from + (uint64_t)((unsigned __int128)i * (cells->to - cells->from) / cells->n);
}

/* Counts what a copy has of the cells. Copies come in order: *next is the cell that it begins in. */
static void count_cells(struct cells *cells, const struct view *view, uint64_t *next)
{
    for (uint64_t i = *next; i < cells->n && cell_start(cells, i) < view->to; i++) {
        uint64_t start = cell_start(cells, i), end = cell_start(cells, i + 1);

        if (start < view->from)
            start = view->from;
        *next = end > view->to ? i : i + 1;
        if (end > view->to)
            end = view->to;
        cells->counts[i] = (uint16_t)(cells->counts[i] + view_count(view, start, end));
    }
}

/* Piece by piece; *ret is the last one, without its bits. */
static int count_pieces(struct wall *wall, const struct view *looked, struct cells *cells,
                        struct view *ret, struct err *err)
{
    uint64_t next = 0;

    for (uint64_t at = cells->from; at < cells->to; at = ret->to) {
        if (copies_piece(&wall->copies, looked, at, cells->to, ret, err) < 0)
            return err->code;
        count_cells(cells, ret, &next);
        view_done(ret);
    }
    return 0;
}

static int count_bits(struct wall *wall, const struct view *looked, struct cells *cells,
                      struct view *ret, struct err *err)
{
    const struct view *copy;

    if (looked->shape.bits > VIEW_BITS_MAX)
        return count_pieces(wall, looked, cells, ret, err);
    if (copies_whole(&wall->copies, looked, COPY_AGE_US, &copy, err) < 0)
        return err->code;
    *ret = *copy;
    for (uint64_t i = 0; i < cells->n; i++)
        cells->counts[i] = (uint16_t)view_count(copy, cell_start(cells, i), cell_start(cells, i + 1));
    return 0;
}

static void write_cells(const struct cells *cells, const struct view *view, struct response *ret)
{
    bool wide = (cells->to - cells->from + cells->n - 1) / cells->n > UINT8_MAX;

    ret->status = RESPONSE_OK;
    ret->type = "application/octet-stream";
    for (uint64_t i = 0; i < cells->n; i++) {
        text_add_char(&ret->body, (char)(cells->counts[i] & 0xff));
        if (wide)
            text_add_char(&ret->body, (char)(cells->counts[i] >> 8));
    }
    add_filter(&ret->filter, view);
    add_u64(&ret->filter, "from", cells->from);
    add_u64(&ret->filter, "to", cells->to);
    add_u64(&ret->filter, "cells", cells->n);
    text_add_str(&ret->filter, ",\"taken\":\"");
    text_add_time_us(&ret->filter, view->taken_us);
    text_add_str(&ret->filter, "\"}");
}

void wall_bits(struct wall *wall, const char *query, struct response *ret)
{
    struct view looked, view = {0};
    struct cells cells;
    struct err err;

    if (!begin(wall, query, &looked, ret))
        return;
    const char *wrong = read_cells(query, looked.shape.bits, &cells);

    if (wrong) {
        response_refuse(ret, RESPONSE_BAD, wrong);
    } else {
        cells.counts = mem_zalloc(cells.n, sizeof *cells.counts);
        if (count_bits(wall, &looked, &cells, &view, &err) < 0)
            response_refuse(ret, RESPONSE_UNAVAILABLE, err.text);
        else
            write_cells(&cells, &view, ret);
        free(cells.counts);
    }
    pthread_mutex_unlock(&wall->lock);
}

/* ---- /owners ---- */

struct owner {
    uint64_t bit;
    bool set;
    size_t first, last; /* the first and the last key that have it, counted from 1; 0: none has */
    uint64_t trades;
};

struct owners {
    uint64_t from, to; /* the smallest range that holds the bits */
    bool by_list;      /* of bits one by one */
    struct owner *owners;
    size_t n;
    uint64_t missing;
};

static const char *parse_list(const struct text *list, uint64_t bits, struct owners *ret)
{
    const char *at = list->at, *end = list->at + list->len;

    ret->owners = mem_zalloc(OWNERS_AT_MAX, sizeof *ret->owners);
    do {
        if (ret->n == OWNERS_AT_MAX)
            return "at names more than 64 bits";
        if (!query_parse_number(&at, end, &ret->owners[ret->n].bit) ||
            ret->owners[ret->n].bit >= bits || (at < end && *at != ','))
            return "at is no list of bits of the filter, with commas between them";
        ret->n++;
    } while (at++ < end);
    return NULL;
}

static const char *read_owners(const char *query, uint64_t bits, struct owners *ret)
{
    struct text list = {0};
    const char *wrong = query_read(query, "at", &list, &ret->by_list);

    if (!wrong && ret->by_list)
        wrong = parse_list(&list, bits, ret);
    else if (!wrong)
        wrong = read_range(query, bits, &ret->from, &ret->to);
    text_done(&list);
    if (wrong || ret->by_list)
        return wrong;
    if (ret->to - ret->from > OWNERS_MAX)
        return "more than 4096 bits: ask for fewer";
    ret->n = (size_t)(ret->to - ret->from);
    ret->owners = mem_zalloc(ret->n, sizeof *ret->owners);
    for (size_t i = 0; i < ret->n; i++)
        ret->owners[i].bit = ret->from + i;
    return NULL;
}

static struct owner *find_owner(const struct owners *owners, uint64_t bit, size_t from)
{
    if (!owners->by_list)
        return !from && bit - owners->from < owners->n ? &owners->owners[bit - owners->from] : NULL;
    for (size_t i = from; i < owners->n; i++)
        if (owners->owners[i].bit == bit)
            return &owners->owners[i];
    return NULL;
}

/* A key that meets one bit with two of its positions counts once. */
static void note_key(struct owners *owners, struct bloom_shape shape, struct bloom_hash hash,
                     size_t number)
{
    for (uint32_t j = 0; j < shape.hashes; j++) {
        uint64_t bit = bloom_next_position(&hash, shape.bits, j);

        for (struct owner *owner = find_owner(owners, bit, 0); owner;
             owner = find_owner(owners, bit, (size_t)(owner - owners->owners) + 1)) {
            if (owner->last == number)
                continue;
            owner->first = owner->first ? owner->first : number;
            owner->last = number;
            owner->trades++;
        }
    }
}

/* The bits as they are now; of a filter that is too large to be copied whole, each bit asked for, or the range.
 * *ret is the filter as it was before the first of them: a bit that was looked at early may miss later keys. */
static int look_at_bits(struct wall *wall, const struct view *looked, struct owners *owners,
                        struct view *ret, struct err *err)
{
    const struct view *copy;
    struct view piece;

    if (looked->shape.bits <= VIEW_BITS_MAX) {
        if (copies_whole(&wall->copies, looked, 0, &copy, err) < 0)
            return err->code;
        *ret = *copy;
        for (size_t i = 0; i < owners->n; i++)
            owners->owners[i].set = view_bit(copy, owners->owners[i].bit);
        return 0;
    }
    for (size_t i = 0; i < owners->n;) {
        uint64_t from = owners->owners[i].bit;
        uint64_t to = owners->by_list ? from + 1 : owners->to;
        bool first = i == 0;

        if (copies_piece(&wall->copies, looked, from, to, &piece, err) < 0)
            return err->code;
        for (uint64_t bit = from; bit < piece.to; bit++)
            owners->owners[i++].set = view_bit(&piece, bit);
        view_done(&piece);
        if (first)
            *ret = piece;
    }
    return 0;
}

/* Keys that were stored after the bits were looked at cannot be missed in them: they are not among [0, n). */
static void find_owners(struct owners *owners, const struct view *view, const struct bloom_hash *keys,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        note_key(owners, view->shape, keys[i], i + 1);
    for (size_t i = 0; i < owners->n; i++)
        owners->missing += owners->owners[i].first && !owners->owners[i].set;
}

static int add_key(struct text *text, struct segment *db, int64_t seq, char *key, struct err *err)
{
    uint32_t generation;
    bool found;
    size_t len;

    if (segment_key_at(db, seq, key, KEY_MAX_BYTES, &len, &generation, &found, err) < 0)
        return err->code;
    if (!found)
        return err_set(err, ERR_CORRUPT, "trade %lld is not there", (long long)seq);
    add_i64(text, "seq", seq);
    add_name(text, "key");
    text_add_json(text, key, len);
    return 0;
}

static int add_owners(struct text *text, const struct owners *owners, struct segment *db,
                      int64_t first_seq, struct err *err)
{
    char *key = mem_alloc(KEY_MAX_BYTES);
    int rc = 0;

    add_name(text, "owners");
    text_add_char(text, '[');
    for (size_t i = 0; i < owners->n && rc == 0; i++) {
        const struct owner *owner = &owners->owners[i];

        if (!owner->set && !owners->by_list)
            continue;
        add_comma(text);
        text_add_char(text, '{');
        add_u64(text, "bit", owner->bit);
        add_bool(text, "set", owner->set);
        if (owner->first)
            rc = add_key(text, db, first_seq + (int64_t)owner->first - 1, key, err);
        else
            text_add_str(text, ",\"seq\":null,\"key\":null");
        add_u64(text, "trades", owner->trades);
        text_add_char(text, '}');
        if (text->len > OWNERS_BODY_MAX)
            rc = err_set(err, ERR_USAGE, "the keys are too long for one answer: ask for fewer bits");
    }
    text_add_str(text, "]}");
    free(key);
    return rc;
}

static int write_owners(struct wall *wall, const struct view *view, const struct owners *owners,
                        size_t keys, struct text *text, struct err *err)
{
    struct segment_meta meta;
    struct segment *db;

    if (segment_open(&db, wall->data_dir, view->segment, false, &meta, err) < 0)
        return err->code;
    add_filter(text, view);
    add_reading(text, view, keys);
    add_u64(text, "missing", owners->missing);
    int rc = add_owners(text, owners, db, view->first_seq, err);

    segment_close(db);
    return rc;
}

static void answer_owners(struct wall *wall, const struct view *looked, struct owners *owners,
                          struct response *ret)
{
    const struct bloom_hash *keys;
    struct text body = {0};
    struct view view = {0};
    struct err err;
    size_t n;

    if (look_at_bits(wall, looked, owners, &view, &err) == 0 &&
        keysets_read(&wall->keysets, &view, &keys, &n, &err) == 0) {
        yield_to_ingest();
        find_owners(owners, &view, keys, n);
        if (write_owners(wall, &view, owners, n, &body, &err) == 0) {
            response_json(ret, RESPONSE_OK, (text_terminate(&body), body.at));
            return;
        }
    }
    text_done(&body);
    response_refuse(ret, err.code == ERR_USAGE ? RESPONSE_BAD : RESPONSE_UNAVAILABLE, err.text);
}

void wall_owners(struct wall *wall, const char *query, struct response *ret)
{
    struct owners owners = {0};
    struct view looked;

    if (!begin(wall, query, &looked, ret))
        return;
    const char *wrong = read_owners(query, looked.shape.bits, &owners);

    if (wrong)
        response_refuse(ret, RESPONSE_BAD, wrong);
    else
        answer_owners(wall, &looked, &owners, ret);
    free(owners.owners);
    pthread_mutex_unlock(&wall->lock);
}

/* ---- /curve ---- */

/* What a body is made of: the filter, and a copy of its keys' hashes that is ours alone. */
struct job {
    enum result_kind kind;
    struct view looked;
    struct bloom_hash *keys;
    size_t n;
};

static struct measure_strangers strangers_for(const struct view *view, double rate)
{
    return (struct measure_strangers){.secret = view->secret,
                                      .n = measure_strangers_for(rate),
                                      .until_us = clock_mono_us() + ASKING_US};
}

/* 64ths of what it is sized for, as far as there are keys, and the last key. */
static size_t choose_loads(uint64_t sized_for, uint64_t n, uint64_t ret[POINTS_MAX])
{
    uint64_t last = 0;
    size_t count = 0;

    for (uint64_t i = 1; i < POINTS_MAX; i++) {
        uint64_t load = sized_for * i / (POINTS_MAX - 1);

        if (load > last && load < n)
            ret[count++] = last = load;
    }
    if (n)
        ret[count++] = n;
    return count;
}

static void add_screen(struct text *text, const struct figures *figures)
{
    uint64_t maybe = figures->false_positive, asked = maybe + figures->absent;

    add_name(text, "screen");
    text_add_char(text, '{');
    add_u64(text, "keys", figures->keys);
    add_u64(text, "capacity", figures->capacity);
    add_double(text, "target", figures->target_fpr);
    add_double(text, "predicted", figures->predicted_fpr);
    add_double(text, "expected", asked ? figures->expected_sum / (double)asked : NAN);
    add_u64(text, "asked", asked);
    add_rate(text, maybe, asked);
    text_add_char(text, '}');
}

/* ln of the probability that no other filter says maybe. */
static double log_pass_of_others(const struct figures *figures, const struct view *view)
{
    return log1p(-fmin(figures->predicted_fpr, 1 - 1e-12)) -
           log1p(-fmin(bloom_predict(view->shape, view->keys), 1 - 1e-12));
}

static void write_curve(struct wall *wall, const struct job *job, struct text *text)
{
    const struct view *view = &job->looked;
    size_t n = job->n;
    struct measure_strangers ask = strangers_for(view, bloom_predict(view->shape, n));
    uint64_t loads[POINTS_MAX], first_maybe;
    struct measure_point points[POINTS_MAX];
    size_t points_n = choose_loads(view->sized_for, n, loads);
    struct figures figures;

    writer_figures(wall->writer, &figures);
    double others = log_pass_of_others(&figures, view);

    yield_to_ingest();
    uint64_t strangers =
        measure_curve(view->shape, job->keys, n, &ask, loads, points_n, points, &first_maybe);
    add_u64(text, "simulated_bits_set", points_n ? points[points_n - 1].bits_set : 0);
    add_u64(text, "strangers", strangers);
    add_double(text, "first_maybe", first_maybe ? (double)first_maybe : NAN);
    add_name(text, "points");
    text_add_char(text, '[');
    for (size_t i = 0; i < points_n; i++) {
        double predicted = bloom_predict(view->shape, loads[i]);

        add_comma(text);
        text_add_char(text, '{');
        add_u64(text, "keys", loads[i]);
        add_u64(text, "bits_set", points[i].bits_set);
        add_double(text, "predicted", predicted);
        add_rate(text, points[i].maybe, strangers);
        add_double(text, "screen_predicted",
                   fmax(0, -expm1(others + log1p(-fmin(predicted, 1 - 1e-12)))));
        text_add_char(text, '}');
    }
    text_add_char(text, ']');
    add_screen(text, &figures);
    figures_done(&figures);
}

/* ---- /sweep ---- */

static double predicted_for(const struct view *view, uint32_t hashes, size_t keys)
{
    return bloom_predict((struct bloom_shape){view->shape.bits, hashes}, keys);
}

static uint32_t least_predicted(const struct view *view, size_t keys, uint32_t hashes_max)
{
    uint32_t least = 1;

    for (uint32_t k = 2; k <= hashes_max; k++)
        if (predicted_for(view, k, keys) < predicted_for(view, least, keys))
            least = k;
    return least;
}

static uint32_t least_measured(const struct measure_point *points, uint32_t hashes_max)
{
    uint32_t least = 1;

    for (uint32_t k = 2; k <= hashes_max; k++)
        if (points[k - 1].maybe < points[least - 1].maybe)
            least = k;
    return least;
}

static void write_sweep(struct wall *wall, const struct job *job, struct text *text)
{
    const struct view *view = &job->looked;
    size_t n = job->n;
    uint32_t beyond = view->shape.hashes + SWEEP_BEYOND;
    uint32_t k_max = beyond < SWEEP_HASHES ? SWEEP_HASHES : beyond;
    struct measure_point points[BLOOM_HASHES_MAX];

    (void)wall;
    if (k_max > BLOOM_HASHES_MAX)
        k_max = BLOOM_HASHES_MAX;
    uint32_t least = least_predicted(view, n, k_max);
    struct measure_strangers ask = strangers_for(view, predicted_for(view, least, n));

    yield_to_ingest();
    uint64_t strangers = measure_sweep(view->shape.bits, k_max, job->keys, n, &ask, points);
    add_u64(text, "strangers", strangers);
    add_double(text, "optimal_hashes", n ? bloom_optimal_hashes(view->shape.bits, n) : NAN);
    add_name(text, "minimum");
    text_add_format(text, "{\"predicted\":%u,\"measured\":%u}", least, least_measured(points, k_max));
    add_name(text, "points");
    text_add_char(text, '[');
    for (uint32_t k = 1; k <= k_max; k++) {
        add_comma(text);
        text_add_char(text, '{');
        add_u64(text, "hashes", k);
        add_bool(text, "in_use", k == view->shape.hashes);
        add_u64(text, "bits_set", points[k - 1].bits_set);
        add_double(text, "fill_ratio", (double)points[k - 1].bits_set / (double)view->shape.bits);
        add_double(text, "predicted", predicted_for(view, k, n));
        add_rate(text, points[k - 1].maybe, strangers);
        text_add_char(text, '}');
    }
    text_add_char(text, ']');
}

/* ---- what took long is kept ---- */

static struct result *result_of(struct wall *wall, enum result_kind kind, const struct view *looked)
{
    struct result *place = &wall->results[0];

    for (int i = 0; i < RESULTS_KEPT; i++) {
        struct result *result = &wall->results[i];

        if (result->kind == kind && strcmp(result->segment, looked->segment) == 0 &&
            result->generation == looked->generation)
            return result;
        if (result->last_use < place->last_use)
            place = result;
    }
    text_done(&place->body);
    *place = (struct result){.kind = kind, .generation = looked->generation};
    memcpy(place->segment, looked->segment, sizeof place->segment);
    return place;
}

static bool is_good(const struct result *result, const struct view *looked)
{
    bool same = result->kind == RESULT_SWEEP && result->keys == looked->keys;

    return result->body.len && (same || clock_mono_us() - result->made_us < RESULT_AGE_US);
}

/* With the wall locked. */
static int take_keys(struct wall *wall, struct job *job, struct err *err)
{
    const struct bloom_hash *keys;

    if (keysets_read(&wall->keysets, &job->looked, &keys, &job->n, err) < 0)
        return err->code;
    job->keys = mem_alloc((job->n + 1) * sizeof *keys);
    if (job->n)
        memcpy(job->keys, keys, job->n * sizeof *keys);
    return 0;
}

static void simulate(struct wall *wall, const struct job *job, struct text *ret)
{
    add_filter(ret, &job->looked);
    add_reading(ret, &job->looked, job->n);
    (job->kind == RESULT_CURVE ? write_curve : write_sweep)(wall, job, ret);
    text_add_char(ret, '}');
}

/* A body of which keys are missing yet is not kept. */
static void keep_result(struct wall *wall, const struct job *job, const struct text *body)
{
    struct result *result = result_of(wall, job->kind, &job->looked);

    result->body.len = 0;
    if (job->n == (uint64_t)(job->looked.end_seq - job->looked.first_seq))
        text_add(&result->body, body->at, body->len);
    result->keys = job->looked.keys;
    result->made_us = clock_mono_us();
}

/* A body that is kept already, or what a new one is made of. False: refused. Locks the wall meanwhile. */
static bool prepare(struct wall *wall, const char *query, struct job *job, struct text *ret_body,
                    struct response *ret)
{
    bool good = true;
    struct err err;

    if (!begin(wall, query, &job->looked, ret))
        return false;
    struct result *result = result_of(wall, job->kind, &job->looked);

    result->last_use = ++wall->use_tick;
    if (job->looked.shape.bits > SIMULATED_BITS_MAX) {
        response_refuse(ret, RESPONSE_BAD, "the filter is too large to be simulated");
        good = false;
    } else if (is_good(result, &job->looked)) {
        text_add(ret_body, result->body.at, result->body.len);
    } else if (take_keys(wall, job, &err) < 0) {
        response_refuse(ret, RESPONSE_UNAVAILABLE, err.text);
        good = false;
    }
    pthread_mutex_unlock(&wall->lock);
    return good;
}

/* One at a time, and nobody else waits for what is counted here. */
static void answer_result(struct wall *wall, enum result_kind kind, const char *query,
                          struct response *ret)
{
    struct job job = {.kind = kind};
    struct text body = {0};

    if (!lock(&wall->counting)) {
        response_refuse(ret, RESPONSE_UNAVAILABLE, others_first);
        return;
    }
    if (prepare(wall, query, &job, &body, ret)) {
        if (!body.len) {
            simulate(wall, &job, &body);
            pthread_mutex_lock(&wall->lock);
            keep_result(wall, &job, &body);
            pthread_mutex_unlock(&wall->lock);
        }
        response_json(ret, RESPONSE_OK, (text_terminate(&body), body.at));
    }
    free(job.keys);
    pthread_mutex_unlock(&wall->counting);
}

void wall_curve(struct wall *wall, const char *query, struct response *ret)
{
    answer_result(wall, RESULT_CURVE, query, ret);
}

void wall_sweep(struct wall *wall, const char *query, struct response *ret)
{
    answer_result(wall, RESULT_SWEEP, query, ret);
}
