/* log: one line an event on stderr, for journald or for people.
 *
 * Where stderr is the journal (JOURNAL_STREAM says so) a line begins with its syslog level, "<4>text";
 * else with time and level, "2026-12-01T14:30:00.123456Z warning: text". Control characters and what is no
 * UTF-8 are escaped, a line is one write(2). Any thread after log_init. */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Events that may come in crowds. The lines of one kind and level share a limit: a crowd of small news
 * takes nothing from what is worse. */
enum log_kind { LOG_KIND_STORE, LOG_KIND_ACCEPT, LOG_KIND_REFUSED, LOG_KIND_SLOW_PEER, LOG_KIND_COUNT };

enum { LOG_LINE_MAX = 1024, LOG_LINES_MAX = 5 };

void log_init(
    enum log_level level); /* main thread, before others start; lines above level are dropped */

void log_event(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, at most LOG_LINES_MAX lines of one kind and level in a period: a second for the store, a minute
 * for what peers cause, so that no crowd fills the journal. */
void log_limited(enum log_kind kind, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says how many lines the periods that are over were without, or all periods. To be called every second,
 * and with all at the end. */
void log_tell_left_out(bool all);

/* Why the daemon does not start or go on, for whoever started it: "tradesieved: text". */
void log_refusal(const char *text);

#endif
