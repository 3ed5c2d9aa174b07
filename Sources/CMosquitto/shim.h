#pragma once

#include <mosquitto.h>
#include <mqtt_protocol.h>

// What the link's loop needs of Linux and Swift's Glibc module leaves out.
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// gettid is hidden from Swift by the feature macros that its Glibc module was built with.
static inline long link_thread_id(void) { return syscall(SYS_gettid); }
