#include "tool/tally.h"

#include <string.h>

#include "tool/figure.h"

uint64_t tally_trades(const struct tally *tally)
{
    uint64_t trades = 0;

    for (int i = VERDICT_NEW; i < VERDICT_COUNT; i++)
        trades += tally->verdicts[i];
    return trades;
}

double tally_trades_per_s(const struct tally *tally)
{
    return tally->seconds > 0 ? (double)tally_trades(tally) / tally->seconds : 0;
}

static void add_row(struct text *out, const char *name, uint64_t n)
{
    text_add_format(out, "%-11s", name);
    figure_add_count(out, n, 15);
    text_add_char(out, '\n');
}

void tally_add_summary(const struct tally *tally, struct text *out)
{
    add_row(out, "lines", tally->lines);
    add_row(out, "answered", tally->answered);
    for (int i = VERDICT_NEW; i < VERDICT_COUNT; i++)
        add_row(out, verdict_name((enum verdict)i), tally->verdicts[i]);
    add_row(out, "resent", tally->resent);
    add_row(out, "reconnects", tally->reconnects);
    text_add_format(out, "%-11s%15.3f\n%-11s", "seconds", tally->seconds, "trades/s");
    figure_add_count(out, (uint64_t)tally_trades_per_s(tally), 15);
    text_add_char(out, '\n');
}

void tally_add_json(const struct tally *tally, struct text *out)
{
    text_add_str(out, "{\"lines\":");
    text_add_u64(out, tally->lines);
    text_add_str(out, ",\"answered\":");
    text_add_u64(out, tally->answered);
    for (int i = VERDICT_NEW; i < VERDICT_COUNT; i++) {
        text_add_format(out, ",\"%s\":", verdict_name((enum verdict)i));
        text_add_u64(out, tally->verdicts[i]);
    }
    text_add_str(out, ",\"resent\":");
    text_add_u64(out, tally->resent);
    text_add_str(out, ",\"reconnects\":");
    text_add_u64(out, tally->reconnects);
    text_add_format(out, ",\"seconds\":%.6f,\"trades_per_s\":%.1f}\n", tally->seconds,
                    tally_trades_per_s(tally));
}
