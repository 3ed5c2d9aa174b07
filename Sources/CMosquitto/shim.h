#pragma once

#include <mosquitto.h>
#include <mqtt_protocol.h>

// What the link's loop needs of Linux and Swift's Glibc module leaves out.
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// gettid is hidden from Swift by the feature macros that its Glibc module was built with. A thread asks the kernel once.
static inline long link_thread_id(void) {
    static _Thread_local long id;
    if (id == 0) id = syscall(SYS_gettid);
    return id;
}
