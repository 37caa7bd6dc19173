/* stats: the daemon's statistics as a page, once or every second. */
#include <cjson/cJSON.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool/command.h"
#include "tool/fetch.h"
#include "tool/interrupt.h"
#include "tool/options.h"
#include "tool/page.h"

enum { WATCH_INTERVAL_MS = 1000 };

static const char help[] = "usage: tradesieve stats [OPTION...]\n"
                           "\n"
                           "Shows the statistics of a running daemon.\n"
                           "\n"
                           "  --from ADDR:PORT  the daemon's HTTP side (default 127.0.0.1:7402)\n"
                           "  --watch           again every second, with rates, until interrupted\n"
                           "  --json            the daemon's answer as it is\n"
                           "  --help, --version\n"
                           "\n"
                           "Exit code: 0; 71 the daemon cannot be reached.\n";

struct view {
    const char *from;
    bool json;
    cJSON *before;     /* the last answer, for the rates; NULL at first */
    int64_t before_us; /* monotonic, when it came */
};

/* Prints one answer; view->before becomes it. */
static int show(struct view *view, const struct text *body, struct err *err)
{
    int64_t now_us = clock_mono_us();
    struct text page = {0};
    cJSON *stats = cJSON_ParseWithLength(body->at, body->len);

    if (!cJSON_IsObject(stats)) {
        cJSON_Delete(stats);
        return err_set(err, ERR_SYSTEM, "%s: the answer is no statistics of tradesieved", view->from);
    }
    page_add_stats(&page, stats, view->before, (double)(now_us - view->before_us) / 1e6);
    fwrite(page.at, 1, page.len, stdout);
    text_done(&page);
    cJSON_Delete(view->before);
    view->before = stats;
    view->before_us = now_us;
    return 0;
}

static void print_raw(const struct text *body)
{
    fwrite(body->at, 1, body->len, stdout);
    putchar('\n');
}

static int fetch_and_show(struct view *view, const char *before_page, struct err *err)
{
    struct text body = {0};
    int result = fetch_get(&body, view->from, "/stats", err);

    if (result == 0) {
        fputs(before_page, stdout);
        if (view->json)
            print_raw(&body);
        else
            result = show(view, &body, err);
    }
    text_done(&body);
    return result;
}

/* A daemon that was there once may come back: from then on its absence is shown, not returned. */
static int watch(struct view *view, struct err *err)
{
    const char *clear = isatty(STDOUT_FILENO) && !view->json ? "\033[H\033[2J" : "";
    struct pollfd interrupt = {.fd = interrupt_open(err), .events = POLLIN};

    if (interrupt.fd < 0)
        return interrupt.fd;
    int result = fetch_and_show(view, clear, err);

    while (result == 0 && fflush(stdout) == 0 && poll(&interrupt, 1, WATCH_INTERVAL_MS) == 0)
        if (fetch_and_show(view, clear, err) < 0)
            fprintf(stderr, "tradesieve: stats: %s\n", err->text);
    close(interrupt.fd);
    return result;
}

int command_stats(int argc, char **argv, struct err *err)
{
    struct view view = {.from = "127.0.0.1:7402"};
    bool watching = false, done = false;
    const struct option_row rows[] = {
        {.name = "from", OPTION_TEXT, &view.from},
        {.name = "watch", OPTION_FLAG, &watching},
        {.name = "json", OPTION_FLAG, &view.json},
    };
    const struct options table = {.help = help, .rows = rows, .rows_n = sizeof rows / sizeof *rows};
    int operands = options_read(&table, argc, argv, &done, err);

    if (operands < 0 || done)
        return operands;
    if (operands > 0)
        return err_set(err, ERR_USAGE, "%s: stats takes options only", argv[1]);
    int result = watching ? watch(&view, err) : fetch_and_show(&view, "", err);

    cJSON_Delete(view.before);
    return result;
}
