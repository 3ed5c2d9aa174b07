#include "CRouteRecords.h"

#include <stdio.h>

#if defined(__ELF__) || defined(__wasm__)

// ELF linkers define both symbols for a section whose name is an identifier of C. Weak, for an image without
// records has to link as well; hidden, so that each image finds its own and not the first one's. Swift can
// spell neither, which is all that this target is for.
extern const char __start_waypost_records[] __attribute__((weak, visibility("hidden")));
extern const char __stop_waypost_records[] __attribute__((weak, visibility("hidden")));

waypost_record_bytes waypost_records_of_this_image(void) {
    const char *start = __start_waypost_records;
    if (start == NULL) {
        return (waypost_record_bytes){NULL, 0};
    }
    return (waypost_record_bytes){start, (size_t)(__stop_waypost_records - start)};
}
#else
// In Mach-O and PE there is no such section: what is declared there is registered by a list, such as a module.
waypost_record_bytes waypost_records_of_this_image(void) { return (waypost_record_bytes){NULL, 0}; }
#endif

void waypost_warn(const char *text) { fputs(text, stderr); }
