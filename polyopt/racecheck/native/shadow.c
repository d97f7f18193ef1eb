#include "shadow.h"

#include "memory.h"

/* A cell stands for a word of a page, or for a byte once an access was not made of whole words. */
enum { PAGE_BITS = 12, PAGE = 1 << PAGE_BITS, WORD = 4, WORDS = PAGE / WORD };
enum { LEAF_BITS = 18, LEAVES = 1 << LEAF_BITS, ROOT_BITS = 47 - PAGE_BITS - LEAF_BITS };
enum { LARGEST_CONFLICTS = 512 };

typedef struct {
    uint32_t epoch; /* of another epoch: the cell is empty */
    uint32_t last;  /* the entry added last; 0: none */
} Cell;

typedef struct {
    uint32_t agent, site;
    uint32_t guard_and_write;
    uint32_t next;
} Entry;

typedef struct {
    Cell *cells;
    bool by_bytes;
} Page;

struct Shadow {
    uint32_t (*owner_of)(uintptr_t address);
    Page **roots[1 << ROOT_BITS];
    uintptr_t known_number; /* of the page found last */
    Page *known;
    uint32_t epoch, cause;
    uint64_t accesses; /* so far */
    Entry *entries; /* of this epoch; entry 0 is unused */
    uint32_t used, room;
    size_t conflicts;
    Conflict conflict[LARGEST_CONFLICTS];
};

Shadow *shadow_new(uint32_t (*owner_of)(uintptr_t address))
{
    Shadow *shadow = po_map(sizeof *shadow);
    shadow->owner_of = owner_of;
    shadow->epoch = 1;
    shadow->used = 1;
    return shadow;
}

void shadow_next_epoch(Shadow *shadow, uint32_t cause)
{
    shadow->cause = cause;
    if (++shadow->epoch == 0)
        po_give_up("the kernel runs more parallel regions than can be counted");
    shadow->used = 1;
}

size_t shadow_conflicts(const Shadow *shadow, const Conflict **first)
{
    *first = shadow->conflict;
    return shadow->conflicts;
}

static uint32_t new_entry(Shadow *shadow)
{
    if (shadow->used >= shadow->room) {
        if (shadow->room > UINT32_MAX / 2)
            po_give_up("one parallel region touches too many elements");
        uint32_t room = shadow->room ? 2 * shadow->room : 1 << 16;
        Entry *entries = po_map(room * sizeof *entries);
        for (uint32_t k = 0; k < shadow->room; k++)
            entries[k] = shadow->entries[k];
        po_unmap(shadow->entries, shadow->room * sizeof *entries);
        shadow->entries = entries;
        shadow->room = room;
    }
    return shadow->used++;
}

/* Return the page of an address, or NULL where `make` is false and nothing was touched yet. */
static Page *page_at(Shadow *shadow, uintptr_t address, bool make)
{
    uintptr_t number = address >> PAGE_BITS;
    if (shadow->known && shadow->known_number == number)
        return shadow->known;
    uintptr_t root = number >> LEAF_BITS;
    if (root >> ROOT_BITS)
        po_give_up("an access lies outside the address space");
    Page ***leaves = &shadow->roots[root];
    if (!*leaves) {
        if (!make)
            return NULL;
        *leaves = po_map(LEAVES * sizeof **leaves);
    }
    Page **page = &(*leaves)[number & (LEAVES - 1)];
    if (!*page) {
        if (!make)
            return NULL;
        *page = po_map(sizeof **page + WORDS * sizeof(Cell));
        (*page)->cells = (Cell *)(*page + 1);
    }
    shadow->known_number = number;
    return shadow->known = *page;
}

/* From now on the page has a cell for each byte; each begins with what its word knew. */
static void refine(Page *page)
{
    Cell *cells = po_map(PAGE * sizeof *cells);
    for (int byte = 0; byte < PAGE; byte++)
        cells[byte] = page->cells[byte / WORD];
    page->cells = cells;
    page->by_bytes = true;
}

static void note_conflict(Shadow *shadow, Access earlier, Access later, uintptr_t address,
                          size_t size)
{
    for (size_t k = 0; k < shadow->conflicts; k++) {
        Conflict *known = &shadow->conflict[k];
        if (known->earlier.site == earlier.site && known->later.site == later.site
            && known->earlier.write == earlier.write && known->later.write == later.write) {
            known->times += known->counted != shadow->accesses;
            known->counted = shadow->accesses;
            return;
        }
    }
    if (shadow->conflicts == LARGEST_CONFLICTS)
        return;
    shadow->conflict[shadow->conflicts++] = (Conflict){
        .earlier = earlier,
        .later = later,
        .address = address,
        .size = (uint32_t)size,
        .owner = shadow->owner_of(address),
        .cause = shadow->cause,
        .times = 1,
        .counted = shadow->accesses,
    };
}

static void touch_cell(Shadow *shadow, Cell *cell, Access access, uintptr_t address, size_t size)
{
    if (cell->epoch != shadow->epoch)
        *cell = (Cell){.epoch = shadow->epoch};
    uint32_t kind = access.guard << 1 | access.write;
    int others = 0; /* agents that made an access of the same kind; two are enough for any third */
    for (uint32_t k = cell->last; k; k = shadow->entries[k].next) {
        Entry *entry = &shadow->entries[k];
        if (entry->guard_and_write == kind) {
            if (entry->agent == access.agent)
                return; /* whoever conflicts with it has been or will be told */
            others++;
        }
    }
    for (uint32_t k = cell->last; k; k = shadow->entries[k].next) {
        Entry *entry = &shadow->entries[k];
        Access earlier = {
            .agent = entry->agent,
            .site = entry->site,
            .guard = entry->guard_and_write >> 1,
            .write = entry->guard_and_write & 1,
        };
        bool guarded = access.guard && access.guard == earlier.guard;
        if (earlier.agent != access.agent && (earlier.write || access.write) && !guarded)
            note_conflict(shadow, earlier, access, address, size);
    }
    if (others >= 2)
        return;
    uint32_t fresh = new_entry(shadow);
    shadow->entries[fresh] = (Entry){
        .agent = access.agent, .site = access.site, .guard_and_write = kind, .next = cell->last,
    };
    cell->last = fresh;
}

void shadow_touch(Shadow *shadow, uintptr_t address, size_t size, Access access)
{
    shadow->accesses++;
    uintptr_t end = address + size;
    bool whole = address % WORD == 0 && size % WORD == 0;
    for (uintptr_t at = address; at < end;) {
        Page *page = page_at(shadow, at, true);
        if (!whole && !page->by_bytes)
            refine(page);
        size_t step = page->by_bytes ? 1 : WORD;
        touch_cell(shadow, &page->cells[at % PAGE / step], access, at, size);
        at += step;
    }
}

void shadow_forget(Shadow *shadow, uintptr_t address, size_t size)
{
    uintptr_t end = address + size;
    for (uintptr_t at = address; at < end;) {
        Page *page = page_at(shadow, at, false);
        if (!page) {
            at = (at | (PAGE - 1)) + 1;
            continue;
        }
        size_t step = page->by_bytes ? 1 : WORD;
        page->cells[at % PAGE / step].epoch = 0;
        at += step - at % step;
    }
}
