/* lock: one daemon a data directory, or any number of readers of one that stands still. Main thread. */
#ifndef DAEMON_LOCK_H
#define DAEMON_LOCK_H

#include "base/err.h"

/* Creates data_dir (not its parent) if it is missing and locks it with flock(2) on
 * data_dir/tradesieve.lock, into which it writes our process ID. The lock lasts until *ret_fd is closed
 * or the process ends in any way; the file stays. ERR_LOCKED names the other daemon's process ID,
 * ERR_SYSTEM the reason. */
int lock_take(const char *data_dir, int *ret_fd, struct err *err);

/* Keeps any daemon away while the directory is read, and changes nothing in it. *ret_fd is -1, and
 * nobody is kept away, where no lock file is: in a copy. ERR_LOCKED as above, ERR_SYSTEM. */
int lock_share(const char *data_dir, int *ret_fd, struct err *err);

#endif
