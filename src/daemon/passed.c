#include "daemon/passed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include "base/address.h"
#include "daemon/log.h"

enum { PLACE_NAME_MAX = 32 };

/* Where a passed socket can go. */
struct place {
    char name[PLACE_NAME_MAX];
    const char *bind;
    int *fd;
};

/* The listeners in their order, then http. */
static struct place place_at(struct config *config, size_t i)
{
    struct place place = {"http", config->http_bind, &config->http.passed_fd};

    if (i < config->server.listeners_n) {
        snprintf(place.name, sizeof place.name, "listeners[%zu]", i);
        place.bind = config->server.listeners[i].bind;
        place.fd = &config->server.listeners[i].passed_fd;
    }
    return place;
}

/* A bind of port 0 is nobody's address. */
static bool find_place(struct config *config, const char *name, const char *address, struct place *ret)
{
    size_t places_n = config->server.listeners_n + 1;
    char text[ADDRESS_TEXT_MAX];
    struct address bind;
    struct err ignored;

    for (size_t i = 0; i < places_n; i++) {
        *ret = place_at(config, i);
        if (strcmp(name, ret->name) == 0)
            return true;
    }
    for (size_t i = 0; i < places_n; i++) {
        *ret = place_at(config, i);
        if (address_parse(&bind, ret->bind, &ignored) < 0)
            continue;
        address_format(&bind, text, sizeof text);
        if (strcmp(address, text) == 0)
            return true;
    }
    return false;
}

/* A name must not open to others what the configuration keeps local. */
static int check_place(const struct place *place, const struct address *address, const char *text,
                       struct err *err)
{
    struct address bind;

    if (address_parse(&bind, place->bind, err) < 0)
        return err->code;
    if (*place->fd)
        return err_set(err, ERR_CONFIG, "passed socket %s: %s has one already", text, place->name);
    if (address->sockaddr.ss_family != bind.sockaddr.ss_family)
        return err_set(err, ERR_CONFIG, "passed socket %s: not of the family of %s, which is %s", text,
                       place->name, place->bind);
    if (!address_is_local(address) && address_is_local(&bind))
        return err_set(err, ERR_CONFIG, "passed socket %s: not local as %s is, which is %s", text,
                       place->name, place->bind);
    return 0;
}

static int read_address(int fd, const char *name, struct address *ret, struct err *err)
{
    *ret = (struct address){.len = sizeof ret->sockaddr};
    if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0 ||
        getsockname(fd, (struct sockaddr *)&ret->sockaddr, &ret->len) < 0)
        return err_set(err, ERR_CONFIG, "passed descriptor %d (%s): not a listening stream socket", fd,
                       name);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return err_set(err, ERR_SYSTEM, "passed descriptor %d (%s): it cannot be made non-blocking", fd,
                       name);
    return 0;
}

static int take(struct config *config, int fd, const char *name, struct err *err)
{
    char text[ADDRESS_TEXT_MAX];
    struct address address;
    struct place place;

    if (read_address(fd, name, &address, err) < 0)
        return err->code;
    address_format(&address, text, sizeof text);
    if (!find_place(config, name, text, &place))
        return err_set(err, ERR_CONFIG,
                       "passed socket %s (%s): no listener has this address or name, and nobody would "
                       "accept from it",
                       text, name);
    if (check_place(&place, &address, text, err) < 0)
        return err->code;
    *place.fd = fd;
    log_event(LOG_INFO, "%s takes the socket %s that was passed (%s)", place.name, text, name);
    return 0;
}

int passed_take(struct config *config, struct err *err)
{
    char **names = NULL;
    int n = sd_listen_fds_with_names(1, &names);
    int rc = 0;

    if (n < 0)
        return err_set(err, ERR_SYSTEM, "passed sockets: %s", strerror(-n));
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = take(config, SD_LISTEN_FDS_START + i, names[i], err);
        free(names[i]);
    }
    free(names);
    return rc;
}
