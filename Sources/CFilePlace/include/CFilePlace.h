#pragma once

#include <stdint.h>

/// Which file a path names, links not followed: its device and its number there.
///
/// Does not ask for the times of the file. Linux 6.13 and later give a file whose times were looked at an exact time
/// with its next write, and the flush behind that write then has to write the inode too: one more wait for the disk.
///
/// @return 0, or -1 with `errno`.
int waypost_file_place(const char *path, uint64_t *device, uint64_t *inode);
