// Stands in front of the C library in a process of the agent, so that a test can decide what its disk does: the same
// build that people run, at places where no code of our own is. WAYPOST_FAULTS names a file of 64-bit numbers, which the
// test changes while the process runs; the numbers are those of FaultLibrary.swift.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { flushes, hangs_in_flush, dies_before_flush, dies_after_flush, store_is_full, refused_writes, numbers };

static _Atomic int64_t none[numbers];
static _Atomic int64_t *fault = none;

__attribute__((constructor)) static void find(void) {
    const char *path = getenv("WAYPOST_FAULTS");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) fault = page;
    close(file);
}

static int flush(const char *name, int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    int64_t number = ++fault[flushes];
    if (number == fault[dies_before_flush]) kill(getpid(), SIGKILL);
    while (fault[hangs_in_flush]) usleep(5000);
    int result = real(file);
    if (number == fault[dies_after_flush]) kill(getpid(), SIGKILL);
    return result;
}

int fsync(int file) { return flush("fsync", file); }
int fdatasync(int file) { return flush("fdatasync", file); }

// Whether the disk has no space for this write: one to the state file or to what SQLite keeps beside it.
static int is_refused(int file) {
    if (!fault[store_is_full]) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, "/waypost.sqlite")) return 0;
    ++fault[refused_writes];
    errno = ENOSPC;
    return 1;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t place) {
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
    return is_refused(file) ? -1 : real(file, bytes, count, place);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t place) {
    ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    return is_refused(file) ? -1 : real(file, bytes, count, place);
}
