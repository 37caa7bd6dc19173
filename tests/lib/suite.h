/* suite: the main of every check program: one suite, one closing line, exit 1 when a test failed; and how
 * much a program does of what is random or is tried at many places. */
#ifndef TESTS_LIB_SUITE_H
#define TESTS_LIB_SUITE_H

#include <check.h>
#include <stdlib.h>

/* What the environment variable `name` asks for (NULL: nothing can be asked). Otherwise `full`, or `brief`
 * under TRADESIEVE_BRIEF, which scripts/run-tests sets for the sanitizers: they are slow, and look for other
 * things than wrong verdicts, which the plain build has looked for. */
static inline int suite_amount(const char *name, int full, int brief)
{
    const char *asked = name ? getenv(name) : NULL;

    if (asked)
        return atoi(asked);
    return getenv("TRADESIEVE_BRIEF") ? brief : full;
}

static inline int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
