#include "store/figures.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void *copy_list(const void *list, size_t n, size_t entry)
{
    return n ? memcpy(mem_alloc(n * entry), list, n * entry) : NULL;
}

void figures_copy(struct figures *ret, const struct figures *from)
{
    *ret = *from;
    ret->generations = copy_list(from->generations, from->generations_n, sizeof *from->generations);
    ret->segments = copy_list(from->segments, from->segments_n, sizeof *from->segments);
}

void figures_done(struct figures *figures)
{
    free(figures->generations);
    free(figures->segments);
    *figures = (struct figures){0};
}
