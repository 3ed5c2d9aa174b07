#include "turns.h"

#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>

#if defined(__x86_64__) && defined(__linux__) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define CARRIES 1
#else
#define CARRIES 0
#endif

// A turn that goes from thread to thread through the kernel takes longer than most of what a thread does with one. So the first
// thread carries all others, where the processor lets a program say which memory is a thread's own: it goes on upon their
// stacks, as they, while they wait in the kernel for their end. All code that asks which thread it runs on is told the right one.
struct world_turn {
    /// Of its thread: a turn, without a carrier; its end, with one.
    sem_t wakes;
    /// That its thread is where it can be carried.
    sem_t is_ready;
    int has_begun;
    void (*body)(void *);
    void *context;
    /// Where its stack ends for now, and the memory that is its thread's own.
    void *stack;
    uint64_t own;
};

static void await(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) {}
}

world_turn *world_turn_new(void) {
    world_turn *turn = calloc(1, sizeof *turn);
    sem_init(&turn->wakes, 0, 0);
    sem_init(&turn->is_ready, 0, 0);
    return turn;
}

void world_turn_free(world_turn *turn) {
    sem_destroy(&turn->wakes);
    sem_destroy(&turn->is_ready);
    free(turn);
}

#if CARRIES

// The thread that goes on as others, the one that it goes on as, and the one that has just given its last turn.
static world_turn *carrier, *running, *ended;

static int carries(void) {
    // Whether Linux lets programs set the register of a thread's own memory (HWCAP2_FSGSBASE).
    static int known = -1;
    if (known < 0) known = (getauxval(AT_HWCAP2) & 2) != 0 && !getenv("WORLD_TURNS_BY_KERNEL");
    return known;
}

// Keeps what a called function must keep, and goes on where that was kept on another stack.
__attribute__((naked, noinline)) static void change(void **kept, void *stack, uint64_t own) {
    __asm__("pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n\t"
            "movq %rsp, (%rdi)\n\t"
            "movq %rsi, %rsp\n\t"
            "wrfsbase %rdx\n\t"
            "popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp\n\t"
            "ret");
}

static void let_end(void) {
    // Nothing goes on upon its stack any more.
    if (ended) sem_post(&ended->wakes);
    ended = 0;
}

static void begin(void) {
    let_end();
    running->body(running->context);
    abort();
}

static void make_ready(world_turn *turn) {
    __asm__("rdfsbase %0" : "=r"(turn->own));
    // What `change` finds on a stack on which nothing has run yet, well below what the thread itself has there.
    uintptr_t *top = (uintptr_t *)(((uintptr_t)__builtin_frame_address(0) - 65536) & ~(uintptr_t)15);
    top[-2] = (uintptr_t)begin;
    turn->stack = top - 8;
    sem_post(&turn->is_ready);
}

static void carry(world_turn *from, world_turn *to) {
    if (!to->has_begun) await(&to->is_ready);
    to->has_begun = 1;
    running = to;
    change(&from->stack, to->stack, to->own);
    let_end();
}

#else
static world_turn *carrier, *ended;

static int carries(void) { return 0; }
static void make_ready(world_turn *turn) { (void)turn; }
static void carry(world_turn *from, world_turn *to) { (void)from, (void)to; }
#endif

void world_turn_take(world_turn *turn, void (*body)(void *), void *context) {
    turn->body = body;
    turn->context = context;
    if (carries()) make_ready(turn);
    await(&turn->wakes);
    if (!carries() || turn == carrier) body(context);
}

void world_turn_begin(world_turn *first) {
    carrier = first;
    first->has_begun = 1;
    sem_post(&first->wakes);
}

void world_turn_give(world_turn *from, world_turn *to) {
    if (carries()) return carry(from, to);
    sem_post(&to->wakes);
    await(&from->wakes);
}

void world_turn_give_last(world_turn *from, world_turn *to) {
    if (!carries()) {
        sem_post(&to->wakes);
        return;
    }
    ended = from;
    carry(from, to);
}
