#include "tool/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/version.h"

/* The command line while it is read. */
struct reader {
    const struct options *options;
    int argc, at;   /* argv[at] is the next word */
    char **argv;    /* argv[1..operands] are operands */
    int operands;   /* found so far */
    bool ended;     /* `--` was seen: only operands follow */
    bool *ret_done; /* --help or --version was answered */
    struct err *err;
};

/* A decimal number times ten to the power of `exponent`; strtod rounds once, so that 1.1M is exact. */
static bool read_scaled(const char *digits, size_t len, const char *exponent, double *ret)
{
    char number[64], *end;
    int n = snprintf(number, sizeof number, "%.*se%s", (int)len, digits, exponent);

    if (len == 0 || n >= (int)sizeof number || digits[0] == '.')
        return false;
    *ret = strtod(number, &end);
    return *end == '\0';
}

static bool read_whole(const char *value, uint64_t *ret)
{
    static const char *const units[][2] = {{"", "0"}, {"k", "3"}, {"M", "6"}, {"G", "9"}, {"T", "12"}};
    size_t len = strspn(value, "0123456789.");
    const char *exponent = value[len] == 'e' ? value + len + 1 : NULL;
    double n = 0;

    for (size_t i = 0; !exponent && i < sizeof units / sizeof *units; i++)
        if (strcmp(value + len, units[i][0]) == 0)
            exponent = units[i][1];
    if (!exponent || !read_scaled(value, len, exponent, &n) || n != floor(n) || n >= 0x1p64)
        return false;
    *ret = (uint64_t)n;
    return true;
}

static int read_count(const struct option_row *row, const char *value, uint64_t *ret, struct err *err)
{
    bool digits = *value && strspn(value, "0123456789") == strlen(value);
    uint64_t n = 0;

    errno = 0;
    if (digits)
        n = strtoull(value, NULL, 10);
    if ((!digits && !read_whole(value, &n)) || errno || n < row->min || n > row->max)
        return err_set(err, ERR_USAGE, "--%s: %s is not a number from %llu to %llu", row->name, value,
                       (unsigned long long)row->min, (unsigned long long)row->max);
    *ret = n;
    return 0;
}

static int read_fraction(const struct option_row *row, const char *value, double *ret, struct err *err)
{
    size_t len = strspn(value, "0123456789.");
    char *end;
    double fraction = strtod(value, &end);
    bool whole = end != value && !*end;

    if (strcmp(value + len, "%") == 0)
        whole = read_scaled(value, len, "-2", &fraction);
    if (!whole || !(fraction >= 0 && fraction < 1))
        return err_set(err, ERR_USAGE, "--%s: %s is not a fraction from 0 to below 1", row->name,
                       value);
    *ret = fraction;
    return 0;
}

/* Into ret, or into place `at` of the array there. */
static int read_value(const struct option_row *row, const char *value, size_t at, struct err *err)
{
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)row->ret = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)row->ret = value;
        return 0;
    case OPTION_COUNT:
        return read_count(row, value, (uint64_t *)row->ret + at, err);
    case OPTION_FRACTION:
        return read_fraction(row, value, (double *)row->ret + at, err);
    }
    return 0;
}

static int read_list(const struct option_row *row, const char *values, struct err *err)
{
    char value[64];
    int result = 0;

    for (bool more = true; more && result == 0;) {
        size_t len = strcspn(values, ",");

        if (len >= sizeof value || *row->list_n == OPTION_LIST_MAX)
            return err_set(err, ERR_USAGE, "--%s: at most %d values, each of one number", row->name,
                           OPTION_LIST_MAX);
        memcpy(value, values, len);
        value[len] = '\0';
        result = read_value(row, value, *row->list_n, err);
        *row->list_n += result == 0;
        more = values[len] == ',';
        values += len + 1;
    }
    return result;
}

static int apply(struct reader *r, const struct option_row *row, const char *value)
{
    if (row->kind == OPTION_FLAG && value)
        return err_set(r->err, ERR_USAGE, "--%s takes no value", row->name);
    if (row->kind != OPTION_FLAG && !value) {
        if (r->at == r->argc)
            return err_set(r->err, ERR_USAGE, "--%s needs a value", row->name);
        value = r->argv[r->at++];
    }
    return row->list_n && value ? read_list(row, value, r->err) : read_value(row, value, 0, r->err);
}

static bool answered(struct reader *r, const char *name)
{
    if (strcmp(name, "help") == 0)
        fputs(r->options->help, stdout);
    else if (strcmp(name, "version") == 0)
        fputs(VERSION_LINE, stdout);
    else
        return false;
    *r->ret_done = true;
    return true;
}

static int read_long(struct reader *r, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);

    if (answered(r, word))
        return 0;
    for (size_t i = 0; i < r->options->rows_n; i++) {
        const struct option_row *row = &r->options->rows[i];

        if (strlen(row->name) == len && memcmp(row->name, word, len) == 0)
            return apply(r, row, equals ? equals + 1 : NULL);
    }
    return err_set(r->err, ERR_USAGE, "there is no option --%.*s; --help shows what there is", (int)len,
                   word);
}

static int read_letter(struct reader *r, const char *word)
{
    for (size_t i = 0; !word[1] && i < r->options->rows_n; i++)
        if (r->options->rows[i].letter == word[0])
            return apply(r, &r->options->rows[i], NULL);
    return err_set(r->err, ERR_USAGE, "there is no option -%s; --help shows what there is", word);
}

static int read_word(struct reader *r)
{
    char *word = r->argv[r->at++];

    if (!r->ended && strcmp(word, "--") == 0) {
        r->ended = true;
        return 0;
    }
    if (r->ended || word[0] != '-' || !word[1]) {
        r->argv[++r->operands] = word;
        return 0;
    }
    return word[1] == '-' ? read_long(r, word + 2) : read_letter(r, word + 1);
}

int options_read(const struct options *options, int argc, char **argv, bool *ret_done, struct err *err)
{
    struct reader r = {
        .options = options, .argc = argc, .at = 1, .argv = argv, .ret_done = ret_done, .err = err};

    while (r.at < r.argc && !*ret_done) {
        int result = read_word(&r);

        if (result < 0)
            return result;
    }
    return *ret_done ? 0 : r.operands;
}

int option_refuse(const char *name, struct err *err)
{
    err_prefix(err, "--%s", name);
    err->code = ERR_USAGE;
    return ERR_USAGE;
}
