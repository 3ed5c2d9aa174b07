#include "build_date.h"

#include <string.h>

int64_t waypost_build_day(void) {
    // "Nov 21 2026"; a day of one digit has a space before it.
    static const char date[] = __DATE__;
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t year = (date[7] - '0') * 1000 + (date[8] - '0') * 100 + (date[9] - '0') * 10 + (date[10] - '0');
    int64_t day = (date[4] == ' ' ? 0 : date[4] - '0') * 10 + (date[5] - '0');
    int64_t month = 1;
    while (month < 12 && strncmp(months + 3 * (month - 1), date, 3) != 0) month++;
    // Days from a date of the Gregorian calendar; the year begins in March, so that leap days come last.
    if (month <= 2) year--;
    int64_t era = year / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}
