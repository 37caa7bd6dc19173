#include "store/queue.h"

void queue_init(struct queue *queue)
{
    *queue = (struct queue){0};
    queue->last = &queue->first;
    pthread_mutex_init(&queue->lock, NULL);
}

void queue_done(struct queue *queue)
{
    while (queue->first) {
        struct batch *batch = queue->first;

        queue->first = batch->next;
        batch_close(batch);
    }
    pthread_mutex_destroy(&queue->lock);
}

void queue_push(struct queue *queue, struct batch *batch)
{
    batch->next = NULL;
    pthread_mutex_lock(&queue->lock);
    *queue->last = batch;
    queue->last = &batch->next;
    queue->trades += batch->trades_n;
    pthread_mutex_unlock(&queue->lock);
}

/* With the lock held: cuts the list behind the batch that `end` links. */
static struct batch *cut(struct queue *queue, struct batch **end)
{
    struct batch *first = queue->first;

    queue->first = *end;
    *end = NULL;
    if (!queue->first)
        queue->last = &queue->first;
    return first;
}

struct batch *queue_pop(struct queue *queue, size_t trades_max)
{
    struct batch *ret = NULL;

    pthread_mutex_lock(&queue->lock);
    if (queue->first) {
        struct batch **end = &queue->first->next;
        size_t trades = queue->first->trades_n;

        while (*end && trades + (*end)->trades_n <= trades_max) {
            trades += (*end)->trades_n;
            end = &(*end)->next;
        }
        queue->trades -= trades;
        ret = cut(queue, end);
    }
    pthread_mutex_unlock(&queue->lock);
    return ret;
}

struct batch *queue_pop_all(struct queue *queue)
{
    return queue_pop(queue, SIZE_MAX);
}

bool queue_empty(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool empty = !queue->first;
    pthread_mutex_unlock(&queue->lock);
    return empty;
}

size_t queue_trades(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t trades = queue->trades;
    pthread_mutex_unlock(&queue->lock);
    return trades;
}
