#pragma once
#include <stddef.h>

/// The bytes that the linker gathered in the section `waypost_records` of the image that holds this function.
///
/// `start` is NULL and `count` 0 when nothing in the image lies in that section.
typedef struct {
    const void *_Nullable start;
    size_t count;
} waypost_record_bytes;

/// Where they lie. Bounds are per image: a shared library sees its own records, not those of the executable.
waypost_record_bytes waypost_records_of_this_image(void);

/// Writes a text to standard error. In C, for there is a C library everywhere, and a module of it in Swift is not.
void waypost_warn(const char *_Nonnull text);
