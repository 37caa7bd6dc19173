/* scan: strict JSON (RFC 8259, UTF-8 as RFC 3629) without a tree.
 *
 * One pass checks a text and notes where the values stand that somebody wants; nothing is allocated,
 * nothing is copied, no number ever becomes a double. What is wanted is a small trie of JSON Pointers
 * (struct scan_want), compiled once when a profile is loaded. Pure functions; any thread. */
#ifndef INGEST_SCAN_H
#define INGEST_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum {
    SCAN_DEPTH_MAX = 64, /* arrays and objects inside each other; 64 is allowed, 65 is too deep */
    SCAN_WRAPPED_DEPTH_MAX = SCAN_DEPTH_MAX + 1, /* of a text that holds such a text as a member */
    SCAN_WANT_MAX = 64,                          /* nodes of one trie */
};

enum scan_kind {
    SCAN_NOTHING, /* there is no such value */
    SCAN_NULL,
    SCAN_FALSE,
    SCAN_TRUE,
    SCAN_NUMBER,
    SCAN_STRING,
    SCAN_ARRAY,
    SCAN_OBJECT,
};

enum scan_result { SCAN_OK = 0, SCAN_BAD_JSON = -1, SCAN_BAD_UTF8 = -2, SCAN_TOO_DEEP = -3 };

/* A value in the text: the raw span, quotes and brackets included. */
struct scan_value {
    const char *at;
    size_t len;
    enum scan_kind kind;
    bool escaped; /* SCAN_STRING: holds a backslash, so that the raw bytes are not the text */
    bool twice;   /* the member, or one on the way to it, stands more than once in its object */
};

/* A trie of pointers. Node 0 is the root (the text's own value); each other node is one step below
 * its parent: a member name (compared after escapes are decoded, bytes exactly, case included) or,
 * for an array, an index written in decimal. */
struct scan_want {
    struct scan_node {
        const char *step;  /* the decoded member name; not terminated by its length's use */
        uint32_t step_len; /* bytes */
        uint32_t index;    /* the step as an array index, UINT32_MAX when it is none */
        uint16_t child;    /* first child, 0: none */
        uint16_t sibling;  /* next child of the same parent, 0: none */
    } nodes[SCAN_WANT_MAX];
    unsigned n;         /* nodes in use, at least 1 */
    unsigned depth_max; /* SCAN_DEPTH_MAX unless set to SCAN_WRAPPED_DEPTH_MAX */
};

void scan_want_init(struct scan_want *want);

/* Adds one step below node `parent`, or finds it there; the step's bytes must outlive the trie.
 * Returns the node's number, or -1 when the trie is full. */
int scan_want_add(struct scan_want *want, unsigned parent, const char *step, size_t step_len);

/* Checks [at, at + len) as one JSON text (white space around it allowed) and fills values[0 ..
 * want->n), one a node; values[i].kind is SCAN_NOTHING where the text has no such value. want may be
 * NULL. On failure returns a scan_result and in *ret_at (may be NULL) the offset of the offending
 * byte; the values are then meaningless. The first fault in reading order decides. */
enum scan_result scan_text(const char *at, size_t len, const struct scan_want *want,
                           struct scan_value *values, size_t *ret_at);

/* The same for a span that scan_text has already accepted, without checking it again (faster). */
void scan_again(const struct scan_value *value, const struct scan_want *want,
                struct scan_value *values);

/* Walks the elements of an accepted array: start with *cursor = 0, call until false. */
bool scan_next_element(const struct scan_value *array, size_t *cursor, struct scan_value *ret);

/* Walks the members of an accepted object likewise; ret_name is the raw name, a SCAN_STRING. */
bool scan_next_member(const struct scan_value *object, size_t *cursor, struct scan_value *ret_name,
                      struct scan_value *ret_value);

/* Appends the decoded text of an accepted string to out. A lone surrogate is written as its three
 * generalised UTF-8 bytes and makes the function return false. */
bool scan_decode(const struct scan_value *string, struct text *out);

/* Whether an accepted string, decoded, equals these bytes. Allocates nothing. */
bool scan_string_is(const struct scan_value *string, const char *bytes, size_t len);

#endif
