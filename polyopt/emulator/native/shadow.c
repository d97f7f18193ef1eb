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
    if (cell->write[0].interval >= oldest)
        return;
    if (!shared && (!pe_run.unset || access->address - area->start < area->known))
        return;
    pe_find(shared ? UNSET_SHARED : UNSET_GLOBAL, (Touch){0}, access->address, access->size,
            access->site, NULL);
    for (uint32_t k = 0; shared && k < 1u << area->shift; k++)
        ((unsigned char *)access->address)[k] = 0xff;
}

static void add_read(Cell *cell, Entry fresh, bool own)
{
    Entry kept[3] = {fresh};
    uint32_t count = 1;
    for (int k = 0; k < 3 && count < 3; k++) {
        Entry entry = cell->read[k];
        if (entry.interval && !ordered(entry, own))
            kept[count++] = entry;
    }
    for (int k = 0; k < 3; k++) /* whoever writes next, one of the three is of another warp */
        if (count == 3 && cell->read[k].interval && !ordered(cell->read[k], own)
            && thread_of(cell->read[k]) / LANES != pe_now->number / LANES)
            kept[2] = cell->read[k];
    for (uint32_t k = 0; k < 3; k++)
        cell->read[k] = k < count ? kept[k] : (Entry){0};
}

static void read_cell(const Access *access, Cell *cell, Entry fresh)
{
    if (same(cell->read[0], fresh))
        return;
    check_set(access, cell);
    bool apart = fresh.who & ATOMIC_BIT, own = access->area->kind == AREA_SHARED;
    for (int k = 0; k < 2; k++) {
        Entry then = cell->write[k];
        if (!ordered(then, own) && !(apart && then.who & ATOMIC_BIT))
            race(access, then, RACE_WRITE_READ);
    }
    add_read(cell, fresh, own);
}

static void write_cell(const Access *access, Cell *cell, Entry fresh)
{
    if (same(cell->write[0], fresh) && !cell->read[0].interval)
        return;
    bool apart = fresh.who & ATOMIC_BIT, own = access->area->kind == AREA_SHARED;
    if (access->kind == ATOMIC)
        check_set(access, cell);
    for (int k = 0; k < 2; k++) {
        Entry then = cell->write[k];
        if (!ordered(then, own) && !(apart && then.who & ATOMIC_BIT))
            race(access, then, RACE_WRITE_WRITE);
    }
    for (int k = 0; k < 3; k++) {
        Entry then = cell->read[k];
        if (!ordered(then, own) && !(apart && then.who & ATOMIC_BIT))
            race(access, then, RACE_READ_WRITE);
        cell->read[k] = (Entry){0};
    }
    Entry before = cell->write[0];
    if (!apart || !(before.who & ATOMIC_BIT) || ordered(cell->write[1], own))
        cell->write[1] = (Entry){0};
    if (apart && before.who & ATOMIC_BIT && !ordered(before, own))
        cell->write[1] = before;
    cell->write[0] = fresh;
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
