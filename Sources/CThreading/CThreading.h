#pragma once

#ifdef __linux__
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/// A new eventfd that neither blocks nor survives an exec; -1 with `errno` when there is none.
static inline int waypost_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/// Linux's id of the calling thread, as `ps -L` shows it. A thread asks the kernel once.
static inline long waypost_thread_id(void) {
    static _Thread_local long id;
    if (id == 0) id = syscall(SYS_gettid);
    return id;
}
#endif
