#include "base/jsonc.h"

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
