/* bench_wire: a sender that is no bottleneck: one connection to the daemon, ack each, as fast as the
 * daemon answers.
 *
 *   bench_wire ADDR:PORT WORKLOAD STORED N [EVERY]
 *
 * The messages 0 to STORED - 1 are in the store. WORKLOAD: `new` sends N that follow; `recent` repeats
 * some of the latest 100,000, `old` any, in random order; `mixed` is 70 % new, 15 % recent, 15 % old.
 * Prints the rate and, with EVERY, the rate of each EVERY messages on their own. */
#include <string.h>

#include "base/clock.h"
#include "measure.h"
#include "messages.h"
#include "pipe.h"
#include "replies.h"

enum { WINDOW = 32768 };

enum workload { NEW, RECENT, OLD, MIXED, WORKLOADS };

static const char *const names[] = {"new", "recent", "old", "mixed"};

struct sender {
    struct pipe pipe;
    struct replies replies;
    enum workload workload;
    uint64_t stored; /* messages that the daemon has or will have before the next is sent */
    uint64_t fresh;  /* new messages sent */
};

static uint64_t choose(struct sender *sender, uint64_t i)
{
    enum workload workload = sender->workload;

    if (workload == MIXED) {
        uint64_t percent = message_choose(~i, 100);

        workload = percent < 70 ? NEW : percent < 85 ? RECENT : OLD;
    }
    if (workload == RECENT)
        return message_choose_recent(i, sender->stored);
    if (workload == OLD)
        return message_choose(i, sender->stored);
    sender->fresh++;
    return sender->stored++;
}

static void fill(struct sender *sender, uint64_t n)
{
    struct pipe *pipe = &sender->pipe;

    for (uint64_t room = pipe_room(pipe, WINDOW); room > 0 && pipe->sent < n; room--) {
        message_write(text_reserve(&pipe->out, MESSAGE_LINE_BYTES), MESSAGE_RANDOM,
                      choose(sender, pipe->sent++));
        pipe->out.len += MESSAGE_LINE_BYTES;
    }
}

/* The stretch of messages that is being timed on its own. */
struct stretch {
    uint64_t every;   /* messages; 0: no stretches */
    uint64_t from;    /* answered when it began */
    uint64_t to;      /* answered when it is over, at least */
    int64_t since_us; /* when it began */
};

/* Prints the rate of a stretch that is over, and begins the next. */
static void note_stretch(struct stretch *stretch, uint64_t answered)
{
    if (!stretch->every || answered < stretch->to)
        return;
    measure_print("stretch", measure_per_s(answered - stretch->from, stretch->since_us));
    stretch->since_us = clock_mono_us();
    stretch->from = answered;
    stretch->to += stretch->every;
}

static void run(struct sender *sender, uint64_t n, uint64_t every)
{
    struct pipe *pipe = &sender->pipe;
    int64_t began_us = clock_mono_us();
    struct stretch stretch = {.every = every, .to = every, .since_us = began_us};

    while (pipe->answered < n) {
        fill(sender, n);
        pipe_send(pipe);
        pipe_wait(pipe, 1, pipe_room(pipe, WINDOW) && pipe->sent < n ? 0 : -1);
        if (pipe_receive(pipe))
            replies_count(&sender->replies, pipe);
        note_stretch(&stretch, pipe->answered);
    }
    measure_print("per_s", measure_per_s(n, began_us));
}

static enum workload read_workload(const char *name)
{
    int i = 0;

    while (i < WORKLOADS && strcmp(name, names[i]) != 0)
        i++;
    measure_must(i < WORKLOADS, "no workload %s", name);
    return (enum workload)i;
}

int main(int argc, char **argv)
{
    struct sender sender = {0};

    measure_must(argc == 5 || argc == 6, "usage: bench_wire ADDR:PORT WORKLOAD STORED N [EVERY]");
    sender.workload = read_workload(argv[2]);
    sender.stored = measure_number(argv[3]);
    measure_must(sender.stored > 0 || sender.workload == NEW, "nothing is stored to be repeated");
    pipe_open(&sender.pipe, argv[1]);
    run(&sender, measure_number(argv[4]), argc == 6 ? measure_number(argv[5]) : 0);
    measure_must(sender.replies.fresh == sender.fresh, "%llu new messages, %llu answered new",
                 (unsigned long long)sender.fresh, (unsigned long long)sender.replies.fresh);
    measure_print("fresh", (double)sender.fresh);
    pipe_close(&sender.pipe);
    return 0;
}
