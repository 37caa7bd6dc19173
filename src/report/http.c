/* The life of a request:
 *
 *   1. the watch thread accepts the connection while there is a place, libmicrohttpd gives it a thread,
 *      on_peer notes when it began
 *   2. on_target keeps the request's target as it was sent, because libmicrohttpd's own decoding turns
 *      '+' into a space and ends a text at %00
 *   3. on_request lets a body pass, then asks the Host header, the method and the path, in this order
 *   4. a route makes a response (response.h), which is queued with "Connection: close"
 *   5. on_completed frees the target, on_peer forgets the connection
 *
 * What fails: a peer that is silent is dropped by libmicrohttpd's time-out; one that trickles would
 * renew that for ever, so the watch thread shuts down every socket that is older than a whole request
 * may take, and step 5 follows. One connection is one request, so that both ages are the same.
 *
 * When places run short (HTTP_CROWD), whoever lets us wait makes room for those who wait behind: a peer
 * that has neither sent its whole request nor taken its answer within HTTP_CROWDED_MS is shut down too.
 * A thousand that trickle cannot keep /livez from a supervisor. Without descriptors nothing is accepted
 * until the watch looks again; libmicrohttpd, if it accepted itself, would try without pause. */
#include "report/http.h"

#include <ctype.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/alerts.h"
#include "report/asset.h"
#include "report/json.h"
#include "report/metrics.h"
#include "report/query.h"
#include "report/response.h"
#include "report/wall.h"

enum {
    HTTP_CONNECTIONS_MAX = 64,
    HTTP_CROWD = 48,     /* with so many connections places run short */
    HTTP_BACKLOG = 1024, /* a crowd waits in turn rather than by luck: no SYN is dropped */
    HTTP_MEMORY_BYTES =
        32 * 1024,              /* of one connection: request line and headers fit in it or get 4xx */
    HTTP_SILENCE_S = 5,         /* a peer that neither sends nor takes a byte */
    HTTP_REQUEST_S = 10,        /* from accept to the last byte of the answer */
    HTTP_CROWDED_MS = 200,      /* in a crowd: to send the request, and again to take the answer */
    HTTP_WATCH_MS = 1000,       /* how often the watch looks at the peers */
    HTTP_CROWDED_WATCH_MS = 20, /* and in a crowd */
    HTTP_CHECK_MS = 2000,       /* that /check waits for the store */
    HTTP_WALL_MAX = 16,         /* questions of wall.h at a time, their answers under way included */
    HTTP_PROGRESS_S = 10,       /* a thread that has not come round for so long is stuck */
};

/* A connection that the watch looks after. */
struct peer {
    struct peer *next, *previous;
    int fd;           /* libmicrohttpd's, open until the peer is forgotten */
    int64_t start_us; /* monotonic */
    int64_t since_us; /* monotonic: since when it is the peer's turn to send or to take */
    bool asked;       /* its request is being answered: it is our turn */
};

struct http {
    const struct http_config *config;
    struct stats *stats;
    struct writer *writer;
    struct wall *wall;
    _Atomic int placed; /* requests that hold a place of the wall */
    struct MHD_Daemon *daemon;
    struct address address; /* that it really has */
    int listener;           /* the watch accepts */
    int wake;               /* eventfd: readable when the watch is to end */
    pthread_t watch;
    pthread_mutex_t lock; /* guards what follows */
    struct peer peers;    /* head of a ring, newest first */
    size_t peers_n;
    size_t arriving;     /* accepted, and libmicrohttpd has not begun with them */
    int64_t accepted_us; /* the last of them, monotonic */
};

struct request {
    char *target; /* as sent: path, '?', query */
    bool seen;    /* on_request was called for it before */
    bool placed;  /* it holds a place of the wall */
};

static void *on_target(void *arg, const char *target, struct MHD_Connection *connection);
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_bytes, void **context);
static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code);
static void on_peer(void *arg, struct MHD_Connection *connection, void **context,
                    enum MHD_ConnectionNotificationCode code);
static void *watch_run(void *arg);

static int system_error(struct err *err, const char *bind_text)
{
    const char *reason = strerror(errno);

    return err_set(err, ERR_SYSTEM, "http %s: %c%s", bind_text, tolower((unsigned char)reason[0]),
                   reason + 1);
}

/* Our own socket, since libmicrohttpd does not say why it could not listen. */
static int bind_socket(struct http *http, struct err *err)
{
    struct address *address = &http->address;
    struct sockaddr *sockaddr = (struct sockaddr *)&address->sockaddr;
    const int on = 1;

    if (address_parse(address, http->config->bind, err) < 0)
        return err_prefix(err, "http");
    int fd = http->listener =
        socket(sockaddr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return system_error(err, http->config->bind);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (sockaddr->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, sockaddr, address->len) < 0 || listen(fd, HTTP_BACKLOG) < 0)
        return system_error(err, http->config->bind);
    return 0;
}

static int open_socket(struct http *http, struct err *err)
{
    struct address *address = &http->address;

    if (http->config->passed_fd)
        http->listener = http->config->passed_fd;
    else if (bind_socket(http, err) < 0)
        return err->code;
    address->len = sizeof address->sockaddr;
    if (getsockname(http->listener, (struct sockaddr *)&address->sockaddr, &address->len) < 0)
        return system_error(err, http->config->bind);
    return 0;
}

/* A thread a connection: a question that waits for the store must not keep /livez waiting. */
static int start_daemon(struct http *http, struct err *err)
{
    http->daemon =
        MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
                             MHD_USE_POLL | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET,
                         0, NULL, NULL, on_request, http, MHD_OPTION_URI_LOG_CALLBACK, on_target, http,
                         MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_NOTIFY_CONNECTION,
                         on_peer, http, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY_BYTES,
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_SILENCE_S, MHD_OPTION_END);
    return http->daemon
               ? 0
               : err_set(err, ERR_SYSTEM, "http %s: the server did not start", http->config->bind);
}

static int start_watch(struct http *http, struct err *err)
{
    http->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (http->wake < 0)
        return system_error(err, http->config->bind);
    errno = pthread_create(&http->watch, NULL, watch_run, http);
    return errno ? system_error(err, http->config->bind) : 0;
}

/* Accepts what is half open. */
static void close_http(struct http *http)
{
    if (http->daemon)
        MHD_stop_daemon(http->daemon); /* joins the connections' threads */
    if (http->listener >= 0)
        close(http->listener);
    if (http->wake >= 0)
        close(http->wake);
    wall_close(http->wall);
    pthread_mutex_destroy(&http->lock);
    free(http);
}

int http_start(struct http **ret, const struct http_config *config, struct stats *stats,
               struct writer *writer, struct err *err)
{
    struct http *http = mem_zalloc(1, sizeof *http);

    http->config = config;
    http->stats = stats;
    http->writer = writer;
    http->wall = wall_open(config->data_dir, writer);
    http->listener = http->wake = -1;
    http->peers.next = http->peers.previous = &http->peers;
    pthread_mutex_init(&http->lock, NULL);
    if (open_socket(http, err) < 0 || start_daemon(http, err) < 0 || start_watch(http, err) < 0) {
        close_http(http);
        return err->code;
    }
    *ret = http;
    return 0;
}

void http_address(const struct http *http, char *ret, size_t ret_bytes)
{
    address_format(&http->address, ret, ret_bytes);
}

void http_stop(struct http *http)
{
    if (!http)
        return;
    eventfd_write(http->wake, 1);
    pthread_join(http->watch, NULL);
    wall_stop(http->wall);
    close_http(http);
}

/* 1. and 5. */
static struct peer *add_peer(struct http *http, int fd)
{
    struct peer *peer = mem_zalloc(1, sizeof *peer);

    peer->fd = fd;
    peer->start_us = peer->since_us = clock_mono_us();
    pthread_mutex_lock(&http->lock);
    peer->next = http->peers.next;
    peer->previous = &http->peers;
    peer->next->previous = peer->previous->next = peer;
    http->peers_n++;
    http->arriving -= http->arriving > 0;
    pthread_mutex_unlock(&http->lock);
    return peer;
}

static void remove_peer(struct http *http, struct peer *peer)
{
    pthread_mutex_lock(&http->lock);
    peer->next->previous = peer->previous;
    peer->previous->next = peer->next;
    http->peers_n--;
    pthread_mutex_unlock(&http->lock);
    free(peer);
}

static void on_peer(void *arg, struct MHD_Connection *connection, void **context,
                    enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = add_peer(
            arg, MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    } else if (*context) {
        remove_peer(arg, *context);
        *context = NULL;
    }
}

/* Whose turn it is: ours from the whole request to the answer. */
static void set_asked(struct http *http, struct MHD_Connection *connection, bool asked)
{
    struct peer *peer =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;

    pthread_mutex_lock(&http->lock);
    peer->asked = asked;
    peer->since_us = clock_mono_us();
    pthread_mutex_unlock(&http->lock);
}

static bool is_overdue(const struct peer *peer, bool crowded, int64_t now_us)
{
    if (now_us - peer->start_us > (int64_t)HTTP_REQUEST_S * 1000000)
        return true;
    return crowded && !peer->asked && now_us - peer->since_us > (int64_t)HTTP_CROWDED_MS * 1000;
}

/* How many places are taken. What libmicrohttpd drops before it begins, for want of a thread, it does
 * not tell: whatever has not begun for so long does not come. */
static size_t count_peers(struct http *http, int64_t now_us)
{
    pthread_mutex_lock(&http->lock);
    if (now_us - http->accepted_us > (int64_t)HTTP_WATCH_MS * 1000)
        http->arriving = 0;
    size_t n = http->peers_n + http->arriving;

    pthread_mutex_unlock(&http->lock);
    return n;
}

/* The sockets stay libmicrohttpd's to close: it forgets a peer, under our lock, before it does. */
static void end_overdue(struct http *http, bool crowded, int64_t now_us)
{
    pthread_mutex_lock(&http->lock);
    for (struct peer *peer = http->peers.previous; peer != &http->peers; peer = peer->previous)
        if (is_overdue(peer, crowded, now_us))
            shutdown(peer->fd, SHUT_RDWR);
    pthread_mutex_unlock(&http->lock);
}

/* False when there is something wrong that time may mend: descriptors or memory are short. */
static bool accept_peer(struct http *http)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    int fd = accept4(http->listener, (struct sockaddr *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    pthread_mutex_lock(&http->lock);
    http->arriving++;
    http->accepted_us = clock_mono_us();
    pthread_mutex_unlock(&http->lock);
    MHD_add_connection(http->daemon, fd, (struct sockaddr *)&from, len); /* or closes it */
    return true;
}

static void *watch_run(void *arg)
{
    struct http *http = arg;
    struct pollfd polled[] = {{.fd = http->wake, .events = POLLIN},
                              {.fd = http->listener, .events = POLLIN}};
    bool able = true;

    while (!polled[0].revents) {
        int64_t now_us = clock_mono_us();
        size_t n = count_peers(http, now_us);
        bool crowded = n >= HTTP_CROWD;

        end_overdue(http, crowded, now_us);
        polled[1].revents = 0;
        poll(polled, able && n < HTTP_CONNECTIONS_MAX ? 2 : 1,
             crowded ? HTTP_CROWDED_WATCH_MS : HTTP_WATCH_MS);
        able = !polled[1].revents || accept_peer(http);
    }
    return NULL;
}

/* 2. */
static void *on_target(void *arg, const char *target, struct MHD_Connection *connection)
{
    struct request *request = mem_zalloc(1, sizeof *request);

    (void)arg;
    (void)connection;
    request->target = mem_strdup(target ? target : "");
    return request;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    struct request *request = *context;
    struct http *http = arg;

    (void)connection;
    (void)code;
    if (request && request->placed)
        atomic_fetch_sub(&http->placed, 1);
    if (request)
        free(request->target);
    free(request);
    *context = NULL;
}

static bool is_path(const char *path, const char *target, size_t len)
{
    return strlen(path) == len && memcmp(path, target, len) == 0;
}

/* What stands behind the '?', NULL when there is none. */
static const char *query_of(const char *target)
{
    const char *mark = strchr(target, '?');

    return mark ? mark + 1 : NULL;
}

/* Each route makes the answer to a query. */
static void answer_stats(struct http *http, const char *query, struct response *ret)
{
    struct stats_values stats;
    struct figures figures;

    (void)query;
    writer_figures(http->writer, &figures);
    stats_copy(http->stats, &stats);
    response_json(ret, RESPONSE_OK, json_stats(&stats, &figures));
    figures_done(&figures);
}

static void answer_readyz(struct http *http, const char *query, struct response *ret)
{
    struct stats_values stats;
    struct figures figures;
    bool ready;

    (void)query;
    writer_figures(http->writer, &figures);
    stats_copy(http->stats, &stats);
    char *body = json_ready(&stats, &figures, &ready);

    response_json(ret, ready ? RESPONSE_OK : RESPONSE_UNAVAILABLE, body);
    figures_done(&figures);
}

/* What makes no progress, or NULL. */
static const char *find_stuck(struct http *http, const struct stats_values *stats)
{
    int64_t oldest_us = clock_mono_us() - (int64_t)HTTP_PROGRESS_S * 1000000;

    if (stats->loop_progress_us < oldest_us)
        return "the loop makes no progress";
    if (writer_progress_us(http->writer) < oldest_us)
        return "the store makes no progress";
    return NULL;
}

static void answer_livez(struct http *http, const char *query, struct response *ret)
{
    struct stats_values stats;

    (void)query;
    stats_copy(http->stats, &stats);
    const char *stuck = find_stuck(http, &stats);

    response_json(ret, stuck ? RESPONSE_UNAVAILABLE : RESPONSE_OK, json_live(stuck));
}

static void answer_alerts(struct http *http, const char *query, struct response *ret)
{
    struct alert alerts[ALERTS_N];
    struct stats_values stats;
    struct figures figures;

    (void)query;
    writer_figures(http->writer, &figures);
    stats_copy(http->stats, &stats);
    alerts_judge(&stats, &figures, find_stuck(http, &stats), clock_mono_us(), alerts);
    response_json(ret, RESPONSE_OK, json_alerts(alerts, ALERTS_N));
    figures_done(&figures);
}

static void answer_check(struct http *http, const char *query, struct response *ret)
{
    struct store_answer answer = {0};
    struct text key = {0};
    struct err err;
    const char *wrong = query_read_key(query, &key);

    if (wrong) {
        response_refuse(ret, RESPONSE_BAD, wrong);
    } else if (writer_check(http->writer, key.at, key.len, HTTP_CHECK_MS, &answer, &err) < 0) {
        response_refuse(ret, RESPONSE_UNAVAILABLE, err.text);
    } else {
        response_json(ret, RESPONSE_OK, json_check(key.at, key.len, &answer));
        store_answer_done(&answer);
    }
    text_done(&key);
}

static void answer_metrics(struct http *http, const char *query, struct response *ret)
{
    struct process_values process;
    struct stats_values stats;
    struct figures figures;

    (void)query;
    writer_figures(http->writer, &figures);
    stats_copy(http->stats, &stats);
    metrics_process(&process);
    bool live = !find_stuck(http, &stats);

    response_json(ret, RESPONSE_OK, metrics_text(&stats, &figures, &process, live));
    ret->type = "text/plain; version=0.0.4; charset=utf-8";
    figures_done(&figures);
}

/* An answer may be large, and is in memory until it is sent: so many at a time. */
static bool take_place(struct http *http, struct request *request)
{
    request->placed = atomic_fetch_add(&http->placed, 1) < HTTP_WALL_MAX;
    if (!request->placed)
        atomic_fetch_sub(&http->placed, 1);
    return request->placed;
}

static void answer_wall(struct http *http, struct request *request, size_t path_len,
                        struct response *ret)
{
    static const struct {
        const char *path;
        void (*answer)(struct wall *wall, const char *query, struct response *ret);
    } routes[] = {
        {"/bits", wall_bits},
        {"/owners", wall_owners},
        {"/curve", wall_curve},
        {"/sweep", wall_sweep},
    };

    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!is_path(routes[i].path, request->target, path_len))
            continue;
        if (take_place(http, request))
            routes[i].answer(http->wall, query_of(request->target), ret);
        else
            response_refuse(ret, RESPONSE_UNAVAILABLE, "too many such questions at a time: ask again");
        return;
    }
    response_refuse(ret, RESPONSE_NOT_FOUND,
                    "there is /, /stats, /metrics, /check?key=KEY, /livez, /readyz, /alerts, /bits, "
                    "/owners, /curve and /sweep");
}

static void answer_path(struct http *http, struct request *request, struct response *ret)
{
    static const struct {
        const char *path;
        void (*answer)(struct http *http, const char *query, struct response *ret);
    } routes[] = {
        {"/stats", answer_stats}, {"/metrics", answer_metrics}, {"/check", answer_check},
        {"/livez", answer_livez}, {"/readyz", answer_readyz},   {"/alerts", answer_alerts},
    };
    size_t path_len = strcspn(request->target, "?");

    ret->asset = asset_find(request->target, path_len);
    if (ret->asset) {
        ret->status = RESPONSE_OK;
        return;
    }
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (is_path(routes[i].path, request->target, path_len)) {
            routes[i].answer(http, query_of(request->target), ret);
            return;
        }
    answer_wall(http, request, path_len, ret);
}

struct headers {
    const char *host; /* the first; NULL: none */
    size_t hosts_n;
    const char *if_none_match; /* NULL: none */
};

static enum MHD_Result on_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    struct headers *headers = arg;

    (void)kind;
    if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0 && headers->hosts_n++ == 0)
        headers->host = value ? value : "";
    if (strcasecmp(name, MHD_HTTP_HEADER_IF_NONE_MATCH) == 0)
        headers->if_none_match = value;
    return MHD_YES;
}

/* HTTP/1.1 demands a Host header, which libmicrohttpd checks; what remains without one is older. Of two,
 * something before us may have looked at the other one. */
static void answer_request(struct http *http, const struct headers *headers, const char *method,
                           struct request *request, struct response *ret)
{
    if (headers->hosts_n > 1)
        response_refuse(ret, RESPONSE_BAD, "more than one Host header");
    else if (headers->host &&
             !query_allows_host(headers->host, http->config->hosts, http->config->hosts_n))
        response_refuse(ret, RESPONSE_FORBIDDEN,
                        "the Host header is no IP address, localhost or name in http_hosts");
    else if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        response_refuse(ret, RESPONSE_NOT_ALLOWED, "GET and HEAD only");
    else
        answer_path(http, request, ret);
    if (ret->asset && headers->if_none_match && asset_matches(ret->asset, headers->if_none_match))
        ret->status = RESPONSE_NOT_MODIFIED;
}

/* Nothing runs in the page that is not a file of ours. */
static void add_page_headers(struct MHD_Response *response, const struct asset *asset)
{
    static const char policy[] =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, asset_type(asset));
    MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, asset->tag);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    MHD_add_response_header(response, "Content-Security-Policy", policy);
}

static void add_headers(struct MHD_Response *sent, struct response *response)
{
    if (response->asset) {
        add_page_headers(sent, response->asset);
    } else {
        MHD_add_response_header(sent, MHD_HTTP_HEADER_CONTENT_TYPE, response->type);
        MHD_add_response_header(sent, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    }
    if (response->filter.len)
        MHD_add_response_header(sent, "Tradesieve-Filter", text_terminate(&response->filter));
    MHD_add_response_header(sent, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(sent, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(sent, MHD_HTTP_HEADER_CONNECTION, "close");
    if (response->status == RESPONSE_NOT_ALLOWED)
        MHD_add_response_header(sent, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
}

/* libmicrohttpd writes to neither kind of memory, whatever the types say. */
static struct MHD_Response *make_response(struct response *response)
{
    struct MHD_Response *made;

    if (response->asset)
        return MHD_create_response_from_buffer(response->status == RESPONSE_OK ? response->asset->len
                                                                               : 0,
                                               (void *)response->asset->bytes, MHD_RESPMEM_PERSISTENT);
    made =
        MHD_create_response_from_buffer(response->body.len, response->body.at, MHD_RESPMEM_MUST_FREE);
    if (made)
        response->body = (struct text){0};
    return made;
}

/* 4. Takes the body. */
static enum MHD_Result send_response(struct MHD_Connection *connection, struct response *response)
{
    struct MHD_Response *sent = make_response(response);
    enum MHD_Result result = MHD_NO;

    if (sent) {
        add_headers(sent, response);
        result = MHD_queue_response(connection, response->status, sent);
        MHD_destroy_response(sent);
    }
    response_done(response);
    return result;
}

/* 3. Called after the headers, for each piece of a body, and once more at the end. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_bytes, void **context)
{
    struct http *http = arg;
    struct request *request = *context;
    struct response response = {0};
    struct headers headers = {0};

    (void)url;
    (void)version;
    (void)upload;
    if (!request->seen) {
        request->seen = true;
        return MHD_YES;
    }
    if (*upload_bytes) {
        *upload_bytes = 0;
        return MHD_YES;
    }
    set_asked(http, connection, true);
    MHD_get_connection_values(connection, MHD_HEADER_KIND, on_header, &headers);
    answer_request(http, &headers, method, request, &response);
    set_asked(http, connection, false);
    return send_response(connection, &response);
}
