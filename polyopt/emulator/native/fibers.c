/* Stacks and switches: on x86-64 a few pushes, elsewhere the system's contexts. */
#include <sys/mman.h>

#include "emulator.h"

enum { STACK = 512 << 10, GUARD = 64 << 10 };

static char *stacks; /* of all threads, one behind the other; all libraries may use the same */
static void (*bodies[MOST_THREADS])(void);
static uint32_t running;

#if defined(__x86_64__) && !defined(PE_CONTEXTS)

static void *inside[MOST_THREADS], *outside;

void pe_switch(void **saved, void *next);
__asm__(".text\n"
        ".hidden pe_switch\n"
        ".globl pe_switch\n"
        ".type pe_switch, @function\n"
        "pe_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n"
        "    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size pe_switch, .-pe_switch\n");

static void begin(void)
{
    bodies[running]();
    for (;;)
        pe_fiber_leave();
}

static void prepare(uint32_t number)
{
    void **top = (void **)pe_fiber_end(number);
    *--top = NULL;
    *--top = (void *)begin;
    for (int k = 0; k < 6; k++)
        *--top = NULL;
    inside[number] = top;
}

static void enter(uint32_t number)
{
    pe_switch(&outside, inside[number]);
}

void pe_fiber_leave(void)
{
    pe_switch(&inside[running], outside);
}

#else
#include <ucontext.h>

static ucontext_t inside[MOST_THREADS], outside;

static void begin(void)
{
    bodies[running]();
    for (;;)
        pe_fiber_leave();
}

static void prepare(uint32_t number)
{
    getcontext(&inside[number]);
    inside[number].uc_stack.ss_sp = stacks + (size_t)number * STACK;
    inside[number].uc_stack.ss_size = STACK;
    inside[number].uc_link = NULL;
    makecontext(&inside[number], begin, 0);
}

static void enter(uint32_t number)
{
    swapcontext(&outside, &inside[number]);
}

void pe_fiber_leave(void)
{
    swapcontext(&inside[running], &outside);
}
#endif

/* Use this memory, of `pe_stack_bytes`, for the stacks of all threads; 0 when it cannot be. */
int pe_stacks(void *memory)
{
    if (stacks == memory)
        return 1;
    stacks = memory;
    for (uint32_t k = 0; k < MOST_THREADS; k++)
        if (mprotect(stacks + (size_t)k * STACK, GUARD, PROT_NONE) != 0)
            return 0;
    return 1;
}

uint64_t pe_stack_bytes(void)
{
    return (uint64_t)MOST_THREADS * STACK;
}

void pe_fiber_start(uint32_t number, void (*body)(void))
{
    bodies[number] = body;
    prepare(number);
}

void pe_fiber_resume(uint32_t number)
{
    running = number;
    enter(number);
}

uintptr_t pe_fiber_end(uint32_t number)
{
    return (uintptr_t)stacks + (size_t)(number + 1) * STACK;
}
