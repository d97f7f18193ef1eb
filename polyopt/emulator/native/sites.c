/* Places of the program that touch memory, numbered: an instruction, or a line of the text. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "emulator.h"

enum { SITES = 1 << 16 };

typedef struct {
    uintptr_t place, call;
} Site;

static Site sites[SITES];
static uint32_t known;

static const uintptr_t line_bit = (uintptr_t)1 << LINE_SITE_BITS;

uint32_t pe_site(uintptr_t place, uintptr_t call)
{
    uint64_t mixed = ((uint64_t)place ^ ((uint64_t)call << 20)) * 0x9e3779b97f4a7c15u;
    for (uint32_t k = (uint32_t)(mixed >> 48);; k = (k + 1) % SITES) {
        Site *site = &sites[k];
        if (site->place == place && site->call == call)
            return k;
        if (site->place)
            continue;
        if (known > SITES - SITES / 8)
            return k; /* too many: this one has no name */
        known++;
        *site = (Site){.place = place, .call = call};
        return k;
    }
}

uint32_t pe_site_of_line(int line)
{
    return pe_site(line_bit | (uintptr_t)line, 0);
}

static uint64_t offset(uintptr_t place)
{
    Dl_info info;
    if (!place || !dladdr((void *)pe_site, &info))
        return 0;
    return place - (uintptr_t)info.dli_fbase - 1; /* a return address lies behind its call */
}

void pe_site_get(uint32_t number, uint64_t *place, uint64_t *call, uint64_t *line)
{
    Site site = sites[number % SITES];
    bool is_line = site.place & line_bit;
    *line = is_line ? site.place ^ line_bit : 0;
    *place = is_line ? 0 : offset(site.place);
    *call = is_line ? 0 : offset(site.call);
}
