#include "fibers.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "agent.h"
#include "memory.h"

enum { STACK = 1 << 20, GUARD_PAGE = 4096 };

typedef struct {
    ucontext_t context;
    void *stack;
    Calls calls;
    bool ended;
} Fiber;

static ucontext_t scheduler;
static Fiber *running;
static uint32_t running_number;
static void (*running_body)(uint32_t number);

static void start(void)
{
    running_body(running_number);
    running->ended = true;
}

static void prepare(Fiber *fiber, const Calls *calls)
{
    fiber->stack = po_map(STACK);
    if (mprotect(fiber->stack, GUARD_PAGE, PROT_NONE) != 0 || getcontext(&fiber->context) != 0)
        po_give_up("a thread cannot be made");
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = STACK;
    fiber->context.uc_link = &scheduler;
    fiber->calls = *calls;
    makecontext(&fiber->context, start, 0);
}

static void resume(Fiber *fiber, uint32_t number)
{
    running = fiber;
    running_number = number;
    po_agent.calls = &fiber->calls;
    po_agent.own_end = (uintptr_t)fiber->stack + STACK;
    swapcontext(&scheduler, &fiber->context);
}

void fibers_run(uint32_t count, void (*body)(uint32_t number), void (*next_phase)(void))
{
    Calls *outer = po_agent.calls;
    Fiber *fibers = po_map(count * sizeof *fibers);
    running_body = body;
    for (uint32_t k = 0; k < count; k++)
        prepare(&fibers[k], outer);
    for (uint32_t ended = 0; ended < count;) {
        for (uint32_t k = 0; k < count; k++)
            resume(&fibers[k], k);
        ended = 0;
        for (uint32_t k = 0; k < count; k++)
            ended += fibers[k].ended;
        if (ended > 0 && ended < count)
            po_give_up("some threads wait at a barrier that the others never reach");
        next_phase();
    }
    for (uint32_t k = 0; k < count; k++)
        po_unmap(fibers[k].stack, STACK);
    po_unmap(fibers, count * sizeof *fibers);
    po_agent.calls = outer;
}

void fibers_wait(void)
{
    swapcontext(&running->context, &scheduler);
}
