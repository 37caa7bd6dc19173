/* What an HTTP request says, against the obvious way to read it. The first letter says what the rest is:
 * 'q' a query, 'h' a Host header, 'n' a number's digits, else the bytes of a key, which are encoded and must come back. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "fuzz.h"
#include "report/query.h"

static char *const hosts[] = {"trades.example", "b"};
enum { HOSTS = sizeof hosts / sizeof *hosts };

/* ---- queries ---- */

/* Decodes in place; returns the length, or -1. */
static long decode(char *text)
{
    char *to = text;

    for (char *at = text; *at; at++, to++) {
        *to = *at;
        if (*at != '%')
            continue;
        if (!isxdigit((unsigned char)at[1]) || !isxdigit((unsigned char)at[2]))
            return -1;
        *to = (char)strtol((char[]){at[1], at[2], '\0'}, NULL, 16);
        at += 2;
    }
    return to - text;
}

/* The only parameter `key`, decoded in place; NULL when there is none, or more than one. */
static char *find_key(char *query, long *ret_len)
{
    char *key = NULL, *part;

    while ((part = strsep(&query, "&"))) {
        if (strncmp(part, "key=", 4) != 0)
            continue;
        if (key)
            return NULL;
        key = part + 4;
    }
    *ret_len = key ? decode(key) : -1;
    return key;
}

static void check_query(const char *query)
{
    char *copy = mem_strdup(query);
    struct text key = {0};
    long len = -1;
    const char *expected = find_key(copy, &len);

    if (query_read_key(query, &key)) {
        FUZZ_REQUIRE(!expected || len <= 0 || len > QUERY_KEY_MAX_BYTES);
    } else {
        FUZZ_REQUIRE(expected && len > 0 && len <= QUERY_KEY_MAX_BYTES);
        FUZZ_REQUIRE(key.len == (size_t)len && memcmp(key.at, expected, key.len) == 0);
    }
    text_done(&key);
    free(copy);
}

static void check_round_trip(const char *bytes, size_t len)
{
    struct text query = {0}, key = {0};

    text_add_str(&query, "%&keys=1&key=");
    for (size_t i = 0; i < len; i++) {
        if (isalnum((unsigned char)bytes[i]) || bytes[i] == '+')
            text_add_char(&query, bytes[i]);
        else
            text_add_format(&query, i % 2 ? "%%%02X" : "%%%02x", (unsigned)(unsigned char)bytes[i]);
    }
    text_add_str(&query, "&%");
    const char *wrong = query_read_key(text_terminate(&query), &key);

    FUZZ_REQUIRE((wrong == NULL) == (len > 0 && len <= QUERY_KEY_MAX_BYTES));
    FUZZ_REQUIRE(wrong || (key.len == len && memcmp(key.at, bytes, len) == 0));
    text_done(&query);
    text_done(&key);
}

/* ---- numbers ---- */

static void check_number(const char *digits, size_t len)
{
    struct text query = {0};
    uint64_t number = 0;
    bool found;

    text_add_str(&query, "x=1&n=");
    text_add(&query, digits, len);
    const char *wrong = query_read_number(text_terminate(&query), "n", &number, &found);
    bool digits_only = len && strspn(digits, "0123456789") == len;

    errno = 0;
    unsigned long long expected = digits_only ? strtoull(digits, NULL, 10) : 0;

    if (digits_only)
        FUZZ_REQUIRE((wrong == NULL) == (errno == 0) && (wrong || (found && number == expected)));
    else if (!memchr(digits, '%', len) && !memchr(digits, '&', len) && !memchr(digits, '\0', len))
        FUZZ_REQUIRE(wrong);
    text_done(&query);
}

/* ---- hosts ---- */

static void strip_port(char *host)
{
    char *colon = strrchr(host, ':');

    if (colon && !colon[1 + strspn(colon + 1, "0123456789")])
        *colon = '\0';
}

static int is_allowed(char *host)
{
    struct in6_addr address;
    size_t len;

    strip_port(host);
    len = strlen(host);
    if (host[0] == '[' && host[len - 1] == ']') {
        host[len - 1] = '\0';
        return inet_pton(AF_INET6, host + 1, &address) == 1;
    }
    for (size_t i = 0; i < HOSTS; i++)
        if (strcasecmp(host, hosts[i]) == 0)
            return 1;
    return strcasecmp(host, "localhost") == 0 || inet_pton(AF_INET, host, &address) == 1;
}

static void check_host(const char *host)
{
    char *copy = mem_strdup(host);

    FUZZ_REQUIRE(query_allows_host(host, hosts, HOSTS) == is_allowed(copy));
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text text = {0};

    if (!size)
        return 0;
    text_add(&text, data + 1, size - 1);
    text_terminate(&text);
    if (data[0] == 'q')
        check_query(text.at);
    else if (data[0] == 'h')
        check_host(text.at);
    else if (data[0] == 'n')
        check_number(text.at, size - 1);
    else
        check_round_trip(text.at, size - 1);
    text_done(&text);
    return 0;
}
