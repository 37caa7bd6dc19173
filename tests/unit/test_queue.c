#include <pthread.h>

#include "store/queue.h"
#include "suite.h"

static struct queue queue;

static void setup(void)
{
    queue_init(&queue);
}

static void teardown(void)
{
    queue_done(&queue);
}

static struct batch *batch_of(uint64_t number, size_t trades)
{
    struct batch *batch = batch_open();

    batch->feed_index = (unsigned)number;
    while (batch->trades_n < trades)
        batch_add_trade(batch);
    return batch;
}

/* Closes a list and returns the numbers in it as digits: 123. */
static unsigned numbers_of(struct batch *list)
{
    unsigned ret = 0;

    while (list) {
        struct batch *next = list->next;

        ret = ret * 10 + list->feed_index;
        batch_close(list);
        list = next;
    }
    return ret;
}

static void push(unsigned number, size_t trades)
{
    queue_push(&queue, batch_of(number, trades));
}

START_TEST(an_empty_queue_gives_nothing)
{
    ck_assert(queue_empty(&queue));
    ck_assert_ptr_null(queue_pop(&queue, 100));
    ck_assert_ptr_null(queue_pop_all(&queue));
}
END_TEST

START_TEST(batches_come_out_in_the_order_they_went_in)
{
    push(1, 1);
    push(2, 1);
    push(3, 1);
    ck_assert(!queue_empty(&queue));
    ck_assert_uint_eq(numbers_of(queue_pop_all(&queue)), 123);
    ck_assert(queue_empty(&queue));
}
END_TEST

START_TEST(pop_stops_before_the_batch_that_would_pass_the_limit)
{
    push(1, 3);
    push(2, 3);
    push(3, 1);
    ck_assert_uint_eq(numbers_of(queue_pop(&queue, 6)), 12);
    ck_assert_uint_eq(numbers_of(queue_pop(&queue, 6)), 3);
}
END_TEST

START_TEST(pop_gives_one_batch_even_above_the_limit)
{
    push(1, 10);
    push(2, 1);
    ck_assert_uint_eq(numbers_of(queue_pop(&queue, 6)), 1);
    ck_assert_uint_eq(numbers_of(queue_pop(&queue, 6)), 2);
}
END_TEST

START_TEST(batches_without_trades_ride_along)
{
    push(1, 6);
    push(2, 0);
    push(3, 0);
    push(4, 1);
    ck_assert_uint_eq(numbers_of(queue_pop(&queue, 6)), 123);
}
END_TEST

START_TEST(a_queue_that_ran_empty_takes_batches_again)
{
    push(1, 1);
    numbers_of(queue_pop_all(&queue));
    push(2, 1);
    push(3, 1);
    ck_assert_uint_eq(numbers_of(queue_pop_all(&queue)), 23);
}
END_TEST

START_TEST(a_batch_that_was_in_another_list_is_pushed_alone)
{
    push(1, 1);
    push(2, 1);
    struct batch *list = queue_pop_all(&queue), *rest = list->next;

    queue_push(&queue, list); /* its next still points at rest */
    ck_assert_uint_eq(numbers_of(queue_pop_all(&queue)), 1);
    ck_assert_uint_eq(numbers_of(rest), 2);
}
END_TEST

START_TEST(done_closes_what_is_left_in_it)
{
    push(1, 100); /* the leak checker is the judge */
    push(2, 100);
}
END_TEST

enum { PUSHED = 20000 };

static void *push_many(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < PUSHED; i++)
        push(i, i % 3);
    return NULL;
}

START_TEST(nothing_is_lost_or_reordered_between_two_threads)
{
    pthread_t thread;
    unsigned next = 0;

    ck_assert_int_eq(pthread_create(&thread, NULL, push_many, NULL), 0);
    while (next < PUSHED) {
        struct batch *list = queue_pop(&queue, 64);

        while (list) {
            struct batch *rest = list->next;

            ck_assert_uint_eq(list->feed_index, next++);
            batch_close(list);
            list = rest;
        }
    }
    pthread_join(thread, NULL);
    ck_assert(queue_empty(&queue));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queue");
    TCase *cases = tcase_create("queue");

    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, an_empty_queue_gives_nothing);
    tcase_add_test(cases, batches_come_out_in_the_order_they_went_in);
    tcase_add_test(cases, pop_stops_before_the_batch_that_would_pass_the_limit);
    tcase_add_test(cases, pop_gives_one_batch_even_above_the_limit);
    tcase_add_test(cases, batches_without_trades_ride_along);
    tcase_add_test(cases, a_queue_that_ran_empty_takes_batches_again);
    tcase_add_test(cases, a_batch_that_was_in_another_list_is_pushed_alone);
    tcase_add_test(cases, done_closes_what_is_left_in_it);
    tcase_add_test(cases, nothing_is_lost_or_reordered_between_two_threads);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
