#include "store/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void merge_done(struct merge *merge)
{
    for (size_t i = 0; i < merge->n; i++)
        key_cursor_close(&merge->cursors[i]);
    free(merge->cursors);
    *merge = (struct merge){0};
}

int merge_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

    return order ? order : (a_len > b_len) - (a_len < b_len);
}

static bool before(const struct key_cursor *a, const struct key_cursor *b)
{
    int order = merge_compare(a->key, a->len, b->key, b->len);

    return order < 0 || (order == 0 && a->seq < b->seq);
}

static void sink(struct merge *merge, size_t at)
{
    struct key_cursor moving = merge->cursors[at];

    for (;;) {
        size_t child = at * 2 + 1;

        if (child >= merge->n)
            break;
        if (child + 1 < merge->n && before(&merge->cursors[child + 1], &merge->cursors[child]))
            child++;
        if (!before(&merge->cursors[child], &moving))
            break;
        merge->cursors[at] = merge->cursors[child];
        at = child;
    }
    merge->cursors[at] = moving;
}

void merge_add(struct merge *merge, struct key_cursor *cursor)
{
    if (!cursor->key) {
        key_cursor_close(cursor);
        return;
    }
    if (merge->n == merge->cap) {
        merge->cap = merge->cap ? merge->cap * 2 : 16;
        merge->cursors = mem_realloc(merge->cursors, merge->cap, sizeof *merge->cursors);
    }
    merge->cursors[merge->n++] = *cursor;
    *cursor = (struct key_cursor){0};
}

void merge_order(struct merge *merge)
{
    for (size_t at = merge->n / 2; at-- > 0;)
        sink(merge, at);
}

int merge_next(struct merge *merge, struct err *err)
{
    int code = key_cursor_next(&merge->cursors[0], err);

    if (code < 0 || !merge->cursors[0].key) {
        key_cursor_close(&merge->cursors[0]);
        merge->cursors[0] = merge->cursors[--merge->n];
    }
    if (merge->n)
        sink(merge, 0);
    return code;
}
