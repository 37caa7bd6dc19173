/* asset: the files of src/page/, which the build puts into the binary (scripts/embed). Any thread; no state. */
#ifndef REPORT_ASSET_H
#define REPORT_ASSET_H

#include <stdbool.h>
#include <stddef.h>

struct asset {
    const char *name; /* "app.js" */
    const unsigned char *bytes;
    size_t len;
    const char *tag; /* of the contents, quotes included: an ETag */
};

/* What scripts/embed made of them. */
extern const struct asset asset_files[];
extern const size_t asset_files_n;

/* The file that a path asks for: "/" or "/ui/NAME"; NULL: there is none. */
const struct asset *asset_find(const char *path, size_t len);

/* By the ending of its name. */
const char *asset_type(const struct asset *asset);

/* Whether an If-None-Match header names it: as "*", or in a list, weak or strong. */
bool asset_matches(const struct asset *asset, const char *if_none_match);

#endif
