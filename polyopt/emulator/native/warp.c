/* Lanes of a warp that wait for each other, and hand over values. */
#include <string.h>

#include "emulator.h"

enum { IS_AT_BARRIER, IS_ELSEWHERE, IS_ITSELF };

static uint32_t lanes_of(const Thread *thread)
{
    uint32_t first = thread->number / LANES * LANES, left = pe_run.count - first;
    return left >= LANES ? UINT32_MAX : (1u << left) - 1;
}

static Thread *lane_of(const Thread *thread, uint32_t lane)
{
    return &pe_threads[thread->number / LANES * LANES + lane];
}

static bool comes_along(const Thread *other, const Thread *thread)
{
    return other->state == AT_WARP && other->warp.kind == thread->warp.kind
           && other->warp.mask == thread->warp.mask && other->warp.size == thread->warp.size;
}

static void find_mask(const Thread *thread, uint32_t lane, int64_t why, int64_t line)
{
    int64_t facts[4] = {thread->warp.mask, lane, why, line};
    pe_find(WARP_MASK, (Touch){0}, 0, 0, pe_site_of_line(thread->line), facts);
}

static void hand_over(const Thread *thread, uint32_t mask)
{
    uint32_t size = thread->warp.size;
    for (uint32_t to = 0; to < LANES && size; to++)
        for (uint32_t from = 0; mask >> to & 1 && from < LANES; from++)
            if (mask >> from & 1)
                memcpy((char *)lane_of(thread, to)->warp.all + from * size,
                       lane_of(thread, from)->warp.given, size);
}

/* What any of the lanes did before is now before what any of them does. */
static void join(const Thread *thread, uint32_t mask)
{
    uint32_t latest[LANES] = {0};
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t k = 0; mask >> lane & 1 && k < LANES; k++)
            if (lane_of(thread, lane)->clocks[k] > latest[k])
                latest[k] = lane_of(thread, lane)->clocks[k];
    for (uint32_t lane = 0; lane < LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        memcpy(lane_of(thread, lane)->clocks, latest, sizeof latest);
        lane_of(thread, lane)->clocks[lane]++;
    }
}

/* The lanes that must come along: those named that have not ended. */
static uint32_t awaited(const Thread *thread)
{
    uint32_t mask = thread->warp.mask & lanes_of(thread);
    for (uint32_t lane = 0; lane < LANES; lane++)
        if (mask >> lane & 1 && lane_of(thread, lane)->state == ENDED)
            mask &= ~(1u << lane);
    return mask;
}

/* Let the lanes go on that wait with `thread`, if all are there. */
static void meet(const Thread *thread)
{
    uint32_t mask = awaited(thread);
    for (uint32_t lane = 0; lane < LANES; lane++)
        if (mask >> lane & 1 && !comes_along(lane_of(thread, lane), thread))
            return;
    hand_over(thread, mask);
    if (thread->warp.kind == WARP_SYNC)
        join(thread, mask);
    for (uint32_t lane = 0; lane < LANES; lane++)
        if (mask >> lane & 1) {
            lane_of(thread, lane)->warp.present = mask;
            lane_of(thread, lane)->state = RUNS;
        }
}

/* A thread has ended: nobody waits for it any more. */
void pe_warp_at_end(const Thread *ended)
{
    uint32_t lanes = lanes_of(ended);
    for (uint32_t lane = 0; lane < LANES; lane++)
        if (lanes >> lane & 1 && lane_of(ended, lane)->state == AT_WARP)
            meet(lane_of(ended, lane));
}

/* Say why the running thread, which waits for lanes of its warp, waits in vain. */
void pe_warp_stuck(void)
{
    Thread *thread = pe_now;
    uint32_t mask = awaited(thread);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        Thread *other = lane_of(thread, lane);
        if (!(mask >> lane & 1) || comes_along(other, thread))
            continue;
        find_mask(thread, lane, other->state == AT_BARRIER ? IS_AT_BARRIER : IS_ELSEWHERE,
                  other->line);
        break;
    }
    pe_run.stopped = true;
}

void pe_warp(int kind, unsigned named, const void *given, unsigned size, void *all, int line)
{
    Thread *thread = pe_now;
    uint32_t own = thread->number % LANES;
    thread->warp = (WarpCall){.kind = (WarpKind)kind, .mask = named, .given = given, .size = size,
                              .all = all};
    thread->line = line;
    if (!(named >> own & 1)) {
        find_mask(thread, own, IS_ITSELF, 0);
        pe_stop();
    }
    thread->state = AT_WARP;
    meet(thread);
    if (thread->state == AT_WARP)
        pe_fiber_leave();
}

/* The running thread wants what lane `from` gave to the call: it must have been in it. */
void pe_warp_source(unsigned mask, unsigned from, int line)
{
    if (pe_now->warp.present >> from & 1)
        return;
    int64_t facts[4] = {mask, from, 0, 0};
    pe_find(WARP_SOURCE, (Touch){0}, 0, 0, pe_site_of_line(line), facts);
}

/* The lanes that took part in the running thread's last call. */
unsigned pe_warp_present(void)
{
    return pe_now->warp.present;
}
