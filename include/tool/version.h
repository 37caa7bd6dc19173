/* version: what --version prints, of the tool and of each subcommand. */
#ifndef TOOL_VERSION_H
#define TOOL_VERSION_H

#define VERSION_LINE "tradesieve " TRADESIEVE_VERSION "\n"

#endif
