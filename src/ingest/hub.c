#include "ingest/hub.h"

#include <assert.h>
#include <stdlib.h>

#include "ingest/connection.h"

enum { SHARE_BYTES_MIN = 256 * 1024 };

void hub_init(struct hub *hub, uv_loop_t *loop, const struct server_config *config, struct stats *stats)
{
    *hub = (struct hub){.loop = loop, .config = config, .stats = stats};
}

void hub_done(struct hub *hub)
{
    while (hub->first) {
        struct connection *c = hub->first;

        hub_remove(hub, c);
        connection_free(c);
    }
    while (hub->free) {
        struct batch *batch = hub->free;

        hub->free = batch->next;
        batch_close(batch);
    }
    text_done(&hub->replies);
}

void hub_add(struct hub *hub, struct connection *c)
{
    c->next = NULL;
    c->previous = hub->last;
    if (hub->last)
        hub->last->next = c;
    else
        hub->first = c;
    hub->last = c;
}

void hub_remove(struct hub *hub, struct connection *c)
{
    if (c->previous)
        c->previous->next = c->next;
    else
        hub->first = c->next;
    if (c->next)
        c->next->previous = c->previous;
    else
        hub->last = c->previous;
}

void hub_move_last(struct hub *hub, struct connection *c)
{
    hub_remove(hub, c);
    hub_add(hub, c);
}

struct batch *hub_take_batch(struct hub *hub)
{
    struct batch *batch = hub->free;

    if (!batch)
        return batch_open();
    hub->free = batch->next;
    hub->free_bytes -= batch_memory(batch);
    batch->next = NULL;
    return batch;
}

void hub_give_batch(struct hub *hub, struct batch *batch)
{
    if (!batch)
        return;
    batch_reset(batch);
    if (hub->free_bytes + batch_memory(batch) > hub->config->queue_bytes / 4) {
        batch_close(batch);
        return;
    }
    batch->next = hub->free;
    hub->free = batch;
    hub->free_bytes += batch_memory(batch);
}

static void note_in_flight(struct hub *hub)
{
    if (hub->bytes_in_flight > hub->config->queue_bytes)
        hub->full = true;
    else if (hub->bytes_in_flight <= hub->config->queue_bytes / 2)
        hub->full = false;
    hub_has_room(hub);
}

void hub_submit(struct hub *hub, struct batch *batch)
{
    hub->bytes_in_flight += batch_memory(batch);
    note_in_flight(hub);
    stats_count_received(hub->stats, batch);
    writer_submit(hub->writer, batch);
}

void hub_note_return(struct hub *hub, const struct batch *batch)
{
    size_t bytes = batch_memory(batch);

    assert(bytes <= hub->bytes_in_flight); /* the store writes verdicts and lets no buffer grow */
    hub->bytes_in_flight -= bytes;
    note_in_flight(hub);
}

bool hub_has_room(struct hub *hub)
{
    bool room = hub->writer && hub->store_ready && !hub->full && !hub->draining;

    if (room != hub->room)
        hub->room_changed = true;
    hub->room = room;
    return room;
}

size_t hub_share_bytes(const struct hub *hub)
{
    size_t share = hub->config->queue_bytes / 16;

    return share > SHARE_BYTES_MIN ? share : SHARE_BYTES_MIN;
}

void hub_publish(struct hub *hub)
{
    stats_set_connections(hub->stats, hub->open, hub->accepted, hub->paused, hub->refused);
}

void hub_event(const struct hub *hub, enum server_event event, const char *text)
{
    if (hub->config->on_event)
        hub->config->on_event(hub->config->arg, event, text);
}
