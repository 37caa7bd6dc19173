#include "daemon/notify.h"

#include <systemd/sd-daemon.h>

void notify_ready(const char *status)
{
    sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void notify_status(const char *status)
{
    sd_notifyf(0, "STATUS=%s", status);
}

void notify_stopping(void)
{
    sd_notify(0, "STOPPING=1\nSTATUS=stopping: answering what was read");
}

void notify_watchdog(void)
{
    sd_notify(0, "WATCHDOG=1");
}

void notify_extend(unsigned seconds)
{
    sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%llu", seconds * 1000000ULL);
}

uint64_t notify_watchdog_us(void)
{
    uint64_t us = 0;

    return sd_watchdog_enabled(0, &us) > 0 ? us : 0;
}
