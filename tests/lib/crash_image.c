#include "crash_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum {
    SECTOR_BYTES = 512,
    QUARTERS = 4, /* the share of changes that reach the disk is a number of these */
};

struct indexes {
    size_t *at; /* in the journal, ascending */
    size_t n;
};

struct file {
    struct text durable;    /* what is synced */
    struct indexes pending; /* later writes and truncations */
};

struct entry {
    char name[DISK_NAME_MAX];
    unsigned file;
};

struct directory {
    struct entry *entries;
    size_t n;
};

struct crash_disk {
    struct file *files; /* by number - 1 */
    unsigned files_n;
    struct directory durable;
    struct indexes pending; /* creations, renames and unlinks */
    size_t at;              /* changes before it are played */
};

static void add_index(struct indexes *indexes, size_t at)
{
    indexes->at = mem_realloc(indexes->at, indexes->n + 1, sizeof *indexes->at);
    indexes->at[indexes->n++] = at;
}

/* ---- bytes ---- */

/* What stands in a file where nothing has been written. */
enum gap { GAP_ZERO, GAP_NOISE, GAP_STALE, GAPS };

static void fill_stale(struct store_random *random, char *at, size_t len)
{
    const struct disk_change *change = &disk_changes()[store_random_below(random, disk_now())];

    memset(at, 0, len);
    if (change->kind == DISK_WRITE)
        memcpy(at, change->bytes, change->len < len ? change->len : len);
}

static void fill_gap(enum gap gap, struct store_random *random, char *at, size_t len)
{
    if (gap == GAP_STALE) {
        fill_stale(random, at, len);
        return;
    }
    for (size_t i = 0; i < len; i++)
        at[i] = gap == GAP_NOISE ? (char)store_random_next(random) : 0;
}

static void grow(struct text *bytes, size_t len, enum gap gap, struct store_random *random)
{
    if (len <= bytes->len)
        return;
    size_t more = len - bytes->len;

    fill_gap(gap, random, text_reserve(bytes, more), more);
    bytes->len = len;
}

static void overwrite(struct text *bytes, const struct disk_change *change, size_t from, size_t to,
                      enum gap gap, struct store_random *random)
{
    grow(bytes, change->offset + from, gap, random);
    if (change->offset + to > bytes->len) {
        text_reserve(bytes, change->offset + to - bytes->len);
        bytes->len = change->offset + to;
    }
    memcpy(bytes->at + change->offset + from, change->bytes + from, to - from);
}

static void truncate_to(struct text *bytes, size_t len)
{
    grow(bytes, len, GAP_ZERO, NULL);
    bytes->len = len;
}

static void apply(struct text *bytes, const struct disk_change *change)
{
    if (change->kind == DISK_TRUNCATE)
        truncate_to(bytes, change->offset);
    else
        overwrite(bytes, change, 0, change->len, GAP_ZERO, NULL);
}

/* Each sector of a write by itself. */
static void apply_torn(struct text *bytes, const struct disk_change *change, enum gap gap,
                       struct store_random *random)
{
    for (size_t from = 0, to; from < change->len; from = to) {
        to = from + SECTOR_BYTES - (change->offset + from) % SECTOR_BYTES;
        if (to > change->len)
            to = change->len;
        if (store_random_below(random, 2))
            overwrite(bytes, change, from, to, gap, random);
    }
}

/* One later change of a file, as far as it got. */
static void apply_some(struct text *bytes, const struct disk_change *change, bool under_way,
                       enum gap gap, struct store_random *random)
{
    if (change->kind == DISK_TRUNCATE)
        truncate_to(bytes, change->offset);
    else if (under_way)
        overwrite(bytes, change, 0, store_random_below(random, change->len + 1), gap, random);
    else if (store_random_below(random, 4))
        overwrite(bytes, change, 0, change->len, gap, random);
    else
        apply_torn(bytes, change, gap, random);
}

static void later_changes(const struct crash_disk *disk, const struct file *file, struct text *bytes,
                          struct store_random *random)
{
    uint64_t share = store_random_below(random, QUARTERS + 1);
    enum gap gap = (enum gap)store_random_below(random, GAPS);
    size_t longest = 0;

    for (size_t i = 0; i < file->pending.n; i++) {
        const struct disk_change *change = &disk_changes()[file->pending.at[i]];
        size_t end = change->offset + change->len;

        if (store_random_below(random, QUARTERS) < share)
            apply_some(bytes, change, file->pending.at[i] + 1 == disk->at, gap, random);
        longest = longest < end ? end : longest;
    }
    if (store_random_below(random, 2))
        grow(bytes, longest, gap, random);
}

/* ---- names ---- */

static struct entry *find_entry(struct directory *directory, const char *name)
{
    for (size_t i = 0; i < directory->n; i++)
        if (strcmp(directory->entries[i].name, name) == 0)
            return &directory->entries[i];
    return NULL;
}

static void clear_entry(struct directory *directory, const char *name, unsigned file)
{
    struct entry *entry = find_entry(directory, name);

    if (entry && entry->file == file)
        *entry = directory->entries[--directory->n];
}

static void set_entry(struct directory *directory, const char *name, unsigned file)
{
    struct entry *entry = find_entry(directory, name);

    if (!entry) {
        directory->entries =
            mem_realloc(directory->entries, directory->n + 1, sizeof *directory->entries);
        entry = &directory->entries[directory->n++];
        memcpy(entry->name, name, sizeof entry->name);
    }
    entry->file = file;
}

static void apply_name(struct directory *directory, const struct disk_change *change)
{
    if (change->kind != DISK_CREATE)
        clear_entry(directory, change->name, change->file);
    if (change->kind != DISK_UNLINK)
        set_entry(directory, change->kind == DISK_RENAME ? change->to : change->name, change->file);
}

static struct directory copy_directory(const struct directory *from)
{
    struct directory ret = {.n = from->n};

    ret.entries = mem_realloc(NULL, from->n + 1, sizeof *ret.entries);
    if (from->n)
        memcpy(ret.entries, from->entries, from->n * sizeof *ret.entries);
    return ret;
}

static void later_names(const struct crash_disk *disk, struct directory *directory,
                        struct store_random *random, enum crash_names names)
{
    uint64_t share = store_random_below(random, QUARTERS + 1);
    size_t first = store_random_below(random, disk->pending.n + 1);

    for (size_t i = 0; i < disk->pending.n; i++)
        if (names == CRASH_NAMES_IN_ORDER ? i < first : store_random_below(random, QUARTERS) < share)
            apply_name(directory, &disk_changes()[disk->pending.at[i]]);
}

/* ---- playing ---- */

struct crash_disk *crash_disk_open(void)
{
    struct crash_disk *disk = mem_zalloc(1, sizeof *disk);

    disk->files_n = disk_files();
    disk->files = mem_zalloc(disk->files_n + 1, sizeof *disk->files);
    return disk;
}

void crash_disk_close(struct crash_disk *disk)
{
    for (unsigned i = 0; i < disk->files_n; i++) {
        text_done(&disk->files[i].durable);
        free(disk->files[i].pending.at);
    }
    free(disk->files);
    free(disk->durable.entries);
    free(disk->pending.at);
    free(disk);
}

static void sync_file(struct file *file)
{
    for (size_t i = 0; i < file->pending.n; i++)
        apply(&file->durable, &disk_changes()[file->pending.at[i]]);
    file->pending.n = 0;
}

static void sync_names(struct crash_disk *disk)
{
    for (size_t i = 0; i < disk->pending.n; i++)
        apply_name(&disk->durable, &disk_changes()[disk->pending.at[i]]);
    disk->pending.n = 0;
}

static void play(struct crash_disk *disk, size_t at)
{
    const struct disk_change *change = &disk_changes()[at];
    struct file *file = change->file ? &disk->files[change->file - 1] : NULL;

    switch (change->kind) {
    case DISK_WRITE:
    case DISK_TRUNCATE:
        add_index(&file->pending, at);
        break;
    case DISK_SYNC:
        sync_file(file);
        break;
    case DISK_CREATE:
    case DISK_RENAME:
    case DISK_UNLINK:
        add_index(&disk->pending, at);
        break;
    case DISK_SYNC_DIRECTORY:
        sync_names(disk);
        break;
    }
}

void crash_disk_play(struct crash_disk *disk, size_t at)
{
    while (disk->at < at)
        play(disk, disk->at++);
}

/* ---- images ---- */

static void write_file(const char *dir, const char *name, const struct text *bytes)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes->at, 1, bytes->len, file), bytes->len);
    ck_assert_int_eq(fclose(file), 0);
}

/* random NULL: every change, whole. */
static void write_files(const struct crash_disk *disk, const struct directory *directory,
                        struct store_random *random, const char *dir)
{
    struct text bytes = {0};

    for (size_t i = 0; i < directory->n; i++) {
        const struct file *file = &disk->files[directory->entries[i].file - 1];

        bytes.len = 0;
        text_add(&bytes, file->durable.at, file->durable.len);
        if (random)
            later_changes(disk, file, &bytes, random);
        for (size_t n = 0; !random && n < file->pending.n; n++)
            apply(&bytes, &disk_changes()[file->pending.at[n]]);
        write_file(dir, directory->entries[i].name, &bytes);
    }
    text_done(&bytes);
}

void crash_disk_image(const struct crash_disk *disk, struct store_random *random,
                      enum crash_names names, const char *dir)
{
    struct directory directory = copy_directory(&disk->durable);

    later_names(disk, &directory, random, names);
    write_files(disk, &directory, random, dir);
    free(directory.entries);
}

void crash_disk_whole(const struct crash_disk *disk, const char *dir)
{
    struct directory directory = copy_directory(&disk->durable);

    for (size_t i = 0; i < disk->pending.n; i++)
        apply_name(&directory, &disk_changes()[disk->pending.at[i]]);
    write_files(disk, &directory, NULL, dir);
    free(directory.entries);
}
