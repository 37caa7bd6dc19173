/* trade: the identity of one trade: key and fingerprint, built into a batch's arena.
 *
 * Key: the parts, `%` written %25 and `/` written %2F, joined by `/`. Fingerprint: SipHash-2-4 of the
 * content's canonical form under a fixed, published key (never per store: exports carry it), read as
 * a little-endian 64-bit number. Both forms are part of the disk format: docs/format.md gives them
 * byte by byte. Pure; any thread. */
#ifndef INGEST_TRADE_H
#define INGEST_TRADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "ingest/scan.h"
#include "store/batch.h"

/* Appends one key part to out (with the `/` before it unless first). Returns REASON_NONE, or for
 * values that are no part one of the ID_* reasons: ID_MISSING (nothing, null), ID_TYPE, ID_NOT_INTEGER
 * (-0, fraction, exponent), ID_CONTROL_CHAR (U+0000 to U+001F, U+007F after decoding), BAD_UTF8 (a
 * lone surrogate). An empty string is a part here; that the ID must not be empty is the feed's rule.
 * On failure out is as it was. */
enum reason trade_add_part(struct text *out, bool first, const struct scan_value *value);

/* The same for bytes that are already decoded (constants, sources, days). They must not stand in out. */
enum reason trade_add_part_bytes(struct text *out, bool first, const char *bytes, size_t len);

/* The two halves of trade_add_part, for parts that are a piece of a text: appends the bare text of a
 * string or an integer (ID_MISSING, ID_TYPE, ID_NOT_INTEGER; on failure out is as it was) ... */
enum reason trade_add_part_text(struct text *out, const struct scan_value *value);

/* ... and checks what stands in out from `at` (ID_CONTROL_CHAR, BAD_UTF8), then escapes it there. */
enum reason trade_end_part(struct text *out, size_t at);

/* ID_CONTROL_CHAR, BAD_UTF8 or NONE for decoded text. ret_escapes (may be NULL): how many `%` and `/`
 * it holds. */
enum reason trade_check_text(const char *text, size_t len, size_t *ret_escapes);

/* Appends the canonical form of one piece of content: absent (nothing or null), text (strings decoded,
 * numbers and literals as they stand, objects and arrays raw), or a decimal by value. */
void trade_add_content(struct text *out, const struct scan_value *value);
void trade_add_content_decimal(struct text *out, const struct scan_value *value);

/* The fingerprint of a canonical content. */
uint64_t trade_fingerprint(const char *content, size_t len);

#endif
