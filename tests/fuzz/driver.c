/* The main of a fuzz target where there is no libFuzzer: replays inputs, and each of the short ones cut
 * after every byte.
 *
 *   fuzz_NAME [FILE...]     without a FILE: all of tests/fuzz/corpus/NAME
 *
 * Prints the name of each input before it runs, so that the last one printed is the one that failed,
 * and closes with the counts that scripts/run-tests reads. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "fuzz.h"

enum { INPUT_BYTES_MAX = 1 << 20, CUT_BYTES_MAX = 512 };

/* Each input in memory of its own and exactly as long, so that a sanitizer sees what reads behind it. */
static void run(const char *bytes, size_t len)
{
    uint8_t *copy = mem_alloc(len ? len : 1);

    memcpy(copy, bytes, len);
    LLVMFuzzerTestOneInput(copy, len);
    free(copy);
}

static int replay(const char *file)
{
    struct text input = {0};
    struct err err;

    puts(file);
    if (file_read(file, INPUT_BYTES_MAX, &input, &err) < 0) {
        printf("%s: %s\n", file, err.text);
        return EXIT_FAILURE;
    }
    text_terminate(&input);
    run(input.at, input.len);
    for (size_t len = 0; len < input.len && input.len <= CUT_BYTES_MAX; len++)
        run(input.at, len);
    text_done(&input);
    return EXIT_SUCCESS;
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay_corpus(const char *program, int *ret_n)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;
    int failed = EXIT_SUCCESS;
    struct dirent **entries;
    char path[512];

    name += strncmp(name, "fuzz_", 5) == 0 ? 5 : 0;
    snprintf(path, sizeof path, "tests/fuzz/corpus/%s", name);
    *ret_n = scandir(path, &entries, is_input, alphasort);
    if (*ret_n <= 0) {
        printf("%s: no inputs\n", path);
        return EXIT_FAILURE;
    }
    for (int i = 0; i < *ret_n; i++) {
        snprintf(path, sizeof path, "tests/fuzz/corpus/%s/%s", name, entries[i]->d_name);
        failed |= replay(path);
        free(entries[i]);
    }
    free(entries);
    return failed;
}

int main(int argc, char **argv)
{
    int n = argc - 1, failed = EXIT_SUCCESS;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2)
        failed = replay_corpus(argv[0], &n);
    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    if (failed == EXIT_SUCCESS)
        printf("counts: %d 0 0\n", n);
    return failed;
}
