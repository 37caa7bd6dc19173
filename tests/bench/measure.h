/* measure: how a benchmark program speaks: a line "NAME VALUE" for every sample on stdout, and one line
 * on stderr and exit 1 when something is not as it must be. */
#ifndef TESTS_BENCH_MEASURE_H
#define TESTS_BENCH_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

void measure_print(const char *name, double value);

/* Ends the program unless ok. */
void measure_must(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Things a second, and nanoseconds a thing, since a moment (clock_mono_us). */
double measure_per_s(uint64_t things, int64_t since_us);
double measure_ns(uint64_t things, int64_t since_us);

/* A whole number from the command line; ends the program when it is none. */
uint64_t measure_number(const char *text);

#endif
