/* notify: what systemd is told (sd_notify). Does nothing without NOTIFY_SOCKET. Main thread. */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

#include <stdint.h>

void notify_ready(const char *status);
void notify_status(const char *status); /* one line for `systemctl status` */
void notify_stopping(void);             /* with the status of a stop's first part */
void notify_watchdog(void);

/* The start or the stop takes long and goes on: so many more seconds from now, if that is later than the
 * unit allows anyway. */
void notify_extend(unsigned seconds);

/* The interval in microseconds within which notify_watchdog must be called; 0: no watchdog. */
uint64_t notify_watchdog_us(void);

#endif
