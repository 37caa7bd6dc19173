/* redis: SET key message NX, pipelined over several connections.
 *
 *   redis ADDR:PORT FILE CONNECTIONS WINDOW
 *
 * Redis reads a piece of each connection, then syncs once for all of them: one connection alone is a
 * sync for every piece of it. WINDOW: commands unanswered, over all. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "input.h"
#include "measure.h"
#include "messages.h"
#include "pipe.h"

static void add_command(struct text *out, const char *line)
{
    char key[MESSAGE_KEY_BYTES];

    message_key_of(key, line);
    text_add_format(out, "*4\r\n$3\r\nSET\r\n$%d\r\n", MESSAGE_KEY_BYTES);
    text_add(out, key, sizeof key);
    text_add_format(out, "\r\n$%d\r\n", MESSAGE_BYTES);
    text_add(out, line, MESSAGE_BYTES);
    text_add_str(out, "\r\n$2\r\nNX\r\n");
}

/* "+OK" for what was set, a null for a key that was there. */
static void count_replies(struct pipe *pipe, uint64_t *fresh)
{
    const char *at = pipe->in, *end = pipe->in + pipe->in_len, *feed;

    while ((feed = memchr(at, '\n', (size_t)(end - at)))) {
        measure_must(*at == '+' || *at == '$', "%.*s", (int)(feed - at), at);
        *fresh += *at == '+';
        pipe->answered++;
        at = feed + 1;
    }
    pipe_consume(pipe, (size_t)(at - pipe->in));
}

/* The next messages into one connection, and its replies back; whether it could take more at once. */
static bool turn(struct pipe *pipe, const struct input *input, uint64_t window, uint64_t *sent,
                 uint64_t *fresh)
{
    for (uint64_t room = pipe_room(pipe, window); room > 0 && *sent < input->n; room--, pipe->sent++)
        add_command(&pipe->out, input_line(input, (*sent)++));
    pipe_send(pipe);
    if (pipe_receive(pipe))
        count_replies(pipe, fresh);
    return pipe_room(pipe, window) && *sent < input->n;
}

static uint64_t run(struct pipe *pipes, size_t pipes_n, const struct input *input, uint64_t window)
{
    uint64_t fresh = 0, sent = 0, answered = 0;

    while (answered < input->n) {
        bool more = false;

        answered = 0;
        for (size_t i = 0; i < pipes_n; i++) {
            more |= turn(&pipes[i], input, window, &sent, &fresh);
            answered += pipes[i].answered;
        }
        if (answered < input->n)
            pipe_wait(pipes, pipes_n, more ? 0 : -1);
    }
    return fresh;
}

int main(int argc, char **argv)
{
    struct input input;

    measure_must(argc == 5, "usage: redis ADDR:PORT FILE CONNECTIONS WINDOW");
    size_t pipes_n = measure_number(argv[3]);
    uint64_t window = pipes_n ? measure_number(argv[4]) / pipes_n : 0;
    struct pipe *pipes = mem_zalloc(pipes_n, sizeof *pipes);

    measure_must(window > 0, "WINDOW is at least 1 for each connection");
    input_read(&input, argv[2]);
    for (size_t i = 0; i < pipes_n; i++)
        pipe_open(&pipes[i], argv[1]);
    int64_t began_us = clock_mono_us();
    uint64_t fresh = run(pipes, pipes_n, &input, window);

    input_report(&input, fresh, began_us);
    for (size_t i = 0; i < pipes_n; i++)
        pipe_close(&pipes[i]);
    free(pipes);
    input_done(&input);
    return 0;
}
