/* Order between blocks of one launch: a fence, an atomic operation, and one that sees it.
 *
 * What a thread's block did before an earlier barrier, and what the thread itself did before its
 * fence, is released by its next atomic operations; an atomic operation of another block on the
 * same address acquires it, for its own thread at once and for its block from the next barrier on.
 */
#include "emulator.h"

enum { MOST_RELEASES = 1 << 14 };

typedef struct {
    uintptr_t address;
    uint32_t start; /* the first interval of the block that released */
    uint32_t interval, clock, thread;
} Release;

typedef struct {
    Release release;
    uint32_t interval, thread; /* who acquired it when */
} Acquired;

static Release releases[MOST_RELEASES];
static uint32_t released;
static Acquired acquired[MOST_RELEASES];
static uint32_t got;

void pe_fences_new_launch(void)
{
    released = 0;
}

void pe_fences_new_block(void)
{
    got = 0;
}

/* A memory fence of the whole device. */
void pe_fence(void)
{
    if (!pe_now)
        return;
    uint32_t *clock = &pe_now->clocks[pe_now->number % LANES];
    pe_now->fence_interval = pe_run.interval;
    pe_now->fence_clock = (*clock)++;
}

void pe_fences_atomic(uintptr_t address)
{
    for (uint32_t k = 0; k < released && got < MOST_RELEASES; k++)
        if (releases[k].address == address && releases[k].start != pe_run.first_of_block)
            acquired[got++] = (Acquired){releases[k], pe_run.interval, pe_now->number};
    if (pe_now->fence_interval && released < MOST_RELEASES)
        releases[released++] = (Release){
            .address = address,
            .start = pe_run.first_of_block,
            .interval = pe_now->fence_interval,
            .clock = pe_now->fence_clock,
            .thread = pe_now->number,
        };
}

bool pe_fences_order(uint32_t interval, uint32_t thread, uint32_t clock)
{
    if (!got)
        return false;
    uint32_t start = pe_block_start(interval);
    for (uint32_t k = 0; k < got; k++) {
        Acquired a = acquired[k];
        if (a.release.start != start)
            continue;
        if (a.thread != pe_now->number && a.interval >= pe_run.interval)
            continue;
        if (interval < a.release.interval)
            return true;
        if (interval == a.release.interval && thread == a.release.thread
            && clock <= a.release.clock)
            return true;
    }
    return false;
}
