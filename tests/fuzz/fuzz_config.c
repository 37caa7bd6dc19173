/* The configuration file, read as the daemon reads it, from memory.
 *
 * What is accepted is JSON to the second reader too, stands there once, and every number that it gives
 * is the number that it means, within the range of docs/configuration.md; what it does not give has the
 * default. Comments around it change nothing. A refusal is one line of text. */
#include "daemon/config.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comments.h"
#include "fuzz.h"
#include "second.h"

#define MIB 1048576.0
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

static struct config read_config; /* what the table points into */

enum type { U32, U64, SIZE, INT, RATE };

#define SERVER(member) &read_config.server.member
#define STORE(member)  &read_config.writer.store.member

static const struct {
    const char *section, *name;
    enum type type;
    const void *field;
    double number, min, max; /* default, range */
} numbers[] = {
    {"limits", "max_connections", U32, SERVER(max_connections), 1000, 1, 100000},
    {"limits", "max_line_bytes", SIZE, SERVER(max_line_bytes), MIB, 64, 256 * MIB},
    {"limits", "max_trades_per_line", U32, SERVER(max_trades_per_line), 10000, 1, 1e6},
    {"limits", "max_key_bytes", SIZE, SERVER(max_key_bytes), 512, 16, 8192},
    {"limits", "queue_bytes", SIZE, SERVER(queue_bytes), 64 * MIB, 65536, TIB},
    {"limits", "ack_backlog_bytes", SIZE, SERVER(ack_backlog_bytes), 262144, 4096, GIB},
    {"limits", "slow_reader_timeout_s", INT, SERVER(slow_reader_timeout_s), 30, 1, 3600},
    {"store", "generation_keys", U32, STORE(generation_keys), 65536, 1, 16777216},
    {"store", "segment_rows", U64, STORE(segment_rows), 16777216, 1, TIB},
    {"store", "commit_max_trades", SIZE, &read_config.writer.commit_max_trades, 8192, 1, 1e6},
    {"store", "retention_days", INT, STORE(retention_days), 0, 0, 36500},
    {"store", "reject_rows", U64, STORE(reject_rows), 100000, 0, 1e18},
    {"store", "reject_bytes", U64, STORE(reject_bytes), 256 * MIB, 0, 1e18},
    {"store", "disk_reserve_bytes", U64, STORE(disk_reserve_bytes), 256 * MIB, 0, 1e18},
    {"filter", "false_positive_rate", RATE, STORE(false_positive_rate), 0.01, 3e-9, 0.5},
    {"filter", "capacity", U64, STORE(capacity), 1e8, 1, 1e18},
    {"filter", "snapshot_interval_s", INT, STORE(snapshot_interval_s), 300, 0, 86400},
    {"filter", "snapshot_rows", U64, STORE(snapshot_rows), 2e6, 1, 1e18},
    {"filter", "self_test_interval_s", INT, &read_config.writer.self_test_interval_s, 60, 0, 86400},
};

static double value_of(size_t i)
{
    switch (numbers[i].type) {
    case U32:
        return *(const uint32_t *)numbers[i].field;
    case U64:
        return (double)*(const uint64_t *)numbers[i].field;
    case SIZE:
        return (double)*(const size_t *)numbers[i].field;
    case INT:
        return *(const int *)numbers[i].field;
    case RATE:
        return *(const double *)numbers[i].field;
    }
    return -1;
}

/* Every object's members stand once. */
static void check_once(const struct second_value *container)
{
    size_t n;

    for (const struct second_value *item = container->first; item; item = item->next) {
        if (container->kind == SECOND_OBJECT) {
            second_member(container, item->name.at, item->name.len, &n);
            FUZZ_REQUIRE(n == 1);
        }
        check_once(item);
    }
}

static void check_numbers(const char *text, const struct second_value *root)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct second_value *given =
            second_get(second_get(root, numbers[i].section), numbers[i].name);
        double value = value_of(i);

        FUZZ_REQUIRE(value >= numbers[i].min && value <= numbers[i].max);
        FUZZ_REQUIRE(value == (given ? strtod(text + given->at, NULL) : numbers[i].number));
    }
}

static void check_listeners(const struct second_value *root)
{
    const struct second_value *listeners = second_get(root, "listeners");
    size_t n = 0;

    for (const struct second_value *item = listeners ? listeners->first : NULL; item; item = item->next)
        n++;
    FUZZ_REQUIRE(read_config.server.listeners_n == (listeners ? n : 1));
    for (size_t i = 0; i < read_config.server.listeners_n; i++)
        FUZZ_REQUIRE(read_config.server.listeners[i].bind && read_config.server.listeners[i].feed);
}

static void check_accepted(struct text *plain)
{
    struct second second = second_read(plain->at, plain->len, SECOND_LEVELS);

    FUZZ_REQUIRE(second.result == SECOND_OK && second.root->kind == SECOND_OBJECT);
    check_once(second.root);
    check_numbers(text_terminate(plain), second.root);
    check_listeners(second.root);
    second_done(&second);
}

/* A file without a name; the feeds folder beside it does not exist. */
static int read_bytes(const char *bytes, size_t len, struct err *err)
{
    char path[64], program[] = "tradesieved", option[] = "--config";
    char *argv[] = {program, option, path, NULL};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    bool done = false;

    FUZZ_REQUIRE(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int rc = config_read(&read_config, 3, argv, &done, err);

    FUZZ_REQUIRE(!done);
    close(fd);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *json = (const char *)data;
    struct err err;
    int bad;
    struct text plain = comments_blank(json, size, &bad), wrapped = comments_wrap(json, size);
    int rc = read_bytes(json, size, &err);

    if (rc)
        comments_check_refusal(rc, &err);
    else
        check_accepted(&plain);
    config_done(&read_config);
    FUZZ_REQUIRE(!bad || rc);
    if (!bad) {
        FUZZ_REQUIRE(read_bytes(wrapped.at, wrapped.len, &err) == rc);
        config_done(&read_config);
    }
    text_done(&plain);
    text_done(&wrapped);
    return 0;
}
