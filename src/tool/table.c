#include "tool/table.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum { GAP = 2 };

void table_init(struct table *table, const char *const *headers, size_t columns, unsigned left)
{
    assert(columns <= TABLE_COLUMNS_MAX);
    *table = (struct table){.columns = columns, .left = left};
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

static size_t width_of(const char *cell)
{
    size_t width = 0;

    for (; *cell; cell++)
        width += (*cell & 0xc0) != 0x80;
    return width;
}

static void measure(const struct table *table, const char *end, size_t *widths)
{
    size_t i = 0;

    for (const char *cell = table->cells.at + 1; cell < end; cell = next_cell(cell), i++)
        if (width_of(cell) > widths[i % table->columns])
            widths[i % table->columns] = width_of(cell);
}

static void add_cell(struct text *out, const char *cell, size_t width, bool left)
{
    int padding = (int)(width - width_of(cell));

    text_add_format(out, "%*s%s%*s", left ? 0 : padding, "", cell, left ? padding : 0, "");
}

static void end_row(struct text *out)
{
    while (out->len > 0 && out->at[out->len - 1] == ' ')
        out->len--;
    text_add_char(out, '\n');
}

void table_add(struct text *out, struct table *table)
{
    size_t widths[TABLE_COLUMNS_MAX] = {0}, i = 0;
    const char *cell = text_terminate(&table->cells) + 1;
    const char *end = table->cells.at + table->cells.len + 1;

    measure(table, end, widths);
    for (; cell < end; cell = next_cell(cell)) {
        size_t column = i++ % table->columns;

        text_add_format(out, "%*s", column > 0 ? GAP : 0, "");
        add_cell(out, cell, widths[column], table->left >> column & 1);
        if (column + 1 == table->columns)
            end_row(out);
    }
}
