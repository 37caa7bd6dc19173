/* nats: publishing to a JetStream stream of file storage, each message with its key as Nats-Msg-Id,
 * without waiting for the single acknowledgement.
 *
 *   nats ADDR:PORT FILE WINDOW
 *
 * WINDOW: acknowledgements outstanding. The client protocol is text: PUB and HPUB out, MSG in. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "input.h"
#include "measure.h"
#include "pipe.h"

enum { LINE_BYTES_MAX = 4096 };

static const char greeting[] = "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,"
                               "\"no_responders\":true}\r\nSUB _INBOX.bench.* 1\r\n";

/* Remembers every message ID for an hour, longer than any run. */
static const char stream[] =
    "{\"name\":\"trades\",\"subjects\":[\"trades\"],\"storage\":\"file\",\"retention\":\"limits\","
    "\"discard\":\"old\",\"max_consumers\":-1,\"max_msgs\":-1,\"max_bytes\":-1,\"max_age\":0,"
    "\"num_replicas\":1,\"duplicate_window\":3600000000000}";

struct client {
    struct pipe pipe;
    uint64_t fresh;
};

static void add_message(struct text *out, const char *line)
{
    static const char before[] = "NATS/1.0\r\nNats-Msg-Id: ", after[] = "\r\n\r\n";
    const size_t header = sizeof before - 1 + MESSAGE_KEY_BYTES + sizeof after - 1;
    char key[MESSAGE_KEY_BYTES];

    message_key_of(key, line);
    text_add_format(out, "HPUB trades _INBOX.bench.a %zu %zu\r\n%s", header, header + MESSAGE_BYTES,
                    before);
    text_add(out, key, sizeof key);
    text_add_str(out, after);
    text_add(out, line, MESSAGE_BYTES);
    text_add_str(out, "\r\n");
}

/* One acknowledgement, {"stream":"trades","seq":1} or with "duplicate":true. */
static void count_ack(struct client *client, const char *payload, size_t len)
{
    measure_must(memmem(payload, len, "\"seq\"", 5) != NULL, "no acknowledgement: %.*s", (int)len,
                 payload);
    client->fresh += !memmem(payload, len, "\"duplicate\":", 12);
    client->pipe.answered++;
}

/* The size that ends the line "MSG subject sid [reply] size". */
static size_t payload_bytes(const char *line, size_t len)
{
    const char *space = memrchr(line, ' ', len);

    measure_must(space != NULL, "unexpected %.*s", (int)len, line);
    return strtoull(space, NULL, 10);
}

/* What the first bytes of `in` are: their number, 0 when they are not whole. The payload of a MSG is
 * passed to on_payload. */
static size_t take(struct client *client, const char *in, size_t len,
                   void (*on_payload)(struct client *, const char *, size_t))
{
    const char *end = memmem(in, len, "\r\n", 2);

    if (!end) {
        measure_must(len < LINE_BYTES_MAX, "a line without end");
        return 0;
    }
    size_t line = (size_t)(end - in) + 2;

    measure_must(strncmp(in, "-ERR", 4) != 0, "%.*s", (int)line, in);
    if (strncmp(in, "PING", 4) == 0)
        text_add_str(&client->pipe.out, "PONG\r\n");
    if (strncmp(in, "MSG ", 4) != 0)
        return line;
    size_t payload = payload_bytes(in, line);

    if (len < line + payload + 2)
        return 0;
    on_payload(client, in + line, payload);
    return line + payload + 2;
}

static void receive(struct client *client, void (*on_payload)(struct client *, const char *, size_t))
{
    struct pipe *pipe = &client->pipe;
    size_t at = 0, n;

    if (!pipe_receive(pipe))
        return;
    while (at < pipe->in_len && (n = take(client, pipe->in + at, pipe->in_len - at, on_payload)))
        at += n;
    pipe_consume(pipe, at);
}

/* The stream may be there already: that is no error when it is the same. */
static void on_created(struct client *client, const char *payload, size_t len)
{
    measure_must(!memmem(payload, len, "\"error\"", 7), "stream: %.*s", (int)len, payload);
    client->pipe.answered++;
}

static void create_stream(struct client *client)
{
    struct pipe *pipe = &client->pipe;

    text_add_str(&pipe->out, greeting);
    text_add_format(&pipe->out, "PUB $JS.API.STREAM.CREATE.trades _INBOX.bench.c %zu\r\n%s\r\n",
                    sizeof stream - 1, stream);
    while (!pipe->answered) {
        pipe_send(pipe);
        pipe_wait(pipe, 1, -1);
        receive(client, on_created);
    }
    pipe->answered = 0;
}

static void run(struct client *client, const struct input *input, uint64_t window)
{
    struct pipe *pipe = &client->pipe;

    while (pipe->answered < input->n) {
        for (uint64_t room = pipe_room(pipe, window); room > 0 && pipe->sent < input->n; room--)
            add_message(&pipe->out, input_line(input, pipe->sent++));
        pipe_send(pipe);
        pipe_wait(pipe, 1, pipe_room(pipe, window) && pipe->sent < input->n ? 0 : -1);
        receive(client, count_ack);
    }
}

int main(int argc, char **argv)
{
    struct client client = {0};
    struct input input;

    measure_must(argc == 4, "usage: nats ADDR:PORT FILE WINDOW");
    uint64_t window = measure_number(argv[3]);

    measure_must(window > 0, "WINDOW is at least 1");
    input_read(&input, argv[2]);
    pipe_open(&client.pipe, argv[1]);
    create_stream(&client);
    int64_t began_us = clock_mono_us();

    run(&client, &input, window);
    input_report(&input, client.fresh, began_us);
    pipe_close(&client.pipe);
    input_done(&input);
    return 0;
}
