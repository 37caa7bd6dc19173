/* server: listeners and connections on a real loop, with a real store behind them. The peers are plain
 * sockets of the same thread; the loop runs until a predicate holds. */
#include "ingest/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "suite.h"

enum { DEADLINE_US = 20000000, TURN_MS = 5 };

static uv_loop_t loop;
static uv_async_t wake;
static uv_timer_t turn; /* so that the loop looks at the predicate now and then */
static struct stats stats;
static struct listener_config listener;
static struct server_config config;
static struct server *server;
static struct writer *writer;
static char directory[] = "/tmp/tradesieve-server-XXXXXX";
static bool drained;
static unsigned events[SERVER_EVENT_COUNT];

/* ---- the fixture ---- */

static bool deaf; /* what the writer has to say waits */

static void on_wake(uv_async_t *handle)
{
    (void)handle;
    if (server && !deaf)
        server_on_writer(server);
}

static void on_turn(uv_timer_t *timer)
{
    (void)timer;
}

static void on_event(void *arg, enum server_event event, const char *text)
{
    (void)arg;
    (void)text;
    events[event]++;
}

static void on_drained(void *arg)
{
    (void)arg;
    drained = true;
}

static void wake_loop(void *arg)
{
    (void)arg;
    uv_async_send(&wake);
}

static void setup(void)
{
    static char bind[] = "127.0.0.1:0";

    ck_assert_ptr_nonnull(mkdtemp(directory));
    listener = (struct listener_config){.bind = bind, .feed = feed_builtin("canonical")};
    config = (struct server_config){
        .listeners = &listener,
        .listeners_n = 1,
        .max_connections = 10,
        .max_line_bytes = 1000,
        .max_trades_per_line = 10,
        .max_key_bytes = 100,
        .queue_bytes = 1 << 20,
        .ack_backlog_bytes = 1 << 16,
        .slow_reader_timeout_s = 30,
        .on_event = on_event,
    };
    stats_init(&stats);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    uv_async_init(&loop, &wake, on_wake);
    uv_timer_init(&loop, &turn);
    uv_timer_start(&turn, on_turn, TURN_MS, TURN_MS);
}

static void start_server(void)
{
    struct err err;

    ck_assert_int_eq(server_start(&server, &loop, &config, &stats, &err), 0);
}

static size_t commit_max_trades = 1000;

static void start_writer(void)
{
    struct writer_config writer_config = {
        .store = {.data_dir = directory,
                  .keep_message = true,
                  .generation_keys = 1024,
                  .segment_rows = 1 << 20,
                  .reject_rows = 10,
                  .reject_bytes = 10000,
                  .false_positive_rate = 0.01,
                  .capacity = 1 << 20},
        .commit_max_trades = commit_max_trades,
        .on_wake = wake_loop,
    };
    struct err err;

    ck_assert_int_eq(writer_start(&writer, &writer_config, &err), 0);
}

/* Every test ends here: whatever is open is closed, and the loop has no handle left. */
static void teardown(void)
{
    char command[64];

    if (writer)
        writer_stop(writer);
    server_stop(server);
    uv_close((uv_handle_t *)&wake, NULL);
    uv_close((uv_handle_t *)&turn, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    server_close(server);
    if (writer)
        writer_close(writer);
    stats_done(&stats);
    feed_close(listener.feed);
    snprintf(command, sizeof command, "rm -r %s", directory);
    ck_assert_int_eq(system(command), 0);
}

static void run_until(bool (*holds)(void))
{
    int64_t deadline_us = clock_mono_us() + DEADLINE_US;

    while (!holds()) {
        ck_assert_msg(clock_mono_us() < deadline_us, "waited in vain");
        uv_run(&loop, UV_RUN_ONCE);
    }
}

static struct stats_values counts(void)
{
    struct stats_values values;

    stats_copy(&stats, &values);
    return values;
}

static bool store_is_open(void)
{
    return writer_state(writer) == STORE_READY;
}

static uint64_t commits(void)
{
    struct figures figures = {0};

    writer_figures(writer, &figures);
    uint64_t n = figures.commits;

    figures_done(&figures);
    return n;
}

static void open_gates(void)
{
    start_writer();
    run_until(store_is_open);
    server_open_gates(server, writer);
}

/* ---- a peer ---- */

static int peer;
static char heard[4096]; /* what the peer has read, as a string */
static size_t heard_n;
static bool peer_ended;

static void connect_peer(void)
{
    char text[ADDRESS_TEXT_MAX];
    struct address address;
    struct err err;

    server_address(server, 0, text, sizeof text);
    ck_assert_int_eq(address_parse(&address, text, &err), 0);
    peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(peer, (struct sockaddr *)&address.sockaddr, address.len), 0);
    ck_assert_int_eq(fcntl(peer, F_SETFL, O_NONBLOCK), 0);
    heard_n = 0;
    peer_ended = false;
}

static void say(const char *text)
{
    ck_assert_int_eq(write(peer, text, strlen(text)), (ssize_t)strlen(text));
}

static void listen_to_daemon(void)
{
    ssize_t n = read(peer, heard + heard_n, sizeof heard - 1 - heard_n);

    peer_ended |= n == 0;
    heard_n += n > 0 ? (size_t)n : 0;
    heard[heard_n] = '\0';
}

static bool a_line_is_heard(void)
{
    listen_to_daemon();
    return strchr(heard, '\n') != NULL;
}

static bool the_end_is_heard(void)
{
    listen_to_daemon();
    return peer_ended;
}

static bool the_peer_is_accepted(void)
{
    return counts().connections_open == 1;
}

static bool nobody_is_connected(void)
{
    return counts().connections_open == 0;
}

static bool is_drained(void)
{
    return drained;
}

static bool one_trade_came_back(void)
{
    return counts().verdicts[VERDICT_NEW] == 1;
}

static bool the_long_keys_came_back(void)
{
    return counts().verdicts[VERDICT_NEW] == 1102;
}

static bool one_trade_is_received(void)
{
    return counts().received == 1;
}

static bool two_trades_are_received(void)
{
    return counts().received == 2;
}

/* ---- the tests ---- */

START_TEST(a_server_that_nobody_used_ends_with_an_empty_loop)
{
    char text[ADDRESS_TEXT_MAX];

    start_server();
    server_address(server, 0, text, sizeof text);
    ck_assert_str_ne(text, "127.0.0.1:0");
}
END_TEST

START_TEST(a_used_port_is_refused_in_words_and_leaves_nothing_open)
{
    struct server *second = NULL;
    char text[ADDRESS_TEXT_MAX], expected[ADDRESS_TEXT_MAX + 64];
    struct err err;

    start_server();
    server_address(server, 0, text, sizeof text);
    listener.bind = text;
    ck_assert_int_eq(server_start(&second, &loop, &config, &stats, &err), ERR_SYSTEM);
    snprintf(expected, sizeof expected, "listener %s: address already in use", text);
    ck_assert_str_eq(err.text, expected);
    ck_assert_ptr_null(second);
}
END_TEST

START_TEST(a_peer_that_comes_before_the_store_is_open_waits_and_is_answered_then)
{
    start_server();
    connect_peer();
    say("{\"id\":\"1\"}\n");
    run_until(the_peer_is_accepted);
    ck_assert_uint_eq(counts().connections_paused, 1);
    open_gates();
    run_until(a_line_is_heard);
    ck_assert_str_eq(heard, "{\"line\":1,\"verdict\":\"new\",\"seq\":1,\"screen\":\"absent\"}\n");
    ck_assert_uint_eq(counts().connections_paused, 0);
    close(peer);
    run_until(nobody_is_connected);
}
END_TEST

START_TEST(a_drain_with_nobody_there_is_done_at_once)
{
    start_server();
    server_drain(server, on_drained, NULL);
    ck_assert(drained);
}
END_TEST

START_TEST(a_drain_before_the_store_is_open_lets_peers_go)
{
    start_server();
    connect_peer();
    say("{\"id\":\"1\"}\n");
    run_until(the_peer_is_accepted);
    server_drain(server, on_drained, NULL);
    run_until(the_end_is_heard);
    close(peer);
    run_until(is_drained);
    ck_assert_uint_eq(counts().received, 0);
}
END_TEST

START_TEST(a_drain_answers_what_was_read_and_drops_half_a_line)
{
    start_server();
    open_gates();
    connect_peer();
    say("{\"id\":\"1\"}\n{\"id\":\"2\"}\n{\"id\":");
    run_until(two_trades_are_received);
    server_drain(server, on_drained, NULL);
    run_until(the_end_is_heard);
    ck_assert_str_eq(heard, "{\"line\":1,\"verdict\":\"new\",\"seq\":1,\"screen\":\"absent\"}\n"
                            "{\"line\":2,\"verdict\":\"new\",\"seq\":2,\"screen\":\"absent\"}\n");
    close(peer);
    run_until(is_drained);
}
END_TEST

START_TEST(a_stop_with_a_batch_at_the_store_loses_no_memory)
{
    start_server();
    open_gates();
    connect_peer();
    say("{\"id\":\"1\"}\n{\"id\":\"2\"}\n");
    run_until(two_trades_are_received);
    server_stop(server);
    close(peer);
}
END_TEST

START_TEST(a_peer_that_is_gone_when_its_batch_comes_back_is_counted_and_forgotten)
{
    static const struct linger reset = {.l_onoff = 1, .l_linger = 0};

    start_server();
    open_gates();
    connect_peer();
    say("{\"id\":\"1\"}\n");
    run_until(one_trade_is_received);
    setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(peer);
    run_until(nobody_is_connected);
    run_until(one_trade_came_back);
    server_drain(server, on_drained, NULL);
    run_until(is_drained);
}
END_TEST

START_TEST(progress_before_a_batch_without_verdicts_is_told_before_the_end)
{
    listener.ack = ACK_BATCH;
    start_server();
    open_gates();
    connect_peer();
    deaf = true;
    say("{\"id\":\"1\"}\n");
    run_until(one_trade_is_received);
    writer_stop(writer); /* commits the first; what is submitted now comes back as it is */
    say("{\"id\":\"2\"}\n");
    run_until(two_trades_are_received);
    server_on_writer(server);
    run_until(the_end_is_heard);
    ck_assert_str_eq(heard, "{\"through\":1,\"new\":1,\"duplicate\":0,\"conflict\":0,\"invalid\":0,"
                            "\"ignored\":0,\"retry\":0}\n");
    close(peer);
}
END_TEST

/* As the log may: it writes. */
static void leave_an_errno(void *arg, enum server_event event, const char *text)
{
    on_event(arg, event, text);
    errno = ECONNABORTED;
}

static bool an_accept_failed(void)
{
    return events[SERVER_ACCEPT_FAILED] > 0;
}

START_TEST(out_of_descriptors_accepting_rests_whatever_the_report_does_to_errno)
{
    struct rlimit limit;

    config.on_event = leave_an_errno;
    start_server();
    connect_peer();
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t before = limit.rlim_cur;

    limit.rlim_cur = (rlim_t)peer + 1;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    run_until(an_accept_failed);
    ck_assert_uint_eq(events[SERVER_ACCEPT_FAILED], 1);
    limit.rlim_cur = before;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    close(peer);
}
END_TEST

START_TEST(one_connection_more_than_allowed_is_closed_and_reported)
{
    config.max_connections = 1;
    start_server();
    connect_peer();
    int first = peer;

    run_until(the_peer_is_accepted);
    connect_peer();
    run_until(the_end_is_heard);
    ck_assert_uint_eq(counts().connections_refused, 1);
    ck_assert_uint_eq(counts().connections_open, 1);
    ck_assert_uint_eq(events[SERVER_REFUSED], 1);
    close(peer);
    close(first);
}
END_TEST

/* A feed whose keys have 4,000 bytes each. */
static struct feed *long_keyed_feed(void)
{
    static char json[4200];
    struct feed *feed = NULL;
    struct err err;

    snprintf(json, sizeof json, "{\"trades\":\"/*\",\"key\":[{\"const\":\"%04000d\"},\"/id\"]}", 0);
    ck_assert_int_eq(feed_parse(&feed, "long", json, strlen(json), &err), 0);
    return feed;
}

START_TEST(a_batch_ends_early_when_its_keys_are_long)
{
    struct text line = {0};

    feed_close(listener.feed);
    listener.feed = long_keyed_feed();
    config.max_line_bytes = 1 << 20;
    config.max_trades_per_line = 2000;
    config.max_key_bytes = 8192;
    commit_max_trades = 1; /* a commit a batch */
    start_server();
    open_gates();
    connect_peer();
    text_add_char(&line, '[');
    for (int i = 0; i < 1100; i++)
        text_add_format(&line, "%s{\"id\":%d}", i ? "," : "", i);
    text_add_str(&line, "]\n[{\"id\":\"a\"}]\n[{\"id\":\"b\"}]\n");
    say(text_terminate(&line));
    run_until(the_long_keys_came_back);
    ck_assert_uint_ge(commits(), 2);
    close(peer);
    text_done(&line);
}
END_TEST

START_TEST(blank_lines_without_end_hold_no_memory)
{
    static char blank[60001];

    memset(blank, '\n', sizeof blank - 1);
    blank[60000] = '\0';
    start_server();
    open_gates();
    connect_peer();
    for (int i = 0; i < 10; i++) {
        say(blank);
        say(" ");
        for (int turns = 0; turns < 5; turns++)
            uv_run(&loop, UV_RUN_NOWAIT);
    }
    say("{\"id\":\"1\"}\n");
    run_until(a_line_is_heard);
    ck_assert_str_eq(heard, "{\"line\":600001,\"verdict\":\"new\",\"seq\":1,\"screen\":\"absent\"}\n");
    ck_assert_uint_eq(counts().lines_received, 600001);
    close(peer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("server");
    TCase *tcase = tcase_create("server");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_server_that_nobody_used_ends_with_an_empty_loop);
    tcase_add_test(tcase, a_used_port_is_refused_in_words_and_leaves_nothing_open);
    tcase_add_test(tcase, a_peer_that_comes_before_the_store_is_open_waits_and_is_answered_then);
    tcase_add_test(tcase, a_drain_with_nobody_there_is_done_at_once);
    tcase_add_test(tcase, a_drain_before_the_store_is_open_lets_peers_go);
    tcase_add_test(tcase, a_drain_answers_what_was_read_and_drops_half_a_line);
    tcase_add_test(tcase, a_stop_with_a_batch_at_the_store_loses_no_memory);
    tcase_add_test(tcase, a_peer_that_is_gone_when_its_batch_comes_back_is_counted_and_forgotten);
    tcase_add_test(tcase, progress_before_a_batch_without_verdicts_is_told_before_the_end);
    tcase_add_test(tcase, out_of_descriptors_accepting_rests_whatever_the_report_does_to_errno);
    tcase_add_test(tcase, one_connection_more_than_allowed_is_closed_and_reported);
    tcase_add_test(tcase, a_batch_ends_early_when_its_keys_are_long);
    tcase_add_test(tcase, blank_lines_without_end_hold_no_memory);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
