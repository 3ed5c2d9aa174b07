#pragma once
#include <stddef.h>
#include <stdio.h>

/// The bytes that the linker gathered in the section `waypost_records` of the image that holds this function.
///
/// `start` is NULL and `count` 0 when nothing in the image lies in that section.
typedef struct {
    const void *_Nullable start;
    size_t count;
} waypost_record_bytes;

#if defined(__ELF__) || defined(__wasm__)
// ELF linkers define both symbols for a section whose name is an identifier of C. Weak, for an image without
// records has to link as well; hidden, so that each image finds its own and not the first one's. Swift can
// spell neither, which is all that this target is for.
extern const char __start_waypost_records[] __attribute__((weak, visibility("hidden")));
extern const char __stop_waypost_records[] __attribute__((weak, visibility("hidden")));
#endif

/// Where they lie. Bounds are per image: a shared library sees its own records, not those of the executable.
static inline waypost_record_bytes waypost_records_of_this_image(void) {
    waypost_record_bytes bytes = {NULL, 0};
    // In Mach-O and PE there is no such section: what is declared there is registered by a list, such as a module.
#if defined(__ELF__) || defined(__wasm__)
    if (__start_waypost_records != NULL) {
        bytes.start = __start_waypost_records;
        bytes.count = (size_t)(__stop_waypost_records - __start_waypost_records);
    }
#endif
    return bytes;
}

/// Writes a text to standard error. In C, for there is a C library everywhere, and a module of it in Swift is not.
static inline void waypost_warn(const char *_Nonnull text) { fputs(text, stderr); }
