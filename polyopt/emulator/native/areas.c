/* Arrays that kernels may touch, sorted by address; registered by the program that launches. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include "emulator.h"
#include "shadow.h"

enum { MOST_AREAS = 4096, ID_SHARED = 1, ID_CONSTANT = 3 };

static Area areas[MOST_AREAS];
static uint32_t made;
static Area *last;

void *pe_map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void pe_unmap(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

/* Return how many areas begin at or before an address. */
static uint32_t before(uintptr_t address)
{
    uint32_t low = 0, high = made;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (areas[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Area *pe_area_of(uintptr_t address)
{
    if (last && address >= last->start && address < last->end)
        return last;
    uint32_t count = before(address);
    if (count == 0 || address >= areas[count - 1].end)
        return NULL;
    return last = &areas[count - 1];
}

static size_t cell_bytes(const Area *area)
{
    return (((area->end - area->start) >> area->shift) + 1) * sizeof(Cell);
}

/* Add memory; 0 when it cannot be watched. */
int pe_area_add(uint64_t start, uint64_t bytes, uint64_t id, uint64_t known, uint32_t kind)
{
    if (made == MOST_AREAS)
        return 0;
    Area fresh = {
        .start = start, .end = start + bytes, .id = id, .known = known, .kind = kind, .shift = 2,
        .used = true,
    };
    if (kind != AREA_CONSTANT && !(fresh.cells = pe_map(cell_bytes(&fresh))))
        return 0;
    uint32_t at = before(start);
    for (uint32_t k = made++; k > at; k--)
        areas[k] = areas[k - 1];
    areas[at] = fresh;
    last = NULL;
    return 1;
}

static Area *with_id(uint64_t id)
{
    for (uint32_t k = 0; k < made; k++)
        if (areas[k].id == id)
            return &areas[k];
    return NULL;
}

void pe_area_remove(uint64_t id)
{
    Area *area = with_id(id);
    if (!area)
        return;
    pe_unmap(area->cells, cell_bytes(area));
    made--;
    for (Area *next = area; next < areas + made; next++)
        *next = next[1];
    last = NULL;
}

/* The next launch may touch no array but those of `pe_area_use`. */
void pe_areas_rest(void)
{
    for (uint32_t k = 0; k < made; k++)
        areas[k].used = areas[k].kind != AREA_GLOBAL;
}

/* The next launch may touch this one; its first `known` bytes were written from outside. */
void pe_area_use(uint64_t id, uint64_t known)
{
    Area *area = with_id(id);
    if (!area)
        return;
    area->used = true;
    if (area->known < known)
        area->known = known;
}

/* The number of the memory that begins or ends closest to an address; 0: none is near. */
uint64_t pe_area_near(uint64_t address)
{
    uint64_t nearest = 0, distance = 1 << 20;
    for (uint32_t k = 0; k < made; k++) {
        uint64_t away = address < areas[k].start  ? areas[k].start - address
                        : address < areas[k].end ? 0
                                                  : address - areas[k].end;
        if (areas[k].kind == AREA_CONSTANT || !areas[k].used || away >= distance)
            continue;
        nearest = areas[k].id;
        distance = away;
    }
    return nearest;
}

uint64_t pe_area_start(uint64_t id)
{
    Area *area = with_id(id);
    return area ? area->start : 0;
}

extern char shared_start[] __asm__("__start_pe_shared") __attribute__((weak));
extern char shared_end[] __asm__("__stop_pe_shared") __attribute__((weak));

/* Constants are where the library's segments that nobody may write lie, and in one section. */
extern char constants_start[] __asm__("__start_pe_constant") __attribute__((weak));
extern char constants_end[] __asm__("__stop_pe_constant") __attribute__((weak));

static int add_constants(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    if (info->dlpi_addr != (ElfW(Addr))base)
        return 0;
    for (int k = 0; k < info->dlpi_phnum; k++) {
        ElfW(Phdr) segment = info->dlpi_phdr[k];
        if (segment.p_type == PT_LOAD && !(segment.p_flags & PF_W))
            pe_area_add(info->dlpi_addr + segment.p_vaddr, segment.p_memsz, ID_CONSTANT, 0,
                        AREA_CONSTANT);
    }
    return 1;
}

/* Forget all memory: the library is not used any more. */
void pe_areas_end(void)
{
    for (uint32_t k = 0; k < made; k++)
        if (areas[k].cells)
            pe_unmap(areas[k].cells, cell_bytes(&areas[k]));
    made = 0;
    last = NULL;
}

/* Add the library's own memory. */
void pe_areas_own(void)
{
    if (&shared_end[0] > &shared_start[0])
        pe_area_add((uintptr_t)shared_start, (uintptr_t)(shared_end - shared_start), ID_SHARED, 0,
                    AREA_SHARED);
    Dl_info info;
    if (dladdr((void *)pe_areas_own, &info))
        dl_iterate_phdr(add_constants, info.dli_fbase);
    if (&constants_end[0] > &constants_start[0])
        pe_area_add((uintptr_t)constants_start, (uintptr_t)(constants_end - constants_start),
                    ID_CONSTANT, 0, AREA_CONSTANT);
}

/* Make cells stand for fewer bytes; each begins with what its word knew. */
bool pe_area_refine(Area *area, uint32_t shift)
{
    Area finer = *area;
    finer.shift = shift;
    finer.cells = pe_map(cell_bytes(&finer));
    if (!finer.cells)
        return false;
    if (area->touched)
        for (uintptr_t k = 0; k < area->end - area->start; k += (uintptr_t)1 << shift)
            finer.cells[k >> shift] = area->cells[k >> area->shift];
    pe_unmap(area->cells, cell_bytes(area));
    *area = finer;
    return true;
}

/* Forget all accesses, as interval numbers begin anew; what was written stays known. */
void pe_areas_forget(void)
{
    for (uint32_t k = 0; k < made; k++) {
        if (!areas[k].cells)
            continue;
        size_t bytes = cell_bytes(&areas[k]);
        madvise(areas[k].cells, bytes, MADV_DONTNEED);
        areas[k].known = areas[k].end - areas[k].start;
    }
}
