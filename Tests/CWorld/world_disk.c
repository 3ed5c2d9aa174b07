#define _GNU_SOURCE
#include "world_disk.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { sector = 512, most_disks = 64, longest_path = 1024 };

// What was before an operation that is not durable yet.
typedef struct undo {
    struct undo *older;
    char path[longest_path];
    int is_truncation;
    sqlite3_int64 offset, length, old_size;
    // What was there of the range: less than it where the file ended.
    sqlite3_int64 known;
    unsigned char bytes[];
} undo;

struct world_disk {
    char folder[longest_path];
    uint64_t state;
    long operations, dies_at, limit;
    int is_dead, fails, lies, generation;
    undo *newest;
    void (*on_death)(void *);
    void *context;
};

typedef struct {
    sqlite3_file base;
    world_disk *disk;
    int generation;
    char path[longest_path];
    // The real one follows.
} world_file;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static world_disk *disks[most_disks];
static sqlite3_vfs *real;
static sqlite3_vfs ours;

static sqlite3_file *inner(sqlite3_file *file) { return (sqlite3_file *)((world_file *)file + 1); }

static uint64_t draw(world_disk *disk) {
    uint64_t mixed = disk->state += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
}

static int is_gone(sqlite3_file *file) {
    world_file *own = (world_file *)file;
    return own->disk->is_dead || own->generation != own->disk->generation;
}

// MARK: What is not durable

static void forget(world_disk *disk, const char *path) {
    undo **link = &disk->newest;
    while (*link) {
        undo *entry = *link;
        if (path && strcmp(entry->path, path) != 0) {
            link = &entry->older;
            continue;
        }
        *link = entry->older;
        free(entry);
    }
}

static int remember(sqlite3_file *file, int is_truncation, sqlite3_int64 offset, sqlite3_int64 length) {
    world_file *own = (world_file *)file;
    undo *entry = calloc(1, sizeof(undo) + (size_t)length);
    if (!entry) return SQLITE_NOMEM;
    int code = inner(file)->pMethods->xFileSize(inner(file), &entry->old_size);
    if (code == SQLITE_OK && length > 0) {
        code = inner(file)->pMethods->xRead(inner(file), entry->bytes, (int)length, offset);
        if (code == SQLITE_IOERR_SHORT_READ) code = SQLITE_OK;
    }
    if (code != SQLITE_OK) {
        free(entry);
        return code;
    }
    strcpy(entry->path, own->path);
    entry->is_truncation = is_truncation;
    entry->offset = offset;
    entry->length = length;
    entry->known = entry->old_size - offset;
    if (entry->known < 0) entry->known = 0;
    if (entry->known > length) entry->known = length;
    entry->older = own->disk->newest;
    own->disk->newest = entry;
    return SQLITE_OK;
}

// What is decided of a file's sectors: those that are kept are kept as they are, whatever was there earlier.
typedef struct kept {
    struct kept *next;
    char path[longest_path];
    size_t sectors;
    unsigned char *is_kept;
} kept;

static kept *kept_of(kept **all, const char *path, size_t sectors) {
    kept *found = *all;
    while (found && strcmp(found->path, path) != 0) found = found->next;
    if (!found) {
        found = calloc(1, sizeof(kept));
        if (!found) abort();
        strcpy(found->path, path);
        found->next = *all;
        *all = found;
    }
    if (found->sectors < sectors) {
        found->is_kept = realloc(found->is_kept, sectors);
        if (!found->is_kept) abort();
        memset(found->is_kept + found->sectors, 0, sectors - found->sectors);
        found->sectors = sectors;
    }
    return found;
}

static void revert_write(world_disk *disk, const undo *entry, int file, kept **all, unsigned share) {
    sqlite3_int64 end = entry->offset + entry->length;
    kept *own = kept_of(all, entry->path, (size_t)(end / sector + 1));
    static const unsigned char zeros[sector];
    int is_all = 1;
    for (sqlite3_int64 at = entry->offset; at < end;) {
        sqlite3_int64 next = (at / sector + 1) * sector;
        if (next > end) next = end;
        unsigned char *is_kept = &own->is_kept[at / sector];
        if (!*is_kept && draw(disk) % 100 >= share) *is_kept = 1;
        if (*is_kept) {
            is_all = 0;
        } else {
            sqlite3_int64 first = at - entry->offset, known = entry->known - first, count = next - at;
            if (known > count) known = count;
            if (known > 0 && pwrite(file, entry->bytes + first, (size_t)known, at) < 0) abort();
            if (known < 0) known = 0;
            // Beyond the old end there may be anything; zeros are what file systems show.
            if (known < count && pwrite(file, zeros, (size_t)(count - known), at + known) < 0) abort();
        }
        at = next;
    }
    if (is_all && entry->known < entry->length && share == 100 && ftruncate(file, entry->old_size) < 0) abort();
}

static void lose(world_disk *disk) {
    // A killed process loses nothing, a loss of power all or some of it.
    static const unsigned shares[] = {0, 100, 50, 10, 90};
    unsigned share = shares[draw(disk) % 5];
    kept *all = 0;
    for (undo *entry = disk->newest; entry; entry = entry->older) {
        int file = open(entry->path, O_RDWR | O_CLOEXEC);
        if (file < 0) continue;
        if (!entry->is_truncation) {
            revert_write(disk, entry, file, &all, share);
        } else if (draw(disk) % 100 < share) {
            if (pwrite(file, entry->bytes, (size_t)entry->known, entry->offset) < 0) abort();
            if (ftruncate(file, entry->old_size) < 0) abort();
        }
        close(file);
    }
    while (all) {
        kept *next = all->next;
        free(all->is_kept);
        free(all);
        all = next;
    }
    forget(disk, 0);
}

// An operation begins; an error where the disk is dead.
static int begin(sqlite3_file *file, int error) { return is_gone(file) ? error : SQLITE_OK; }

// It has ended, and with it perhaps the disk.
static int ended(world_disk *disk, int code, int error) {
    disk->operations += 1;
    if (disk->dies_at < 0 || disk->operations < disk->dies_at) return code;
    if (disk->on_death) disk->on_death(disk->context);
    world_disk_die(disk);
    return error;
}

static int end(sqlite3_file *file, int code, int error) { return ended(((world_file *)file)->disk, code, error); }

// MARK: Files

static int file_close(sqlite3_file *file) { return inner(file)->pMethods->xClose(inner(file)); }

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    if (is_gone(file)) return SQLITE_IOERR_READ;
    return inner(file)->pMethods->xRead(inner(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    world_disk *disk = ((world_file *)file)->disk;
    int code = begin(file, SQLITE_IOERR_WRITE);
    if (code == SQLITE_OK && disk->limit >= 0 && offset + count > disk->limit) code = SQLITE_FULL;
    if (code == SQLITE_OK) code = remember(file, 0, offset, count);
    if (code != SQLITE_OK) return code;
    code = inner(file)->pMethods->xWrite(inner(file), bytes, count, offset);
    return end(file, code, SQLITE_IOERR_WRITE);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    sqlite3_int64 before = 0;
    int code = begin(file, SQLITE_IOERR_TRUNCATE);
    if (code == SQLITE_OK) code = inner(file)->pMethods->xFileSize(inner(file), &before);
    if (code == SQLITE_OK) code = remember(file, 1, size, before > size ? before - size : 0);
    if (code != SQLITE_OK) return code;
    code = inner(file)->pMethods->xTruncate(inner(file), size);
    return end(file, code, SQLITE_IOERR_TRUNCATE);
}

static int file_sync(sqlite3_file *file, int flags) {
    (void)flags;
    world_file *own = (world_file *)file;
    int code = begin(file, SQLITE_IOERR_FSYNC);
    if (code != SQLITE_OK) return code;
    if (own->disk->fails) return end(file, SQLITE_IOERR_FSYNC, SQLITE_IOERR_FSYNC);
    // It may die in the middle of it, which is before its end.
    int dies = own->disk->dies_at >= 0 && own->disk->operations + 1 >= own->disk->dies_at;
    if (!own->disk->lies && !dies) forget(own->disk, own->path);
    return end(file, SQLITE_OK, SQLITE_IOERR_FSYNC);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    if (is_gone(file)) return SQLITE_IOERR_FSTAT;
    return inner(file)->pMethods->xFileSize(inner(file), size);
}

static int file_lock(sqlite3_file *file, int level) {
    if (is_gone(file)) return SQLITE_IOERR_LOCK;
    return inner(file)->pMethods->xLock(inner(file), level);
}

static int file_unlock(sqlite3_file *file, int level) { return inner(file)->pMethods->xUnlock(inner(file), level); }

static int file_check_lock(sqlite3_file *file, int *result) {
    return inner(file)->pMethods->xCheckReservedLock(inner(file), result);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    if (is_gone(file)) return SQLITE_NOTFOUND;
    return inner(file)->pMethods->xFileControl(inner(file), operation, argument);
}

static int file_sector_size(sqlite3_file *file) { return inner(file)->pMethods->xSectorSize(inner(file)); }

static int file_characteristics(sqlite3_file *file) {
    return inner(file)->pMethods->xDeviceCharacteristics(inner(file));
}

// Version 1 has no memory that is shared or mapped: what goes past these functions could not be lost.
static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
};

// MARK: The file system

static world_disk *disk_of(const char *path) {
    world_disk *found = 0;
    if (!path) return 0;
    pthread_mutex_lock(&lock);
    for (int index = 0; index < most_disks && !found; index++) {
        world_disk *disk = disks[index];
        if (!disk) continue;
        size_t length = strlen(disk->folder);
        if (strncmp(path, disk->folder, length) == 0 && path[length] == '/') found = disk;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *flags_out) {
    (void)vfs;
    world_disk *disk = disk_of(path);
    if (!disk) return real->xOpen(real, path, file, flags, flags_out);
    world_file *own = (world_file *)file;
    own->base.pMethods = 0;
    if (disk->is_dead) return SQLITE_CANTOPEN;
    if (strlen(path) >= longest_path) return SQLITE_CANTOPEN;
    int code = real->xOpen(real, path, inner(file), flags, flags_out);
    if (code != SQLITE_OK) return code;
    own->base.pMethods = &methods;
    own->disk = disk;
    own->generation = disk->generation;
    strcpy(own->path, path);
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int syncs) {
    (void)vfs;
    world_disk *disk = disk_of(path);
    if (!disk) return real->xDelete(real, path, syncs);
    if (disk->is_dead) return SQLITE_IOERR_DELETE;
    forget(disk, path);
    int code = real->xDelete(real, path, syncs);
    return ended(disk, code, SQLITE_IOERR_DELETE);
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
    (void)vfs;
    return real->xAccess(real, path, flags, result);
}

static int vfs_full_pathname(sqlite3_vfs *vfs, const char *path, int count, char *result) {
    (void)vfs;
    return real->xFullPathname(real, path, count, result);
}

static void set_up(void) {
    real = sqlite3_vfs_find(0);
    if (!real) abort();
    ours = *real;
    ours.zName = "world";
    ours.pNext = 0;
    ours.szOsFile = (int)sizeof(world_file) + real->szOsFile;
    ours.xOpen = vfs_open;
    ours.xDelete = vfs_delete;
    ours.xAccess = vfs_access;
    ours.xFullPathname = vfs_full_pathname;
    // The default, for the code above it names none.
    if (sqlite3_vfs_register(&ours, 1) != SQLITE_OK) abort();
}

world_disk *world_disk_new(const char *folder, uint64_t seed) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up);
    world_disk *disk = calloc(1, sizeof(world_disk));
    if (!disk || strlen(folder) >= longest_path) abort();
    strcpy(disk->folder, folder);
    disk->state = seed;
    disk->dies_at = disk->limit = -1;
    int place = 0;
    pthread_mutex_lock(&lock);
    while (place < most_disks && disks[place]) place++;
    if (place == most_disks) abort();
    disks[place] = disk;
    pthread_mutex_unlock(&lock);
    return disk;
}

void world_disk_free(world_disk *disk) {
    pthread_mutex_lock(&lock);
    for (int index = 0; index < most_disks; index++) {
        if (disks[index] == disk) disks[index] = 0;
    }
    pthread_mutex_unlock(&lock);
    forget(disk, 0);
    free(disk);
}

void world_disk_die_after(world_disk *disk, long operations) {
    disk->dies_at = operations < 0 ? -1 : disk->operations + operations;
}

void world_disk_on_death(world_disk *disk, void (*call)(void *), void *context) {
    disk->on_death = call;
    disk->context = context;
}

void world_disk_die(world_disk *disk) {
    if (disk->is_dead) return;
    disk->is_dead = 1;
    lose(disk);
}

void world_disk_revive(world_disk *disk) {
    disk->is_dead = 0;
    disk->dies_at = -1;
    disk->generation += 1;
}

int world_disk_is_dead(const world_disk *disk) { return disk->is_dead; }
void world_disk_fail_syncs(world_disk *disk, int fails) { disk->fails = fails; }
void world_disk_lie(world_disk *disk, int lies) { disk->lies = lies; }
void world_disk_limit(world_disk *disk, long bytes) { disk->limit = bytes; }
long world_disk_operations(const world_disk *disk) { return disk->operations; }
