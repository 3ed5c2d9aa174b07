#pragma once

#include "world_disk.h"

/// Hands each job for the threads that all tasks share to `enqueue`, from the thread on which that is asked for.
///
/// A job that is to come after a while ends the process: nothing of ours asks for one (scripts/check seams).
void world_take_jobs(void (*enqueue)(void *job));
