/* lock: one daemon a data directory. Main thread. */
#ifndef DAEMON_LOCK_H
#define DAEMON_LOCK_H

#include "base/err.h"

/* Creates data_dir (not its parent) if it is missing and locks it with flock(2) on
 * data_dir/tradesieve.lock, into which it writes our process ID. The lock lasts until *ret_fd is closed
 * or the process ends in any way; the file stays. ERR_LOCKED names the other daemon's process ID,
 * ERR_SYSTEM the reason. */
int lock_take(const char *data_dir, int *ret_fd, struct err *err);

#endif
