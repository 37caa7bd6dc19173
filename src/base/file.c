#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PIECE_BYTES = 4096 };

int file_read(const char *file, size_t bytes_max, struct text *ret, struct err *err)
{
    FILE *stream = fopen(file, "re");
    size_t before = ret->len, n = 1;
    int result = 0;

    if (!stream)
        return err_set(err, ERR_CONFIG, "%s", strerror(errno));
    while (n && ret->len - before <= bytes_max) {
        n = fread(text_reserve(ret, PIECE_BYTES), 1, PIECE_BYTES, stream);
        ret->len += n;
    }
    if (ferror(stream))
        result = err_set(err, ERR_CONFIG, "%s", strerror(errno));
    else if (ret->len - before > bytes_max)
        result = err_set(err, ERR_CONFIG, "more than %zu bytes", bytes_max);
    fclose(stream);
    return result;
}
