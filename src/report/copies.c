#include "report/copies.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"

enum { NAP_US = 20000 }; /* a wait looks so often whether it is to end */

void copies_init(struct copies *copies, struct writer *writer, const _Atomic bool *stop)
{
    *copies = (struct copies){.writer = writer, .stop = stop};
}

void copies_done(struct copies *copies)
{
    for (int i = 0; i < COPIES_KEPT; i++)
        view_done(&copies->kept[i].view);
}

static void rest(const struct copies *copies)
{
    int64_t left_us;

    while (!atomic_load(copies->stop) && (left_us = copies->rest_until_us - clock_mono_us()) > 0) {
        long nap_us = left_us < NAP_US ? (long)left_us : NAP_US;

        nanosleep(&(struct timespec){.tv_nsec = nap_us * 1000}, NULL);
    }
}

static int ask(struct copies *copies, struct view *view, struct err *err)
{
    int64_t took_us;

    rest(copies);
    if (writer_view(copies->writer, COPIES_DEADLINE_MS, view, &took_us, err) < 0)
        return err->code;
    copies->rest_until_us = clock_mono_us() + took_us * COPIES_REST;
    return 0;
}

int copies_look(struct copies *copies, struct view *view, struct err *err)
{
    int64_t took_us; /* a microsecond or so, which is not worth a rest */

    view->from = view->to = 0;
    if (writer_view(copies->writer, COPIES_DEADLINE_MS, view, &took_us, err) < 0)
        return err->code;
    view_done(view);
    return 0;
}

int copies_piece(struct copies *copies, const struct view *looked, uint64_t from, uint64_t to,
                 struct view *ret, struct err *err)
{
    *ret = (struct view){
        /* of a sealed segment there is one only */
        .generation = looked->generation,
        .from = from,
        .to = to,
    };
    memcpy(ret->segment, looked->segment, sizeof ret->segment);
    if (ask(copies, ret, err) < 0)
        return err->code;
    if (!ret->missing && ret->generation == looked->generation &&
        ret->shape.bits == looked->shape.bits && ret->shape.hashes == looked->shape.hashes)
        return 0;
    view_done(ret);
    return err_set(err, ERR_BUSY, "the filter has been replaced meanwhile");
}

static bool is_of(const struct view *a, const struct view *b)
{
    return strcmp(a->segment, b->segment) == 0 && a->generation == b->generation &&
           a->shape.bits == b->shape.bits && a->shape.hashes == b->shape.hashes;
}

static bool is_good(const struct copy *copy, const struct view *looked, int64_t age_max_us)
{
    int64_t age_us = clock_mono_us() - copy->taken_mono_us;

    if (!copy->view.words || !is_of(&copy->view, looked) || age_us > COPIES_AGE_MAX_US)
        return false;
    if (copy->view.keys == looked->keys && copy->view.bits_set == looked->bits_set &&
        copy->view.end_seq == looked->end_seq && copy->view.growing == looked->growing)
        return true;
    return looked->growing && age_us < age_max_us;
}

/* Where a copy of this filter stands already, or else the place that was not used for longest. */
static struct copy *place_of(struct copies *copies, const struct view *looked)
{
    struct copy *place = &copies->kept[0];

    for (int i = 0; i < COPIES_KEPT; i++) {
        if (copies->kept[i].view.words && is_of(&copies->kept[i].view, looked))
            return &copies->kept[i];
        if (copies->kept[i].last_use < place->last_use)
            place = &copies->kept[i];
    }
    return place;
}

int copies_whole(struct copies *copies, const struct view *looked, int64_t age_max_us,
                 const struct view **ret, struct err *err)
{
    struct copy *copy = place_of(copies, looked);

    if (!is_good(copy, looked, age_max_us)) {
        view_done(&copy->view);
        if (copies_piece(copies, looked, 0, looked->shape.bits, &copy->view, err) < 0)
            return err->code;
        copy->taken_mono_us = clock_mono_us();
    }
    copy->last_use = ++copies->use_tick;
    *ret = &copy->view;
    return 0;
}
