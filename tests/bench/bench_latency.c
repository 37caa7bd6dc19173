/* bench_latency: how long a trade waits for its verdict when trades come by the clock (an open loop).
 *
 *   bench_latency ADDR:PORT FIRST RATE SECONDS
 *
 * Message i is due at i / RATE, whether or not replies came, and its latency counts from that moment:
 * a stall is felt by every trade that falls due in it, and a sender that is late counts against the
 * daemon, not for it. What is due is looked at every 0.2 ms. New random IDs from message FIRST on, one
 * connection, ack each. */
#include <math.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/mem.h"
#include "measure.h"
#include "messages.h"
#include "pipe.h"
#include "replies.h"

enum { TICK_US = 200, SECONDS_MAX = 3600 };

struct schedule {
    int64_t began_us; /* monotonic, when message 0 is due */
    uint64_t per_s;
    uint64_t n; /* messages in all */
};

static int64_t due_us(const struct schedule *schedule, uint64_t i)
{
    return schedule->began_us + (int64_t)(i * 1000000 / schedule->per_s);
}

/* Appends what is due; returns how long nothing needs to be looked at. */
static int64_t fill(const struct schedule *schedule, struct pipe *pipe, uint64_t first)
{
    int64_t now_us = clock_mono_us();

    for (; pipe->sent < schedule->n && due_us(schedule, pipe->sent) <= now_us; pipe->sent++) {
        message_write(text_reserve(&pipe->out, MESSAGE_LINE_BYTES), MESSAGE_RANDOM, first + pipe->sent);
        pipe->out.len += MESSAGE_LINE_BYTES;
    }
    if (pipe->sent == schedule->n)
        return -1;
    int64_t wait_us = due_us(schedule, pipe->sent) - now_us;

    return wait_us > TICK_US ? wait_us : TICK_US;
}

/* Fills in the latency of every message. */
static void run(const struct schedule *schedule, struct pipe *pipe, uint64_t first,
                int64_t *latencies_us)
{
    struct replies replies = {0};

    while (pipe->answered < schedule->n) {
        int64_t wait_us = fill(schedule, pipe, first);

        pipe_send(pipe);
        pipe_wait(pipe, 1, wait_us);
        uint64_t from = pipe->answered;

        if (pipe_receive(pipe))
            replies_count(&replies, pipe);
        int64_t now_us = clock_mono_us();

        for (uint64_t i = from; i < pipe->answered; i++)
            latencies_us[i] = now_us - due_us(schedule, i);
    }
    measure_must(replies.fresh == schedule->n, "not every message was new");
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static double quantile_ms(const int64_t *sorted_us, uint64_t n, double q)
{
    return (double)sorted_us[(uint64_t)ceil(q * (double)n) - 1] / 1e3;
}

int main(int argc, char **argv)
{
    measure_must(argc == 5, "usage: bench_latency ADDR:PORT FIRST RATE SECONDS");
    struct schedule schedule = {.per_s = measure_number(argv[3])};
    uint64_t seconds = measure_number(argv[4]);
    struct pipe pipe;

    measure_must(schedule.per_s > 0 && seconds > 0 && seconds <= SECONDS_MAX,
                 "RATE and SECONDS: 1 and more");
    schedule.n = schedule.per_s * seconds;
    int64_t *latencies_us = mem_zalloc(schedule.n, sizeof *latencies_us);

    prctl(PR_SET_TIMERSLACK, 1);
    pipe_open(&pipe, argv[1]);
    schedule.began_us = clock_mono_us();
    run(&schedule, &pipe, measure_number(argv[2]), latencies_us);
    measure_print("per_s", measure_per_s(schedule.n, schedule.began_us));
    pipe_close(&pipe);
    qsort(latencies_us, schedule.n, sizeof *latencies_us, compare);
    measure_print("p50", quantile_ms(latencies_us, schedule.n, 0.50));
    measure_print("p99", quantile_ms(latencies_us, schedule.n, 0.99));
    measure_print("max", quantile_ms(latencies_us, schedule.n, 1));
    free(latencies_us);
    return 0;
}
