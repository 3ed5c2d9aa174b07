#define _GNU_SOURCE
#include "CPathScan.h"

size_t waypost_find(const uint8_t *text, size_t length, const uint8_t *wanted, size_t wanted_length) {
    const uint8_t *found = memmem(text, length, wanted, wanted_length);
    return found ? (size_t)(found - text) : length;
}
