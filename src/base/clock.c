#include "base/clock.h"

#include <time.h>

static int64_t read_us(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}

int64_t clock_mono_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t clock_thread_us(void)
{
    return read_us(CLOCK_THREAD_CPUTIME_ID);
}

/* Eras of 400 years, 146,097 days each, that begin on 1 March, so that the leap day comes last. */
int64_t clock_days_from_date(int year, int month, int day)
{
    int64_t y = year - (month <= 2);
    int64_t era = clock_floor_div(y, 400);
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           719468;
}

void clock_date_from_days(int64_t days, int *ret_year, int *ret_month, int *ret_day)
{
    int64_t z = days + 719468;
    int64_t era = clock_floor_div(z, 146097);
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;

    *ret_day = (int)(doy - (153 * mp + 2) / 5 + 1);
    *ret_month = (int)(mp < 10 ? mp + 3 : mp - 9);
    *ret_year = (int)(yoe + era * 400 + (*ret_month <= 2));
}

int64_t clock_day_of_us(int64_t us)
{
    return clock_floor_div(us, 86400000000);
}
