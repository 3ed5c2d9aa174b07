#define _GNU_SOURCE
#include "CThreading.h"

#ifdef __linux__
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

int waypost_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// A thread asks the kernel once.
long waypost_thread_id(void) {
    static _Thread_local long id;
    if (id == 0) id = syscall(SYS_gettid);
    return id;
}
#endif
