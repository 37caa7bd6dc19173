/* write_messages: the messages of one run on stdout, for every system the same.
 *
 *   write_messages random|sequential FIRST N    messages FIRST to FIRST + N - 1
 *   write_messages recent STORED N              N repeats of the latest of STORED random ones */
#include <stdio.h>
#include <string.h>

#include "measure.h"
#include "messages.h"

int main(int argc, char **argv)
{
    char line[MESSAGE_LINE_BYTES];

    measure_must(argc == 4, "usage: write_messages random|sequential|recent FIRST|STORED N");
    bool recent = strcmp(argv[1], "recent") == 0;
    uint64_t first = measure_number(argv[2]), n = measure_number(argv[3]);
    enum message_ids ids = strcmp(argv[1], "sequential") == 0 ? MESSAGE_SEQUENTIAL : MESSAGE_RANDOM;

    for (uint64_t i = 0; i < n; i++) {
        message_write(line, ids, recent ? message_choose_recent(i, first) : first + i);
        fwrite(line, 1, sizeof line, stdout);
    }
    measure_must(fflush(stdout) == 0, "cannot write");
    return 0;
}
