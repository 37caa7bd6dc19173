/* audit: what the parts of `tradesieve audit` share. Main thread.
 *
 *   audit.c          the command: lock, list, the three passes, what is said at the end
 *   audit_segment.c  pass 1, one segment at a time: the file, its rows, its filter, its rejects
 *   audit_keys.c     pass 2, all segments at once: no key twice, and the sealed keys
 *                    pass 3: conflicts against their trades
 *
 * Memory: one segment's filter in pass 1; in pass 2 a page of 16 KiB and a statement for each generation
 * and each sealed file, and a cache of 256 KiB for each segment. Descriptors: two a segment. */
#ifndef TOOL_AUDIT_H
#define TOOL_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "store/catalog.h"
#include "store/seal.h"
#include "store/segment.h"

enum { AUDIT_LINES_MAX = 100 }; /* findings of one segment in one pass that are written out */

struct audit_segment {
    char name[SEGMENT_NAME_MAX];
    struct segment *db; /* NULL: it cannot be read */
    struct segment_meta meta;
    struct sealed *keys; /* NULL: not sealed, or not to be read */
    int64_t last_seq;    /* of its last row; first_seq - 1 when it has none */
    uint64_t rows;       /* as its seq numbers say: for the progress */
    uint64_t said;       /* findings of this pass */
};

struct audit {
    const char *dir;
    unsigned char secret[CATALOG_SECRET_BYTES];
    bool has_secret;
    struct audit_segment *segments;
    size_t segments_n;
    uint64_t findings, rows, conflicts, rejects;
    /* progress, on a terminal only */
    bool terminal;
    int64_t next_us;          /* monotonic: not to be drawn again before */
    uint64_t work, work_done; /* in rows, each counted once in each step */
};

/* One finding, one line on stdout. segment: whose files it is about; NULL: the directory's. */
void audit_find(struct audit *audit, struct audit_segment *segment, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The pass is over for this segment: says how many of its findings were not written out. */
void audit_end_pass(struct audit *audit, struct audit_segment *segment);

/* So many rows more are done. */
void audit_progress(struct audit *audit, uint64_t rows);

/* A key as text for a finding, valid until out changes; foreign characters made harmless. */
const char *audit_key(struct text *out, const char *key, size_t len);

void audit_segment(struct audit *audit, size_t i);
void audit_keys(struct audit *audit);
void audit_conflicts(struct audit *audit);

#endif
