/* disk_journal: every change that a test program makes to the files of one directory, SQLite's included,
 * noted down call by call, so that a power cut can be played afterwards (crash_image.h).
 *
 * The source defines open, close, write, pwrite, ftruncate, rename, unlink, fsync and fdatasync in place
 * of the C library's, in every test program; one that defines some of them itself keeps its own. Until
 * something here is switched on they are the system's calls and nothing else. Any thread may change
 * files; the functions below are for one thread, while no other is at work. A -shm file is no part of the
 * journal: it is memory that happens to have a name. */
#ifndef TESTS_LIB_DISK_JOURNAL_H
#define TESTS_LIB_DISK_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From now on fsync and fdatasync return at once: what the tests write vanishes with them. */
void disk_never_sync(void);

enum { DISK_NAME_MAX = 64 };

enum disk_change_kind {
    DISK_WRITE,
    DISK_TRUNCATE,
    DISK_SYNC, /* fsync or fdatasync of a file: its bytes and its length */
    DISK_CREATE,
    DISK_RENAME,
    DISK_UNLINK,
    DISK_SYNC_DIRECTORY,
};

struct disk_change {
    enum disk_change_kind kind;
    unsigned file;   /* counted from 1 in order of creation; a rename keeps it */
    uint64_t offset; /* write: of the first byte; truncate: the new length */
    size_t len;      /* write: how many bytes */
    unsigned char *bytes;
    char name[DISK_NAME_MAX]; /* create, unlink, rename: in the directory */
    char to[DISK_NAME_MAX];   /* rename: the new name */
};

/* A disk that claims to have synced what it has not: what the harness has to notice. */
enum disk_lie {
    DISK_HONEST,
    DISK_FORGETS_WAL,      /* fsync of a -wal, which is what synchronous=NORMAL leaves out */
    DISK_FORGETS_DATABASE, /* of a .db, before its WAL is written over */
    DISK_FORGETS_RENAMES,  /* of the directory, after a rename */
};

/* Starts a journal of dir. It begins with what is there already, created, written and synced. Files of
 * dir that are open already are not seen. */
void disk_record(const char *dir, enum disk_lie lie);
void disk_stop(void);

/* How many changes there are so far: those before an index have happened, the others not. */
size_t disk_now(void);
const struct disk_change *disk_changes(void);
unsigned disk_files(void); /* the highest file number */

void disk_forget(void); /* frees the journal */

#endif
