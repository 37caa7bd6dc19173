/* address: ADDR:PORT, [IPV6]:PORT and unix:/path, to and from socket addresses. Names are not looked
 * up: an address is numeric. Pure; any thread. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"

enum { ADDRESS_TEXT_MAX = 128 }; /* longest text form and its NUL */

struct address {
    struct sockaddr_storage sockaddr; /* AF_INET, AF_INET6 or AF_UNIX */
    socklen_t len;                    /* bytes of it in use */
};

/* Port 0 is legal, no port is not. ERR_CONFIG says what is wrong
 * (a unix path longer than the 107 bytes that a socket address holds, for one). */
int address_parse(struct address *ret, const char *text, struct err *err);

void address_format(const struct address *address, char *ret, size_t ret_bytes);

/* 127.0.0.0/8, ::1, ::ffff:127.0.0.0/104 or a unix socket. */
bool address_is_local(const struct address *address);

#endif
