/* mem: allocation that never returns NULL.
 *
 * A daemon whose every crash is harmless (nothing is acknowledged before it is durable) may end when
 * memory ends: these print one line on stderr and leave with exit code 71, as a kill would. That is
 * the one place below the daemon's main file that ends the process. Any thread. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t bytes);                            /* uninitialised; free() it */
void *mem_zalloc(size_t count, size_t bytes);             /* zeroed, count * bytes checked */
void *mem_realloc(void *old, size_t count, size_t bytes); /* like realloc, count * bytes checked */
char *mem_strdup(const char *text);
void *mem_zalloc_aligned(size_t alignment, size_t bytes); /* a power of two; zeroed; free() it */

/* Zeroed pages of their own, for filters: they count as resident only once touched. */
void *mem_map(size_t bytes);
void mem_populate(void *pages, size_t bytes); /* touches them all now, in large pages where there are */
void mem_unmap(void *pages, size_t bytes);    /* NULL is fine */

#endif
