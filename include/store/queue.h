/* queue: batches on their way between two threads, first in first out.
 *
 * Any thread; a mutex guards it. Pushing never blocks and never refuses, so that a batch that was read
 * is never lost: the bound (queue_bytes) is kept by the server, which stops reading. */
#ifndef STORE_QUEUE_H
#define STORE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/batch.h"

struct queue {
    pthread_mutex_t lock;
    struct batch *first; /* the oldest, or NULL */
    struct batch **last; /* where the next is linked */
    size_t trades;       /* of all its batches together */
};

void queue_init(struct queue *queue);
void queue_done(struct queue *queue); /* closes the batches that are still in it */

void queue_push(struct queue *queue, struct batch *batch);

/* The oldest batches as a list, as long as their trades stay within trades_max; at least one if there
 * is any. NULL when empty. */
struct batch *queue_pop(struct queue *queue, size_t trades_max);
struct batch *queue_pop_all(struct queue *queue);
bool queue_empty(struct queue *queue);
size_t queue_trades(struct queue *queue);

#endif
