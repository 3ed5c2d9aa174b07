#pragma once

#include <mosquitto.h>
#include <mqtt_protocol.h>

// What the link's loop needs of Linux and Swift's Glibc module leaves out.
#include <sys/ioctl.h>
#include <unistd.h>
