/* The functions of libgomp that gcc calls, with a thread for each iteration, one after another.
 *
 * A parallel region is run by as many threads as its loop has iterations.  How many these are is
 * not told for loops that gcc shares out itself (schedule(static)): the team is said to have
 * ENDLESS threads, of which thread t gets iteration t, and threads are run until one gets nothing.
 * That one is known by its path through the basic blocks, which is the path of the last thread.
 * A region in which threads wait for each other (a barrier, a loop with one at its end, a `single`)
 * needs a finite team, whose threads are fibers that run from barrier to barrier.
 */
#include "agent.h"
#include "fibers.h"
#include "memory.h"

typedef void (*Region)(void *data);

enum { ENDLESS = INT32_MAX, MOST_ITERATIONS = 1 << 24, MOST_LOCKS = 1024 };

typedef struct {
    uint32_t obeys_if; /* a false `if` clause makes a team of one, as it does in OpenMP */
    uint32_t team;     /* threads of a team; 0: one for each iteration */
} Settings;

typedef struct {
    uint64_t regions;    /* parallel regions that were run */
    uint64_t iterations; /* of all of them */
    uint64_t longest;    /* of one of them */
} Totals;

Settings po_settings;
Totals po_totals;

static uint32_t single_taken; /* `single` constructs of the region that a thread has entered */

/* What a thread has met: constructs that share work are numbered in the order of the text. */
typedef struct {
    uint32_t singles;
} Progress;

static Progress *progress; /* of the thread that runs, in a finite team */

/* The loop that a region consists of, where gcc tells it with the region. */
typedef struct {
    bool waits; /* the thread that runs has not got its part yet */
    long start, end, step;
} WholeLoop;

static WholeLoop whole;

static uint64_t run_thread(Region region, void *data, uint32_t number)
{
    po_agent.number = number;
    po_agent.guard = 0;
    po_agent.path = 0;
    whole.waits = true;
    region(data);
    return po_agent.path;
}

static bool asks_for_work; /* the thread that runs has asked which iterations are its own */

/* Return the path of a thread that gets no iteration, the last of an endless team.
 * What it does beside the loop, other threads do too.
 */
static uint64_t empty_path(Region region, void *data)
{
    asks_for_work = false;
    uint64_t path = run_thread(region, data, ENDLESS - 1);
    if (!asks_for_work)
        po_give_up("a parallel region shares no loop among its threads: give the team a size");
    return path;
}

static uint64_t run_endless(Region region, void *data)
{
    po_agent.team = ENDLESS;
    uint64_t empty = empty_path(region, data);
    for (uint32_t number = 0; number < MOST_ITERATIONS; number++) {
        if (run_thread(region, data, number) == empty)
            return number;
        /* a reduction may go another way since its variable has changed; in the end it is steady */
        if ((number & (number + 1)) == 0)
            empty = empty_path(region, data);
    }
    po_give_up("a parallel loop is too long");
}

static struct {
    Region region;
    void *data;
} shared;

static uint32_t region_site; /* where the region that is being run begins */

static void run_fiber(uint32_t number)
{
    Progress own = {0};
    progress = &own;
    run_thread(shared.region, shared.data, number);
}

static void next_phase(void)
{
    shadow_next_epoch(po_shadow, region_site);
}

static uint64_t run_finite(Region region, void *data)
{
    po_agent.team = po_settings.team;
    single_taken = 0;
    shared.region = region;
    shared.data = data;
    fibers_run(po_settings.team, run_fiber, next_phase);
    return po_settings.team;
}

static void run_alone(Region region, void *data)
{
    Agent outer = po_agent;
    po_agent.team = 1;
    whole.waits = true;
    region(data);
    po_agent.team = outer.team;
    po_agent.guard = outer.guard;
}

static void run_region(Region region, void *data, unsigned threads, uintptr_t place)
{
    if (po_agent.watched || po_agent.team == ENDLESS || (threads == 1 && po_settings.obeys_if)) {
        run_alone(region, data);
        return;
    }
    Agent outer = po_agent;
    region_site = po_site(place);
    shadow_next_epoch(po_shadow, region_site);
    po_agent.watched = true;
    po_agent.own_end = (uintptr_t)__builtin_frame_address(0);
    uint64_t count = po_settings.team ? run_finite(region, data) : run_endless(region, data);
    po_agent = outer;
    po_totals.regions++;
    po_totals.iterations += count;
    if (count > po_totals.longest)
        po_totals.longest = count;
}

#define PLACE ((uintptr_t)__builtin_return_address(0))

void GOMP_parallel(Region region, void *data, unsigned threads, unsigned flags)
{
    (void)flags;
    run_region(region, data, threads, PLACE);
}

/* Loops that the run time deals out: thread t gets iteration t, a team of one gets all of them. */
static bool deal(long start, long end, long step, long *from, long *to)
{
    asks_for_work = true;
    long last = step > 0 ? end - start - 1 : start - end - 1;
    long count = last < 0 ? 0 : last / (step > 0 ? step : -step) + 1;
    if (po_agent.team <= 1) {
        *from = start;
        *to = start + count * step;
        return count > 0;
    }
    if (po_settings.team && count > (long)po_settings.team)
        po_give_up("a loop has more iterations than the team has threads");
    *from = start + (long)po_agent.number * step;
    *to = *from + step;
    return po_agent.number < count;
}

/* A thread asks for more than its first part; of a region's own loop it asks for the first so. */
static bool more(long *from, long *to)
{
    bool waits = whole.waits;
    whole.waits = false;
    return waits && whole.step != 0 && deal(whole.start, whole.end, whole.step, from, to);
}

static void run_loop(Region region, void *data, unsigned threads, WholeLoop loop, uintptr_t place)
{
    WholeLoop outer = whole;
    whole = loop;
    run_region(region, data, threads, place);
    whole = outer;
}

#define LOOP(name)                                                                                 \
    bool GOMP_loop_##name##_start(long start, long end, long step, long chunk, long *from,         \
                                  long *to)                                                        \
    {                                                                                              \
        (void)chunk;                                                                               \
        return deal(start, end, step, from, to);                                                   \
    }                                                                                              \
    bool GOMP_loop_##name##_next(long *from, long *to)                                             \
    {                                                                                              \
        return more(from, to);                                                                     \
    }                                                                                              \
    void GOMP_parallel_loop_##name(Region region, void *data, unsigned threads, long start,        \
                                   long end, long step, long chunk, unsigned flags)                \
    {                                                                                              \
        (void)chunk, (void)flags;                                                                  \
        run_loop(region, data, threads, (WholeLoop){true, start, end, step}, PLACE);               \
    }

LOOP(static)
LOOP(dynamic)
LOOP(guided)
LOOP(nonmonotonic_dynamic)
LOOP(nonmonotonic_guided)

#define UNCHUNKED_LOOP(name)                                                                       \
    bool GOMP_loop_##name##_start(long start, long end, long step, long *from, long *to)           \
    {                                                                                              \
        return deal(start, end, step, from, to);                                                   \
    }                                                                                              \
    bool GOMP_loop_##name##_next(long *from, long *to)                                             \
    {                                                                                              \
        return more(from, to);                                                                     \
    }                                                                                              \
    void GOMP_parallel_loop_##name(Region region, void *data, unsigned threads, long start,        \
                                   long end, long step, unsigned flags)                            \
    {                                                                                              \
        (void)flags;                                                                               \
        run_loop(region, data, threads, (WholeLoop){true, start, end, step}, PLACE);               \
    }

UNCHUNKED_LOOP(runtime)
UNCHUNKED_LOOP(nonmonotonic_runtime)
UNCHUNKED_LOOP(maybe_nonmonotonic_runtime)

void GOMP_barrier(void)
{
    if (po_agent.team == 1 || !po_agent.watched)
        return;
    if (po_agent.team == ENDLESS)
        po_give_up("threads wait for each other inside a parallel region: give the team a size");
    Agent before = po_agent;
    Progress *own = progress;
    fibers_wait();
    po_agent = before;
    progress = own;
}

void GOMP_loop_end(void)
{
    GOMP_barrier();
}

void GOMP_loop_end_nowait(void)
{
}

bool GOMP_single_start(void)
{
    if (po_agent.team == 1 || !po_agent.watched)
        return true;
    if (po_agent.team == ENDLESS)
        po_give_up("a `single` construct inside a parallel region: give the team a size");
    if (progress->singles++ < single_taken)
        return false;
    single_taken++;
    return true;
}

/* Locks: one for each name of a critical section, told apart by the address of its word. */
static uint32_t guard_of(const void *lock)
{
    static const void *locks[MOST_LOCKS];
    for (uint32_t k = 0; k < MOST_LOCKS; k++) {
        if (!locks[k])
            locks[k] = lock;
        if (locks[k] == lock)
            return GUARD_FIRST_LOCK + k;
    }
    po_give_up("the kernel has too many locks");
}

static const char unnamed;

void GOMP_critical_start(void)
{
    po_agent.guard = guard_of(&unnamed);
}

void GOMP_critical_end(void)
{
    po_agent.guard = 0;
}

void GOMP_critical_name_start(void **lock)
{
    po_agent.guard = guard_of(lock);
}

void GOMP_critical_name_end(void **lock)
{
    (void)lock;
    po_agent.guard = 0;
}

void GOMP_atomic_start(void)
{
    po_agent.guard = GUARD_ATOMIC_REGION;
}

void GOMP_atomic_end(void)
{
    po_agent.guard = 0;
}

int omp_get_thread_num(void)
{
    asks_for_work = true;
    return po_agent.team > 1 ? (int)po_agent.number : 0;
}

int omp_get_num_threads(void)
{
    return po_agent.team ? (int)po_agent.team : 1;
}

int omp_get_max_threads(void)
{
    return 1;
}

void omp_set_num_threads(int count)
{
    (void)count;
}

int omp_get_num_procs(void)
{
    return 1;
}

int omp_in_parallel(void)
{
    return po_agent.watched;
}
