/* Races, by what is ordered and not by what happened to run first.
 *
 * An access is ordered before another when it is of an earlier launch, of the same thread, of an
 * earlier interval of the same block, of a lane that has met this one at a warp barrier since, or
 * of a block whose fence and atomic operation this block has seen.  Two unordered accesses of one
 * cell are a race if one writes, unless both are atomic.
 */
#include "shadow.h"

enum { ATOMIC_BIT = 1 << 15 };

static uint32_t thread_of(Entry entry)
{
    return entry.who & (ATOMIC_BIT - 1);
}

/* `own`: the memory is a block's own, and new with each. */
static bool ordered(Entry entry, bool own)
{
    if (entry.interval < (own ? pe_run.first_of_block : pe_run.first_of_launch))
        return true;
    uint32_t thread = thread_of(entry);
    if (entry.interval < pe_run.first_of_block)
        return pe_fences_order(entry.interval, thread, entry.clock);
    if (entry.interval < pe_run.interval || thread == pe_now->number)
        return true;
    return thread / LANES == pe_now->number / LANES
           && pe_now->clocks[thread % LANES] >= entry.clock;
}

static bool same(Entry a, Entry b)
{
    return a.interval == b.interval && a.clock == b.clock && a.who == b.who;
}

static Touch touch_of(Entry entry)
{
    return (Touch){.site = entry.site, .thread = thread_of(entry), .interval = entry.interval};
}

typedef struct {
    Area *area;
    uintptr_t address; /* of the cell */
    uint32_t size, site;
    AccessKind kind;
} Access;

static void race(const Access *access, Entry then, FindingKind kind)
{
    pe_find(kind, touch_of(then), access->address, access->size, access->site, NULL);
}

static void check_set(const Access *access, const Cell *cell)
{
    const Area *area = access->area;
    bool shared = area->kind == AREA_SHARED;
    uint32_t oldest = shared ? pe_run.first_of_block : 1;
    if (cell->write.interval >= oldest || cell->atomic[0].interval >= oldest)
        return;
    if (!shared && (!pe_run.unset || access->address - area->start < area->known))
        return;
    pe_find(shared ? UNSET_SHARED : UNSET_GLOBAL, (Touch){0}, access->address, access->size,
            access->site, NULL);
    for (uint32_t k = 0; shared && k < 1u << area->shift; k++)
        ((unsigned char *)access->address)[k] = 0xff;
}

/* Put `fresh` first and keep those that are not ordered before it and may be in a race with what
 * comes: one of another block is in one with all of this block, one of another warp with all of the
 * own warp; so one of each is enough, and if there is none, of the own warp some lanes.
 */
static void add(Entry entries[KEPT], Entry fresh, bool own)
{
    Entry block = {0}, warp = {0}, lanes[KEPT] = {0};
    int count = 0;
    for (int k = 0; k < KEPT; k++) {
        Entry entry = entries[k];
        if (!entry.interval || ordered(entry, own))
            continue;
        if (entry.interval < pe_run.first_of_block)
            block = block.interval ? block : entry;
        else if (thread_of(entry) / LANES != pe_now->number / LANES)
            warp = warp.interval ? warp : entry;
        else
            lanes[count++] = entry;
    }
    int made = 0, taken = 0;
    entries[made++] = fresh;
    entries[made++] = warp.interval ? warp : lanes[taken++];
    entries[made++] = block.interval ? block : lanes[taken];
    if (!entries[1].interval) { /* no gap */
        entries[1] = entries[2];
        entries[2] = (Entry){0};
    }
}

/* Find races with entries; `atomics`: not with atomic ones. */
static void find_races(const Access *access, const Entry *entries, int count, bool atomics,
                       FindingKind kind)
{
    for (int k = 0; k < count && entries[k].interval; k++) {
        bool harmless = atomics && entries[k].who & ATOMIC_BIT;
        if (!harmless && !ordered(entries[k], access->area->kind == AREA_SHARED))
            race(access, entries[k], kind);
    }
}

static void read_cell(const Access *access, Cell *cell, Entry fresh)
{
    if (same(cell->read[0], fresh))
        return;
    check_set(access, cell);
    find_races(access, &cell->write, 1, false, RACE_WRITE_READ);
    find_races(access, cell->atomic, KEPT, fresh.who & ATOMIC_BIT, RACE_WRITE_READ);
    add(cell->read, fresh, access->area->kind == AREA_SHARED);
}

static void write_cell(const Access *access, Cell *cell, Entry fresh)
{
    bool atomic = fresh.who & ATOMIC_BIT;
    if (!atomic && same(cell->write, fresh) && !cell->read[0].interval && !cell->atomic[0].interval)
        return;
    if (access->kind == ATOMIC)
        check_set(access, cell);
    find_races(access, &cell->write, 1, false, RACE_WRITE_WRITE);
    find_races(access, cell->atomic, KEPT, atomic, RACE_WRITE_WRITE);
    find_races(access, cell->read, KEPT, atomic, RACE_READ_WRITE);
    if (atomic) {
        add(cell->atomic, fresh, access->area->kind == AREA_SHARED);
        return;
    }
    *cell = (Cell){.write = fresh, .flight = cell->flight};
}

/* Where an address lies: what cannot be touched at all ends the launch. */
static Area *place_of(uintptr_t address, uint32_t size, AccessKind kind, uint32_t site)
{
    Area *area = pe_area_of(address);
    if (!area || !area->used || size > area->end - address) {
        pe_find(OUTSIDE, (Touch){0}, address, size, site, NULL);
        pe_stop();
    }
    if (area->kind == AREA_CONSTANT && kind != READ && kind != VOLATILE_READ) {
        pe_find(CONSTANT_WRITE, (Touch){0}, address, size, site, NULL);
        pe_stop();
    }
    return area;
}

void pe_check_place(uintptr_t address, uint32_t size, AccessKind kind, uint32_t site)
{
    place_of(address, size, kind, site);
}

static bool fits(const Area *area, uintptr_t address, uint32_t size)
{
    uint32_t low = (1u << area->shift) - 1;
    return ((address - area->start) & low) == 0 && (size & low) == 0;
}

static bool make_fit(Area *area, uintptr_t address, uint32_t size)
{
    uint32_t shift = ((address - area->start) | size) & 1 ? 0 : 1;
    return fits(area, address, size) || pe_area_refine(area, shift);
}

void pe_touch(uintptr_t address, uint32_t size, AccessKind kind, uint32_t site)
{
    Area *area = place_of(address, size, kind, site);
    if (area->kind == AREA_CONSTANT)
        return;
    if (!make_fit(area, address, size))
        pe_stop();
    area->touched = true;
    bool apart = kind == ATOMIC || kind == VOLATILE_READ || kind == VOLATILE_WRITE;
    Entry fresh = {
        .interval = pe_run.interval,
        .clock = pe_now->clocks[pe_now->number % LANES],
        .who = (uint16_t)(pe_now->number | (apart ? ATOMIC_BIT : 0)),
        .site = (uint16_t)site,
    };
    Access access = {.area = area, .size = size, .site = site, .kind = kind};
    for (uintptr_t at = address; at < address + size; at += (uintptr_t)1 << area->shift) {
        Cell *cell = &area->cells[(at - area->start) >> area->shift];
        access.address = at;
        if (cell->flight >= pe_run.first_of_block) {
            pe_find(IN_FLIGHT, (Touch){0}, at, size, site, NULL);
            cell->flight = 0;
        }
        if (kind == READ || kind == VOLATILE_READ)
            read_cell(&access, cell, fresh);
        else
            write_cell(&access, cell, fresh);
    }
}

void pe_mark_copy(uintptr_t address, uint32_t size, bool flies)
{
    Area *area = pe_area_of(address);
    for (uintptr_t at = address; at < address + size; at += (uintptr_t)1 << area->shift)
        area->cells[(at - area->start) >> area->shift].flight = flies ? pe_run.interval : 0;
}
