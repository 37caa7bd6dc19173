/* tradesieve: the tool beside the daemon. Finds the subcommand, runs it, and turns what it returns
 * into an exit code and at most one line on stderr. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tool/command.h"
#include "tool/version.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv, struct err *err);
} commands[] = {
    {"send", command_send},   {"gen", command_gen},       {"stats", command_stats},
    {"check", command_check}, {"size", command_size},     {"simulate", command_simulate},
    {"audit", command_audit}, {"export", command_export},
};

static const char usage[] = "usage: tradesieve send|gen|stats|check|size|simulate|audit|export "
                            "[OPTION...], or --help, --version";

static const char help[] =
    "The tool beside tradesieved, the daemon that knows which trades are already stored.\n"
    "\n"
    "  tradesieve send [FILE...]   streams lines to the daemon and counts its verdicts\n"
    "  tradesieve gen              writes a feed whose duplicates and conflicts are known\n"
    "  tradesieve stats            shows the daemon's statistics\n"
    "  tradesieve check KEY        asks whether a trade is stored, and how the filters see it\n"
    "  tradesieve size             how large a filter must be, and what the daemon's would take\n"
    "  tradesieve simulate         fills a filter with random keys and measures its answers\n"
    "  tradesieve audit DIR        looks for faults in the data directory of a stopped daemon\n"
    "  tradesieve export DIR       writes the stored trades as lines that feed replay takes back\n"
    "\n"
    "Each has its own --help. Exit codes: 0 as asked, 64 usage, 71 the daemon cannot be\n"
    "reached or the system refused something, 74 I/O error; others stand in --help.\n";

static int answer_option(const char *word, struct err *err)
{
    if (strcmp(word, "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    if (strcmp(word, "--version") == 0) {
        fputs(VERSION_LINE, stdout);
        return 0;
    }
    return err_set(err, ERR_USAGE, "there is no subcommand %s; %s", word, usage);
}

static int run(int argc, char **argv, struct err *err)
{
    if (argc < 2)
        return err_set(err, ERR_USAGE, "%s", usage);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        int result = commands[i].run(argc - 1, argv + 1, err);

        if (result < 0)
            err_prefix(err, "%s", commands[i].name);
        return result;
    }
    return answer_option(argv[1], err);
}

int main(int argc, char **argv)
{
    struct err err;
    int result = run(argc, argv, &err);

    if (result >= 0 && fflush(stdout) != 0)
        result = err_set(&err, ERR_IO, "standard output: %s", strerror(errno));
    if (result >= 0)
        return result;
    fprintf(stderr, "tradesieve: %s\n", err.text);
    return err_exit_code(result);
}
