#pragma once

#include <mosquitto.h>
#include <mqtt_protocol.h>

// What the link's loop needs of Linux and Swift's Glibc module leaves out.
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

// prctl is variadic, and those do not come over. At most 15 characters of the name are kept.
static inline void link_set_thread_name(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
