#ifndef WAYPOST_BUILD_DATE_H
#define WAYPOST_BUILD_DATE_H

#include <stdint.h>

// The day of the build, in days since 1970-01-01 in the builder's time zone.
//
// In C, for Swift has no __DATE__; SOURCE_DATE_EPOCH makes it the same in every build.
int64_t waypost_build_day(void);

#endif
