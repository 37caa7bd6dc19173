/* check: asks the daemon whether a key is stored, and what its filters say to it. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "tool/command.h"
#include "tool/fetch.h"
#include "tool/member.h"
#include "tool/options.h"
#include "tool/page.h"

static const char help[] = "usage: tradesieve check [OPTION...] KEY\n"
                           "\n"
                           "Asks a running daemon whether the trade with this key is stored, and shows "
                           "what each filter answers.\n"
                           "The key is written as the daemon stores it: BINANCE/BTCUSDT/3735683259, "
                           "with %25 for % and %2F for /\n"
                           "inside a part. A key that begins with a dash stands behind --.\n"
                           "\n"
                           "  --from ADDR:PORT  the daemon's HTTP side (default 127.0.0.1:7402)\n"
                           "  --json            the daemon's answer as it is\n"
                           "  --help, --version\n"
                           "\n"
                           "Exit code: 0 present, 1 absent, 71 the daemon cannot be reached.\n";

/* Prints the answer; returns 0 for present, 1 for absent. */
static int show(const struct text *body, bool json, const char *from, struct err *err)
{
    struct text page = {0};
    cJSON *check = cJSON_ParseWithLength(body->at, body->len);
    const char *exact = cJSON_GetStringValue(member_find(check, "exact"));
    int result = exact && strcmp(exact, "present") == 0 ? 0 : 1;

    if (!exact)
        result = err_set(err, ERR_SYSTEM, "%s: the answer is none of tradesieved", from);
    else if (json)
        text_add(&page, body->at, body->len);
    else
        page_add_check(&page, check);
    if (json && result >= 0)
        text_add_char(&page, '\n');
    fwrite(page.at, 1, page.len, stdout);
    text_done(&page);
    cJSON_Delete(check);
    return result;
}

int command_check(int argc, char **argv, struct err *err)
{
    const char *from = "127.0.0.1:7402";
    bool json = false, done = false;
    struct text path = {0}, body = {0};
    const struct option_row rows[] = {
        {.name = "from", OPTION_TEXT, &from},
        {.name = "json", OPTION_FLAG, &json},
    };
    const struct options table = {.help = help, .rows = rows, .rows_n = sizeof rows / sizeof *rows};
    int operands = options_read(&table, argc, argv, &done, err);

    if (operands < 0 || done)
        return operands;
    if (operands != 1 || !argv[1][0])
        return err_set(err, ERR_USAGE, "one KEY is needed; --help tells more");
    fetch_add_query(&path, "/check", argv[1]);
    int result = fetch_get(&body, from, text_terminate(&path), FETCH_TIMEOUT_MS, err);

    if (result == 0)
        result = show(&body, json, from, err);
    text_done(&path);
    text_done(&body);
    return result;
}
