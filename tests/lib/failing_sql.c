#include "failing_sql.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static struct {
    pthread_mutex_t lock;
    _Atomic bool armed;
    const char *sql;
    unsigned after, failed;
    int rc;
    char *last;
} failing = {.lock = PTHREAD_MUTEX_INITIALIZER};

void failing_sql_arm(const char *sql, unsigned after, int rc)
{
    pthread_mutex_lock(&failing.lock);
    failing.sql = sql;
    failing.after = after;
    failing.rc = rc;
    failing.failed = 0;
    failing.armed = true;
    pthread_mutex_unlock(&failing.lock);
}

unsigned failing_sql_disarm(void)
{
    failing.armed = false;
    pthread_mutex_lock(&failing.lock);
    unsigned failed = failing.failed;

    pthread_mutex_unlock(&failing.lock);
    return failed;
}

char *failing_sql_take_last(void)
{
    pthread_mutex_lock(&failing.lock);
    char *last = failing.last;

    failing.last = NULL;
    pthread_mutex_unlock(&failing.lock);
    return last;
}

static void note(sqlite3_stmt *statement)
{
    char *expanded = sqlite3_expanded_sql(statement);

    failing.failed++;
    free(failing.last);
    failing.last = mem_strdup(expanded ? expanded : "");
    sqlite3_free(expanded);
}

/* *ret_rc: what the step returns instead. */
static bool fails(sqlite3_stmt *statement, int *ret_rc)
{
    const char *sql = sqlite3_sql(statement); /* NULL: one of the library's own */

    pthread_mutex_lock(&failing.lock);
    bool meant = failing.armed && sql && strncmp(sql, failing.sql, strlen(failing.sql)) == 0;

    if (meant && failing.after) {
        failing.after--;
        meant = false;
    }
    if (meant)
        note(statement);
    *ret_rc = failing.rc;
    pthread_mutex_unlock(&failing.lock);
    return meant;
}

/* In place of the library's. */
int sqlite3_step(sqlite3_stmt *statement)
{
    static int (*_Atomic library_step)(sqlite3_stmt *);
    int rc;

    if (!library_step)
        library_step = (int (*)(sqlite3_stmt *))dlsym(RTLD_NEXT, "sqlite3_step");
    return failing.armed && fails(statement, &rc) ? rc : library_step(statement);
}
