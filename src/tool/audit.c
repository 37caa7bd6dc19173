/* audit: whether a stopped daemon's directory keeps what the daemon promised.
 *
 * 1. No daemon may run (a shared lock on its lock file); nothing in the directory changes.
 * 2. Names: what belongs to no segment, and whether the newest segment is there.
 * 3. Pass 1, segment by segment: the file, its rows, its filter, its rejects.
 * 4. Pass 2, all keys in order: none twice, and the sealed keys are these keys.
 * 5. Pass 3: conflicts against their trades.
 *
 * A file that cannot be read is a finding; the others are still looked at. */
#include "tool/audit.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/lock.h"
#include "tool/command.h"
#include "tool/figure.h"
#include "tool/options.h"

enum { PROGRESS_US = 100000, BAR_CELLS = 24 };

static const char help[] =
    "usage: tradesieve audit DATA_DIR\n"
    "\n"
    "Looks at everything in the data directory of a daemon that does not run, and changes nothing:\n"
    "each file's integrity, seq without gaps, no key twice in all segments, every stored key\n"
    "`maybe` in its filter and present in its sealed keys, conflicts and rejects. A line for each\n"
    "finding, then one with the counts.\n"
    "\n"
    "  --help, --version\n"
    "\n"
    "Exit code: 0 no findings, 1 findings, 71 the directory cannot be read, 75 a daemon has it.\n";

/* ---- findings and progress ---- */

void audit_find(struct audit *audit, struct audit_segment *segment, const char *format, ...)
{
    va_list args;

    audit->findings++;
    if (segment && segment->said++ >= AUDIT_LINES_MAX)
        return;
    if (audit->terminal)
        fputs("\r\033[K", stderr);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

void audit_end_pass(struct audit *audit, struct audit_segment *segment)
{
    (void)audit;
    if (segment->said > AUDIT_LINES_MAX)
        printf("%s: %" PRIu64 " findings more, which are not written out\n", segment->name,
               segment->said - AUDIT_LINES_MAX);
    segment->said = 0;
}

void audit_progress(struct audit *audit, uint64_t rows)
{
    struct text line = {0};
    int64_t now_us;

    audit->work_done += rows;
    if (!audit->terminal || (now_us = clock_mono_us()) < audit->next_us)
        return;
    double part = audit->work ? (double)audit->work_done / (double)audit->work : 0;

    text_add_char(&line, '\r');
    figure_add_bar(&line, part < 1 ? part : 1, BAR_CELLS);
    text_add_format(&line, " %3.0f %%  %" PRIu64 " findings\033[K", part < 1 ? part * 100 : 100,
                    audit->findings);
    fwrite(line.at, 1, line.len, stderr);
    text_done(&line);
    audit->next_us = now_us + PROGRESS_US;
}

const char *audit_key(struct text *out, const char *key, size_t len)
{
    out->len = 0;
    figure_add_foreign(out, key, len);
    return text_terminate(out);
}

/* ---- names ---- */

static bool has_segment(const struct audit *audit, const char *name)
{
    for (size_t i = 0; i < audit->segments_n; i++)
        if (strcmp(audit->segments[i].name, name) == 0)
            return true;
    return false;
}

/* Leftovers of a crash, which the next start removes, are none; nor are files of other names. */
static void judge_name(void *arg, const char *file)
{
    struct audit *audit = arg;
    char name[SEGMENT_NAME_MAX];
    const char *suffix;

    if (strncmp(file, "trades-", 7) != 0)
        return;
    if (!catalog_parse(file, name, &suffix))
        audit_find(audit, NULL, "%s: no file of tradesieve", file);
    else if (!has_segment(audit, name) && !strstr(suffix, ".new") && strcmp(suffix, ".expired") != 0) {
        char expired[CATALOG_PATH_MAX];

        catalog_path(expired, audit->dir, name, ".expired");
        if (access(expired, F_OK) < 0)
            audit_find(audit, NULL, "%s: its segment is not there", file);
    }
}

static void judge_names(struct audit *audit)
{
    struct catalog_entry newest;
    struct err err;
    const char *last = audit->segments[audit->segments_n - 1].name;

    if (catalog_walk(audit->dir, judge_name, audit, &err) < 0 ||
        catalog_read_newest(audit->dir, &newest, &err) < 0)
        audit_find(audit, NULL, "%s", err.text);
    else if (newest.number > strtoull(strrchr(last, '-') + 1, NULL, 10))
        audit_find(audit, NULL, "%s.db: the newest segment is not there", newest.name);
    audit->has_secret = catalog_read_secret(audit->dir, audit->secret);
}

/* ---- the segments ---- */

/* Opens a segment and holds its first seq against the end of the one before it. */
static void open_segment(struct audit *audit, size_t i)
{
    struct audit_segment *segment = &audit->segments[i];
    const struct audit_segment *older = i ? &audit->segments[i - 1] : NULL;
    struct segment_totals totals;
    struct err err;

    if (segment_open_still(&segment->db, audit->dir, segment->name, &segment->meta, &err) < 0 ||
        segment_totals(segment->db, &totals, &err) < 0) {
        audit_find(audit, segment, "%s", err.text);
        segment_close(segment->db);
        segment->db = NULL;
        return;
    }
    segment->last_seq = totals.last_seq;
    segment->rows = totals.last_seq >= segment->meta.first_seq
                        ? (uint64_t)(totals.last_seq - segment->meta.first_seq + 1)
                        : 0;
    audit->work += 3 * segment->rows;
    if (older && older->db && older->last_seq + 1 != segment->meta.first_seq)
        audit_find(audit, segment, "%s.db: begins with seq %" PRId64 ", but %s.db ends with %" PRId64,
                   segment->name, segment->meta.first_seq, older->name, older->last_seq);
}

static int open_segments(struct audit *audit, struct err *err)
{
    struct catalog_entry *entries;
    int code = catalog_list(audit->dir, &entries, &audit->segments_n, err);

    if (code < 0)
        return code;
    if (audit->segments_n == 0) {
        free(entries);
        return err_set(err, ERR_SYSTEM, "%s: no segment of tradesieve is there", audit->dir);
    }
    audit->segments = mem_zalloc(audit->segments_n, sizeof *audit->segments);
    for (size_t i = 0; i < audit->segments_n; i++)
        memcpy(audit->segments[i].name, entries[i].name, sizeof entries[i].name);
    free(entries);
    for (size_t i = 0; i < audit->segments_n; i++)
        open_segment(audit, i);
    return 0;
}

static void close_segments(struct audit *audit)
{
    for (size_t i = 0; i < audit->segments_n; i++) {
        sealed_close(audit->segments[i].keys);
        segment_close(audit->segments[i].db);
    }
    free(audit->segments);
}

/* ---- the command ---- */

/* Two descriptors a segment: as many as we may have. */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit); /* a wish */
    }
}

static void add_count(struct text *out, uint64_t n, const char *what)
{
    figure_add_count(out, n, 0);
    text_add_char(out, ' ');
    text_add_str(out, what);
}

static void say_result(const struct audit *audit, int64_t begin_us)
{
    struct text line = {0};

    if (audit->terminal)
        fputs("\r\033[K", stderr);
    add_count(&line, audit->findings, "findings in ");
    add_count(&line, audit->segments_n, "segments, ");
    add_count(&line, audit->rows, "trades, ");
    add_count(&line, audit->conflicts, "conflicts, ");
    add_count(&line, audit->rejects, "rejects; ");
    figure_add_duration(&line, (double)(clock_mono_us() - begin_us) / 1e6);
    puts(text_terminate(&line));
    text_done(&line);
}

static int run(struct audit *audit, struct err *err)
{
    int64_t begin_us = clock_mono_us();
    int code = open_segments(audit, err);

    if (code == 0) {
        judge_names(audit);
        for (size_t i = 0; i < audit->segments_n; i++)
            audit_segment(audit, i);
        audit_keys(audit);
        audit_conflicts(audit);
        say_result(audit, begin_us);
        code = audit->findings ? 1 : 0;
    }
    close_segments(audit);
    return code;
}

int command_audit(int argc, char **argv, struct err *err)
{
    const struct options table = {.help = help};
    struct audit audit = {.terminal = isatty(STDERR_FILENO)};
    bool done = false;
    int lock = -1;
    int operands = options_read(&table, argc, argv, &done, err);

    if (operands < 0 || done)
        return operands;
    if (operands != 1 || !argv[1][0])
        return err_set(err, ERR_USAGE, "one DATA_DIR is needed; --help tells more");
    audit.dir = argv[1];
    segment_start_library();
    raise_descriptors();
    if (sodium_init() < 0)
        return err_set(err, ERR_SYSTEM, "libsodium cannot start");
    int code = lock_share(audit.dir, &lock, err);

    if (code == 0)
        code = run(&audit, err);
    if (lock >= 0)
        close(lock);
    return code;
}
