/* send: streams files or standard input to the daemon and counts its verdicts. */
#include <stdio.h>
#include <string.h>

#include "tool/command.h"
#include "tool/figure.h"
#include "tool/options.h"
#include "tool/progress.h"
#include "tool/stream.h"

enum { WINDOW_USUAL = 20000, WINDOW_MAX = 1000000, RETRIES_USUAL = 10, RETRIES_MAX = 1000 };

static const char help[] =
    "usage: tradesieve send [OPTION...] [FILE...]\n"
    "\n"
    "Streams the lines of the files, or of standard input, to the daemon; sends again what a lost\n"
    "connection left unanswered and what the daemon asks to have again; ends with a summary.\n"
    "\n"
    "  --to ADDR:PORT    the daemon, also [IPV6]:PORT or unix:/path (default 127.0.0.1:7401)\n"
    "  --window N        at most N lines unanswered (default 20000)\n"
    "  --ack MODE        each: a reply for every line; batch: one for many, less to read (default "
    "each)\n"
    "  --retries N       failed connections in a row, retry verdicts of one line (default 10)\n"
    "  --json            the summary as one JSON object\n"
    "  -v, --verbose     prints replies that are conflict, invalid or retry, with the input's line "
    "number\n"
    "  --help, --version\n"
    "\n"
    "Exit code: 0 every line was answered; 1 some stayed invalid, retry or unanswered; 71 the daemon\n"
    "cannot be reached.\n";

/* What the callbacks of the stream need. */
struct sending {
    struct stream stream;
    struct progress progress;
};

static int read_ack(const char *mode, bool *ret_batch, struct err *err)
{
    *ret_batch = strcmp(mode, "batch") == 0;
    if (!*ret_batch && strcmp(mode, "each") != 0)
        return err_set(err, ERR_USAGE, "--ack: %s is not each or batch", mode);
    return 0;
}

static void on_trouble(void *arg, uint64_t number, const char *reply, size_t len)
{
    struct sending *sending = arg;
    struct text line = {0};

    progress_clear(&sending->progress);
    text_add_format(&line, "line %llu: ", (unsigned long long)number);
    figure_add_foreign(&line, reply, len);
    text_add_char(&line, '\n');
    fwrite(line.at, 1, line.len, stderr);
    text_done(&line);
}

static void on_tick(void *arg, const struct tally *tally, double part)
{
    struct sending *sending = arg;

    progress_tick(&sending->progress, tally, part);
}

static void print_summary(const struct tally *tally, bool json)
{
    struct text out = {0};

    if (json)
        tally_add_json(tally, &out);
    else
        tally_add_summary(tally, &out);
    fwrite(out.at, 1, out.len, stdout);
    text_done(&out);
}

/* Whether some line did not get what its sender wants. */
static bool is_incomplete(const struct tally *tally)
{
    return tally->answered < tally->lines || tally->verdicts[VERDICT_INVALID] > 0 ||
           tally->verdicts[VERDICT_RETRY] > 0;
}

static bool is_all_ignored(const struct tally *tally)
{
    return tally->lines > 0 && tally->answered == tally->lines &&
           tally->verdicts[VERDICT_IGNORED] == tally_trades(tally);
}

static int finish(struct sending *sending, int result, bool json, struct err *err)
{
    const struct stream *s = &sending->stream;

    if (!s->began_us && result < 0)
        return result;
    progress_finish(&sending->progress, &s->tally, stream_part(s));
    print_summary(&s->tally, json);
    if (result == ERR_IO)
        return result;
    if (result < 0)
        fprintf(stderr, "tradesieve: send: %s\n", err->text);
    if (is_all_ignored(&s->tally))
        fputs("tradesieve: send: every line was ignored: is this the right listener and feed?\n",
              stderr);
    return result < 0 || s->interrupted || is_incomplete(&s->tally);
}

int command_send(int argc, char **argv, struct err *err)
{
    const char *to = "127.0.0.1:7401", *ack = "each";
    bool json = false, verbose = false, done = false;
    struct sending sending;
    struct stream_options options = {.window = WINDOW_USUAL, .retries = RETRIES_USUAL, .tick_ms = -1};
    const struct option_row rows[] = {
        {.name = "to", OPTION_TEXT, &to},
        {.name = "window", OPTION_COUNT, &options.window, .min = 1, .max = WINDOW_MAX},
        {.name = "ack", OPTION_TEXT, &ack},
        {.name = "retries", OPTION_COUNT, &options.retries, .max = RETRIES_MAX},
        {.name = "json", OPTION_FLAG, &json},
        {.name = "verbose", OPTION_FLAG, &verbose, .letter = 'v'},
    };
    const struct options table = {.help = help, .rows = rows, .rows_n = sizeof rows / sizeof *rows};
    int files_n = options_read(&table, argc, argv, &done, err);

    if (files_n < 0 || done)
        return files_n;
    if (read_ack(ack, &options.batch, err) < 0)
        return err->code;
    if (address_parse(&options.to, to, err) < 0)
        return option_refuse("to", err);
    progress_init(&sending.progress, stderr);
    if (progress_is_on(&sending.progress)) {
        options.tick_ms = PROGRESS_INTERVAL_MS;
        options.on_tick = on_tick;
    }
    options.on_trouble = verbose ? on_trouble : NULL;
    options.arg = &sending;
    int result = stream_init(&sending.stream, &options, argv + 1, files_n, err);

    if (result == 0)
        result = stream_run(&sending.stream, err);
    result = finish(&sending, result, json, err);
    stream_done(&sending.stream);
    progress_done(&sending.progress);
    return result;
}
