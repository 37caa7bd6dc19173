/* stats: the daemon's statistics as a page, once or every second; on a terminal as a screen that stays. */
#include <cjson/cJSON.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool/command.h"
#include "tool/dashboard.h"
#include "tool/fetch.h"
#include "tool/interrupt.h"
#include "tool/options.h"
#include "tool/page.h"
#include "tool/terminal.h"

enum {
    WATCH_INTERVAL_MS = 1000,
    WATCH_TIMEOUT_MS = 2000, /* of a question: keys wait for it */
};

static const char help[] =
    "usage: tradesieve stats [OPTION...]\n"
    "\n"
    "Shows the statistics of a running daemon.\n"
    "\n"
    "  --from ADDR:PORT  the daemon's HTTP side (default 127.0.0.1:7402)\n"
    "  --watch           again every second, with rates; on a terminal q or ^C ends it\n"
    "  --json            the daemon's answer as it is\n"
    "  --help, --version\n"
    "\n"
    "Exit code: 0; 71 the daemon cannot be reached.\n";

struct view {
    const char *from;
    bool json;
    cJSON *last, *before; /* answers, for the rates; NULL at first */
    int64_t last_us;      /* monotonic, when the last came */
};

static int read_stats(const struct view *view, const struct text *body, cJSON **ret, struct err *err)
{
    cJSON *stats = cJSON_ParseWithLength(body->at, body->len);

    if (!cJSON_IsObject(stats)) {
        cJSON_Delete(stats);
        return err_set(err, ERR_SYSTEM, "%s: the answer is no statistics of tradesieved", view->from);
    }
    *ret = stats;
    return 0;
}

/* Prints one answer, which is then the last. */
static int show(struct view *view, const struct text *body, struct err *err)
{
    int64_t now_us = clock_mono_us();
    struct text page = {0};
    cJSON *stats = NULL;

    if (read_stats(view, body, &stats, err) < 0)
        return err->code;
    page_add_stats(&page, stats, view->last, (double)(now_us - view->last_us) / 1e6);
    fwrite(page.at, 1, page.len, stdout);
    text_done(&page);
    cJSON_Delete(view->last);
    view->last = stats;
    view->last_us = now_us;
    return 0;
}

static void print_raw(const struct text *body)
{
    fwrite(body->at, 1, body->len, stdout);
    putchar('\n');
}

static int fetch_and_show(struct view *view, struct err *err)
{
    struct text body = {0};
    int result = fetch_get(&body, view->from, "/stats", FETCH_TIMEOUT_MS, err);

    if (result == 0 && view->json)
        print_raw(&body);
    else if (result == 0)
        result = show(view, &body, err);
    text_done(&body);
    return result;
}

/* Pages one below the other, for files and pipes. A daemon that was there once may come back: from then on
 * its absence is shown, not returned. */
static int watch_pages(struct view *view, struct err *err)
{
    struct pollfd interrupt = {.fd = interrupt_open(err), .events = POLLIN};

    if (interrupt.fd < 0)
        return interrupt.fd;
    int result = fetch_and_show(view, err);

    while (result == 0 && fflush(stdout) == 0 && poll(&interrupt, 1, WATCH_INTERVAL_MS) == 0)
        if (fetch_and_show(view, err) < 0)
            fprintf(stderr, "tradesieve: stats: %s\n", err->text);
    close(interrupt.fd);
    return result;
}

/* Asks for the statistics and hands them to the dashboard; an answer replaces the one before the last. */
static int note(struct view *view, struct dashboard *dashboard, long timeout_ms, struct err *err)
{
    struct text body = {0};
    cJSON *stats = NULL;
    int result = fetch_get(&body, view->from, "/stats", timeout_ms, err);
    int64_t now_us = clock_mono_us();

    if (result == 0)
        result = read_stats(view, &body, &stats, err);
    text_done(&body);
    if (result < 0)
        return result;
    dashboard_note(dashboard, stats, (double)(now_us - view->last_us) / 1e6);
    cJSON_Delete(view->before);
    view->before = view->last;
    view->last = stats;
    view->last_us = now_us;
    return 0;
}

static int draw(struct dashboard *dashboard, struct err *err)
{
    struct text page = {0};

    terminal_size(&dashboard->columns, &dashboard->rows);
    dashboard_add(&page, dashboard);
    int result = terminal_draw(&page, err);

    text_done(&page);
    return result;
}

/* Draws until it is time to ask again: 0, TERMINAL_QUIT, or an error. */
static int rest(struct terminal *terminal, struct dashboard *dashboard, int64_t until_us,
                struct err *err)
{
    for (;;) {
        int result = draw(dashboard, err);
        int64_t left_ms = (until_us - clock_mono_us() + 999) / 1000;

        if (result < 0 || left_ms <= 0)
            return result;
        enum terminal_event event = terminal_wait(terminal, (int)left_ms);

        if (event != TERMINAL_REDRAW)
            return event == TERMINAL_QUIT ? TERMINAL_QUIT : 0;
    }
}

/* The screen of a terminal; once the daemon was there, its absence is shown there. */
static int watch_screen(struct view *view, struct err *err)
{
    struct dashboard dashboard = {
        .from = view->from, .colours = terminal_has_colours(), .blocks = terminal_has_blocks()};
    struct terminal terminal;
    struct err trouble;
    int result = note(view, &dashboard, FETCH_TIMEOUT_MS, err);

    if (result == 0)
        result = terminal_open(&terminal, err);
    if (result < 0)
        return result;
    for (;;) {
        int64_t asked_us = clock_mono_us();

        result = rest(&terminal, &dashboard, asked_us + WATCH_INTERVAL_MS * 1000, err);
        if (result != 0)
            break;
        if (note(view, &dashboard, WATCH_TIMEOUT_MS, &trouble) < 0)
            dashboard_note_silence(&dashboard, trouble.text,
                                   (double)(clock_mono_us() - view->last_us) / 1e6);
    }
    terminal_close(&terminal);
    return result < 0 ? result : 0;
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
    int result;

    if (!watching)
        result = fetch_and_show(&view, err);
    else if (view.json || !terminal_is_there())
        result = watch_pages(&view, err);
    else
        result = watch_screen(&view, err);
    cJSON_Delete(view.last);
    cJSON_Delete(view.before);
    return result;
}
