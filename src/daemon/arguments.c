#include "daemon/arguments.h"

#include <getopt.h>
#include <stddef.h>

#include "base/address.h"

const char arguments_usage[] =
    "usage: tradesieved [--config FILE] [--data-dir DIR] [--listen ADDR:PORT] [--http ADDR:PORT]\n"
    "                   [--endpoints-file FILE] [--check-config] [--version] [--help]\n"
    "\n"
    "  --config FILE          the configuration; " ARGUMENTS_DEFAULT_FILE "\n"
    "                         if that is there, else the built-in defaults\n"
    "  --data-dir DIR         where trades are stored\n"
    "  --listen ADDR:PORT     one canonical listener in place of the configured ones\n"
    "  --http ADDR:PORT       statistics\n"
    "  --endpoints-file FILE  write the addresses there once everything listens (for port 0)\n"
    "  --check-config         check the configuration and every feed profile, then stop\n"
    "  --version, --help      print and stop\n";

static int check_address_option(const char *name, const char *text, bool unix_too, struct err *err)
{
    struct address address;

    if (!text)
        return 0;
    if (address_parse(&address, text, err) < 0) {
        err->code = ERR_USAGE;
        return err_prefix(err, "%s", name);
    }
    if (address.sockaddr.ss_family == AF_UNIX && !unix_too)
        return err_set(err, ERR_USAGE, "%s: %s: not ADDR:PORT or [IPV6]:PORT", name, text);
    return 0;
}

static int refuse_option(int found, char **argv, struct err *err)
{
    const char *last = argv[optind - 1];

    if (found == ':')
        return err_set(err, ERR_USAGE, "%s: wants a value (see --help)", last);
    if (optopt > 0 && optopt < 256)
        return err_set(err, ERR_USAGE, "-%c: unknown option (see --help)", optopt);
    if (optopt)
        return err_set(err, ERR_USAGE, "%s: takes no value (see --help)", last);
    return err_set(err, ERR_USAGE, "%s: unknown option (see --help)", last);
}

int arguments_parse(struct arguments *ret, int argc, char **argv, struct err *err)
{
    enum { CONFIG = 256, DATA_DIR, LISTEN, HTTP, ENDPOINTS_FILE, CHECK_CONFIG, VERSION, HELP };
    static const struct option names[] = {{"config", required_argument, NULL, CONFIG},
                                          {"data-dir", required_argument, NULL, DATA_DIR},
                                          {"listen", required_argument, NULL, LISTEN},
                                          {"http", required_argument, NULL, HTTP},
                                          {"endpoints-file", required_argument, NULL, ENDPOINTS_FILE},
                                          {"check-config", no_argument, NULL, CHECK_CONFIG},
                                          {"version", no_argument, NULL, VERSION},
                                          {"help", no_argument, NULL, HELP},
                                          {NULL, 0, NULL, 0}};
    const char **values[] = {&ret->config, &ret->data_dir, &ret->listen, &ret->http,
                             &ret->endpoints_file};
    int found;

    *ret = (struct arguments){0};
    optind = 0; /* GNU: begin afresh */
    opterr = 0;
    while ((found = getopt_long(argc, argv, ":", names, NULL)) != -1) {
        if (found == ':' || found == '?')
            return refuse_option(found, argv, err);
        if (found <= ENDPOINTS_FILE && !*optarg)
            return err_set(err, ERR_USAGE, "--%s: an empty value", names[found - CONFIG].name);
        if (found <= ENDPOINTS_FILE)
            *values[found - CONFIG] = optarg;
        ret->check_config |= found == CHECK_CONFIG;
        ret->version |= found == VERSION;
        ret->help |= found == HELP;
    }
    if (optind < argc)
        return err_set(err, ERR_USAGE, "%s: an argument that is no option (see --help)", argv[optind]);
    if (check_address_option("--listen", ret->listen, true, err) < 0)
        return err->code;
    return check_address_option("--http", ret->http, false, err);
}
