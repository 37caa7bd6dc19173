/* tradesieved.
 *
 *   1. configuration, sockets that are passed to it, the data directory's lock
 *   2. the sockets listen; the store thread begins to open the store; HTTP answers
 *   3. the store is open: the endpoints file is written, connections are read, systemd hears READY
 *   4. SIGTERM or SIGINT: nothing is accepted or read any more; what was read is committed and answered
 *   5. the store saves its filters and closes; HTTP and the watchdog are still served
 *   6. the loop ends empty
 *
 * A refusal in 1 or 2 is one line on stderr and an exit code of err.h. The store failing at any time
 * closes every connection without an answer and ends the daemon with the store's code. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "daemon/config.h"
#include "daemon/lock.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/passed.h"
#include "ingest/server.h"
#include "report/http.h"
#include "report/stats.h"
#include "store/writer.h"

enum {
    DESCRIPTORS_RESERVED = 256, /* for all but listeners and connections, see raise_descriptors */
    TICK_MS = 1000,
    STATUS_INTERVAL_US = 10000000,
    EXTENSION_S = 60,               /* a start or stop that makes progress may take so much longer */
    STATUS_MAX = ERR_TEXT_MAX + 64, /* a reason and a figure */
};

enum phase { PHASE_STARTING, PHASE_OPEN, PHASE_READY, PHASE_DRAINING, PHASE_CLOSING, PHASE_STOPPED };

struct daemon {
    struct config config;
    uv_loop_t loop;
    uv_async_t wake;       /* the store thread has something for the loop */
    uv_signal_t term;      /* SIGTERM */
    uv_signal_t interrupt; /* SIGINT */
    uv_timer_t tick;
    struct stats stats;
    struct server *server;
    struct writer *writer;
    struct http *http;
    int lock; /* descriptor of the data directory's lock */
    enum phase phase;
    bool published;         /* the endpoints file is ours to remove */
    uint64_t watchdog_us;   /* 0: none */
    int64_t status_mono_us; /* when STATUS was sent last */
    struct err err;         /* why it ends; code 0: as asked */
};

static int run(struct daemon *d);

int main(int argc, char **argv)
{
    static struct daemon d;
    bool done = false;
    int rc = config_read(&d.config, argc, argv, &done, &d.err);

    if (rc == 0 && !done)
        rc = run(&d);
    if (rc < 0)
        log_refusal(d.err.text);
    config_done(&d.config);
    return rc < 0 ? err_exit_code(rc) : EXIT_SUCCESS;
}

static void prepare_process(struct daemon *d);
static void open_loop(struct daemon *d);
static int start(struct daemon *d);
static void stop(struct daemon *d);
static void close_all(struct daemon *d);

static int run(struct daemon *d)
{
    log_init(d->config.log_level);
    prepare_process(d);
    if (passed_take(&d->config, &d->err) < 0 || lock_take(d->config.data_dir, &d->lock, &d->err) < 0)
        return d->err.code;
    open_loop(d);
    if (start(d) < 0)
        stop(d);
    uv_run(&d->loop, UV_RUN_DEFAULT);
    close_all(d);
    log_tell_left_out(true);
    return d->err.code;
}

/* ---- 1. the process ---- */

/* systemd's soft limit of descriptors is 1,024: it is raised, and some stay free whatever the connections
 * do, or the store could not open its next file. Those besides listeners and connections, at most:
 *
 *     64  closed segments: 32 of them, database and keys
 *     12  the active segment and its successor with log and index, a seal with source and spill
 *     68  HTTP: 64 connections, its listener, epoll and wake-ups
 *     12  standard streams, lock, the loop, systemd's socket, a file or directory that is synced
 *
 * That is 156; the rest is for segments that wait for their seal, three descriptors each. */
static void raise_descriptors(struct server_config *server)
{
    rlim_t reserved = DESCRIPTORS_RESERVED + server->listeners_n;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max >= reserved + server->max_connections)
        return;
    server->max_connections = limit.rlim_max > reserved ? (uint32_t)(limit.rlim_max - reserved) : 1;
    log_event(LOG_WARNING, "limits.max_connections is lowered to %u: RLIMIT_NOFILE is %llu",
              server->max_connections, (unsigned long long)limit.rlim_max);
}

static void *resize(void *old, size_t bytes)
{
    return mem_realloc(old, bytes, 1);
}

/* A peer that is gone and a file size limit are errors of the write, not the end of the process. libuv,
 * which aborts or goes on half made without memory, ends as all else does. */
static void prepare_process(struct daemon *d)
{
    uv_replace_allocator(mem_alloc, resize, mem_zalloc, free);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    raise_descriptors(&d->config.server);
}

/* ---- 2. start ---- */

static void on_wake(uv_async_t *wake);
static void on_signal(uv_signal_t *handle, int number);
static void on_tick(uv_timer_t *timer);

static void open_loop(struct daemon *d)
{
    uint64_t tick_ms = TICK_MS;

    d->watchdog_us = notify_watchdog_us();
    if (d->watchdog_us && d->watchdog_us / 3000 < tick_ms)
        tick_ms = d->watchdog_us / 3000 ? d->watchdog_us / 3000 : 1;
    uv_loop_init(&d->loop);
    uv_async_init(&d->loop, &d->wake, on_wake);
    uv_signal_init(&d->loop, &d->term);
    uv_signal_init(&d->loop, &d->interrupt);
    uv_timer_init(&d->loop, &d->tick);
    d->wake.data = d->term.data = d->interrupt.data = d->tick.data = d;
    uv_signal_start(&d->term, on_signal, SIGTERM);
    uv_signal_start(&d->interrupt, on_signal, SIGINT);
    uv_timer_start(&d->tick, on_tick, tick_ms, tick_ms);
    stats_init(&d->stats);
}

/* Store thread. */
static void on_writer_wake(void *arg)
{
    struct daemon *d = arg;

    uv_async_send(&d->wake);
}

/* Store thread. */
static void on_store_event(void *arg, enum store_event_level level, const char *text)
{
    static const enum log_level levels[] = {
        [STORE_INFO] = LOG_INFO,
        [STORE_WARNING] = LOG_WARNING,
        [STORE_CRITICAL] = LOG_ERROR,
    };

    (void)arg;
    log_limited(LOG_KIND_STORE, levels[level], "store: %s", text);
}

static void on_server_event(void *arg, enum server_event event, const char *text)
{
    static const enum log_kind kinds[SERVER_EVENT_COUNT] = {
        [SERVER_ACCEPT_FAILED] = LOG_KIND_ACCEPT,
        [SERVER_REFUSED] = LOG_KIND_REFUSED,
        [SERVER_SLOW_PEER] = LOG_KIND_SLOW_PEER,
    };

    (void)arg;
    log_limited(kinds[event], LOG_WARNING, "%s", text);
}

static void warn_of_idle_sources(const struct server_config *server)
{
    for (const struct listener_config *listener = server->listeners;
         listener < server->listeners + server->listeners_n; listener++)
        if (listener->source && !feed_uses_source(listener->feed))
            log_event(LOG_WARNING, "listener %s: its feed %s takes no source", listener->bind,
                      feed_name(listener->feed));
}

static int start(struct daemon *d)
{
    struct config *config = &d->config;

    warn_of_idle_sources(&config->server);
    if (config->endpoints_file)
        unlink(config->endpoints_file); /* of a daemon that was killed: nobody listens there */
    config->server.on_event = on_server_event;
    config->writer.store.on_event = on_store_event;
    config->writer.on_wake = on_writer_wake;
    config->writer.arg = d;
    if (server_start(&d->server, &d->loop, &config->server, &d->stats, &d->err) < 0 ||
        writer_start(&d->writer, &config->writer, &d->err) < 0 ||
        http_start(&d->http, &config->http, &d->stats, d->writer, &d->err) < 0)
        return d->err.code;
    return 0;
}

/* ---- 3. open, ready ---- */

static int publish(struct daemon *d);
static void fail(struct daemon *d);

static void open_gates(struct daemon *d)
{
    d->phase = PHASE_OPEN;
    server_open_gates(d->server, d->writer);
    if (publish(d) < 0)
        stop(d);
}

/* The default folder of profiles need not exist. */
static void log_ready(const struct config *config)
{
    char *data_dir = realpath(config->data_dir, NULL);
    char *feeds_dir = config->feeds_dir ? realpath(config->feeds_dir, NULL) : NULL;

    log_event(LOG_INFO, "ready: data directory %s, feeds %s%s", data_dir ? data_dir : config->data_dir,
              feeds_dir ? "from " : "built-in only", feeds_dir ? feeds_dir : "");
    free(data_dir);
    free(feeds_dir);
}

static void get_ready(struct daemon *d)
{
    d->phase = PHASE_READY;
    log_ready(&d->config);
    notify_ready("ready");
    d->status_mono_us = clock_mono_us();
}

static void on_wake(uv_async_t *wake)
{
    struct daemon *d = wake->data;
    enum store_state state = writer_state(d->writer);

    if (d->phase == PHASE_STOPPED)
        return;
    server_on_writer(d->server);
    if (state == STORE_FAILED)
        fail(d);
    if (d->phase == PHASE_STARTING && (state == STORE_READY || state == STORE_FULL))
        open_gates(d);
    if (d->phase == PHASE_OPEN && state == STORE_READY)
        get_ready(d);
    if (d->phase == PHASE_CLOSING && writer_has_ended(d->writer))
        stop(d);
}

static void add_endpoints(struct daemon *d, struct text *out)
{
    char address[ADDRESS_TEXT_MAX];

    text_add_str(out, "{\"listeners\":[");
    for (size_t i = 0; i < d->config.server.listeners_n; i++) {
        const char *feed = feed_name(d->config.server.listeners[i].feed);

        server_address(d->server, i, address, sizeof address);
        log_event(LOG_INFO, "listening on %s for feed %s", address, feed);
        text_add_str(out, i ? ",{\"bind\":" : "{\"bind\":");
        text_add_json(out, address, strlen(address));
        text_add_str(out, ",\"feed\":");
        text_add_json(out, feed, strlen(feed));
        text_add_char(out, '}');
    }
    http_address(d->http, address, sizeof address);
    log_event(LOG_INFO, "statistics on http://%s/stats", address);
    text_add_str(out, "],\"http\":");
    text_add_json(out, address, strlen(address));
    text_add_str(out, "}\n");
}

/* A reader sees no file, or a whole one. */
static int write_file(const char *path, const struct text *content, struct err *err)
{
    struct text temporary = {0};
    int rc = 0;

    text_add_format(&temporary, "%s.tmp", path);
    const char *name = text_terminate(&temporary);
    FILE *file = fopen(name, "we");
    bool written = file && fwrite(content->at, 1, content->len, file) == content->len;

    if (file && fclose(file) != 0)
        written = false;
    if (!written || rename(name, path) < 0) {
        rc = err_set(err, ERR_SYSTEM, "endpoints file %s: %s", path, strerror(errno));
        if (file)
            unlink(name);
    }
    text_done(&temporary);
    return rc;
}

/* Says where everything listens, in the log and in the endpoints file. */
static int publish(struct daemon *d)
{
    struct text out = {0};
    int rc = 0;

    add_endpoints(d, &out);
    if (d->config.endpoints_file)
        rc = write_file(d->config.endpoints_file, &out, &d->err);
    d->published = rc == 0;
    text_done(&out);
    return rc;
}

/* ---- while it runs ---- */

static bool store_makes_progress(struct daemon *d)
{
    int64_t age_us = clock_mono_us() - writer_progress_us(d->writer);
    int64_t patience_us = d->watchdog_us ? (int64_t)(d->watchdog_us / 2) : EXTENSION_S * 1000000LL;

    return writer_state(d->writer) != STORE_FAILED && age_us < patience_us;
}

static void describe_start(struct daemon *d, char status[STATUS_MAX])
{
    struct figures figures;

    writer_figures(d->writer, &figures);
    snprintf(status, STATUS_MAX, "starting: %s; %llu keys read into filters", figures.reason,
             (unsigned long long)writer_keys_read(d->writer));
    figures_done(&figures);
}

static void describe_traffic(struct daemon *d, char status[STATUS_MAX])
{
    static struct stats_values values; /* too large for a stack frame */

    stats_copy(&d->stats, &values);
    snprintf(status, STATUS_MAX, "%s: %llu trades received, %llu new; %llu connections",
             writer_state(d->writer) == STORE_FULL ? "the disk is full" : "ready",
             (unsigned long long)values.received, (unsigned long long)values.verdicts[VERDICT_NEW],
             (unsigned long long)values.connections_open);
}

/* What a stop is at was said when it came there. */
static void tell_status(struct daemon *d)
{
    int64_t now_us = clock_mono_us();
    char status[STATUS_MAX];

    if (d->phase > PHASE_READY ||
        (d->status_mono_us && now_us - d->status_mono_us < STATUS_INTERVAL_US))
        return;
    if (d->phase < PHASE_READY)
        describe_start(d, status);
    else
        describe_traffic(d, status);
    notify_status(status);
    d->status_mono_us = now_us;
}

static void on_tick(uv_timer_t *timer)
{
    struct daemon *d = timer->data;

    stats_tick(&d->stats);
    log_tell_left_out(false);
    if (d->phase == PHASE_STOPPED || !store_makes_progress(d))
        return;
    if (d->watchdog_us)
        notify_watchdog();
    if (d->phase != PHASE_READY)
        notify_extend(EXTENSION_S);
    tell_status(d);
}

/* ---- 4. to 6. the end ---- */

/* A store that is still being opened is opened to the end first. */
static void on_drained(void *arg)
{
    struct daemon *d = arg;

    d->phase = PHASE_CLOSING;
    notify_status("stopping: the store saves its filters and closes");
    writer_begin_stop(d->writer);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct daemon *d = handle->data;

    if (d->phase >= PHASE_DRAINING)
        return;
    d->phase = PHASE_DRAINING;
    log_event(LOG_INFO, "%s: stopping", number == SIGTERM ? "SIGTERM" : "SIGINT");
    stats_set_draining(&d->stats);
    notify_stopping();
    server_drain(d->server, on_drained, d);
}

static void fail(struct daemon *d)
{
    writer_error(d->writer, &d->err);
    stop(d);
}

/* Closing a signal handle brings back the default action, which would end us before the exit code. */
static void block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* After a clean stop it has ended already; else it closes here, on this thread's time: nobody waits for the
 * loop any more. */
static void stop_store(struct daemon *d)
{
    if (!d->writer)
        return;
    writer_stop(d->writer);
    if (d->err.code == 0 && writer_state(d->writer) == STORE_FAILED)
        writer_error(d->writer, &d->err);
}

static void stop(struct daemon *d)
{
    if (d->phase == PHASE_STOPPED)
        return;
    d->phase = PHASE_STOPPED;
    block_signals();
    stop_store(d);
    http_stop(d->http);
    server_stop(d->server);
    uv_close((uv_handle_t *)&d->wake, NULL);
    uv_close((uv_handle_t *)&d->term, NULL);
    uv_close((uv_handle_t *)&d->interrupt, NULL);
    uv_close((uv_handle_t *)&d->tick, NULL);
}

static void close_all(struct daemon *d)
{
    int rc = uv_loop_close(&d->loop);

    assert(rc == 0); /* no handle is left open */
    (void)rc;
    server_close(d->server);
    if (d->writer)
        writer_close(d->writer);
    stats_done(&d->stats);
    if (d->published && d->config.endpoints_file)
        unlink(d->config.endpoints_file);
    close(d->lock);
}
