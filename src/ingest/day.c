#include "ingest/day.h"

#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

enum { DAY_SECONDS = 86400, HOUR_SECONDS = 3600 };

static bool seconds_of_integer(const char *at, size_t len, enum day_unit unit, int64_t *ret);
static bool seconds_of_rfc3339(const char *at, size_t len, int64_t *ret);

int day_unit_of(const char *text, size_t len)
{
    static const char *const names[] = {"s", "ms", "us", "ns", "rfc3339"};

    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strlen(names[i]) == len && !memcmp(names[i], text, len))
            return i;
    return -1;
}

bool day_of_text(const char *text, size_t len, enum day_unit unit, int shift_h,
                 char ret[DAY_TEXT_BYTES])
{
    int64_t seconds = 0;
    int year, month, day;

    if (unit == DAY_RFC3339 ? !seconds_of_rfc3339(text, len, &seconds)
                            : !seconds_of_integer(text, len, unit, &seconds))
        return false;
    int64_t shift_s = (int64_t)shift_h * HOUR_SECONDS;
    int64_t first = clock_days_from_date(1, 1, 1), last = clock_days_from_date(9999, 12, 31);

    if (seconds < first * DAY_SECONDS - shift_s || seconds >= (last + 1) * DAY_SECONDS - shift_s)
        return false;
    clock_date_from_days(clock_floor_div(seconds + shift_s, DAY_SECONDS), &year, &month, &day);
    text_put_digits(ret, 4, year);
    ret[4] = ret[7] = '-';
    text_put_digits(ret + 5, 2, month);
    text_put_digits(ret + 8, 2, day);
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool seconds_of_integer(const char *at, size_t len, enum day_unit unit, int64_t *ret)
{
    static const int64_t per_second[] = {1, 1000, 1000000, 1000000000};
    bool negative = len && at[0] == '-';
    int64_t n = 0;

    if (len == (size_t)negative)
        return false;
    for (size_t i = negative; i < len; i++)
        if (!is_digit(at[i]) || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, at[i] - '0', &n))
            return false;
    *ret = clock_floor_div(negative ? -n : n, per_second[unit]);
    return true;
}

/* n digits as a number, -1 if they are not digits. */
static int number_at(const char *at, int n)
{
    int value = 0;

    for (int i = 0; i < n; i++) {
        if (!is_digit(at[i]))
            return -1;
        value = value * 10 + (at[i] - '0');
    }
    return value;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

static bool read_date(const char *at, int64_t *ret_days)
{
    int year = number_at(at, 4), month = number_at(at + 5, 2), day = number_at(at + 8, 2);

    if (at[4] != '-' || at[7] != '-' || year < 0 || month < 1 || month > 12)
        return false;
    if (day < 1 || day > days_in_month(year, month))
        return false;
    *ret_days = clock_days_from_date(year, month, day);
    return true;
}

/* hh:mm:ss. A leap second belongs to the day that it ends. */
static bool read_time(const char *at, int *ret_seconds)
{
    int hour = number_at(at, 2), minute = number_at(at + 3, 2), second = number_at(at + 6, 2);

    if (at[2] != ':' || at[5] != ':' || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
        second < 0 || second > 60)
        return false;
    *ret_seconds = hour * HOUR_SECONDS + minute * 60 + (second > 59 ? 59 : second);
    return true;
}

/* "Z" or +hh:mm or -hh:mm, and nothing behind it. */
static bool read_offset(const char *at, size_t len, int *ret_seconds)
{
    *ret_seconds = 0;
    if (len == 1)
        return *at == 'Z' || *at == 'z';
    if (len != 6 || (*at != '+' && *at != '-') || at[3] != ':')
        return false;
    int hour = number_at(at + 1, 2), minute = number_at(at + 4, 2);

    if (hour < 0 || hour > 23 || minute < 0 || minute > 59)
        return false;
    *ret_seconds = (hour * HOUR_SECONDS + minute * 60) * (*at == '-' ? -1 : 1);
    return true;
}

static bool seconds_of_rfc3339(const char *at, size_t len, int64_t *ret)
{
    enum { DATE_TIME_BYTES = 19 }; /* 2026-12-01T14:30:00 */
    size_t i = DATE_TIME_BYTES;
    int64_t days;
    int seconds, offset;

    if (len <= DATE_TIME_BYTES || !strchr("Tt ", at[10]) || !at[10] || !read_date(at, &days) ||
        !read_time(at + 11, &seconds))
        return false;
    if (at[i] == '.') {
        do
            i++;
        while (i < len && is_digit(at[i]));
        if (i == DATE_TIME_BYTES + 1)
            return false;
    }
    if (i == len || !read_offset(at + i, len - i, &offset))
        return false;
    *ret = days * DAY_SECONDS + seconds - offset;
    return true;
}
