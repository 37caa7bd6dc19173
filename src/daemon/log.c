#include "daemon/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

static const struct {
    const char *name;
    int syslog;
} levels[] = {
    [LOG_ERROR] = {"error", 3},
    [LOG_WARNING] = {"warning", 4},
    [LOG_INFO] = {"info", 6},
    [LOG_DEBUG] = {"debug", 7},
};

static enum log_level level_shown = LOG_INFO;
static bool journal;

/* One second of one kind and level. */
static struct limit {
    int64_t began_us;  /* monotonic; 0: nothing yet */
    unsigned lines;    /* asked for since */
    unsigned left_out; /* of those, not written and not yet told */
} limits[LOG_KIND_COUNT][LOG_DEBUG + 1];
static pthread_mutex_t limits_lock = PTHREAD_MUTEX_INITIALIZER;

void log_init(enum log_level level)
{
    level_shown = level;
    journal = getenv("JOURNAL_STREAM") != NULL;
}

static void add_escaped(struct text *line, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < 0x20 || c == 0x7f)
            text_add_format(line, "\\x%02x", c);
        else
            text_add_char(line, *text);
    }
}

/* What cannot be written is lost: there is nobody left to tell. */
static void write_line(struct text *line)
{
    text_add_char(line, '\n');
    if (write(STDERR_FILENO, line->at, line->len) < 0)
        line->len = 0;
    text_done(line);
}

static void log_text(enum log_level level, const char *text)
{
    struct text line = {0};

    if (journal) {
        text_add_format(&line, "<%d>", levels[level].syslog);
    } else {
        text_add_time_us(&line, clock_wall_us());
        text_add_format(&line, " %s: ", levels[level].name);
    }
    add_escaped(&line, text);
    write_line(&line);
}

void log_event(enum log_level level, const char *format, ...)
{
    char text[LOG_LINE_MAX];
    va_list args;

    if (level > level_shown)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_text(level, text);
}

/* Whether a line of this kind and level may be written now, and how many were not since the last. */
static bool admit(enum log_kind kind, enum log_level level, unsigned *ret_left_out)
{
    struct limit *limit = &limits[kind][level];
    int64_t now = clock_mono_us();

    pthread_mutex_lock(&limits_lock);
    if (limit->began_us == 0 || now - limit->began_us >= 1000000) {
        limit->began_us = now;
        limit->lines = 0;
    }
    bool admitted = limit->lines++ < LOG_LIMIT_PER_S;

    if (admitted) {
        *ret_left_out = limit->left_out;
        limit->left_out = 0;
    } else {
        limit->left_out++;
    }
    pthread_mutex_unlock(&limits_lock);
    return admitted;
}

void log_limited(enum log_kind kind, enum log_level level, const char *format, ...)
{
    char text[LOG_LINE_MAX];
    unsigned left_out;
    va_list args;

    if (level > level_shown || !admit(kind, level, &left_out))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t len = strlen(text);

    if (left_out > 0)
        snprintf(text + len, sizeof text - len, " (%u more like this were left out)", left_out);
    log_text(level, text);
}

void log_refusal(const char *text)
{
    struct text line = {0};

    text_add_str(&line, getenv("JOURNAL_STREAM") ? "<3>tradesieved: " : "tradesieved: ");
    add_escaped(&line, text);
    write_line(&line);
}
