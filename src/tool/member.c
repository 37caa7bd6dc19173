#include "tool/member.h"

#include <string.h>

#include "tool/figure.h"

static const double COUNT_MAX = 1e19; /* below 2^64: a double up to here can become a uint64_t */

const cJSON *member_find(const cJSON *object, const char *path)
{
    char name[64];

    while (object && *path) {
        size_t len = strcspn(path, "/");

        if (len >= sizeof name)
            return NULL;
        memcpy(name, path, len);
        name[len] = '\0';
        object = cJSON_GetObjectItemCaseSensitive(object, name);
        path += len + (path[len] == '/');
    }
    return object;
}

void member_as_count(struct text *out, double n)
{
    figure_add_count(out, n > 0 ? (uint64_t)(n < COUNT_MAX ? n : COUNT_MAX) : 0, 0);
}

void member_as_milliseconds(struct text *out, double n)
{
    text_add_format(out, "%.*f ms", n < 10 ? 2 : n < 100, n);
}

void member_add(struct text *out, const cJSON *object, const char *path, member_as *as)
{
    const cJSON *member = member_find(object, path);

    if (cJSON_IsNumber(member))
        as(out, member->valuedouble);
    else
        text_add_char(out, '-');
}

void member_add_string(struct text *out, const cJSON *object, const char *path)
{
    const cJSON *member = member_find(object, path);

    if (cJSON_IsString(member))
        figure_add_foreign(out, member->valuestring, strlen(member->valuestring));
    else
        text_add_char(out, '-');
}

double member_number(const cJSON *object, const char *path)
{
    const cJSON *member = member_find(object, path);

    return cJSON_IsNumber(member) ? member->valuedouble : 0;
}
