#include "CWorld.h"

#include <stdio.h>
#include <stdlib.h>

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
