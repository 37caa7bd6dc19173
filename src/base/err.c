#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void clean(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err->code = code;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    clean(err->text);
    return code;
}

int err_prefix(struct err *err, const char *format, ...)
{
    char old[ERR_TEXT_MAX];
    va_list args;

    memcpy(old, err->text, sizeof old);
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t at = strlen(err->text);

    for (const char *more = ": "; *more && at + 1 < sizeof err->text; more++)
        err->text[at++] = *more;
    for (const char *more = old; *more && at + 1 < sizeof err->text; more++)
        err->text[at++] = *more;
    err->text[at] = '\0';
    clean(err->text);
    return err->code;
}

int err_exit_code(int code)
{
    switch (code) {
#define X(name, value, exit_code, text)                                                                \
    case name:                                                                                         \
        return exit_code;
        ERR_TABLE(X)
#undef X
    }
    return 0;
}
