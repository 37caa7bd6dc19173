#include "input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "measure.h"

void input_read(struct input *input, const char *file)
{
    FILE *in = fopen(file, "rb");
    struct stat stat;

    measure_must(in && fstat(fileno(in), &stat) == 0, "%s: %s", file, strerror(errno));
    measure_must(stat.st_size > 0 && stat.st_size % MESSAGE_LINE_BYTES == 0, "%s: not ours", file);
    input->n = (uint64_t)stat.st_size / MESSAGE_LINE_BYTES;
    input->lines = mem_alloc((size_t)stat.st_size);
    measure_must(fread(input->lines, MESSAGE_LINE_BYTES, input->n, in) == input->n, "%s: %s", file,
                 strerror(errno));
    fclose(in);
}

void input_done(struct input *input)
{
    free(input->lines);
}

void input_report(const struct input *input, uint64_t fresh, int64_t began_us)
{
    measure_print("per_s", measure_per_s(input->n, began_us));
    measure_print("fresh", (double)fresh);
}
