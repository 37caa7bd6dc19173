#include "store/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/catalog.h"

enum {
    KIND_BANK = 1,
    KIND_CLASSIC = 2,
    CHECKSUM_BYTES = crypto_generichash_BYTES,
    WORDS_MAX = 1 << 20, /* of a bank's row */
};

static const char magic[8] = "TSVBLM2\n";

/* The first bytes of the file, in the machine's order (little-endian wherever Debian runs today; another
 * order fails the magic's companion `order`). Then for a bank `columns` struct column_entry, then the
 * bits, then the BLAKE2b of all before. */
struct head {
    char magic[8];
    uint32_t order; /* 0x01020304 */
    uint32_t kind;
    unsigned char segment_id[SEGMENT_ID_BYTES];
    unsigned char secret_check[crypto_shorthash_BYTES];
    int64_t last_seq;
    uint64_t last_hash;
    int64_t run;      /* of struct snapshot_origin */
    uint64_t bits;    /* m */
    uint32_t hashes;  /* k */
    uint32_t words;   /* of a bank's row; 0 for a classic filter */
    uint32_t columns; /* of a bank; 0 */
    uint32_t reserved;
    uint64_t keys;     /* of a classic filter; 0 */
    uint64_t bits_set; /* of a classic filter; 0 */
};

struct column_entry {
    uint64_t keys, bits_set;
    int64_t first_seq;
};

struct snapshot_writer {
    char *dir;
    char name[SEGMENT_NAME_MAX];
    int fd;
    bool summed;                  /* the checksum itself is not summed */
    crypto_generichash_state sum; /* of all bytes so far */
    const unsigned char *bits;    /* the filter's memory */
    size_t bits_len, at;          /* bytes of it; written so far */
};

static void check_secret(unsigned char ret[crypto_shorthash_BYTES],
                         const unsigned char secret[BLOOM_KEY_BYTES])
{
    crypto_shorthash(ret, (const unsigned char *)magic, sizeof magic, secret);
}

static struct head head_for(uint32_t kind, const struct snapshot_origin *origin)
{
    struct head head = {
        .order = 0x01020304,
        .kind = kind,
        .last_seq = origin->last_seq,
        .last_hash = origin->last_hash,
        .run = origin->run,
    };

    memcpy(head.magic, magic, sizeof magic);
    memcpy(head.segment_id, origin->segment_id, sizeof head.segment_id);
    check_secret(head.secret_check, origin->secret);
    return head;
}

/* ---- writing ---- */

static int put(struct snapshot_writer *writer, const void *bytes, size_t len, struct err *err)
{
    const unsigned char *at = bytes;

    if (!writer->summed)
        crypto_generichash_update(&writer->sum, at, len);
    while (len > 0) {
        ssize_t n = write(writer->fd, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(err, errno == ENOSPC ? ERR_FULL : ERR_IO, "%s.bloom: %s", writer->name,
                           strerror(errno));
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

static struct snapshot_writer *begin(const char *dir, const char *name, const void *bits,
                                     size_t bits_len, struct err *err)
{
    struct snapshot_writer *writer = mem_zalloc_aligned(64, sizeof *writer);
    char path[CATALOG_PATH_MAX];

    writer->dir = mem_strdup(dir);
    snprintf(writer->name, sizeof writer->name, "%s", name);
    writer->bits = bits;
    writer->bits_len = bits_len;
    crypto_generichash_init(&writer->sum, NULL, 0, CHECKSUM_BYTES);
    catalog_path(path, dir, name, ".bloom.new");
    writer->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (writer->fd >= 0)
        return writer;
    err_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
    snapshot_abandon(writer);
    return NULL;
}

struct snapshot_writer *snapshot_begin(const char *dir, const char *name,
                                       const struct snapshot_origin *origin, const struct bank *bank,
                                       const int64_t *first_seqs, struct err *err)
{
    struct snapshot_writer *writer = begin(dir, name, bank->bits, bank_memory(bank), err);
    struct head head = head_for(KIND_BANK, origin);

    if (!writer)
        return NULL;
    head.bits = bank->shape.bits;
    head.hashes = bank->shape.hashes;
    head.words = bank->words;
    head.columns = bank->columns;
    int ret = put(writer, &head, sizeof head, err);

    for (uint32_t i = 0; i < bank->columns && ret == 0; i++) {
        struct column_entry entry = {
            .keys = bank->column[i].keys,
            .bits_set = bank->column[i].bits_set,
            .first_seq = first_seqs[i],
        };

        ret = put(writer, &entry, sizeof entry, err);
    }
    if (ret == 0)
        return writer;
    snapshot_abandon(writer);
    return NULL;
}

int snapshot_step(struct snapshot_writer *writer, bool *ret_done, struct err *err)
{
    size_t rest = writer->bits_len - writer->at;
    size_t len = rest < SNAPSHOT_SLICE_BYTES ? rest : SNAPSHOT_SLICE_BYTES;

    if (put(writer, writer->bits + writer->at, len, err) < 0)
        return err->code;
    sync_file_range(writer->fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* a wish */
    writer->at += len;
    *ret_done = writer->at == writer->bits_len;
    return 0;
}

static void free_writer(struct snapshot_writer *writer)
{
    if (writer->fd >= 0)
        close(writer->fd);
    free(writer->dir);
    free(writer);
}

int snapshot_finish(struct snapshot_writer *writer, struct err *err)
{
    unsigned char sum[CHECKSUM_BYTES];

    crypto_generichash_final(&writer->sum, sum, sizeof sum);
    writer->summed = true;
    int ret = put(writer, sum, sizeof sum, err);

    if (close(writer->fd) < 0 && ret == 0)
        ret = err_set(err, ERR_IO, "%s.bloom: %s", writer->name, strerror(errno));
    writer->fd = -1;
    if (ret == 0)
        ret = catalog_publish(writer->dir, writer->name, ".bloom.new", ".bloom", err);
    free_writer(writer);
    return ret;
}

void snapshot_abandon(struct snapshot_writer *writer)
{
    char path[CATALOG_PATH_MAX];

    if (!writer)
        return;
    catalog_path(path, writer->dir, writer->name, ".bloom.new");
    unlink(path);
    free_writer(writer);
}

int snapshot_write_classic(const char *dir, const char *name, const struct snapshot_origin *origin,
                           const struct bloom *bloom, struct err *err)
{
    struct snapshot_writer *writer = begin(dir, name, bloom->words, bloom_memory(bloom), err);
    struct head head = head_for(KIND_CLASSIC, origin);
    bool done = false;

    if (!writer)
        return err->code;
    head.bits = bloom->shape.bits;
    head.hashes = bloom->shape.hashes;
    head.keys = bloom->keys;
    head.bits_set = bloom->bits_set;
    int ret = put(writer, &head, sizeof head, err);

    while (ret == 0 && !done)
        ret = snapshot_step(writer, &done, err);
    if (ret == 0)
        return snapshot_finish(writer, err);
    snapshot_abandon(writer);
    return ret;
}

/* ---- reading ---- */

struct reader {
    int fd;
    uint64_t file_bytes;
    bool summed;                  /* the checksum itself is not summed */
    crypto_generichash_state sum; /* of all bytes so far */
    const char *why;              /* not usable: the first reason */
};

static bool refuse(struct reader *reader, const char *why)
{
    if (!reader->why)
        reader->why = why;
    return false;
}

static bool get(struct reader *reader, void *ret, size_t len)
{
    unsigned char *at = ret;

    for (size_t have = 0; have < len;) {
        size_t want = len - have < SNAPSHOT_SLICE_BYTES ? len - have : SNAPSHOT_SLICE_BYTES;
        ssize_t n = read(reader->fd, at + have, want);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return refuse(reader, n < 0 ? strerror(errno) : "cut short");
        if (!reader->summed) /* slice by slice, while it is in the cache */
            crypto_generichash_update(&reader->sum, at + have, (size_t)n);
        have += (size_t)n;
    }
    return true;
}

static bool get_head(struct reader *reader, uint32_t kind, const struct snapshot_origin *origin,
                     struct bloom_shape expected, struct head *ret)
{
    struct head ours = head_for(kind, origin);

    if (!get(reader, ret, sizeof *ret))
        return false;
    if (memcmp(ret->magic, ours.magic, sizeof ours.magic) != 0 || ret->order != ours.order ||
        ret->kind != kind)
        return refuse(reader, "of another format");
    if (memcmp(ret->segment_id, ours.segment_id, sizeof ours.segment_id) != 0)
        return refuse(reader, "of another segment");
    if (memcmp(ret->secret_check, ours.secret_check, sizeof ours.secret_check) != 0)
        return refuse(reader, "made with another filter.key");
    bool any = expected.bits == 0 && ret->bits >= BLOOM_BITS_MIN &&
               ret->bits / 8 <= reader->file_bytes && ret->hashes >= 1 &&
               ret->hashes <= BLOOM_HASHES_MAX;

    if (!any && (ret->bits != expected.bits || ret->hashes != expected.hashes))
        return refuse(reader, "of another shape");
    return true;
}

static struct bloom_shape shape_of(const struct head *head)
{
    return (struct bloom_shape){.bits = head->bits, .hashes = head->hashes};
}

/* Before anything is allocated: the file is exactly as long as its head says. */
static bool check_size(struct reader *reader, const struct head *head, size_t bits_len)
{
    if (head->words > WORDS_MAX || head->columns > (uint64_t)head->words * 64 ||
        reader->file_bytes !=
            sizeof *head + head->columns * sizeof(struct column_entry) + bits_len + CHECKSUM_BYTES)
        return refuse(reader, "damaged or cut short");
    return true;
}

static bool check_end(struct reader *reader)
{
    unsigned char sum[CHECKSUM_BYTES], stored[CHECKSUM_BYTES], more;

    crypto_generichash_final(&reader->sum, sum, sizeof sum);
    reader->summed = true;
    if (!get(reader, stored, sizeof stored))
        return false;
    if (memcmp(sum, stored, sizeof sum) != 0 || read(reader->fd, &more, 1) != 0)
        return refuse(reader, "damaged");
    return true;
}

static bool open_reader(struct reader *reader, const char *dir, const char *name)
{
    char path[CATALOG_PATH_MAX];
    struct stat info;

    catalog_path(path, dir, name, ".bloom");
    *reader = (struct reader){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (reader->fd < 0)
        return refuse(reader, errno == ENOENT ? "not there" : strerror(errno));
    if (fstat(reader->fd, &info) < 0)
        return refuse(reader, strerror(errno));
    reader->file_bytes = (uint64_t)info.st_size;
    crypto_generichash_init(&reader->sum, NULL, 0, CHECKSUM_BYTES);
    return true;
}

static void close_reader(struct reader *reader, const char **why)
{
    if (reader->fd >= 0)
        close(reader->fd);
    *why = reader->why;
}

static bool get_columns(struct reader *reader, struct bank *bank, uint32_t columns, int64_t *first_seqs)
{
    struct column_entry entry;

    for (uint32_t i = 0; i < columns; i++) {
        if (!get(reader, &entry, sizeof entry))
            return false;
        bank_begin_column(bank);
        bank->column[i] = (struct bank_column){.keys = entry.keys, .bits_set = entry.bits_set};
        first_seqs[i] = entry.first_seq;
    }
    return true;
}

bool snapshot_read_bank(const char *dir, const char *name, struct snapshot_origin *origin,
                        struct bloom_shape expected, struct bank *ret, int64_t **ret_first_seqs,
                        const char **why)
{
    struct reader reader;
    struct head head;
    bool ok = open_reader(&reader, dir, name) &&
              get_head(&reader, KIND_BANK, origin, expected, &head) &&
              check_size(&reader, &head, head.bits * head.words * sizeof *ret->bits);

    if (ok) {
        bank_init(ret, shape_of(&head), head.words ? head.words * 64 : 1);
        *ret_first_seqs = mem_zalloc(head.columns, sizeof **ret_first_seqs);
        ok = (ret->words == head.words || refuse(&reader, "damaged")) &&
             get_columns(&reader, ret, head.columns, *ret_first_seqs) &&
             get(&reader, ret->bits, bank_memory(ret)) && check_end(&reader);
        if (!ok) {
            bank_done(ret);
            free(*ret_first_seqs);
        }
        origin->last_seq = head.last_seq;
        origin->last_hash = head.last_hash;
        origin->run = head.run;
    }
    close_reader(&reader, why);
    return ok;
}

bool snapshot_read_classic(const char *dir, const char *name, struct snapshot_origin *origin,
                           struct bloom_shape expected, struct bloom *ret, const char **why)
{
    struct reader reader;
    struct head head;
    bool ok = open_reader(&reader, dir, name) &&
              get_head(&reader, KIND_CLASSIC, origin, expected, &head) &&
              check_size(&reader, &head, (head.bits + 63) / 64 * 8);

    if (ok) {
        bloom_init(ret, shape_of(&head));
        ret->keys = head.keys;
        ret->bits_set = head.bits_set;
        ok = get(&reader, ret->words, bloom_memory(ret)) && check_end(&reader);
        if (!ok)
            bloom_done(ret);
        origin->last_seq = head.last_seq;
        origin->last_hash = head.last_hash;
        origin->run = head.run;
    }
    close_reader(&reader, why);
    return ok;
}
