/* response: one answer of the HTTP side as plain values, from whoever makes it to http.c, which sends it. */
#ifndef REPORT_RESPONSE_H
#define REPORT_RESPONSE_H

#include <stddef.h>

#include "base/text.h"

enum response_status {
    RESPONSE_OK = 200,
    RESPONSE_NOT_MODIFIED = 304,
    RESPONSE_BAD = 400,
    RESPONSE_FORBIDDEN = 403,
    RESPONSE_NOT_FOUND = 404,
    RESPONSE_NOT_ALLOWED = 405,
    RESPONSE_UNAVAILABLE = 503,
};

struct asset;

struct response {
    enum response_status status;
    const char *type;          /* of the body, static */
    struct text body;          /* owned; the sender takes it */
    struct text filter;        /* owned; the header Tradesieve-Filter: none when empty */
    const struct asset *asset; /* in place of type and body: a file of the page */
};

void response_json(struct response *response, enum response_status status, char *json); /* takes json */
void response_refuse(struct response *response, enum response_status status, const char *reason);
void response_done(struct response *response);

#endif
