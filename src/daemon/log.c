#include "daemon/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"

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

/* What peers can cause as often as they like has the longer period. */
static const struct {
    const char *about;
    int period_s;
} kinds[LOG_KIND_COUNT] = {
    [LOG_KIND_STORE] = {"the store", 1},
    [LOG_KIND_ACCEPT] = {"accepting connections", 60},
    [LOG_KIND_REFUSED] = {"refused connections", 60},
    [LOG_KIND_SLOW_PEER] = {"slow peers", 60},
};

/* One period of one kind and level. */
static struct limit {
    int64_t began_us;  /* monotonic; 0: nothing yet */
    unsigned lines;    /* written since */
    unsigned left_out; /* not written and not yet told */
} limits[LOG_KIND_COUNT][LOG_DEBUG + 1];
static pthread_mutex_t limits_lock = PTHREAD_MUTEX_INITIALIZER;

/* Whoever inherits the variable may write elsewhere: it names the journal's own device and inode. */
static bool is_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat status;
    char own[64];

    if (!stream || fstat(fd, &status) < 0)
        return false;
    snprintf(own, sizeof own, "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    return strcmp(stream, own) == 0;
}

void log_init(enum log_level level)
{
    level_shown = level;
    journal = is_journal(STDERR_FILENO);
}

/* Control characters, C1 among them, and what is no UTF-8 byte by byte. */
static void add_escaped(struct text *line, const char *text)
{
    size_t len = strlen(text);

    for (size_t at = 0, n; at < len; at += n) {
        const unsigned char *c = (const unsigned char *)text + at;

        n = utf8_length(text + at, len - at);
        if (n == 0 || c[0] < 0x20 || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0)) {
            text_add_format(line, "\\x%02x", c[0]);
            n = 1;
        } else {
            text_add(line, text + at, n);
        }
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

static bool is_over(enum log_kind kind, const struct limit *limit, int64_t now_us)
{
    return limit->began_us == 0 || now_us - limit->began_us >= (int64_t)kinds[kind].period_s * 1000000;
}

/* Returns how many lines the last one left out. */
static unsigned begin_period(struct limit *limit, int64_t now_us)
{
    unsigned left_out = limit->left_out;

    *limit = (struct limit){.began_us = now_us};
    return left_out;
}

static void tell_left_out(enum log_kind kind, enum log_level level, unsigned n)
{
    if (n > 0)
        log_event(level, "%u more about %s left out", n, kinds[kind].about);
}

/* Whether a line of this kind and level may be written now, and how many a period that ended was
 * without. */
static bool admit(enum log_kind kind, enum log_level level, unsigned *ret_left_out)
{
    struct limit *limit = &limits[kind][level];
    int64_t now_us = clock_mono_us();

    pthread_mutex_lock(&limits_lock);
    *ret_left_out = is_over(kind, limit, now_us) ? begin_period(limit, now_us) : 0;
    bool admitted = limit->lines < LOG_LINES_MAX;

    limit->lines += admitted;
    limit->left_out += !admitted;
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
    tell_left_out(kind, level, left_out);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_text(level, text);
}

void log_tell_left_out(bool all)
{
    int64_t now_us = clock_mono_us();

    for (int kind = 0; kind < LOG_KIND_COUNT; kind++)
        for (int level = 0; level <= LOG_DEBUG; level++) {
            struct limit *limit = &limits[kind][level];
            unsigned left_out = 0;

            pthread_mutex_lock(&limits_lock);
            if (limit->left_out > 0 && (all || is_over((enum log_kind)kind, limit, now_us)))
                left_out = begin_period(limit, now_us);
            pthread_mutex_unlock(&limits_lock);
            tell_left_out((enum log_kind)kind, (enum log_level)level, left_out);
        }
}

void log_refusal(const char *text)
{
    struct text line = {0};

    text_add_str(&line, is_journal(STDERR_FILENO) ? "<3>tradesieved: " : "tradesieved: ");
    add_escaped(&line, text);
    write_line(&line);
}
