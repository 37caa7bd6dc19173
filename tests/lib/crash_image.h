/* crash_image: what a disk may hold after the power went at some change of the journal.
 *
 * Everything that was synced is there. Of the later changes to a file any may have reached the disk, in
 * any order: all, none, or some of the 512-byte sectors of each; the one under way may end at any byte.
 * What a file grew by without its bytes being written reads as zeroes, as noise, or as what some other
 * file once had there. Of the later changes to the directory either the first few happened (ext4 and xfs
 * keep their order), or any. fsync of a file says nothing about its name. */
#ifndef TESTS_LIB_CRASH_IMAGE_H
#define TESTS_LIB_CRASH_IMAGE_H

#include "disk_journal.h"
#include "store_fixture.h"

enum crash_names {
    CRASH_NAMES_IN_ORDER,
    CRASH_NAMES_INDEPENDENT,
};

/* A disk on which the journal is played, forward only. */
struct crash_disk;
struct crash_disk *crash_disk_open(void);
void crash_disk_close(struct crash_disk *disk);

/* Plays the journal's changes before index `at`. */
void crash_disk_play(struct crash_disk *disk, size_t at);

/* Writes one of the many possible images into dir, which is empty. The disk is as before. */
void crash_disk_image(const struct crash_disk *disk, struct store_random *random,
                      enum crash_names names, const char *dir);

/* Writes what a kill without a power cut would leave: every change, whole. */
void crash_disk_whole(const struct crash_disk *disk, const char *dir);

#endif
