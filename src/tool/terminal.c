#include "tool/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tool/output.h"

enum { COLUMNS_USUAL = 80, ROWS_USUAL = 24 };

static const char ENTER[] = "\033[?1049h\033[?25l", LEAVE[] = "\033[?25h\033[?1049l";

bool terminal_is_there(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

bool terminal_has_colours(void)
{
    const char *no = getenv("NO_COLOR");

    return !no || !*no;
}

bool terminal_has_blocks(void)
{
    return setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* A terminal that is gone shows itself in the next drawing or wait. */
static void write_control(const char *sequence)
{
    ssize_t n = write(STDOUT_FILENO, sequence, strlen(sequence));

    (void)n;
}

static void enter(struct terminal *terminal)
{
    struct termios keys = terminal->saved;

    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    if (terminal->keys)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
    write_control(ENTER);
}

static void leave(struct terminal *terminal)
{
    write_control(LEAVE);
    if (terminal->keys)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->saved);
}

int terminal_open(struct terminal *terminal, struct err *err)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    *terminal = (struct terminal){.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (terminal->signals < 0)
        return err_set(err, ERR_SYSTEM, "signals: %s", strerror(errno));
    terminal->keys = tcgetattr(STDIN_FILENO, &terminal->saved) == 0;
    enter(terminal);
    return 0;
}

void terminal_close(struct terminal *terminal)
{
    if (terminal->signals < 0)
        return;
    leave(terminal);
    close(terminal->signals);
    terminal->signals = -1;
}

void terminal_size(unsigned *ret_columns, unsigned *ret_rows)
{
    struct winsize size = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;

    *ret_columns = known ? size.ws_col : COLUMNS_USUAL;
    *ret_rows = known ? size.ws_row : ROWS_USUAL;
}

/* The last line gets no line feed, which would scroll a full screen. */
int terminal_draw(const struct text *lines, struct err *err)
{
    struct text out = {0};

    text_add_str(&out, "\033[H");
    for (size_t i = 0; i < lines->len; i++) {
        bool last = i + 1 == lines->len;

        if (lines->at[i] == '\n')
            text_add_str(&out, last ? "\033[K" : "\033[K\n");
        else
            text_add_char(&out, lines->at[i]);
    }
    text_add_str(&out, "\033[J");
    int result = output_write(&out, err);

    text_done(&out);
    return result;
}

static enum terminal_event take_key(void)
{
    char key = 0;
    ssize_t n = read(STDIN_FILENO, &key, 1);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return TERMINAL_REDRAW;
    return n <= 0 || key == 'q' || key == 'Q' ? TERMINAL_QUIT : TERMINAL_REDRAW;
}

static enum terminal_event take_signal(struct terminal *terminal)
{
    struct signalfd_siginfo info = {0};
    ssize_t n = read(terminal->signals, &info, sizeof info);

    if (n != (ssize_t)sizeof info || info.ssi_signo == SIGWINCH)
        return TERMINAL_REDRAW;
    if (info.ssi_signo != SIGTSTP)
        return TERMINAL_QUIT;
    leave(terminal);
    raise(SIGSTOP);
    enter(terminal);
    return TERMINAL_REDRAW;
}

enum terminal_event terminal_wait(struct terminal *terminal, int timeout_ms)
{
    struct pollfd fds[] = {{.fd = terminal->signals, .events = POLLIN},
                           {.fd = terminal->keys ? STDIN_FILENO : -1, .events = POLLIN}};
    int n = poll(fds, 2, timeout_ms);

    if (n == 0)
        return TERMINAL_TIME;
    if (n < 0)
        return errno == EINTR ? TERMINAL_REDRAW : TERMINAL_QUIT;
    return fds[0].revents ? take_signal(terminal) : take_key();
}
