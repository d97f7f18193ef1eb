/* Copies into shared memory that land as late as they may: at the wait that covers them. */
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

void pe_async_new_block(Thread *thread)
{
    thread->copies_made = 0;
    thread->group = 0;
}

void pe_async_at_end(Thread *thread)
{
    if (thread->copies_made == 0 || !pe_run.checks)
        return;
    Copy first = thread->copies[0];
    pe_find(NEVER_WAITED, (Touch){0}, first.to, first.size, first.site, NULL);
}

static void check_alignment(uintptr_t address, uint32_t size, uint32_t site)
{
    if (address % size == 0)
        return;
    int64_t facts[4] = {size};
    pe_find(MISALIGNED, (Touch){0}, address, size, site, facts);
    pe_stop();
}

static void watch(const Copy *copy)
{
    check_alignment(copy->to, copy->size, copy->site);
    check_alignment(copy->from, copy->size, copy->site);
    pe_check_place(copy->to, copy->size, WRITE, copy->site);
    if (copy->taken)
        pe_touch(copy->from, copy->taken, READ, copy->site);
    pe_touch(copy->to, copy->size, WRITE, copy->site);
    pe_mark_copy(copy->to, copy->size, true);
    memset((void *)copy->to, 0xff, copy->size);
}

static void land(Copy copy)
{
    if (pe_run.checks) {
        pe_mark_copy(copy.to, copy.size, false);
        if (copy.taken)
            pe_touch(copy.from, copy.taken, READ, copy.site);
        pe_touch(copy.to, copy.size, WRITE, copy.site);
    }
    memcpy((void *)copy.to, (const void *)copy.from, copy.taken);
    memset((char *)copy.to + copy.taken, 0, copy.size - copy.taken);
}

/* Begin a copy; without checks, do it at once. */
void pe_copy(void *to, const void *from, unsigned size, unsigned taken, int line)
{
    Thread *thread = pe_now;
    Copy copy = {
        .to = (uintptr_t)to,
        .from = (uintptr_t)from,
        .size = size,
        .taken = taken < size ? taken : size,
        .site = pe_site_of_line(line),
        .group = thread->group,
    };
    if (!pe_run.checks) {
        land(copy);
        return;
    }
    watch(&copy);
    if (thread->copies_made == thread->copies_room) {
        uint32_t room = thread->copies_room ? 2 * thread->copies_room : 16;
        Copy *larger = realloc(thread->copies, room * sizeof copy);
        if (!larger)
            pe_stop();
        thread->copies = larger;
        thread->copies_room = room;
    }
    thread->copies[thread->copies_made++] = copy;
}

void pe_copy_commit(void)
{
    pe_now->group++;
}

/* Wait for all groups but the latest `open`. */
void pe_copy_wait(unsigned open)
{
    Thread *thread = pe_now;
    uint32_t landed = 0;
    while (landed < thread->copies_made && thread->copies[landed].group + open < thread->group)
        land(thread->copies[landed++]);
    thread->copies_made -= landed;
    memmove(thread->copies, thread->copies + landed, thread->copies_made * sizeof(Copy));
}
