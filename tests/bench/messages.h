/* messages: the trades that every benchmark sends: canonical lines of one size, numbered from 0.
 *
 * Message n differs from the others in its ID alone, which is random to look at (a bijection of n) or
 * sequential. Pure; any thread. */
#ifndef TESTS_BENCH_MESSAGES_H
#define TESTS_BENCH_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

enum {
    MESSAGE_BYTES = 150,         /* without its line feed */
    MESSAGE_LINE_BYTES = 151,    /* with it */
    MESSAGE_KEY_BYTES = 36,      /* BINANCE/BTCUSDT/ and the ID */
    MESSAGE_RECENT_MAX = 100000, /* the latest trades: those are the recent ones */
};

enum message_ids { MESSAGE_RANDOM, MESSAGE_SEQUENTIAL };

/* MESSAGE_LINE_BYTES bytes, line feed included, not terminated. */
void message_write(char *ret, enum message_ids ids, uint64_t n);

/* Its key, MESSAGE_KEY_BYTES bytes, not terminated: from its number, and from its line. */
void message_key(char *ret, enum message_ids ids, uint64_t n);
void message_key_of(char *ret, const char *line);

/* A number that looks random, below bound: the i-th choice. */
uint64_t message_choose(uint64_t i, uint64_t bound);

/* One of the latest of `stored` messages, and any of them. */
uint64_t message_choose_recent(uint64_t i, uint64_t stored);

#endif
