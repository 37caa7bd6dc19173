/* file: whole small files. Any thread. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

#include "base/err.h"
#include "base/text.h"

/* Appends the file to ret. ERR_CONFIG says why not, without the name: the system's reason, or that it has
 * more than bytes_max bytes; of such a file hardly more than that is read. */
int file_read(const char *file, size_t bytes_max, struct text *ret, struct err *err);

#endif
