#define _GNU_SOURCE
#include "CPathScan.h"

size_t waypost_find(const uint8_t *text, size_t length, const uint8_t *wanted, size_t wanted_length) {
#if defined(_WIN32)
    // The one C library that has no memmem.
    for (size_t start = 0; wanted_length <= length && start <= length - wanted_length; start++) {
        if (memcmp(text + start, wanted, wanted_length) == 0) return start;
    }
    return length;
#else
    const uint8_t *found = memmem(text, length, wanted, wanted_length);
    return found ? (size_t)(found - text) : length;
#endif
}
