#include "report/asset.h"

#include <string.h>

const struct asset *asset_find(const char *path, size_t len)
{
    static const char folder[] = "/ui/", first[] = "index.html";
    const char *name = first;
    size_t name_len = sizeof first - 1;

    if (len > sizeof folder - 1 && memcmp(path, folder, sizeof folder - 1) == 0) {
        name = path + sizeof folder - 1;
        name_len = len - (sizeof folder - 1);
    } else if (len != 1 || path[0] != '/') {
        return NULL;
    }
    for (size_t i = 0; i < asset_files_n; i++)
        if (strlen(asset_files[i].name) == name_len && memcmp(asset_files[i].name, name, name_len) == 0)
            return &asset_files[i];
    return NULL;
}

const char *asset_type(const struct asset *asset)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".txt", "text/plain; charset=utf-8"},
        {".json", "application/json"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".ico", "image/x-icon"},
        {".woff2", "font/woff2"},
    };
    const char *ending = strrchr(asset->name, '.');

    for (size_t i = 0; ending && i < sizeof types / sizeof *types; i++)
        if (strcmp(ending, types[i].ending) == 0)
            return types[i].type;
    return "application/octet-stream";
}

/* Tags hold no quotes and no two of one length overlap, so that finding one with its quotes is finding it. */
bool asset_matches(const struct asset *asset, const char *if_none_match)
{
    return strcmp(if_none_match, "*") == 0 || strstr(if_none_match, asset->tag) != NULL;
}
