#include "report/response.h"

#include <stdlib.h>
#include <string.h>

#include "report/json.h"

void response_json(struct response *response, enum response_status status, char *json)
{
    size_t len = strlen(json);

    response_done(response);
    response->status = status;
    response->type = "application/json";
    response->body = (struct text){.at = json, .len = len, .cap = len + 1};
}

void response_refuse(struct response *response, enum response_status status, const char *reason)
{
    response_json(response, status, json_error(reason));
}

void response_done(struct response *response)
{
    text_done(&response->body);
    text_done(&response->filter);
    *response = (struct response){0};
}
