/* The parts of the run time that stands in for a CUDA device, and what they tell each other.
 *
 * Threads of a block are fibers of one thread of the system.  A block's run is cut into intervals:
 * a new one begins with the block and at each block barrier.  Intervals are numbered through, so
 * that a number tells the launch and the block too.
 */
#ifndef PE_EMULATOR_H
#define PE_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LANES = 32, MOST_THREADS = 1024, DEEPEST = 64 };

typedef struct {
    uint32_t x, y, z;
} Dim;

typedef enum { RUNS, AT_BARRIER, AT_WARP, ENDED } State;

/* What lanes of a warp wait for together; WARP_SYNC alone orders their accesses of memory. */
typedef enum { WARP_SYNC, WARP_SHUFFLE, WARP_VOTE, WARP_MATRIX } WarpKind;

typedef struct {
    WarpKind kind;
    uint32_t mask;
    const void *given;
    uint32_t size;
    uint32_t present; /* the lanes that took part */
    void *all; /* what each lane gave, `size` bytes each; of absent lanes nothing is written */
} WarpCall;

/* A copy into shared memory that has not landed. */
typedef struct {
    uintptr_t to, from;
    uint32_t size, taken; /* bytes behind `taken` become zero */
    uint32_t site;
    uint32_t group;
} Copy;

typedef struct {
    State state;
    uint32_t number;
    Dim index;
    int line;                /* where it waits */
    uint32_t clocks[LANES];  /* of each lane of its warp: up to where that lane is known */
    WarpCall warp;
    uint32_t depth;
    uintptr_t calls[DEEPEST]; /* return addresses of the instrumented functions it is in */
    uint32_t fence_interval, fence_clock; /* of its last memory fence; 0: none in this block */
    Copy *copies;            /* in the order of their issue */
    uint32_t copies_made, copies_room, group;
    uintptr_t stack_end;
} Thread;

typedef struct {
    Dim grid, block, at; /* `at`: the block that runs */
    uint32_t count;      /* threads of a block */
    uint32_t interval, first_of_block, first_of_launch;
    bool checks, stopped;
    bool unset; /* reads of global memory that nobody has set are faults */
} Run;

extern Run pe_run;
extern Thread pe_threads[MOST_THREADS];
extern Thread *pe_now;

/* launch.c */
_Noreturn void pe_stop(void); /* end the launch: what comes next cannot be run */
void pe_crash(int signal);     /* note that the launch ends with a signal */
void pe_wait(State state, int line);
void pe_tick(uintptr_t place);
Dim pe_block_of(uint32_t interval);
uint32_t pe_block_start(uint32_t interval);

/* fibers.c */
void pe_fiber_start(uint32_t number, void (*body)(void));
void pe_fiber_resume(uint32_t number);
void pe_fiber_leave(void); /* to whoever resumed it */
uintptr_t pe_fiber_end(uint32_t number);

/* guard.c: signals that end a launch and nothing else */
bool pe_guarded(bool (*action)(void), uint64_t milliseconds);

/* areas.c: memory that kernels may touch */
typedef enum { AREA_GLOBAL, AREA_SHARED, AREA_CONSTANT } AreaKind;
typedef struct Cell Cell;
typedef struct {
    uintptr_t start, end;
    uint64_t id;
    uint64_t known; /* so many bytes are initialized from outside */
    AreaKind kind;
    uint32_t shift; /* a cell stands for 1 << shift bytes */
    bool touched;
    bool used; /* this launch may touch it */
    Cell *cells;
} Area;
Area *pe_area_of(uintptr_t address);
void *pe_map(size_t bytes);
void pe_unmap(void *memory, size_t bytes);

/* sites.c: places in the program, numbered */
enum { LINE_SITE_BITS = 63 };
uint32_t pe_site(uintptr_t place, uintptr_t call);
uint32_t pe_site_of_line(int line);
void pe_site_get(uint32_t site, uint64_t *place, uint64_t *call, uint64_t *line);

/* findings.c; the numbers are those of `FindingKind` */
typedef enum {
    RACE_WRITE_READ, RACE_READ_WRITE, RACE_WRITE_WRITE, UNSET_SHARED, UNSET_GLOBAL, OUTSIDE,
    ARRAY_INDEX, MISALIGNED, DIVISION, DIVERGENCE, WARP_MASK, WARP_SOURCE, IN_FLIGHT,
    NEVER_WAITED, ENDLESS, CONSTANT_WRITE, CRASH,
} FindingKind;
typedef struct {
    uint32_t site, thread, interval;
} Touch;
void pe_find(FindingKind kind, Touch then, uint64_t address, uint32_t size, uint32_t site,
             const int64_t facts[4]);
void pe_findings_clear(void);

/* shadow.c: who touched what */
typedef enum { READ, WRITE, ATOMIC, VOLATILE_READ, VOLATILE_WRITE } AccessKind;
void pe_touch(uintptr_t address, uint32_t size, AccessKind kind, uint32_t site);
void pe_mark_copy(uintptr_t address, uint32_t size, bool flies);
void pe_check_place(uintptr_t address, uint32_t size, AccessKind kind, uint32_t site);

/* fences.c: order between blocks, by fences and atomic operations */
void pe_fences_new_launch(void);
void pe_fences_new_block(void);
void pe_fences_atomic(uintptr_t address);
bool pe_fences_order(uint32_t interval, uint32_t thread, uint32_t clock);

/* async.c */
void pe_async_new_block(Thread *thread);
void pe_async_at_end(Thread *thread);

/* warp.c */
void pe_warp_stuck(void);
void pe_warp_at_end(const Thread *ended);

#endif
