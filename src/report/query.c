#include "report/query.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

static bool is_same_name(const char *a, size_t a_len, const char *b)
{
    return strlen(b) == a_len && strncasecmp(a, b, a_len) == 0;
}

static bool is_ip_address(int family, const char *host, size_t len)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr unused;

    if (len >= sizeof text)
        return false;
    memcpy(text, host, len);
    text[len] = '\0';
    return inet_pton(family, text, &unused) == 1;
}

/* A page from elsewhere can make a browser ask any address under the page's own name (DNS rebinding):
 * such a request carries that name, so names that nobody configured are turned away. */
bool query_allows_host(const char *host, char *const *hosts, size_t hosts_n)
{
    size_t len = strcspn(host, ":");
    const char *port = host + len;

    if (host[0] == '[') {
        const char *end = strchr(host, ']');

        if (!end || !is_ip_address(AF_INET6, host + 1, (size_t)(end - host) - 1))
            return false;
        port = end + 1;
    }
    if (*port && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1)))
        return false;
    if (host[0] == '[' || is_ip_address(AF_INET, host, len) || is_same_name(host, len, "localhost"))
        return true;
    for (size_t i = 0; i < hosts_n; i++)
        if (is_same_name(host, len, hosts[i]))
            return true;
    return false;
}

/* Percent-decoding (RFC 3986) and nothing else: '+' is itself. False for a bad escape. */
static bool decode(const char *at, size_t len, struct text *out)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] != '%') {
            text_add_char(out, at[i]);
            continue;
        }
        int high = i + 2 < len ? text_hex_digit(at[i + 1]) : -1;
        int low = i + 2 < len ? text_hex_digit(at[i + 2]) : -1;

        if (high < 0 || low < 0)
            return false;
        text_add_char(out, (char)(high * 16 + low));
        i += 2;
    }
    return true;
}

const char *query_read(const char *query, const char *name, struct text *ret, bool *ret_found)
{
    size_t len = strlen(name);

    *ret_found = false;
    for (const char *at = query; at; at = strchr(at, '&')) {
        at += *at == '&';
        if (strncmp(at, name, len) != 0 || at[len] != '=')
            continue;
        if (*ret_found)
            return "a parameter is given twice";
        *ret_found = true;
        if (!decode(at + len + 1, strcspn(at + len + 1, "&"), ret))
            return "a parameter holds a % that two hexadecimal digits do not follow";
    }
    return NULL;
}

const char *query_read_key(const char *query, struct text *ret_key)
{
    bool found;
    const char *wrong = query_read(query, "key", ret_key, &found);

    if (wrong)
        return wrong;
    if (!ret_key->len)
        return "no key: ask /check?key=KEY, percent-encoded";
    return ret_key->len > QUERY_KEY_MAX_BYTES ? "key is too long" : NULL;
}

bool query_parse_number(const char **at, const char *end, uint64_t *ret)
{
    const char *first = *at;
    uint64_t n = 0;

    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(**at - '0'), &n))
            return false;
    if (*at == first)
        return false;
    *ret = n;
    return true;
}

const char *query_read_number(const char *query, const char *name, uint64_t *ret, bool *ret_found)
{
    struct text value = {0};
    const char *wrong = query_read(query, name, &value, ret_found);
    const char *at = value.at, *end = value.at + value.len;

    if (!wrong && *ret_found && (!value.len || !query_parse_number(&at, end, ret) || at != end))
        wrong = "a number is not one of decimal digits alone below 2^64";
    text_done(&value);
    return wrong;
}
