/* interrupt: SIGINT and SIGTERM as a descriptor, so that a wait can end in good order. */
#ifndef TOOL_INTERRUPT_H
#define TOOL_INTERRUPT_H

#include "base/err.h"

/* From now on both signals are held back and make the returned descriptor readable instead; close()
 * it. ERR_SYSTEM otherwise. */
int interrupt_open(struct err *err);

#endif
