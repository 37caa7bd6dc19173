#include "ingest/server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ingest/connection.h"

enum {
    BACKLOG = 511,
    ACCEPTS_MAX = 64,         /* at one go; then others have their turn */
    TICK_MAX_MS = 1000,       /* how often time-outs are looked at, at the least */
    KEEPALIVE_IDLE_S = 20,    /* a peer that vanished is noticed after 20 + 4 * 5 seconds */
    KEEPALIVE_INTERVAL_S = 5, /* between probes */
    KEEPALIVE_PROBES = 4,     /* without an answer */
    USER_TIMEOUT_MIN_S = 30,  /* replies that nobody acknowledges for so long end a connection */
};

/* The listening sockets are ours rather than libuv's: its listeners cannot stop accepting, and they
 * report a used port only when they listen. */
struct listener {
    uv_poll_t poll; /* data: the listener */
    struct server *server;
    struct address address; /* the real one */
    struct intake intake;
    int fd;      /* -1: none */
    bool bound;  /* a unix path is ours to unlink */
    bool polled; /* poll is open */
};

struct server {
    struct hub hub; /* first, so that on_gone finds the server */
    struct listener *listeners;
    size_t listeners_n;
    uv_timer_t tick;
    bool starved;                  /* no accept until a connection is gone or the next tick */
    bool stopped;                  /* everything is closed or closing */
    void (*on_drained)(void *arg); /* NULL: nobody waits for it */
    void *on_drained_arg;
};

static void on_acceptable(uv_poll_t *poll, int status, int events);
static void on_tick(uv_timer_t *timer);
static void on_gone(struct hub *hub);

/* ---- start: sockets first, handles when nothing can fail any more ---- */

static int system_error(struct err *err, const struct listener_config *config, int error)
{
    return err_set(err, ERR_SYSTEM, "listener %s: %s", config->bind, uv_strerror(-error));
}

/* Removes the socket of a daemon that is gone; anything else stays and is refused. */
static int clear_unix_path(const struct address *address, const struct listener_config *config,
                           struct err *err)
{
    const char *path = ((const struct sockaddr_un *)&address->sockaddr)->sun_path;
    struct stat status;

    if (lstat(path, &status) < 0)
        return errno == ENOENT ? 0 : system_error(err, config, errno);
    if (!S_ISSOCK(status.st_mode))
        return err_set(err, ERR_SYSTEM, "listener %s: there is a file that is no socket", config->bind);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return system_error(err, config, errno);
    int rc = connect(fd, (const struct sockaddr *)&address->sockaddr, address->len);
    bool dead = rc < 0 && errno == ECONNREFUSED;

    close(fd);
    if (!dead)
        return err_set(err, ERR_SYSTEM, "listener %s: another process listens there", config->bind);
    return unlink(path) < 0 && errno != ENOENT ? system_error(err, config, errno) : 0;
}

/* The path is never open to more than its mode says, not even between bind and chmod. */
static int bind_unix(struct listener *l, const struct listener_config *config, struct err *err)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)&l->address.sockaddr;

    if (clear_unix_path(&l->address, config, err) < 0)
        return err->code;
    mode_t before = config->mode ? umask(0777 & ~(mode_t)config->mode) : 0;
    int rc = bind(l->fd, (const struct sockaddr *)un, l->address.len);
    int error = errno;

    if (config->mode)
        umask(before);
    if (rc < 0)
        return system_error(err, config, error);
    l->bound = true;
    if (config->mode && chmod(un->sun_path, (mode_t)config->mode) < 0)
        return system_error(err, config, errno);
    return 0;
}

static int bind_tcp(struct listener *l, const struct listener_config *config, struct err *err)
{
    int family = l->address.sockaddr.ss_family;
    int on = 1;

    if (setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        (family == AF_INET6 && setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) ||
        bind(l->fd, (const struct sockaddr *)&l->address.sockaddr, l->address.len) < 0)
        return system_error(err, config, errno);
    return 0;
}

/* It listens already: its path, mode and queue belong to who opened it. Others hold it too, so what waits
 * there when we close it is not lost. */
static int listener_adopt(struct listener *l, const struct listener_config *config, struct err *err)
{
    struct sockaddr *sockaddr = (struct sockaddr *)&l->address.sockaddr;

    l->fd = config->passed_fd;
    l->address.len = sizeof l->address.sockaddr;
    return getsockname(l->fd, sockaddr, &l->address.len) < 0 ? system_error(err, config, errno) : 0;
}

static int listener_bind(struct listener *l, const struct listener_config *config, struct err *err)
{
    if (config->passed_fd)
        return listener_adopt(l, config, err);
    if (address_parse(&l->address, config->bind, err) < 0)
        return err_prefix(err, "listener");
    int family = l->address.sockaddr.ss_family;

    l->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->fd < 0)
        return system_error(err, config, errno);
    int rc = family == AF_UNIX ? bind_unix(l, config, err) : bind_tcp(l, config, err);

    if (rc < 0)
        return rc;
    if (listen(l->fd, BACKLOG) < 0)
        return system_error(err, config, errno);
    socklen_t len = sizeof l->address.sockaddr;

    if (family != AF_UNIX && getsockname(l->fd, (struct sockaddr *)&l->address.sockaddr, &len) < 0)
        return system_error(err, config, errno);
    return 0;
}

static void listener_init(struct listener *l, struct server *server, const struct listener_config *from)
{
    const struct server_config *config = server->hub.config;

    l->server = server;
    l->fd = -1;
    l->intake.feed = from->feed;
    l->intake.feed_name = feed_name(from->feed);
    l->intake.feed_index = stats_add_feed(server->hub.stats, l->intake.feed_name);
    l->intake.context.source = from->source;
    l->intake.context.max_key_bytes = config->max_key_bytes;
    l->intake.context.max_trades_per_line = config->max_trades_per_line;
    l->intake.ack = from->ack;
}

static void listener_close(struct listener *l)
{
    if (l->polled)
        uv_close((uv_handle_t *)&l->poll, NULL);
    if (l->fd >= 0)
        close(l->fd);
    if (l->bound)
        unlink(((struct sockaddr_un *)&l->address.sockaddr)->sun_path);
    l->polled = l->bound = false;
    l->fd = -1;
}

static void close_listeners(struct server *server)
{
    for (size_t i = 0; i < server->listeners_n; i++)
        listener_close(&server->listeners[i]);
}

static void set_accepting(struct server *server, bool accepting)
{
    for (size_t i = 0; i < server->listeners_n; i++) {
        struct listener *l = &server->listeners[i];

        if (l->polled && accepting)
            uv_poll_start(&l->poll, UV_READABLE, on_acceptable);
        else if (l->polled)
            uv_poll_stop(&l->poll);
    }
}

static void start_handles(struct server *server)
{
    uint64_t patience_ms = (uint64_t)server->hub.config->slow_reader_timeout_s * 1000;
    uint64_t tick_ms = patience_ms / 4 < TICK_MAX_MS ? patience_ms / 4 : TICK_MAX_MS;

    for (size_t i = 0; i < server->listeners_n; i++) {
        struct listener *l = &server->listeners[i];

        l->polled = uv_poll_init(server->hub.loop, &l->poll, l->fd) == 0;
        l->poll.data = l;
    }
    set_accepting(server, true);
    uv_timer_init(server->hub.loop, &server->tick);
    server->tick.data = server;
    uv_timer_start(&server->tick, on_tick, tick_ms, tick_ms);
}

int server_start(struct server **ret, uv_loop_t *loop, const struct server_config *config,
                 struct stats *stats, struct err *err)
{
    struct server *server = mem_zalloc(1, sizeof *server);
    int rc = 0;

    hub_init(&server->hub, loop, config, stats);
    server->hub.on_gone = on_gone;
    server->listeners = mem_zalloc(config->listeners_n, sizeof *server->listeners);
    server->listeners_n = config->listeners_n;
    for (size_t i = 0; i < server->listeners_n; i++)
        listener_init(&server->listeners[i], server, &config->listeners[i]);
    for (size_t i = 0; i < server->listeners_n && rc == 0; i++)
        rc = listener_bind(&server->listeners[i], &config->listeners[i], err);
    if (rc < 0) {
        close_listeners(server);
        server_close(server);
        return rc;
    }
    start_handles(server);
    *ret = server;
    return 0;
}

void server_address(const struct server *server, size_t i, char *ret, size_t ret_bytes)
{
    address_format(&server->listeners[i].address, ret, ret_bytes);
}

/* ---- accept ---- */

/* Keepalive alone does not notice a peer that vanishes while replies are on their way. The time-out
 * also ends connections whose peer closes its window for so long, so it must not undercut ours. */
static void set_tcp_options(int fd, int slow_reader_timeout_s)
{
    int user_timeout_s =
        slow_reader_timeout_s > USER_TIMEOUT_MIN_S ? slow_reader_timeout_s : USER_TIMEOUT_MIN_S;
    const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout_s * 1000},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

static void refuse(struct server *server, int fd)
{
    char text[64];

    server->hub.refused++;
    hub_publish(&server->hub); /* first: who sees the end finds it counted */
    close(fd);
    snprintf(text, sizeof text, "a connection beyond max_connections (%u) was refused",
             server->hub.config->max_connections);
    hub_event(&server->hub, SERVER_REFUSED, text);
}

/* Descriptors or memory are short: accept again when a connection is gone, or at the next tick. */
static void starve(struct server *server, int error)
{
    char text[128];

    server->starved = true;
    set_accepting(server, false);
    snprintf(text, sizeof text, "cannot accept connections for now: %s", uv_strerror(-error));
    hub_event(&server->hub, SERVER_ACCEPT_FAILED, text);
}

static void stop_starving(struct server *server)
{
    if (!server->starved)
        return;
    server->starved = false;
    set_accepting(server, true);
}

/* False when there is nothing more to accept now. */
static bool accept_one(struct listener *l)
{
    struct server *server = l->server;
    bool tcp = l->address.sockaddr.ss_family != AF_UNIX;
    int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int error = errno;

    if (fd < 0) {
        if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM)
            starve(server, error);
        return error == ECONNABORTED || error == EINTR;
    }
    if (server->hub.open >= server->hub.config->max_connections) {
        refuse(server, fd);
        return true;
    }
    if (tcp)
        set_tcp_options(fd, server->hub.config->slow_reader_timeout_s);
    connection_open(&server->hub, &l->intake, fd, tcp);
    return true;
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
    struct listener *l = poll->data;

    (void)status; /* accept says what is wrong */
    (void)events;
    for (int i = 0; i < ACCEPTS_MAX && accept_one(l); i++)
        ;
    connection_settle_all(&l->server->hub);
}

/* ---- the writer's side ---- */

static void note_store_state(struct hub *hub)
{
    hub->store_ready = hub->writer && writer_state(hub->writer) == STORE_READY;
    hub_has_room(hub);
}

void server_open_gates(struct server *server, struct writer *writer)
{
    server->hub.writer = writer;
    note_store_state(&server->hub);
    connection_settle_all(&server->hub);
}

void server_on_writer(struct server *server)
{
    struct hub *hub = &server->hub;
    struct batch *batch = hub->writer ? writer_take_finished(hub->writer) : NULL;

    while (batch) {
        struct batch *next = batch->next;

        connection_take_back(batch->owner, batch);
        batch = next;
    }
    while (hub->touched) {
        struct connection *c = hub->touched;

        hub->touched = c->next_touched;
        connection_answer(c);
    }
    note_store_state(hub);
    connection_settle_all(hub);
}

/* ---- time ---- */

static void on_tick(uv_timer_t *timer)
{
    struct server *server = timer->data;
    int64_t now = clock_mono_us();

    for (struct connection *c = server->hub.first; c; c = c->next)
        connection_check_time(c, now);
    stop_starving(server);
    connection_settle_all(&server->hub);
}

/* ---- the end ---- */

static void tell_drained(struct server *server)
{
    void (*on_drained)(void *arg) = server->on_drained;

    if (!on_drained || server->hub.first)
        return;
    server->on_drained = NULL;
    on_drained(server->on_drained_arg);
}

static void on_gone(struct hub *hub)
{
    struct server *server = (struct server *)hub;

    stop_starving(server);
    tell_drained(server);
}

void server_drain(struct server *server, void (*on_drained)(void *arg), void *arg)
{
    struct hub *hub = &server->hub;

    server->on_drained = on_drained;
    server->on_drained_arg = arg;
    close_listeners(server);
    hub->draining = true;
    hub_has_room(hub);
    for (struct connection *c = hub->first; c; c = c->next)
        connection_drain(c);
    connection_settle_all(hub);
    tell_drained(server);
}

void server_stop(struct server *server)
{
    if (!server || server->stopped)
        return;
    server->stopped = true;
    server->on_drained = NULL;
    close_listeners(server);
    for (struct connection *c = server->hub.first; c; c = c->next)
        connection_close(c);
    uv_close((uv_handle_t *)&server->tick, NULL);
}

void server_close(struct server *server)
{
    if (!server)
        return;
    hub_done(&server->hub);
    free(server->listeners);
    free(server);
}
