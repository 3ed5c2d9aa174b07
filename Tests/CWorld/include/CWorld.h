#pragma once

#include "turns.h"
#include "world_disk.h"

/// Hands each job for the threads that all tasks share to `enqueue`, from the thread on which that is asked for.
///
/// A job that is to come after a while ends the process: nothing of ours asks for one (scripts/check seams).
void world_take_jobs(void (*enqueue)(void *job));

/// A second process that goes on from here; only where this one has no second thread.
int world_fork(void);

/// From now on this process has one processor: the one of this number, of those that it may have; the one on which it runs for
/// a number below 0. Its threads run one at a time, and a turn that goes to another processor takes much longer.
void world_keep_processor(int number);

/// From now on SIGINT and SIGTERM end nothing, and are only noticed.
void world_notice_interrupts(void);

int world_is_interrupted(void);

/// The number that a question to a database of SQLite's answers; -1 when it can't be asked.
long world_count(const char *path, const char *question);

/// The text that it answers, cut to what fits; nothing is written when it can't be asked.
void world_text(const char *path, const char *question, char *bytes, long size);
