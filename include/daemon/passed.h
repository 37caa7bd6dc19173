/* passed: listening sockets that the service manager opened and passes on (sd_listen_fds), so that they
 * outlive the daemon and a restart refuses no connection. Main thread, once, before anything listens.
 *
 * A socket goes to the listener that its name says, "listeners[0]" (FileDescriptorName), or to "http";
 * under any other name to whichever has its very address as bind. What has none binds for itself. */
#ifndef DAEMON_PASSED_H
#define DAEMON_PASSED_H

#include "base/err.h"
#include "daemon/config.h"

/* Fills in passed_fd of the listeners and of http. ERR_CONFIG names a socket that nobody would accept
 * from, that two claim, that is no listening stream socket, or that others can reach where the
 * configuration allows none of it; ERR_SYSTEM: the descriptors themselves are not in order. */
int passed_take(struct config *config, struct err *err);

#endif
