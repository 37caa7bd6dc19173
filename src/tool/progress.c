#include "tool/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool/figure.h"

enum { BAR_CELLS = 24, WIDTH_USUAL = 80 };

void progress_init(struct progress *progress, FILE *to)
{
    *progress = (struct progress){.to = isatty(fileno(to)) ? to : NULL};
}

void progress_done(struct progress *progress)
{
    text_done(&progress->line);
}

bool progress_is_on(const struct progress *progress)
{
    return progress->to != NULL;
}

static unsigned terminal_width(FILE *terminal)
{
    struct winsize size;

    return ioctl(fileno(terminal), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                              : WIDTH_USUAL;
}

static void draw(struct progress *progress, const struct tally *tally, double part)
{
    progress->line.len = 0;
    text_add_char(&progress->line, '\r');
    /* one column stays free: a full last column makes some terminals go to the next line */
    progress_add_line(&progress->line, tally, part, terminal_width(progress->to) - 1);
    text_add_str(&progress->line, "\033[K");
    fwrite(progress->line.at, 1, progress->line.len, progress->to);
    fflush(progress->to);
    progress->drawn = true;
}

void progress_tick(struct progress *progress, const struct tally *tally, double part)
{
    int64_t now_us = progress->to ? clock_mono_us() : 0;

    if (!progress->to || now_us < progress->next_us)
        return;
    draw(progress, tally, part);
    progress->next_us = now_us + PROGRESS_INTERVAL_MS * 1000;
}

void progress_finish(struct progress *progress, const struct tally *tally, double part)
{
    if (!progress->to)
        return;
    draw(progress, tally, part);
    fputc('\n', progress->to);
}

void progress_clear(struct progress *progress)
{
    if (!progress->drawn)
        return;
    fputs("\r\033[K", progress->to);
    progress->drawn = false;
    progress->next_us = 0;
}

static void add_counts(struct text *out, const struct tally *tally)
{
    figure_add_count(out, tally_trades(tally), 0);
    text_add_str(out, " trades  ");
    figure_add_count(out, (uint64_t)tally_trades_per_s(tally), 0);
    text_add_str(out, "/s");
    for (int i = VERDICT_NEW; i < VERDICT_COUNT; i++) {
        if (tally->verdicts[i] == 0 && i > VERDICT_CONFLICT)
            continue;
        text_add_format(out, "  %s ", verdict_name((enum verdict)i));
        figure_add_count(out, tally->verdicts[i], 0);
    }
}

void progress_add_line(struct text *out, const struct tally *tally, double part, unsigned width)
{
    size_t begin = out->len;

    if (part >= 0) {
        figure_add_bar(out, part, BAR_CELLS);
        text_add_format(out, " %3.0f %%  ", part * 100);
    }
    add_counts(out, tally);
    if (out->len - begin > width)
        out->len = begin + width;
}
