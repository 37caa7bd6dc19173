/* export: writes the stored trades to stdout, one a line, in seq order.
 *
 * 1. Is a daemon at work on the directory? Then it goes on, and files are opened as any reader of SQLite
 *    opens them; else it is kept away meanwhile, and files are opened so that nothing changes.
 * 2. Each segment in turn, a buffer's worth of rows at a time. Between two buffers no file is being read,
 *    so that a slow taker of the output keeps no daemon from moving its WAL.
 * 3. A seq that is missing is counted: the rest is still written, and the exit code says it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "daemon/lock.h"
#include "store/catalog.h"
#include "store/segment.h"
#include "tool/command.h"
#include "tool/options.h"
#include "tool/output.h"

static const char help[] =
    "usage: tradesieve export [OPTION...] DATA_DIR\n"
    "\n"
    "Writes the stored trades in the order of their seq, one JSON object a line, whether a daemon\n"
    "runs or not. A listener with feed replay takes them back.\n"
    "\n"
    "  --from SEQ    begin with this one (default 1)\n"
    "  --to SEQ      end with this one (default: the last)\n"
    "  --messages    the messages alone, each as it was received; trades without one are left out\n"
    "  --conflicts   the versions kept beside the trades, instead of the trades\n"
    "  --help, --version\n"
    "\n"
    "Exit code: 0, 65 when trades in between are missing or a file is damaged, 71, 74.\n";

struct exporter {
    const char *dir;
    uint64_t from_seq, to_seq;
    bool messages, conflicts;
    bool live;             /* a daemon is at work on the directory */
    struct text lines;     /* not yet written */
    int64_t next_seq;      /* of the trade that must come next; 0: none has come */
    int64_t first_missing; /* 0: none */
    uint64_t missing;
    int64_t last_seq; /* of the line that was added last */
    uint64_t last_fingerprint;
    uint64_t no_message; /* trades left out of --messages */
};

enum { BUFFER_FULL = 1 }; /* stops a reader, who goes on behind the row */

static void add_line(struct text *out, const struct segment_row *row)
{
    text_add_str(out, "{\"seq\":");
    text_add_i64(out, row->seq);
    text_add_str(out, ",\"key\":");
    text_add_json(out, row->key, row->key_len);
    text_add_str(out, ",\"feed\":");
    text_add_json(out, row->feed, row->feed_len);
    text_add_str(out, ",\"fingerprint\":\"");
    text_add_hex64(out, row->fingerprint);
    text_add_str(out, "\",\"received\":\"");
    text_add_time_us(out, row->received_us);
    text_add_str(out, "\",\"message\":");
    if (row->message)
        text_add(out, row->message, row->message_len); /* JSON as it came */
    else
        text_add_str(out, "null");
    text_add_str(out, "}\n");
}

static int export_row(void *arg, const struct segment_row *row, struct err *err)
{
    struct exporter *e = arg;

    (void)err;
    if (!e->messages)
        add_line(&e->lines, row);
    else if (row->message) {
        text_add(&e->lines, row->message, row->message_len);
        text_add_char(&e->lines, '\n');
    } else
        e->no_message++;
    e->last_seq = row->seq;
    e->last_fingerprint = row->fingerprint;
    return e->lines.len >= OUTPUT_BYTES ? BUFFER_FULL : 0;
}

static int export_trade(void *arg, const struct segment_row *row, struct err *err)
{
    struct exporter *e = arg;

    if (e->next_seq && row->seq != e->next_seq) {
        e->missing += (uint64_t)(row->seq - e->next_seq);
        e->first_missing = e->first_missing ? e->first_missing : e->next_seq;
    }
    e->next_seq = row->seq + 1;
    return export_row(e, row, err);
}

static int export_conflict(void *arg, const struct segment_row *row, struct err *err)
{
    struct exporter *e = arg;

    return row->seq <= (int64_t)e->to_seq ? export_row(e, row, err) : 0;
}

static int read_on(struct exporter *e, struct segment *segment, struct err *err)
{
    if (e->conflicts)
        return segment_read_conflicts(segment, e->last_seq, e->last_fingerprint, export_conflict, e,
                                      err);
    return segment_read(segment, e->last_seq + 1, (int64_t)e->to_seq, export_trade, e, err);
}

static int export_segment(struct exporter *e, const char *name, struct err *err)
{
    struct segment_meta meta;
    struct segment *segment;
    int result = e->live ? segment_open(&segment, e->dir, name, false, &meta, err)
                         : segment_open_still(&segment, e->dir, name, &meta, err);

    if (result < 0)
        return result;
    if (!e->next_seq) /* of a row before the first segment nobody can say that it is missing */
        e->next_seq = meta.first_seq > (int64_t)e->from_seq ? meta.first_seq : (int64_t)e->from_seq;
    e->last_seq = (int64_t)e->from_seq - 1;
    e->last_fingerprint = INT64_MAX;
    do {
        result = read_on(e, segment, err);
        if (result >= 0 && output_write(&e->lines, err) < 0)
            result = err->code;
        e->lines.len = 0;
    } while (result == BUFFER_FULL);
    segment_close(segment);
    return result;
}

static int export_segments(struct exporter *e, struct err *err)
{
    struct catalog_entry *entries;
    size_t n;
    int result = catalog_list(e->dir, &entries, &n, err);

    if (result < 0)
        return result;
    if (n == 0)
        result = err_set(err, ERR_SYSTEM, "%s: no segment of tradesieve is there", e->dir);
    output_widen();
    for (size_t i = 0; i < n && result == 0; i++)
        result = export_segment(e, entries[i].name, err);
    free(entries);
    text_done(&e->lines);
    return result;
}

static int say_what_lacks(const struct exporter *e, struct err *err)
{
    if (e->no_message)
        fprintf(stderr, "tradesieve: export: %" PRIu64 " trades were stored without a message\n",
                e->no_message);
    return e->missing
               ? err_set(err, ERR_CORRUPT, "%" PRIu64 " trades are missing, the first is %" PRId64,
                         e->missing, e->first_missing)
               : 0;
}

static int read_options(int argc, char **argv, struct exporter *e, bool *ret_done, struct err *err)
{
    const struct option_row rows[] = {
        {.name = "from", OPTION_COUNT, &e->from_seq, .min = 1, .max = INT64_MAX},
        {.name = "to", OPTION_COUNT, &e->to_seq, .min = 1, .max = INT64_MAX},
        {.name = "messages", OPTION_FLAG, &e->messages},
        {.name = "conflicts", OPTION_FLAG, &e->conflicts},
    };
    const struct options table = {.help = help, .rows = rows, .rows_n = sizeof rows / sizeof *rows};
    int operands = options_read(&table, argc, argv, ret_done, err);

    if (operands < 0 || *ret_done)
        return operands;
    if (operands != 1 || !argv[1][0])
        return err_set(err, ERR_USAGE, "one DATA_DIR is needed; --help tells more");
    e->dir = argv[1];
    return 0;
}

int command_export(int argc, char **argv, struct err *err)
{
    struct exporter e = {.from_seq = 1, .to_seq = INT64_MAX};
    bool done = false;
    int lock = -1;
    int result = read_options(argc, argv, &e, &done, err);

    if (result < 0 || done)
        return result;
    segment_start_library();
    result = lock_share(e.dir, &lock, err);
    e.live = result == ERR_LOCKED;
    if (result == 0 || e.live)
        result = export_segments(&e, err);
    if (result == 0)
        result = say_what_lacks(&e, err);
    if (lock >= 0)
        close(lock);
    return result;
}
