#pragma once

#include <mosquitto.h>
#include <mqtt_protocol.h>

// What the link's loop needs of Linux and Swift's Glibc module leaves out.
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// prctl is variadic, and those do not come over. At most 15 characters of the name are kept.
static inline void link_set_thread_name(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// gettid is hidden from Swift by the feature macros that its Glibc module was built with.
static inline long link_thread_id(void) { return syscall(SYS_gettid); }
