/* The configuration file and the command line: what is filled in, what is refused and how it is said. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config.h"
#include "suite.h"

enum { ARGUMENTS_MAX = 8, PATH_BYTES = 256 };

static char directory[] = "/tmp/tradesieve-config-XXXXXX";
static char file[PATH_BYTES];
static struct config config;
static struct err err;
static bool done;

static const char *path_of(const char *name)
{
    static char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *stream = fopen(path_of(name), "w");

    ck_assert_ptr_nonnull(stream);
    fputs(text, stream);
    fclose(stream);
}

static void open_directory(void)
{
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(file, sizeof file, "%s/tradesieve.json", directory);
    unsetenv("STATE_DIRECTORY");
    done = false;
}

static void close_directory(void)
{
    char command[PATH_BYTES];

    config_done(&config);
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    ck_assert_int_eq(system(command), 0);
}

/* Reads the configuration with these arguments, NULL after the last. */
static int read_arguments(const char *const *arguments)
{
    char *argv[ARGUMENTS_MAX + 2] = {"tradesieved"};
    int argc = 1;

    for (; *arguments; arguments++)
        argv[argc++] = (char *)*arguments;
    config_done(&config);
    return config_read(&config, argc, argv, &done, &err);
}

static int read_json(const char *json)
{
    write_file("tradesieve.json", json);
    return read_arguments((const char *const[]){"--config", file, NULL});
}

static void assert_read(const char *json)
{
    ck_assert_msg(read_json(json) == 0, "%s: %s", json, err.text);
}

/* Refused with the file's name, then exactly this. */
static void assert_refused(const char *json, const char *message)
{
    char wanted[ERR_TEXT_MAX];

    ck_assert_msg(read_json(json) == ERR_CONFIG, "%s", json);
    snprintf(wanted, sizeof wanted, "%s: %s", file, message);
    ck_assert_str_eq(err.text, wanted);
}

static void assert_defaults(void)
{
    ck_assert_uint_eq(config.server.listeners_n, 1);
    ck_assert_str_eq(config.server.listeners[0].bind, "127.0.0.1:7401");
    ck_assert_str_eq(feed_name(config.server.listeners[0].feed), "canonical");
    ck_assert_int_eq(config.server.listeners[0].ack, ACK_EACH);
    ck_assert_ptr_null(config.server.listeners[0].source);
    ck_assert_uint_eq(config.server.listeners[0].mode, 0);
    ck_assert_str_eq(config.http.bind, "127.0.0.1:7402");
    ck_assert_uint_eq(config.http.hosts_n, 0);
    ck_assert_int_eq(config.log_level, LOG_INFO);
    ck_assert_uint_eq(config.server.max_connections, 1000);
    ck_assert_uint_eq(config.server.max_line_bytes, 1048576);
    ck_assert_uint_eq(config.server.max_trades_per_line, 10000);
    ck_assert_uint_eq(config.server.max_key_bytes, 512);
    ck_assert_uint_eq(config.server.queue_bytes, 67108864);
    ck_assert_uint_eq(config.server.ack_backlog_bytes, 262144);
    ck_assert_int_eq(config.server.slow_reader_timeout_s, 30);
    ck_assert(config.writer.store.keep_message);
    ck_assert_uint_eq(config.writer.store.generation_keys, 65536);
    ck_assert_uint_eq(config.writer.store.segment_rows, 16777216);
    ck_assert_uint_eq(config.writer.commit_max_trades, 8192);
    ck_assert_int_eq(config.writer.store.retention_days, 0);
    ck_assert_uint_eq(config.writer.store.reject_rows, 100000);
    ck_assert_uint_eq(config.writer.store.reject_bytes, 268435456);
    ck_assert_uint_eq(config.writer.store.disk_reserve_bytes, 268435456);
    ck_assert_double_eq(config.writer.store.false_positive_rate, 0.01);
    ck_assert_uint_eq(config.writer.store.capacity, 100000000);
    ck_assert_int_eq(config.writer.store.snapshot_interval_s, 300);
    ck_assert_uint_eq(config.writer.store.snapshot_rows, 2000000);
    ck_assert_int_eq(config.writer.self_test_interval_s, 60);
}

START_TEST(an_empty_object_leaves_every_default)
{
    assert_read("{}");
    assert_defaults();
    ck_assert_str_eq(config.data_dir, "./tradesieve-data");
    ck_assert_ptr_eq(config.writer.store.data_dir, config.data_dir);
    ck_assert_str_eq(config.feeds_dir, path_of("feeds"));
    ck_assert_ptr_null(config.endpoints_file);
    ck_assert(!done);
}
END_TEST

START_TEST(the_sample_says_the_defaults)
{
    ck_assert_msg(read_arguments((const char *const[]){"--config", "config/tradesieve.json", NULL}) ==
                      0,
                  "%s", err.text);
    assert_defaults();
    ck_assert_str_eq(config.data_dir, "/var/lib/tradesieve");
    ck_assert_str_eq(config.feeds_dir, "config/feeds");
}
END_TEST

START_TEST(without_a_file_the_defaults_hold_and_feeds_are_built_in_only)
{
    if (access("/etc/tradesieve/tradesieve.json", F_OK) == 0) {
        printf("skipped: this machine has a configuration in /etc\n");
        return;
    }
    ck_assert_int_eq(read_arguments((const char *const[]){NULL}), 0);
    assert_defaults();
    ck_assert_uint_eq(config.feeds_n, 2);
    ck_assert_ptr_null(config.feeds_dir);
}
END_TEST

START_TEST(every_value_of_the_file_arrives)
{
    assert_read(
        "{\"http\": \"[::1]:9\", \"http_hosts\": [\"a.example\", \"b\"], \"log_level\": \"debug\",\n"
        "\"listeners\": [{\"bind\": \"unix:/x\", \"mode\": \"0640\", \"ack\": \"batch\"},\n"
        "  {\"bind\": \"0.0.0.0:1\", \"allow_remote\": true, \"feed\": \"replay\",\n"
        "   \"ack\": \"none\", \"source\": \"S\"}],\n"
        "\"limits\": {\"max_connections\": 1, \"max_line_bytes\": 1e3,\n"
        "  \"max_trades_per_line\": 2, \"max_key_bytes\": 16, \"queue_bytes\": 65536,\n"
        "  \"ack_backlog_bytes\": 4096, \"slow_reader_timeout_s\": 3}, // limits\n"
        "\"store\": {\"keep_message\": false, \"generation_keys\": 4, \"segment_rows\": 3,\n"
        "  \"commit_max_trades\": 5, \"retention_days\": 6, \"reject_rows\": 0,\n"
        "  \"reject_bytes\": 7, \"disk_reserve_bytes\": 8},\n"
        "\"filter\": {\"false_positive_rate\": 0.5, \"capacity\": 9, /* s */\n"
        "  \"snapshot_interval_s\": 10, \"snapshot_rows\": 11, \"self_test_interval_s\": 0}}");
    ck_assert_str_eq(config.http.bind, "[::1]:9");
    ck_assert_uint_eq(config.http.hosts_n, 2);
    ck_assert_str_eq(config.http.hosts[1], "b");
    ck_assert_int_eq(config.log_level, LOG_DEBUG);
    ck_assert_uint_eq(config.server.listeners_n, 2);
    ck_assert_uint_eq(config.server.listeners[0].mode, 0640);
    ck_assert_int_eq(config.server.listeners[0].ack, ACK_BATCH);
    ck_assert_str_eq(config.server.listeners[1].bind, "0.0.0.0:1");
    ck_assert_str_eq(feed_name(config.server.listeners[1].feed), "replay");
    ck_assert_int_eq(config.server.listeners[1].ack, ACK_NONE);
    ck_assert_str_eq(config.server.listeners[1].source, "S");
    ck_assert_uint_eq(config.server.max_connections, 1);
    ck_assert_uint_eq(config.server.max_line_bytes, 1000);
    ck_assert_int_eq(config.server.slow_reader_timeout_s, 3);
    ck_assert(!config.writer.store.keep_message);
    ck_assert_uint_eq(config.writer.store.generation_keys, 4);
    ck_assert_uint_eq(config.writer.store.segment_rows, 3);
    ck_assert_uint_eq(config.writer.commit_max_trades, 5);
    ck_assert_int_eq(config.writer.store.retention_days, 6);
    ck_assert_uint_eq(config.writer.store.reject_bytes, 7);
    ck_assert_uint_eq(config.writer.store.disk_reserve_bytes, 8);
    ck_assert_double_eq(config.writer.store.false_positive_rate, 0.5);
    ck_assert_uint_eq(config.writer.store.capacity, 9);
    ck_assert_uint_eq(config.writer.store.snapshot_rows, 11);
    ck_assert_int_eq(config.writer.self_test_interval_s, 0);
}
END_TEST

#define LISTED " (docs/configuration.md lists them)"

static const char *const refused[][2] = {
    /* not a configuration at all */
    {"", "the file is empty"},
    {" \n// nothing\n", "the file is empty"},
    {"{\n", "line 2, column 1: not JSON: the file ends here"},
    {"{\n\"http\": }", "line 2, column 9: not JSON here: }"},
    {"{} {}", "line 1, column 4: not JSON here: {"},
    {"{\"http\": \"é\" 1}", "line 1, column 14: not JSON here: 1"},
    {"{\"http\": \"a\",}", "line 1, column 14: not JSON here: }"},
    {"\n\n/* ", "line 3: a comment that does not end"},
    {"{\"http\": \"\xff\"}", "line 1, column 11: not UTF-8 here"},
    {"{\"http\": \"127.0.0.1:1\\u0000\"}", "\\u0000 in a string"},
    {"[]", "a list where an object is wanted"},
    /* keys */
    {"{\"limits\": {\"max_conections\": 1}}", "limits.max_conections: unknown key" LISTED},
    {"{\"Limits\": {}}", "Limits: unknown key" LISTED},
    {"{\"limits.max_connections\": 1}", "limits.max_connections: unknown key" LISTED},
    {"{\"max_connections\": 1}", "max_connections: unknown key" LISTED},
    {"{\"store\": {\"capacity\": 1}}", "store.capacity: unknown key" LISTED},
    {"{\"\": 1}", ": unknown key" LISTED},
    {"{\"listeners\": [{\"bind\": \"127.0.0.1:1\", \"acks\": 1}]}",
     "listeners[0].acks: unknown key" LISTED},
    {"{\"http\": \"127.0.0.1:1\", \"http\": \"127.0.0.1:2\"}", "http: stands twice"},
    {"{\"limits\": {}, \"limits\": {}}", "limits: stands twice"},
    {"{\"store\": {\"reject_rows\": 1, \"reject_rows\": 1}}", "store.reject_rows: stands twice"},
    {"{\"listeners\": [{}, {\"feed\": \"replay\", \"feed\": \"replay\"}]}",
     "listeners[1].feed: stands twice"},
    /* types */
    {"{\"limits\": 1}", "limits: a number where an object is wanted"},
    {"{\"limits\": {\"queue_bytes\": \"65536\"}}",
     "limits.queue_bytes: a string where a number is wanted"},
    {"{\"store\": {\"keep_message\": 1}}",
     "store.keep_message: a number where true or false is wanted"},
    {"{\"http\": null}", "http: null where a string is wanted"},
    {"{\"http\": \"\"}", "http: an empty string"},
    {"{\"http_hosts\": \"a\"}", "http_hosts: a string where a list of strings is wanted"},
    {"{\"http_hosts\": [\"a\", 1]}", "http_hosts[1]: a number where a string is wanted"},
    {"{\"listeners\": {}}", "listeners: an object where a list of objects is wanted"},
    {"{\"listeners\": []}", "listeners: at least one is needed"},
    {"{\"listeners\": [true]}", "listeners[0]: true or false where an object is wanted"},
    {"{\"log_level\": \"loud\"}", "log_level: \"loud\" is not error, warning, info or debug"},
    /* ranges */
    {"{\"limits\": {\"max_connections\": 0}}", "limits.max_connections: 0 is not within 1 and 100000"},
    {"{\"limits\": {\"max_connections\": 1.5}}", "limits.max_connections: 1.5 is not a whole number"},
    {"{\"limits\": {\"max_line_bytes\": 268435457}}",
     "limits.max_line_bytes: 268435457 is not within 64 and 268435456"},
    {"{\"store\": {\"reject_rows\": -1}}", "store.reject_rows: -1 is not within 0 and 1099511627776"},
    {"{\"filter\": {\"capacity\": 1e400}}", "filter.capacity: inf is not within 1 and 1099511627776"},
    {"{\"filter\": {\"capacity\": 0}}", "filter.capacity: 0 is not within 1 and 1099511627776"},
    {"{\"filter\": {\"false_positive_rate\": 0}}",
     "filter.false_positive_rate: 0 is not within 3e-09 and 0.5"},
    {"{\"filter\": {\"false_positive_rate\": 0.51}}",
     "filter.false_positive_rate: 0.51 is not within 3e-09 and 0.5"},
    {"{\"store\": {\"generation_keys\": 16777217}}",
     "store.generation_keys: 16777217 is not within 1 and 16777216"},
    /* values that do not go together */
    {"{\"store\": {\"segment_rows\": 65537, \"generation_keys\": 1}}",
     "store.segment_rows / store.generation_keys: 65537 generations in a segment are more than 65536"},
    {"{\"store\": {\"segment_rows\": 131073, \"generation_keys\": 2}}",
     "store.segment_rows / store.generation_keys: 65537 generations in a segment are more than 65536"},
    {"{\"store\": {\"segment_rows\": 1099511627776}}",
     "store.segment_rows / store.generation_keys: 16777216 generations in a segment are more than "
     "65536"},
    {"{\"limits\": {\"max_trades_per_line\": 262144, \"max_key_bytes\": 8192}}",
     "limits.max_trades_per_line x limits.max_key_bytes: 2147483648 bytes of keys in a line are not "
     "below 2147483648"},
    /* addresses */
    {"{\"http\": \"localhost:1\"}",
     "http: localhost:1: not a numeric IP address (IPv6 stands in brackets)"},
    {"{\"http\": \"unix:/x\"}", "http: unix:/x: not ADDR:PORT or [IPV6]:PORT"},
    {"{\"http\": \"0.0.0.0:1\"}",
     "http: 0.0.0.0:1 is not local: set \"http_allow_remote\": true in the configuration to allow it; "
     "there is no authentication"},
    {"{\"listeners\": [{\"bind\": \"[::]:1\"}]}",
     "listeners[0].bind: [::]:1 is not local: set \"allow_remote\": true in that listener to allow it; "
     "there is no authentication"},
    {"{\"listeners\": [{\"bind\": \"7401\"}]}",
     "listeners[0].bind: 7401: not ADDR:PORT, [IPV6]:PORT or unix:/path"},
    {"{\"listeners\": [{}, {}]}", "listeners[1].bind: 127.0.0.1:7401 is listeners[0]'s already"},
    {"{\"listeners\": [{\"bind\": \"[::1]:5\"}, {\"bind\": \"[0:0::1]:5\"}]}",
     "listeners[1].bind: [0:0::1]:5 is listeners[0]'s already"},
    {"{\"listeners\": [{\"bind\": \"unix:/x\"}, {\"bind\": \"unix:/x\"}]}",
     "listeners[1].bind: unix:/x is listeners[0]'s already"},
    {"{\"http\": \"127.0.0.1:7401\"}", "http: 127.0.0.1:7401 is listeners[0]'s already"},
    {"{\"http\": \"[0::1]:5\", \"listeners\": [{}, {\"bind\": \"[::1]:5\"}]}",
     "http: [0::1]:5 is listeners[1]'s already"},
    /* the rest of a listener */
    {"{\"listeners\": [{\"ack\": \"Each\"}]}", "listeners[0].ack: \"Each\" is not each, batch or none"},
    {"{\"listeners\": [{\"mode\": \"0660\"}]}", "listeners[0].mode: only a unix socket has one"},
    {"{\"listeners\": [{\"bind\": \"unix:/x\", \"mode\": \"0888\"}]}",
     "listeners[0].mode: \"0888\" is not an octal number from 0001 to 0777"},
    {"{\"listeners\": [{\"bind\": \"unix:/x\", \"mode\": \"0000\"}]}",
     "listeners[0].mode: \"0000\" is not an octal number from 0001 to 0777"},
    {"{\"listeners\": [{\"source\": \"a\\u001fb\"}]}", "listeners[0].source: a control character"},
    {"{\"listeners\": [{\"source\": \"\"}]}", "listeners[0].source: an empty string"},
};

START_TEST(what_is_wrong_in_the_file_is_refused_with_its_path)
{
    assert_refused(refused[_i][0], refused[_i][1]);
}
END_TEST

START_TEST(numbers_at_the_ends_of_their_range_are_taken)
{
    assert_read("{\"limits\": {\"max_line_bytes\": 268435456, \"max_connections\": 100000},"
                "\"store\": {\"segment_rows\": 1099511627776, \"generation_keys\": 16777216},"
                "\"filter\": {\"capacity\": 1099511627776, \"false_positive_rate\": 3e-9}}");
    ck_assert_uint_eq(config.server.max_line_bytes, 268435456);
    ck_assert_uint_eq(config.writer.store.segment_rows, 1099511627776);
    ck_assert_uint_eq(config.writer.store.generation_keys, 16777216);
    ck_assert_uint_eq(config.writer.store.capacity, 1099511627776);
}
END_TEST

START_TEST(port_0_may_stand_more_than_once)
{
    assert_read("{\"http\": \"127.0.0.1:0\","
                "\"listeners\": [{\"bind\": \"127.0.0.1:0\"}, {\"bind\": \"127.0.0.1:0\"}]}");
    ck_assert_uint_eq(config.server.listeners_n, 2);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_a_refusal_that_says_why)
{
    const char *missing[] = {"--config", path_of("missing.json"), NULL};

    ck_assert_int_eq(read_arguments(missing), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.text, "missing.json: No such file"));
    const char *folder[] = {"--config", directory, NULL};

    ck_assert_int_eq(read_arguments(folder), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.text, "Is a directory"));
}
END_TEST

/* Feeds. */

static void make_feeds(const char *name, const char *profile)
{
    char path[PATH_BYTES];

    mkdir(path_of("feeds"), 0700);
    snprintf(path, sizeof path, "feeds/%s", name);
    write_file(path, profile);
}

START_TEST(every_profile_of_the_folder_beside_the_file_is_loaded)
{
    make_feeds("mine.json", "{\"key\": [\"/id\"]} // mine");
    make_feeds("other.json", "{\"key\": [{\"source\": true}, \"/id\"]}");
    make_feeds("notes.txt", "no profile");
    make_feeds(".hidden.json", "no profile either");
    assert_read("{\"listeners\": [{\"feed\": \"mine\"}]}");
    ck_assert_uint_eq(config.feeds_n, 4);
    ck_assert_str_eq(feed_name(config.server.listeners[0].feed), "mine");
}
END_TEST

START_TEST(a_bad_profile_is_refused_although_nobody_uses_it)
{
    make_feeds("bad.json", "{\"key\": []}");
    ck_assert_int_eq(read_json("{}"), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.text, "/feeds/bad.json: "));
}
END_TEST

START_TEST(built_in_names_cannot_be_taken)
{
    static const char *const names[] = {"canonical", "replay"};

    for (int i = 0; i < 2; i++) {
        char name[32], wanted[64];

        snprintf(name, sizeof name, "%s.json", names[i]);
        make_feeds(name, "{\"key\": [\"/id\"]}");
        ck_assert_int_eq(read_json("{}"), ERR_CONFIG);
        snprintf(wanted, sizeof wanted, "/%s.json: the feed %s is built in", names[i], names[i]);
        ck_assert_msg(strstr(err.text, wanted) != NULL, "%s", err.text);
        snprintf(name, sizeof name, "feeds/%s.json", names[i]);
        unlink(path_of(name));
    }
}
END_TEST

START_TEST(a_folder_that_is_named_must_exist)
{
    ck_assert_int_eq(read_json("{\"feeds_dir\": \"nowhere\"}"), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.text, "/nowhere: No such file"));
    ck_assert_ptr_nonnull(strstr(err.text, "tradesieve.json: feeds_dir: "));
}
END_TEST

START_TEST(an_unknown_feed_is_refused_with_the_places_that_were_looked_at)
{
    ck_assert_int_eq(read_json("{\"listeners\": [{\"feed\": \"nasdaq\"}]}"), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.text, "listeners[0].feed: there is no feed \"nasdaq\""));
    ck_assert_ptr_nonnull(strstr(err.text, "canonical and replay are built in"));
    ck_assert_ptr_nonnull(strstr(err.text, path_of("feeds")));
}
END_TEST

START_TEST(a_feed_that_needs_a_source_is_refused_without_one)
{
    make_feeds("other.json", "{\"key\": [{\"source\": true}, \"/id\"]}");
    assert_refused("{\"listeners\": [{\"feed\": \"other\"}]}",
                   "listeners[0].source: the feed other needs one");
    assert_read("{\"listeners\": [{\"feed\": \"other\", \"source\": \"X\"}]}");
}
END_TEST

/* Directories. */

START_TEST(the_data_directory_is_the_options_the_files_systemds_or_ours)
{
    const char *with_option[] = {"--config", file, "--data-dir", "here", NULL};
    const char *without[] = {"--config", file, NULL};

    setenv("STATE_DIRECTORY", "/var/lib/one:/var/lib/two", 1);
    write_file("tradesieve.json", "{\"data_dir\": \"data\"}");
    ck_assert_int_eq(read_arguments(with_option), 0);
    ck_assert_str_eq(config.data_dir, "here");
    ck_assert_int_eq(read_arguments(without), 0);
    ck_assert_str_eq(config.data_dir, path_of("data"));
    write_file("tradesieve.json", "{\"data_dir\": \"/absolute\"}");
    ck_assert_int_eq(read_arguments(without), 0);
    ck_assert_str_eq(config.data_dir, "/absolute");
    write_file("tradesieve.json", "{}");
    ck_assert_int_eq(read_arguments(without), 0);
    ck_assert_str_eq(config.data_dir, "/var/lib/one");
    setenv("STATE_DIRECTORY", "", 1);
    ck_assert_int_eq(read_arguments(without), 0);
    ck_assert_str_eq(config.data_dir, "./tradesieve-data");
}
END_TEST

START_TEST(a_file_named_without_a_folder_is_relative_to_here)
{
    char here[PATH_BYTES];

    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    write_file("tradesieve.json", "{\"data_dir\": \"data\"}");
    ck_assert_int_eq(chdir(directory), 0);
    ck_assert_int_eq(read_arguments((const char *const[]){"--config", "tradesieve.json", NULL}), 0);
    ck_assert_str_eq(config.data_dir, "data");
    ck_assert_str_eq(config.feeds_dir, "feeds");
    ck_assert_int_eq(chdir(here), 0);
}
END_TEST

/* The command line. */

START_TEST(options_replace_what_the_file_says)
{
    const char *arguments[] = {"--config", file,          "--listen=127.0.0.1:0",
                               "--http",   "127.0.0.1:0", "--endpoints-file",
                               "ends",     NULL};

    write_file("tradesieve.json", "{\"http\": \"127.0.0.1:5\", \"listeners\": ["
                                  "{\"bind\": \"127.0.0.1:1\", \"feed\": \"replay\"}, {}]}");
    ck_assert_int_eq(read_arguments(arguments), 0);
    ck_assert_uint_eq(config.server.listeners_n, 1);
    ck_assert_str_eq(config.server.listeners[0].bind, "127.0.0.1:0");
    ck_assert_str_eq(feed_name(config.server.listeners[0].feed), "canonical");
    ck_assert_str_eq(config.http.bind, "127.0.0.1:0");
    ck_assert_str_eq(config.endpoints_file, "ends");
}
END_TEST

START_TEST(a_remote_address_on_the_command_line_needs_the_file_to_allow_it)
{
    const char *listen[] = {"--config", file, "--listen", "0.0.0.0:0", NULL};
    const char *http[] = {"--config", file, "--http", "0.0.0.0:0", NULL};

    write_file("tradesieve.json", "{}");
    ck_assert_int_eq(read_arguments(listen), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.text, "--listen: 0.0.0.0:0 is not local"));
    ck_assert_int_eq(read_arguments(http), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.text, "--http: 0.0.0.0:0 is not local"));
    write_file("tradesieve.json", "{\"http_allow_remote\": true}");
    ck_assert_int_eq(read_arguments(http), 0);
    ck_assert_str_eq(config.http.bind, "0.0.0.0:0");
}
END_TEST

START_TEST(http_and_a_listener_of_the_command_line_cannot_share_an_address)
{
    const char *http[] = {"--config", file, "--http", "127.0.0.1:7401", NULL};
    const char *listen[] = {"--config", file, "--listen", "127.0.0.1:7402", NULL};
    const char *both[] = {"--config",       file, "--listen", "127.0.0.1:7402", "--http",
                          "127.0.0.1:7401", NULL};

    write_file("tradesieve.json", "{}");
    ck_assert_int_eq(read_arguments(http), ERR_CONFIG);
    ck_assert_str_eq(err.text, "--http: 127.0.0.1:7401 is listeners[0]'s already");
    ck_assert_int_eq(read_arguments(listen), ERR_CONFIG);
    ck_assert_int_eq(read_arguments(both), 0);
}
END_TEST

START_TEST(more_listeners_than_there_may_be_are_refused)
{
    char json[2048] = "{\"listeners\": [{}";

    for (int i = 1; i < 257; i++)
        strcat(json, ",{}");
    strcat(json, "]}");
    assert_refused(json, "listeners: 257 are more than 256");
}
END_TEST

static const char *const misused[][3] = {
    {"--nonsense", NULL, "--nonsense: unknown option (see --help)"},
    {"-x", NULL, "-x: unknown option (see --help)"},
    {"--config", NULL, "--config: wants a value (see --help)"},
    {"--help=yes", NULL, "--help=yes: takes no value (see --help)"},
    {"--data-dir=", NULL, "--data-dir: an empty value"},
    {"stray", NULL, "stray: an argument that is no option (see --help)"},
    {"--listen", "nowhere", "--listen: nowhere: not ADDR:PORT, [IPV6]:PORT or unix:/path"},
    {"--http", "unix:/x", "--http: unix:/x: not ADDR:PORT or [IPV6]:PORT"},
    {"--http", "127.0.0.1:99999", "--http: 127.0.0.1:99999: not a port from 0 to 65535"},
};

START_TEST(a_misused_command_line_is_a_usage_error_in_one_line)
{
    const char *arguments[] = {misused[_i][0], misused[_i][1], NULL};

    ck_assert_int_eq(read_arguments(arguments), ERR_USAGE);
    ck_assert_str_eq(err.text, misused[_i][2]);
    ck_assert(!done);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *tests = tcase_create("config");

    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, open_directory, close_directory);
    tcase_add_test(tests, an_empty_object_leaves_every_default);
    tcase_add_test(tests, the_sample_says_the_defaults);
    tcase_add_test(tests, without_a_file_the_defaults_hold_and_feeds_are_built_in_only);
    tcase_add_test(tests, every_value_of_the_file_arrives);
    tcase_add_loop_test(tests, what_is_wrong_in_the_file_is_refused_with_its_path, 0,
                        (int)(sizeof refused / sizeof *refused));
    tcase_add_test(tests, numbers_at_the_ends_of_their_range_are_taken);
    tcase_add_test(tests, port_0_may_stand_more_than_once);
    tcase_add_test(tests, a_file_that_cannot_be_read_is_a_refusal_that_says_why);
    tcase_add_test(tests, every_profile_of_the_folder_beside_the_file_is_loaded);
    tcase_add_test(tests, a_bad_profile_is_refused_although_nobody_uses_it);
    tcase_add_test(tests, built_in_names_cannot_be_taken);
    tcase_add_test(tests, a_folder_that_is_named_must_exist);
    tcase_add_test(tests, an_unknown_feed_is_refused_with_the_places_that_were_looked_at);
    tcase_add_test(tests, a_feed_that_needs_a_source_is_refused_without_one);
    tcase_add_test(tests, the_data_directory_is_the_options_the_files_systemds_or_ours);
    tcase_add_test(tests, a_file_named_without_a_folder_is_relative_to_here);
    tcase_add_test(tests, options_replace_what_the_file_says);
    tcase_add_test(tests, a_remote_address_on_the_command_line_needs_the_file_to_allow_it);
    tcase_add_test(tests, http_and_a_listener_of_the_command_line_cannot_share_an_address);
    tcase_add_test(tests, more_listeners_than_there_may_be_are_refused);
    tcase_add_loop_test(tests, a_misused_command_line_is_a_usage_error_in_one_line, 0,
                        (int)(sizeof misused / sizeof *misused));
    return suite_run(suite);
}
