#include "tool/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

int interrupt_open(struct err *err)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);

    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

    return fd < 0 ? err_set(err, ERR_SYSTEM, "signals: %s", strerror(errno)) : fd;
}
