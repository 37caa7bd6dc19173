#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Noreturn void out_of_memory(size_t bytes)
{
    fprintf(stderr, "tradesieve: out of memory (%zu bytes asked)\n", bytes);
    _exit(71);
}

void *mem_alloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);

    if (!p)
        out_of_memory(bytes);
    return p;
}

void *mem_zalloc(size_t count, size_t bytes)
{
    void *p = calloc(count ? count : 1, bytes ? bytes : 1);

    if (!p)
        out_of_memory(bytes);
    return p;
}

void *mem_realloc(void *old, size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes)
        out_of_memory(SIZE_MAX);
    size_t total = count * bytes;
    void *p = realloc(old, total > 0 ? total : 1);

    if (!p)
        out_of_memory(total);
    return p;
}

char *mem_strdup(const char *text)
{
    size_t len = strlen(text) + 1;

    return memcpy(mem_alloc(len), text, len);
}

void *mem_zalloc_aligned(size_t alignment, size_t bytes)
{
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void *p = aligned_alloc(alignment, rounded);

    if (!p)
        out_of_memory(rounded);
    return memset(p, 0, rounded);
}

void *mem_map(size_t bytes)
{
    void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        out_of_memory(bytes);
    return p;
}

void mem_populate(void *pages, size_t bytes)
{
    madvise(pages, bytes, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
    madvise(pages, bytes, MADV_POPULATE_WRITE); /* Linux 5.14; without it the first keys touch them */
#endif
}

void mem_unmap(void *pages, size_t bytes)
{
    if (pages)
        munmap(pages, bytes ? bytes : 1);
}
