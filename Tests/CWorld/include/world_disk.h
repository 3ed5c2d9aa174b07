#pragma once

#include <stdint.h>

/// A disk of the world under SQLite's own code: a file system of SQLite's (sqlite3_vfs) over the real one.
///
/// What is written is in the real file at once, as a process sees it. When the disk dies, sectors of 512 bytes that were
/// not synced may be lost, kept, or have what an earlier write left there, each by itself. Nothing that a handle from before
/// that asks for is done any more. Files come and go at once: SQLite syncs folders itself, and the store has no file whose
/// name could be lost alone.
///
/// One thread at a time may use a disk, as it may a connection of SQLite's.
typedef struct world_disk world_disk;

/// A disk for all files of SQLite's in `folder`, an absolute path, that are opened from now on; other folders keep theirs.
world_disk *world_disk_new(const char *folder, uint64_t seed);

/// Its files go on as any others; only once no connection of it is open.
void world_disk_free(world_disk *disk);

/// Dies with the operation that comes so many after this one; -1 for never.
void world_disk_die_after(world_disk *disk, long operations);

/// What is called, once, on the thread whose operation is the last, before anything is lost; it need not return.
void world_disk_on_death(world_disk *disk, void (*call)(void *), void *context);

/// Dies now.
void world_disk_die(world_disk *disk);

/// Is there again, as after a restart of the machine; handles from before stay dead.
void world_disk_revive(world_disk *disk);

int world_disk_is_dead(const world_disk *disk);

/// Whether syncs fail, and make nothing durable.
void world_disk_fail_syncs(world_disk *disk, int fails);

/// Whether syncs say that all is well, and make nothing durable.
void world_disk_lie(world_disk *disk, int lies);

/// No file may become larger than this, in bytes; -1 for no limit.
void world_disk_limit(world_disk *disk, long bytes);

/// How many writes, truncations, syncs and removals there have been.
long world_disk_operations(const world_disk *disk);
