/* trade: the identity of one trade: key and fingerprint, built into a batch's arena.
 *
 * Key: the parts, `%` written %25 and `/` written %2F, joined by `/`. Fingerprint: SipHash-2-4 of the
 * content's canonical form under a fixed, published key (never per store: exports carry it), read as
 * a little-endian 64-bit number. Both forms are part of the disk format: docs/format.md gives them
 * byte by byte. Pure; any thread. */
#ifndef INGEST_TRADE_H
#define INGEST_TRADE_H

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

/* The same for bytes that are already decoded (constants, prefixes, days). */
enum reason trade_add_part_bytes(struct text *out, bool first, const char *bytes, size_t len);

/* Appends the canonical form of one piece of content: absent (nothing or null), text (strings decoded,
 * numbers and literals as they stand, objects and arrays raw), or a decimal by value. */
void trade_add_content(struct text *out, const struct scan_value *value);
void trade_add_content_decimal(struct text *out, const struct scan_value *value);

/* The fingerprint of a canonical content. */
uint64_t trade_fingerprint(const char *content, size_t len);

#endif
