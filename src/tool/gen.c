/* gen: writes a feed of known truth to stdout. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tool/command.h"
#include "tool/generator.h"
#include "tool/options.h"
#include "tool/output.h"

static const char help[] =
    "usage: tradesieve gen [OPTION...]\n"
    "\n"
    "Writes canonical trades, one a line, some of them repeated. An original is repeated by "
    "duplicates\n"
    "or by conflicts, not both, so that the truth holds in any order of arrival.\n"
    "\n"
    "  --trades N       lines, repeats included (default 100000)\n"
    "  --duplicates R   fraction of all lines that repeat a trade as it was (default 0.1)\n"
    "  --conflicts R    fraction of all lines that repeat an ID with another price (default 0)\n"
    "  --ids FORM       sequential, random (64-bit numbers) or uuid (default random)\n"
    "  --symbols N      different symbols (default 16)\n"
    "  --seed N         another seed, another feed; the same options, the same bytes (default 1)\n"
    "  --truth FILE     writes {\"lines\":..,\"new\":..,\"duplicate\":..,\"conflict\":..} to FILE at "
    "the end\n"
    "  --help, --version\n";

static int read_ids(const char *form, enum generator_ids *ret, struct err *err)
{
    static const char *const forms[] = {
        [GENERATOR_SEQUENTIAL] = "sequential",
        [GENERATOR_RANDOM] = "random",
        [GENERATOR_UUID] = "uuid",
    };

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(form, forms[i]) == 0) {
            *ret = (enum generator_ids)i;
            return 0;
        }
    }
    return err_set(err, ERR_USAGE, "--ids: %s is not sequential, random or uuid", form);
}

static int read_options(int argc, char **argv, struct generator_options *options,
                        const char **ret_truth, bool *ret_done, struct err *err)
{
    const char *ids = "random";
    const struct option_row rows[] = {
        {.name = "trades", OPTION_COUNT, &options->lines, .min = 1, .max = GENERATOR_LINES_MAX},
        {.name = "duplicates", OPTION_FRACTION, &options->duplicates},
        {.name = "conflicts", OPTION_FRACTION, &options->conflicts},
        {.name = "ids", OPTION_TEXT, &ids},
        {.name = "symbols", OPTION_COUNT, &options->symbols, .min = 1, .max = GENERATOR_SYMBOLS_MAX},
        {.name = "seed", OPTION_COUNT, &options->seed, .max = UINT64_MAX},
        {.name = "truth", OPTION_TEXT, ret_truth},
    };
    const struct options table = {.help = help, .rows = rows, .rows_n = sizeof rows / sizeof *rows};
    int operands = options_read(&table, argc, argv, ret_done, err);

    if (operands < 0 || *ret_done)
        return operands;
    if (operands > 0)
        return err_set(err, ERR_USAGE, "%s: gen takes options only", argv[1]);
    if (options->duplicates + options->conflicts >= 1)
        return err_set(err, ERR_USAGE, "--duplicates and --conflicts must stay below 1 together");
    return read_ids(ids, &options->ids, err);
}

static int write_feed(struct generator *g, struct err *err)
{
    struct text lines = {0};
    int result = 0;

    output_widen();
    for (bool more = true; more && result == 0; lines.len = 0) {
        while (lines.len < OUTPUT_BYTES - GENERATOR_LINE_MAX && (more = generator_next(g, &lines)))
            ;
        result = output_write(&lines, err);
    }
    text_done(&lines);
    return result;
}

static int write_truth(const char *path, const struct generator_truth *truth, struct err *err)
{
    FILE *file = fopen(path, "we");

    if (!file)
        return err_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
    fprintf(file,
            "{\"lines\":%" PRIu64 ",\"new\":%" PRIu64 ",\"duplicate\":%" PRIu64 ",\"conflict\":%" PRIu64
            "}\n",
            truth->lines, truth->originals, truth->duplicates, truth->conflicts);
    bool failed = ferror(file) != 0;

    if (fclose(file) != 0 || failed)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return 0;
}

int command_gen(int argc, char **argv, struct err *err)
{
    struct generator_options options = {.lines = 100000, .duplicates = 0.1, .symbols = 16, .seed = 1};
    const char *truth = NULL;
    bool done = false;
    struct generator g;
    int result = read_options(argc, argv, &options, &truth, &done, err);

    if (result < 0 || done)
        return result;
    generator_init(&g, &options);
    result = write_feed(&g, err);
    return result == 0 && truth ? write_truth(truth, &g.truth, err) : result;
}
