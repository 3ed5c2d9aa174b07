#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// In C for one reason: comparing sixteen bytes at once and having a bit for each is three instructions here, and a
// loop over the bytes in Swift.

typedef uint8_t waypost_bytes __attribute__((ext_vector_type(16)));
typedef char waypost_truths __attribute__((ext_vector_type(16)));
typedef bool waypost_bits __attribute__((ext_vector_type(16)));

/// Where certain bytes lie in a window of 64 bytes: bit `i` is for the one at `window + i`.
///
/// Bits of what lies behind the end that was given mean nothing.
typedef struct {
    uint64_t slashes;
    /// All that is below `&`, `.`, `:`, `?`, `@`, `\`, DEL and what is no ASCII.
    uint64_t others;
} waypost_marks;

static inline uint64_t waypost_bits_of(waypost_truths truths) {
    waypost_bits equal = __builtin_convertvector(truths, waypost_bits);
    uint16_t bits;
    memcpy(&bits, &equal, sizeof bits);
    return bits;
}

static inline uint64_t waypost_turn(uint64_t bits, size_t turn) { return bits << turn | bits >> (-turn & 63); }

/// Sixteen bytes of a window, and by how much their bits must be turned.
///
/// Nothing behind the limit is read: the last sixteen bytes may begin earlier, even before the window. Turned to their
/// places, bits from before it land above the end.
static inline waypost_bytes waypost_load(
    const uint8_t *_Nonnull text, size_t window, size_t index, size_t limit, size_t *_Nonnull turn
) {
    size_t start = index + 16 <= limit ? index : limit - 16;
    *turn = (start - window) & 63;
    waypost_bytes bytes;
    memcpy(&bytes, text + start, sizeof bytes);
    return bytes;
}

/// Where slashes and percent signs lie among sixteen bytes: bit `i` is for the one at `i`.
typedef struct {
    uint32_t slashes, percents;
} waypost_path_marks;

static inline waypost_path_marks waypost_marks_of(const uint8_t *_Nonnull text) {
    waypost_bytes bytes;
    memcpy(&bytes, text, sizeof bytes);
    waypost_path_marks marks = {
        (uint32_t)waypost_bits_of(bytes == (waypost_bytes)'/'),
        (uint32_t)waypost_bits_of(bytes == (waypost_bytes)'%')};
    return marks;
}

/// The marks of the sixteen bytes from `index`, of those before `limit`.
///
/// As many bytes as sixteen, at least, must be there before the limit.
/// Always inlined, for a call costs more than what it does.
static inline __attribute__((always_inline)) waypost_path_marks waypost_scan_path(
    const uint8_t *_Nonnull text, size_t index, size_t limit
) {
    // A branch: the address would have to wait for a comparison.
    if (__builtin_expect(index + 16 <= limit, 1)) return waypost_marks_of(text + index);
    waypost_path_marks marks = waypost_marks_of(text + limit - 16);
    marks.slashes >>= index + 16 - limit;
    marks.percents >>= index + 16 - limit;
    return marks;
}

/// Reads a window of `text`, of which `limit` bytes, at least sixteen, may be read, as far as `end`.
static inline waypost_marks waypost_scan_url(
    const uint8_t *_Nonnull text, size_t window, size_t end, size_t limit
) {
    waypost_marks marks = {0, 0};
    size_t stop = end < window + 64 ? end : window + 64, turn;
    for (size_t index = window; index < stop; index += 16) {
        waypost_bytes bytes = waypost_load(text, window, index, limit, &turn);
        waypost_truths others = (bytes < (waypost_bytes)'&') | (bytes == (waypost_bytes)'.')
            | (bytes == (waypost_bytes)':') | (bytes == (waypost_bytes)'?') | (bytes == (waypost_bytes)'@')
            | (bytes == (waypost_bytes)'\\') | (bytes >= (waypost_bytes)0x7f);
        marks.slashes |= waypost_turn(waypost_bits_of(bytes == (waypost_bytes)'/'), turn);
        marks.others |= waypost_turn(waypost_bits_of(others), turn);
    }
    return marks;
}

/// Whether `count` bytes are the same.
static inline bool waypost_are_equal(const uint8_t *_Nonnull one, const uint8_t *_Nonnull other, size_t count) {
    return memcmp(one, other, count) == 0;
}

/// The order of two texts by their bytes: below 0 when the first comes first, 0 when they are the same.
static inline int waypost_order(
    const uint8_t *_Nullable one, size_t length, const uint8_t *_Nullable other, size_t other_length
) {
    size_t both = length < other_length ? length : other_length;
    int order = both > 0 ? memcmp(one, other, both) : 0;
    return order != 0 ? order : (length > other_length) - (length < other_length);
}

#if !defined(_WIN32) && !defined(__APPLE__) && !defined(__ANDROID__)
// Declared by glibc and musl only where _GNU_SOURCE is defined, which a header can't for the module of the C library.
void *_Nullable memmem(
    const void *_Nonnull text, size_t length, const void *_Nonnull wanted, size_t wanted_length
);
#endif

/// Where in `text` the first `wanted` begins; `length` when there is none. It takes time in proportion to both lengths.
static inline size_t waypost_find(
    const uint8_t *_Nonnull text, size_t length, const uint8_t *_Nonnull wanted, size_t wanted_length
) {
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
