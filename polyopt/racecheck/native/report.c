/* What was found, for the program that loaded the kernel. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "agent.h"
#include "heap.h"

typedef struct {
    uint64_t agent;
    uint64_t place, call; /* offsets in the library's file, as the tables of lines give them */
    uint64_t write;
} ReportedAccess;

typedef struct {
    ReportedAccess earlier, later;
    uint64_t loop; /* where the parallel region begins */
    uint64_t address, size, times;
    uint64_t block, block_size;              /* the heap's block it lies in; size 0: none */
    uint64_t block_place, block_call;
} Reported;

static uintptr_t base(void)
{
    Dl_info info;
    return dladdr((void *)base, &info) ? (uintptr_t)info.dli_fbase : 0;
}

static uint64_t offset(uintptr_t place)
{
    return place ? place - base() - 1 : 0; /* a return address lies behind its call */
}

static ReportedAccess reported(Access access)
{
    Site site = po_site_of(access.site);
    return (ReportedAccess){access.agent, offset(site.place), offset(site.call), access.write};
}

uint64_t po_race_count(void)
{
    const Conflict *first;
    return shadow_conflicts(po_shadow, &first);
}

void po_race_get(uint64_t number, Reported *report)
{
    const Conflict *first;
    shadow_conflicts(po_shadow, &first);
    Conflict found = first[number];
    HeapBlock block = po_block(found.owner);
    Site site = po_site_of(block.site);
    *report = (Reported){
        .earlier = reported(found.earlier),
        .later = reported(found.later),
        .loop = offset(po_site_of(found.cause).place),
        .address = found.address,
        .size = found.size,
        .times = found.times,
        .block = block.start,
        .block_size = block.size,
        .block_place = offset(site.place),
        .block_call = offset(site.call),
    };
}
