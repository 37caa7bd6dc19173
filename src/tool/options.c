#include "tool/options.h"

#include <errno.h>
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

static int read_count(const struct option_row *row, const char *value, struct err *err)
{
    bool digits = *value && strspn(value, "0123456789") == strlen(value);

    errno = 0;
    uint64_t n = digits ? strtoull(value, NULL, 10) : 0;

    if (!digits || errno || n < row->min || n > row->max)
        return err_set(err, ERR_USAGE, "--%s: %s is not a number from %llu to %llu", row->name, value,
                       (unsigned long long)row->min, (unsigned long long)row->max);
    *(uint64_t *)row->ret = n;
    return 0;
}

static int read_fraction(const struct option_row *row, const char *value, struct err *err)
{
    char *end;
    double fraction = strtod(value, &end);

    if (end == value || *end || !(fraction >= 0 && fraction < 1))
        return err_set(err, ERR_USAGE, "--%s: %s is not a fraction from 0 to below 1", row->name,
                       value);
    *(double *)row->ret = fraction;
    return 0;
}

static int read_value(const struct option_row *row, const char *value, struct err *err)
{
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)row->ret = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)row->ret = value;
        return 0;
    case OPTION_COUNT:
        return read_count(row, value, err);
    case OPTION_FRACTION:
        return read_fraction(row, value, err);
    }
    return 0;
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
    return read_value(row, value, r->err);
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
