/* table: rows of cells that are as wide as their widest, to the right or, where asked, to the left. A
 * character of UTF-8 counts as one column. Pure; table_done frees. */
#ifndef TOOL_TABLE_H
#define TOOL_TABLE_H

#include <stddef.h>

#include "base/text.h"

enum { TABLE_COLUMNS_MAX = 12 };

struct table {
    size_t columns;
    unsigned left; /* bit i: column i stands to the left */
    struct text
        cells; /* one after the other, row by row, a NUL behind each; the headers are the first */
};

void table_init(struct table *table, const char *const *headers, size_t columns, unsigned left);
void table_done(struct table *table);

/* Begins the next cell: what is added to the text until the next call stands in it. */
struct text *table_cell(struct table *table);

void table_add(struct text *out, struct table *table);

#endif
