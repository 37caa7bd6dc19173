/* profile: a feed profile, compiled: the pointers of interface.md's profile language as tries that
 * the scanner follows, and everything else as plain tables over the nodes of these tries.
 *
 * Read with the project's own scanner, so that a profile is as strictly JSON as a message, its numbers
 * keep their digits and a member that stands twice is refused. Loaded once, then immutable: any thread
 * may read it. */
#ifndef INGEST_PROFILE_H
#define INGEST_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ingest/day.h"
#include "ingest/feed.h"
#include "ingest/scan.h"

enum {
    PROFILE_STARS_MAX = 8,         /* `*` steps in one trades path */
    PROFILE_ALTERNATIVES_MAX = 64, /* match objects in a list: one bit each */
    PROFILE_PREFIX_MAX = 65536,    /* bytes of a prefix */
    PROFILE_SHIFT_MAX_H = 24,      /* hours that a day is moved at most, either way */
};

/* A string of the profile, decoded. */
struct profile_text {
    const char *at; /* terminated, for messages; NULL: not given */
    size_t len;     /* bytes */
};

/* One path: a node of the trade's trie or, with `$`, of the message's. */
struct profile_ref {
    uint16_t node;
    bool of_message;
};

/* A path, or a list of which the first that is present counts. */
struct profile_choice {
    const struct profile_ref *refs;
    unsigned n;        /* refs, at least 1 */
    const char *label; /* for people: the paths as written */
};

enum part_kind { PART_PATH, PART_CONST, PART_SOURCE, PART_PREFIX, PART_UTC_DAY };

struct profile_part {
    enum part_kind kind;
    struct profile_choice from; /* PATH, PREFIX, UTC_DAY */
    struct profile_text text;   /* CONST; PATH: the constant that its list ends in, if it does */
    size_t prefix_bytes;        /* PREFIX */
    enum day_unit unit;         /* UTC_DAY */
    int shift_h;                /* UTC_DAY */
};

struct profile_content {
    struct profile_choice from;
    bool decimal; /* compared by value */
};

enum test_kind { TEST_STRING, TEST_NUMBER, TEST_TRUE, TEST_FALSE, TEST_SHAPE };

/* What a value may be. */
struct profile_test {
    enum test_kind kind;
    struct profile_text text;         /* STRING: the text; NUMBER: its canonical decimal */
    struct profile_text starts, ends; /* SHAPE */
    bool wants_presence;              /* SHAPE: "present" was given ... */
    bool present;                     /* ... and says so */
};

/* Holds when any of its tests does. */
struct profile_condition {
    struct profile_ref ref;
    const struct profile_test *tests;
    unsigned n;        /* tests, at least 1 */
    const char *label; /* the path as written */
};

/* One match object: holds when all of its conditions do. */
struct profile_alternative {
    const struct profile_condition *of_message, *of_trade;
    unsigned of_message_n, of_trade_n;
};

/* Where trades are: a node of the message and, for each `*`, the steps below its elements. */
struct profile_trades {
    uint16_t node;
    unsigned stars;
    const struct scan_want *below[PROFILE_STARS_MAX]; /* a single chain: the last node is meant */
    const char *label;
};

struct profile {
    bool unwraps;                 /* `line` and `unwrap` mean something */
    struct scan_want line;        /* of the raw line: the unwrap paths */
    struct profile_choice unwrap; /* nodes of `line` */
    struct scan_want message;     /* of the message: `$` paths and where trades are */
    struct scan_want trade;       /* of one trade; not used when trade_is_message */
    bool trade_is_message;        /* trades is "": the paths of the trade stand in `message` too */
    bool stars;                   /* some trades path has a `*`: replies in the trades form */
    bool uses_source;             /* a key part is the listener's source */
    bool has_conditions;          /* match is there and says something */
    const struct profile_trades *trades;
    unsigned trades_n;
    const struct profile_alternative *alternatives;
    unsigned alternatives_n; /* 0: no match */
    struct profile_part parts[FEED_PARTS_MAX];
    unsigned parts_n;
    const struct profile_content *content;
    unsigned content_n;
    struct profile_block *blocks; /* what all of this stands in */
};

/* The values of a message and of one of its trades, by node of the tries; the same array when
 * trade_is_message. */
struct profile_values {
    const struct scan_value *message, *trade;
};

static inline const struct scan_value *profile_value(const struct profile_ref *ref,
                                                     const struct profile_values *values)
{
    return ref->of_message ? &values->message[ref->node] : &values->trade[ref->node];
}

/* The first of the choice that is there. One that stands twice is returned at once, so that the
 * caller sees it. With pass_null a null is returned only when nothing better comes. */
const struct scan_value *profile_choose(const struct profile_choice *choice,
                                        const struct profile_values *values, bool pass_null);

/* Compiles JSON text, // and slash-star comments allowed. ERR_CONFIG names the member's path and what
 * is wrong with it. */
int profile_parse(struct profile **ret, const char *json, size_t len, struct err *err);
void profile_close(struct profile *profile); /* NULL is fine */

#endif
