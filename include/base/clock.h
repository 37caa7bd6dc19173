/* clock: wall and monotonic time, and the calendar. Any thread. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

int64_t clock_wall_us(void);   /* microseconds since the epoch, UTC; may jump */
int64_t clock_mono_us(void);   /* microseconds since some fixed point; never goes back */
int64_t clock_thread_us(void); /* microseconds of processor time that the calling thread has used */

/* a / b rounded down, also below 0, as calendars need it; b is positive. */
static inline int64_t clock_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Days since 1970-01-01 of a proleptic Gregorian date and back (Howard Hinnant's days_from_civil).
 * year 0 to 9999, month 1 to 12, day 1 to 31. */
int64_t clock_days_from_date(int year, int month, int day);
void clock_date_from_days(int64_t days, int *ret_year, int *ret_month, int *ret_day);

/* The UTC day that holds a moment, as days since 1970-01-01 (floor, also before the epoch). */
int64_t clock_day_of_us(int64_t us);

#endif
