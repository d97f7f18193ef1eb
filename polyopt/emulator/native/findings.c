/* What was found, one entry for each pair of places, for the program that launched. */
#include "emulator.h"

enum { MOST_FINDINGS = 64, MOST_EVENTS = 20000 };

typedef struct {
    uint64_t kind, area, offset, address, size, times;
    uint64_t place, call, line, thread, block[3];
    uint64_t then_place, then_call, then_line, then_thread, then_block[3], has_then;
    int64_t facts[4];
} Finding;

static Finding findings[MOST_FINDINGS];
static uint32_t sites_of[MOST_FINDINGS][2];
static uint32_t made, events;

void pe_findings_clear(void)
{
    made = events = 0;
}

static void set_block(uint64_t to[3], Dim from)
{
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
}

void pe_find(FindingKind kind, Touch then, uint64_t address, uint32_t size, uint32_t site,
             const int64_t facts[4])
{
    if (++events > MOST_EVENTS)
        pe_stop();
    for (uint32_t k = 0; k < made; k++)
        if (findings[k].kind == kind && sites_of[k][0] == then.site && sites_of[k][1] == site) {
            findings[k].times++;
            return;
        }
    if (made == MOST_FINDINGS)
        return;
    const Area *area = address ? pe_area_of(address) : NULL;
    Finding fresh = {
        .kind = kind,
        .area = area ? area->id : 0,
        .offset = area ? address - area->start : 0,
        .address = address,
        .size = size,
        .times = 1,
        .thread = pe_now->number,
        .then_thread = then.thread,
        .has_then = then.interval != 0,
    };
    pe_site_get(site, &fresh.place, &fresh.call, &fresh.line);
    set_block(fresh.block, pe_run.at);
    if (then.interval) {
        pe_site_get(then.site, &fresh.then_place, &fresh.then_call, &fresh.then_line);
        set_block(fresh.then_block, pe_block_of(then.interval));
    }
    for (int k = 0; facts && k < 4; k++)
        fresh.facts[k] = facts[k];
    sites_of[made][0] = then.site;
    sites_of[made][1] = site;
    findings[made++] = fresh;
}

uint64_t pe_findings_count(void)
{
    return made;
}

void pe_findings_get(uint64_t number, Finding *to)
{
    *to = findings[number];
}
