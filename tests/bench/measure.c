#include "measure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

void measure_print(const char *name, double value)
{
    printf("%s %.9g\n", name, value);
    fflush(stdout);
}

void measure_must(bool ok, const char *format, ...)
{
    va_list arguments;

    if (ok)
        return;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

double measure_per_s(uint64_t things, int64_t since_us)
{
    return (double)things * 1e6 / (double)(clock_mono_us() - since_us);
}

double measure_ns(uint64_t things, int64_t since_us)
{
    return (double)(clock_mono_us() - since_us) * 1e3 / (double)things;
}

uint64_t measure_number(const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10);

    measure_must(*text >= '0' && *text <= '9' && !*end, "%s is no number", text);
    return n;
}
