/* command: the subcommands of tradesieve. Each reads its own command line (argv[0] is its name),
 * writes its result to stdout and what is wrong to err. Main thread.
 *
 * Returns the exit code, or a negative err_code whose message main prints. */
#ifndef TOOL_COMMAND_H
#define TOOL_COMMAND_H

#include "base/err.h"

int command_send(int argc, char **argv, struct err *err);
int command_gen(int argc, char **argv, struct err *err);
int command_stats(int argc, char **argv, struct err *err);
int command_check(int argc, char **argv, struct err *err);
int command_audit(int argc, char **argv, struct err *err);
int command_size(int argc, char **argv, struct err *err);
int command_simulate(int argc, char **argv, struct err *err);
int command_export(int argc, char **argv, struct err *err);

#endif
