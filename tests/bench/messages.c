#include "messages.h"

#include <string.h>

enum { ID_BYTES = 20, SOURCE_BYTES = MESSAGE_KEY_BYTES - ID_BYTES };

static const char source[] = "BINANCE/BTCUSDT/";
static const char before_id[] = "{\"source\":\"BINANCE\",\"symbol\":\"BTCUSDT\",\"id\":\"";
static const char after_id[] = "\",\"price\":\"68123.45\",\"quantity\":\"0.01500\",\"side\":\"buy\","
                               "\"time\":\"2026-12-01T14:30:00Z\"}\n";

enum { ID_AT = sizeof before_id - 1 };

_Static_assert(ID_AT + ID_BYTES + sizeof after_id - 1 == MESSAGE_LINE_BYTES, "the size that it says");
_Static_assert(sizeof source - 1 == SOURCE_BYTES, "the size that it says");

/* Distinct in, distinct out (the finaliser of SplitMix64). */
static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static void write_hex(char *ret, size_t digits, uint64_t n)
{
    for (; digits-- > 0; n >>= 4)
        ret[digits] = "0123456789abcdef"[n & 15];
}

static void write_id(char ret[ID_BYTES], enum message_ids ids, uint64_t n)
{
    if (ids == MESSAGE_RANDOM) {
        write_hex(ret, 16, mix(n));
        write_hex(ret + 16, 4, n);
        return;
    }
    ret[0] = '1';
    for (size_t i = ID_BYTES; i-- > 1; n /= 10)
        ret[i] = (char)('0' + n % 10);
}

void message_write(char *ret, enum message_ids ids, uint64_t n)
{
    memcpy(ret, before_id, ID_AT);
    write_id(ret + ID_AT, ids, n);
    memcpy(ret + ID_AT + ID_BYTES, after_id, sizeof after_id - 1);
}

void message_key(char *ret, enum message_ids ids, uint64_t n)
{
    memcpy(ret, source, SOURCE_BYTES);
    write_id(ret + SOURCE_BYTES, ids, n);
}

void message_key_of(char *ret, const char *line)
{
    memcpy(ret, source, SOURCE_BYTES);
    memcpy(ret + SOURCE_BYTES, line + ID_AT, ID_BYTES);
}

uint64_t message_choose(uint64_t i, uint64_t bound)
{
    return (uint64_t)((unsigned __int128)mix(i ^ 0x5851F42D4C957F2Du) * bound >> 64);
}

uint64_t message_choose_recent(uint64_t i, uint64_t stored)
{
    uint64_t recent = stored < MESSAGE_RECENT_MAX ? stored : MESSAGE_RECENT_MAX;

    return stored - recent + message_choose(i, recent);
}
