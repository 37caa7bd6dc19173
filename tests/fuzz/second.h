/* second: another reader of JSON, to hold the scanner against. RFC 8259, UTF-8 as RFC 3629.
 *
 * Written to be obvious, and unlike src/ingest/scan.c in every way: the bytes become code points first,
 * by arithmetic instead of by ranges, then a recursive descent over code points builds a tree. It shares
 * no code with src/. One thread. */
#ifndef TESTS_FUZZ_SECOND_H
#define TESTS_FUZZ_SECOND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SECOND_LEVELS = 64,        /* arrays and objects inside each other in a message */
    SECOND_EXPORT_LEVELS = 65, /* in a line that holds one */
};

enum second_result { SECOND_OK, SECOND_BAD_JSON, SECOND_BAD_UTF8, SECOND_TOO_DEEP };

enum second_kind {
    SECOND_NULL,
    SECOND_FALSE,
    SECOND_TRUE,
    SECOND_NUMBER,
    SECOND_STRING,
    SECOND_ARRAY,
    SECOND_OBJECT,
};

struct second_text {
    char *at;   /* decoded; a lone surrogate has its three generalised bytes */
    size_t len; /* bytes */
    bool lone;  /* it holds one */
};

struct second_value {
    enum second_kind kind;
    size_t at, len;                    /* the span in the text, bytes */
    struct second_text name;           /* of a member */
    struct second_text text;           /* of a string */
    struct second_value *first, *next; /* items in order; the next of the same container */
};

struct second {
    enum second_result result;
    size_t fault;              /* offset of the first byte that cannot stand there, unless OK */
    struct second_value *root; /* the tree; NULL unless OK */
};

struct second second_read(const char *text, size_t len, int levels_max);
void second_done(struct second *second);

/* The first member of that name, the item of that index; NULL if there is none. *ret_n: how many members
 * have the name. */
const struct second_value *second_member(const struct second_value *object, const char *name,
                                         size_t len, size_t *ret_n);
const struct second_value *second_item(const struct second_value *container, size_t index);

/* By a member's plain name, the first if it stands twice; NULL too when `object` is none. */
const struct second_value *second_get(const struct second_value *object, const char *name);

#endif
