#include "tool/table.h"

#include <assert.h>
#include <string.h>

enum { GAP = 2 };

void table_init(struct table *table, const char *const *headers, size_t columns)
{
    assert(columns <= TABLE_COLUMNS_MAX);
    *table = (struct table){.columns = columns};
    for (size_t i = 0; i < columns; i++)
        text_add_str(table_cell(table), headers[i]);
}

void table_done(struct table *table)
{
    text_done(&table->cells);
}

/* The NUL that ends a cell is put there when the next begins. */
struct text *table_cell(struct table *table)
{
    text_add_char(&table->cells, '\0');
    return &table->cells;
}

static const char *next_cell(const char *cell)
{
    return cell + strlen(cell) + 1;
}

static void measure(const struct table *table, const char *end, size_t *widths)
{
    size_t i = 0;

    for (const char *cell = table->cells.at + 1; cell < end; cell = next_cell(cell), i++)
        if (strlen(cell) > widths[i % table->columns])
            widths[i % table->columns] = strlen(cell);
}

void table_add(struct text *out, struct table *table)
{
    size_t widths[TABLE_COLUMNS_MAX] = {0}, i = 0;
    const char *first = text_terminate(&table->cells) + 1, *header = first;
    const char *end = table->cells.at + table->cells.len + 1;

    measure(table, end, widths);
    for (const char *cell = first; cell < end; cell = next_cell(cell)) {
        size_t column = i++ % table->columns;

        if (column == 0)
            header = first;
        if (*cell)
            text_add_format(out, "%*s%*s", GAP, "", *header ? (int)widths[column] : 0, cell);
        if (column + 1 == table->columns)
            text_add_char(out, '\n');
        header = next_cell(header);
    }
}
