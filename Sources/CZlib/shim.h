#pragma once

#include <zlib.h>

// deflateInit2 is a macro. The bytes with the header and the trailer of gzip (RFC 1952); 0 when there is no memory, or
// when they are more than `capacity`.
static inline unsigned long waypost_gzip(const void *bytes, unsigned long count, void *result, unsigned long capacity) {
    z_stream stream = {0};
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (Bytef *)bytes;
    stream.avail_in = (uInt)count;
    stream.next_out = result;
    stream.avail_out = (uInt)capacity;
    int ending = deflate(&stream, Z_FINISH);
    unsigned long length = stream.total_out;
    deflateEnd(&stream);
    return ending == Z_STREAM_END ? length : 0;
}

// Of `count` bytes, at most.
static inline unsigned long waypost_gzip_bound(unsigned long count) { return compressBound(count) + 64; }
