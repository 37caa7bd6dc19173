/* failing_sql: sqlite3_step of a test program, which fails or lies when a test wants it to. Until then, and
 * for every other statement, it is SQLite's. Any thread. */
#ifndef TESTS_LIB_FAILING_SQL_H
#define TESTS_LIB_FAILING_SQL_H

/* From now on the steps of statements that begin with `sql`, the first `after` of them excepted, return rc
 * and do nothing. sql must live until failing_sql_disarm. */
void failing_sql_arm(const char *sql, unsigned after, int rc);

/* SQLite's again. Returns how many steps failed. */
unsigned failing_sql_disarm(void);

/* The statement that failed last, its bindings written out; the caller's to free() it, NULL: none. */
char *failing_sql_take_last(void);

#endif
