#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

static int parse_port(const char *text, in_port_t *ret)
{
    unsigned long port = 0;

    if (!*text || strlen(text) > 5 || strspn(text, "0123456789") != strlen(text))
        return -1;
    for (; *text; text++)
        port = port * 10 + (unsigned long)(*text - '0');
    if (port > 65535)
        return -1;
    *ret = htons((in_port_t)port);
    return 0;
}

static int parse_unix(struct address *ret, const char *text, const char *path, struct err *err)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&ret->sockaddr;

    if (!*path)
        return err_set(err, ERR_CONFIG, "%s: no path", text);
    if (strlen(path) >= sizeof un->sun_path)
        return err_set(err, ERR_CONFIG, "%s: the path is longer than %zu bytes", text,
                       sizeof un->sun_path - 1);
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, strlen(path) + 1);
    ret->len = sizeof *un;
    return 0;
}

int address_parse(struct address *ret, const char *text, struct err *err)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&ret->sockaddr;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret->sockaddr;
    const char *colon = strrchr(text, ':');
    char host[ADDRESS_TEXT_MAX];

    memset(ret, 0, sizeof *ret);
    if (strncmp(text, "unix:", 5) == 0)
        return parse_unix(ret, text, text + 5, err);
    if (!colon || (size_t)(colon - text) >= sizeof host)
        return err_set(err, ERR_CONFIG, "%s: not ADDR:PORT, [IPV6]:PORT or unix:/path", text);
    size_t host_len = (size_t)(colon - text);

    memcpy(host, text, host_len);
    host[host_len] = '\0';
    if (host_len >= 2 && host[0] == '[' && host[host_len - 1] == ']') {
        host[host_len - 1] = '\0';
        in6->sin6_family = AF_INET6;
        ret->len = sizeof *in6;
        if (inet_pton(AF_INET6, host + 1, &in6->sin6_addr) != 1)
            return err_set(err, ERR_CONFIG, "%s: not an IPv6 address", text);
        if (parse_port(colon + 1, &in6->sin6_port) < 0)
            return err_set(err, ERR_CONFIG, "%s: not a port from 0 to 65535", text);
        return 0;
    }
    in->sin_family = AF_INET;
    ret->len = sizeof *in;
    if (inet_pton(AF_INET, host, &in->sin_addr) != 1)
        return err_set(err, ERR_CONFIG, "%s: not a numeric IP address (IPv6 stands in brackets)", text);
    if (parse_port(colon + 1, &in->sin_port) < 0)
        return err_set(err, ERR_CONFIG, "%s: not a port from 0 to 65535", text);
    return 0;
}

void address_format(const struct address *address, char *ret, size_t ret_bytes)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)&address->sockaddr;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->sockaddr;
    const struct sockaddr_un *un = (const struct sockaddr_un *)&address->sockaddr;
    char host[INET6_ADDRSTRLEN];

    switch (address->sockaddr.ss_family) {
    case AF_INET:
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(ret, ret_bytes, "%s:%u", host, ntohs(in->sin_port));
        return;
    case AF_INET6:
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        snprintf(ret, ret_bytes, "[%s]:%u", host, ntohs(in6->sin6_port));
        return;
    default:
        snprintf(ret, ret_bytes, "unix:%.107s", un->sun_path);
    }
}

bool address_is_local(const struct address *address)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)&address->sockaddr;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->sockaddr;

    if (address->sockaddr.ss_family == AF_INET)
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    if (address->sockaddr.ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) && in6->sin6_addr.s6_addr[12] == 127);
    return true;
}
