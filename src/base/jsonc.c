#include "base/jsonc.h"

#include <stdbool.h>

int jsonc_line_at(const char *text, size_t at)
{
    int line = 1;

    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n';
    return line;
}

static size_t end_of_string(const char *text, size_t at, size_t len)
{
    for (at++; at < len && text[at] != '"'; at++)
        if (text[at] == '\\')
            at++;
    return at < len ? at + 1 : len;
}

int jsonc_blank_comments(char *text, size_t len, struct err *err)
{
    size_t at = 0;

    while (at + 1 < len) {
        if (text[at] == '"') {
            at = end_of_string(text, at, len);
        } else if (text[at] == '/' && text[at + 1] == '/') {
            for (; at < len && text[at] != '\n'; at++)
                text[at] = ' ';
        } else if (text[at] == '/' && text[at + 1] == '*') {
            size_t end = at + 2;

            while (end + 1 < len && !(text[end] == '*' && text[end + 1] == '/'))
                end++;
            if (end + 1 >= len)
                return err_set(err, ERR_CONFIG, "line %d: a comment that does not end",
                               jsonc_line_at(text, at));
            for (; at < end + 2; at++)
                if (text[at] != '\n')
                    text[at] = ' ';
        } else {
            at++;
        }
    }
    return 0;
}

static bool is_blank(const char *text, size_t len)
{
    size_t i = 0;

    while (i < len && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n'))
        i++;
    return i == len;
}

/* Bytes that go on with a character of UTF-8 are no column of their own. */
static int column_at(const char *text, size_t at)
{
    int column = 1;

    for (; at > 0 && text[at - 1] != '\n'; at--)
        column += (text[at - 1] & 0xc0) != 0x80;
    return column;
}

int jsonc_refuse(const char *text, size_t len, size_t at, const char *what, struct err *err)
{
    int line = jsonc_line_at(text, at), column = column_at(text, at);

    if (is_blank(text, len))
        return err_set(err, ERR_CONFIG, "the file is empty");
    if (at >= len)
        return err_set(err, ERR_CONFIG, "line %d, column %d: %s: the file ends here", line, column,
                       what);
    if (text[at] > ' ' && text[at] < 0x7f)
        return err_set(err, ERR_CONFIG, "line %d, column %d: %s here: %c", line, column, what,
                       text[at]);
    return err_set(err, ERR_CONFIG, "line %d, column %d: %s here", line, column, what);
}
