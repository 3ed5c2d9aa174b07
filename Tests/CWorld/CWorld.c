#define _GNU_SOURCE
#include "CWorld.h"

#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SWIFT_CALL __attribute__((swiftcall))

// The runtime's own variables, which it looks at before it enqueues a job.
extern SWIFT_CALL void (*swift_task_enqueueGlobal_hook)(void *job, SWIFT_CALL void (*original)(void *));
extern void *swift_task_enqueueGlobalWithDelay_hook;
extern void *swift_task_enqueueGlobalWithDeadline_hook;

static void (*taker)(void *);

static SWIFT_CALL void take(void *job, SWIFT_CALL void (*original)(void *)) {
    (void)original;
    taker(job);
}

static SWIFT_CALL void refuse(void) {
    fputs("a task waits by the clock of the system; MonotonicTime.sleep waits by that of the world\n", stderr);
    abort();
}

void world_take_jobs(void (*enqueue)(void *)) {
    taker = enqueue;
    swift_task_enqueueGlobal_hook = take;
    swift_task_enqueueGlobalWithDelay_hook = (void *)refuse;
    swift_task_enqueueGlobalWithDeadline_hook = (void *)refuse;
}

int world_fork(void) { return fork(); }

void world_keep_processor(int number) {
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    int processor = sched_getcpu();
    for (int place = number < 0 ? -1 : number % CPU_COUNT(&all), next = 0; place >= 0; next++)
        if (CPU_ISSET(next, &all) && place-- == 0) processor = next;
    if (processor < 0) return;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static volatile sig_atomic_t interrupts;

static void interrupt(int number) {
    (void)number;
    interrupts = 1;
}

void world_notice_interrupts(void) {
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGINT, &action, 0);
    sigaction(SIGTERM, &action, 0);
}

int world_is_interrupted(void) { return interrupts; }

static void ask(const char *path, const char *question, void (*found)(sqlite3_stmt *, void *), void *context) {
    sqlite3 *database = 0;
    sqlite3_stmt *statement = 0;
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, 0) == SQLITE_OK
        && sqlite3_prepare_v2(database, question, -1, &statement, 0) == SQLITE_OK
        && sqlite3_step(statement) == SQLITE_ROW)
        found(statement, context);
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

static void put_count(sqlite3_stmt *statement, void *count) { *(long *)count = sqlite3_column_int64(statement, 0); }

long world_count(const char *path, const char *question) {
    long count = -1;
    ask(path, question, put_count, &count);
    return count;
}

struct text { char *bytes; long size; };

static void put_text(sqlite3_stmt *statement, void *context) {
    struct text *text = context;
    snprintf(text->bytes, text->size, "%s", (const char *)sqlite3_column_text(statement, 0));
}

void world_text(const char *path, const char *question, char *bytes, long size) {
    struct text text = {bytes, size};
    ask(path, question, put_text, &text);
}
