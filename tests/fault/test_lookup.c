/* An exact look-up that fails is an error of the commit: a stored trade is never new because SQLite could not
 * say that it is there. The same look-ups are made to lie (there is no such row), which is the control: then
 * the trade is new, so the failures of the other tests did reach what decides. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "failing_sql.h"
#include "store/store_state.h"
#include "store_fixture.h"
#include "suite.h"

static struct store_fixture f;

static void must(int result)
{
    if (result < 0)
        ck_abort_msg("%s", f.err.text);
}

static void setup(void)
{
    store_fixture_init(&f);
    store_fixture_open(&f);
    store_fixture_send_range(&f, "k", 1, 40, 4); /* three segments of 16, 16 and 8 */
}

static void teardown(void)
{
    failing_sql_disarm();
    free(failing_sql_take_last());
    store_fixture_done(&f);
}

static const struct lookup {
    const char *what, *sql;
    const char *word, *bound; /* what is sent, and what its look-up names */
    bool sealed;              /* the closed segments */
} lookups[] = {
    {"a key of the active segment", "SELECT seq, received, fingerprint FROM trade WHERE generation",
     "k40", "'k40'", false},
    {"a key of a closed segment", "SELECT seq, received, fingerprint FROM trade WHERE generation", "k3",
     "'k3'", false},
    {"a sealed key", "SELECT seq FROM key", "k3", "'k3'", true},
    {"the row of a sealed key", "SELECT seq, received, fingerprint FROM trade WHERE seq", "k3", "= 3",
     true},
    {"a conflicting version", "SELECT 1 FROM conflict", "k3=2", "= 3 AND", false},
};

static const struct failure {
    int rc, code;
} failures[] = {
    {SQLITE_BUSY, ERR_BUSY},       {SQLITE_IOERR, ERR_IO},     {SQLITE_IOERR_READ, ERR_IO},
    {SQLITE_CORRUPT, ERR_CORRUPT}, {SQLITE_NOMEM, ERR_SYSTEM},
};

enum {
    LOOKUPS = sizeof lookups / sizeof *lookups,
    FAILURES = sizeof failures / sizeof *failures,
};

static void seal_if_meant(const struct lookup *lookup)
{
    if (lookup->sealed)
        must(store_settle(f.store, &f.err));
    ck_assert_int_eq(f.store->segments[0].state, lookup->sealed ? SEGMENT_SEALED : SEGMENT_CLOSED);
    if (strchr(lookup->word, '=')) /* a first version, so that there are versions to look in */
        ck_assert_str_eq(store_fixture_send(&f, "k3=9"), "conflict:3");
}

/* The result of judging the word while every such look-up gives rc; *ret_verdict is the trade's. */
static int judge_failing(const struct lookup *lookup, int rc, uint8_t *ret_verdict)
{
    struct batch *batch = store_fixture_batch(&f, lookup->word);

    must(store_begin(f.store, &f.err));
    failing_sql_arm(lookup->sql, 0, rc);
    int result = store_judge(f.store, batch, &f.err);
    unsigned failed = failing_sql_disarm();
    char *last = failing_sql_take_last();

    ck_assert_uint_ge(failed, 1);
    ck_assert_msg(strstr(last, lookup->bound) != NULL, "%s", last);
    free(last);
    *ret_verdict = batch->trades[0].verdict;
    store_rollback(f.store);
    batch_close(batch);
    return result;
}

START_TEST(a_lookup_that_fails_is_an_error_and_never_a_new_trade)
{
    const struct lookup *lookup = &lookups[_i / FAILURES];
    const struct failure *failure = &failures[_i % FAILURES];
    uint8_t verdict;

    seal_if_meant(lookup);
    ck_assert_int_eq(judge_failing(lookup, failure->rc, &verdict), failure->code);
    ck_assert_int_ne(verdict, VERDICT_NEW);
    ck_assert_int_ne(verdict, VERDICT_DUPLICATE);
    if (failure->code == ERR_BUSY) { /* the only one after which the store goes on */
        ck_assert_str_eq(store_fixture_send(&f, "k3 k40 a"), "duplicate:3 duplicate:40 new:41");
        ck_assert_uint_eq(store_fixture_figures(&f)->false_negative, 0);
    }
    store_fixture_reopen(&f);
    must(store_settle(f.store, &f.err));
    ck_assert_str_eq(store_fixture_send(&f, "k1 k3 k40"), "duplicate:1 duplicate:3 duplicate:40");
}
END_TEST

START_TEST(a_lookup_that_lies_makes_a_stored_trade_new)
{
    uint8_t verdict = VERDICT_NONE;

    seal_if_meant(&lookups[_i]);
    if (strstr(lookups[_i].sql, "WHERE seq")) /* the key is there, so its row must be */
        ck_assert_int_eq(judge_failing(&lookups[_i], SQLITE_DONE, &verdict), ERR_CORRUPT);
    else
        must(judge_failing(&lookups[_i], SQLITE_DONE, &verdict));
    if (strchr(lookups[_i].word, '=')) /* kept once more */
        ck_assert_int_eq(verdict, VERDICT_CONFLICT);
    else if (!strstr(lookups[_i].sql, "WHERE seq"))
        ck_assert_int_eq(verdict, VERDICT_NEW);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lookup");
    TCase *cases = tcase_create("lookup");

    tcase_add_unchecked_fixture(cases, store_fixture_make_root, store_fixture_remove_root);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_loop_test(cases, a_lookup_that_fails_is_an_error_and_never_a_new_trade, 0,
                        LOOKUPS * FAILURES);
    tcase_add_loop_test(cases, a_lookup_that_lies_makes_a_stored_trade_new, 0, LOOKUPS);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
