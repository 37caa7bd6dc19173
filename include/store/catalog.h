/* catalog: the names of what lies in the data directory, and the steps that make a file appear whole
 * or not at all. Knows no SQLite. Any thread; no state. */
#ifndef STORE_CATALOG_H
#define STORE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/figures.h"

enum { CATALOG_PATH_MAX = 4096 };

/* DIR/NAME + suffix. */
void catalog_path(char ret[CATALOG_PATH_MAX], const char *dir, const char *name, const char *suffix);

/* "trades-20261201-000001" */
void catalog_name(char ret[SEGMENT_NAME_MAX], int64_t day, uint64_t number);

/* Whether files can be made in dir by this process: ERR_SYSTEM names it and says why not. */
int catalog_check(const char *dir, struct err *err);

struct catalog_entry {
    char name[SEGMENT_NAME_MAX];
    uint64_t number; /* the six or more digits: orders the segments */
};

/* The segments of dir in order of their numbers; *ret is the caller's to free. ERR_SYSTEM, ERR_IO;
 * ERR_CORRUPT for two segments with one number. */
int catalog_list(const char *dir, struct catalog_entry **ret, size_t *ret_n, struct err *err);

/* Removes what a crash left of files that were never published (NAME.*.new) or were on their way out
 * (NAME.expired). ERR_SYSTEM, ERR_IO. */
int catalog_tidy(const char *dir, struct err *err);

/* Every name in dir, "." and ".." too, in no order. ERR_SYSTEM, ERR_IO. */
int catalog_walk(const char *dir, void (*on_file)(void *arg, const char *file), void *arg,
                 struct err *err);

/* Whether a file's name is one that a segment's files have: the segment, and the rest from the dot on. */
bool catalog_parse(const char *file, char ret_name[SEGMENT_NAME_MAX], const char **ret_suffix);

/* fsync NAME+from, rename it to NAME+to, fsync the directory. */
int catalog_publish(const char *dir, const char *name, const char *from, const char *to,
                    struct err *err);
void catalog_remove_temporary(const char *dir, const char *name);

/* Removes what is left of a segment that was renamed to NAME.expired: its derived files first. */
void catalog_remove_expired(const char *dir, const char *name);

/* Removes NAME+suffix, if it is there. */
void catalog_remove(const char *dir, const char *name, const char *suffix);

/* Bytes of NAME+suffix on disk; 0 when it is not there. */
uint64_t catalog_bytes(const char *dir, const char *name, const char *suffix);

/* The kind of network file system that dir is on, or NULL: there locks and syncs are others' promises, and
 * SQLite's WAL mode has its index in memory that only one machine shares. */
const char *catalog_network_file_system(const char *dir);

/* Bytes that a non-root process may still fill on the file system of dir. */
int catalog_free_bytes(const char *dir, uint64_t *ret, struct err *err);

/* The file `newest` names the newest segment that was ever published, so that a start knows when that one
 * is lost: nothing follows it that could tell. Noted only after the segment is durable, so a crash can
 * leave the note behind the directory, never ahead of it. read: ret->number 0 when there is no note;
 * ERR_CORRUPT, ERR_IO when it cannot be read. */
int catalog_read_newest(const char *dir, struct catalog_entry *ret, struct err *err);
int catalog_note_newest(const char *dir, const char *name, struct err *err);

/* The secret that keys the hash, filter.key; a new one (*ret_new) when it is missing or damaged. */
enum { CATALOG_SECRET_BYTES = 16 };
int catalog_secret(const char *dir, unsigned char ret[CATALOG_SECRET_BYTES], bool *ret_new,
                   struct err *err);

/* The same without making one: false when it is missing or damaged. */
bool catalog_read_secret(const char *dir, unsigned char ret[CATALOG_SECRET_BYTES]);

#endif
