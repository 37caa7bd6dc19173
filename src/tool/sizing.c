#include "tool/sizing.h"

#include "store/bank.h"
#include "store/screen.h"

static uint64_t memory_of(struct bloom_shape shape)
{
    return bloom_memory(&(struct bloom){.shape = shape});
}

static struct sizing_part size_active(const struct screen *screen, uint32_t generation_keys)
{
    uint64_t rows = screen->config.segment_rows;
    struct bloom_shape column = screen_column_shape(screen, generation_keys, 0);
    uint64_t bytes =
        bank_memory_for(column, (uint32_t)((rows + generation_keys - 1) / generation_keys));

    return (struct sizing_part){column.hashes, (double)bytes * 8 / (double)rows, bytes};
}

static struct sizing_part size_sealed(const struct screen *screen)
{
    uint64_t keys = screen->config.capacity, rows = screen->config.segment_rows;
    uint64_t full = keys < rows ? keys : rows, rest = keys % full;
    struct bloom_shape shape = screen_sealed_shape(screen, full);
    struct sizing_part part = {.hashes = shape.hashes,
                               .bits_per_key = (double)shape.bits / (double)full,
                               .bytes = keys / full * memory_of(shape)};

    if (rest)
        part.bytes += memory_of(screen_sealed_shape(screen, rest));
    return part;
}

struct sizing sizing_make(uint64_t keys, double rate, uint64_t segment_rows, uint32_t generation_keys)
{
    /* only its configuration is asked */
    struct screen screen = {.config = {rate, keys, segment_rows}};
    struct bloom_shape shape = bloom_shape_for(keys, rate);
    struct sizing sizing = {.keys = keys,
                            .rate = rate,
                            .shape = shape,
                            .bytes = memory_of(shape),
                            .predicted = bloom_predict(shape, keys),
                            .fits_daemon =
                                keys <= SIZING_DAEMON_KEYS_MAX && rate >= SIZING_DAEMON_RATE_MIN};

    if (sizing.fits_daemon) {
        sizing.active = size_active(&screen, generation_keys);
        sizing.sealed = size_sealed(&screen);
    }
    return sizing;
}

uint64_t sizing_bytes(const struct sizing *sizing)
{
    return sizing->sealed.bytes + sizing->active.bytes;
}

uint64_t sizing_bytes_max(const struct sizing *sizing)
{
    return sizing_bytes(sizing) + sizing->active.bytes;
}
