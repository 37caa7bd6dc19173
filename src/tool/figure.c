#include "tool/figure.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

static const double PERCENT_MIN = 1e-6; /* below, more decimals say nothing to people */
static const double ROUND = 0.9995; /* from here on three digits round up to the next power of ten */

void figure_add_count(struct text *out, uint64_t n, unsigned width)
{
    char digits[26];
    size_t at = sizeof digits;

    for (unsigned i = 0; i == 0 || n > 0; i++, n /= 10) {
        if (i > 0 && i % 3 == 0)
            digits[--at] = ',';
        digits[--at] = (char)('0' + n % 10);
    }
    for (size_t len = sizeof digits - at; len < width; len++)
        text_add_char(out, ' ');
    text_add(out, digits + at, sizeof digits - at);
}

void figure_add_percent(struct text *out, double rate)
{
    double percent = rate * 100;
    int decimals = 1;

    if (percent > 0 && percent < PERCENT_MIN) {
        text_add_str(out, "< 0.000001 %");
        return;
    }
    for (double edge = 10; percent > 0 && percent < edge * ROUND && decimals < 9; edge /= 10)
        decimals++;
    text_add_format(out, percent > 0 ? "%.*f %%" : "0 %%", decimals, percent);
}

void figure_add_bytes(struct text *out, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;

    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    text_add_format(out, "%.*f %s", unit > 0, bytes, units[unit]);
}

/* Divides by 1000 until it is below, and writes three significant digits; returns how often. */
static size_t add_three_digits(struct text *out, double n, size_t units)
{
    size_t unit = 0;

    for (; n >= 1000 * ROUND && unit + 1 < units; unit++)
        n /= 1000;
    text_add_format(out, "%.*f", unit == 0 || n >= 100 * ROUND ? 0 : n < 10 * ROUND ? 2 : 1, n);
    return unit;
}

void figure_add_short(struct text *out, double n)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};

    text_add_str(out, units[add_three_digits(out, n, sizeof units / sizeof *units)]);
}

void figure_add_decimal_bytes(struct text *out, double bytes)
{
    static const char *const units[] = {" B", " KB", " MB", " GB", " TB", " PB"};

    text_add_str(out, units[add_three_digits(out, bytes, sizeof units / sizeof *units)]);
}

void figure_add_duration(struct text *out, double seconds)
{
    double minutes = floor(seconds / 60), hours = floor(seconds / 3600), days = floor(seconds / 86400);

    if (minutes < 1)
        text_add_format(out, "%.1f s", seconds);
    else if (hours < 1)
        text_add_format(out, "%.0f min %.0f s", minutes, floor(seconds - minutes * 60));
    else if (days < 1)
        text_add_format(out, "%.0f h %.0f min", hours, minutes - hours * 60);
    else
        text_add_format(out, "%.0f d %.0f h", days, hours - days * 24);
}

void figure_add_bar(struct text *out, double fraction, unsigned cells)
{
    double filled = fraction > 0 ? round((fraction < 1 ? fraction : 1) * cells) : 0;

    text_add_char(out, '[');
    for (unsigned i = 0; i < cells; i++)
        text_add_char(out, i < filled ? '#' : '.');
    text_add_char(out, ']');
}

void figure_align_right(struct text *out, size_t begin, size_t width)
{
    size_t len = out->len - begin;

    if (len >= width)
        return;
    text_reserve(out, width - len);
    memmove(out->at + begin + (width - len), out->at + begin, len);
    memset(out->at + begin, ' ', width - len);
    out->len += width - len;
}

void figure_add_foreign(struct text *out, const char *at, size_t len)
{
    for (size_t i = 0; i < len;) {
        const unsigned char *c = (const unsigned char *)at + i;
        size_t n = utf8_length(at + i, len - i);
        bool control = c[0] < 0x20 || c[0] == 0x7f || (n == 2 && c[0] == 0xc2 && c[1] < 0xa0);

        if (n > 0 && !control) {
            text_add(out, c, n);
            i += n;
            continue;
        }
        text_add_format(out, "\\x%02x", c[0]);
        i++;
        if (n == 2)
            text_add_format(out, "\\x%02x", at[i++] & 0xff);
    }
}
