#pragma once
#include <malloc.h>

/// Gives free memory back to the system; does nothing with a C library other than glibc, which keeps none.
static inline void waypost_release_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
