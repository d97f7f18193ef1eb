/* What a kernel calls, in its library: the process's memory, and its team in place of GNU OpenMP's.
 *
 * The functions are hidden: another library's OpenMP neither sees nor replaces them.
 */
#include "process.h"

#define HIDDEN __attribute__((visibility("hidden")))

static const Team *team;
static const Memory *memory;

/* Say, once and before any other call, which process this is. */
void po_join(const Process *joined)
{
    team = joined->team;
    memory = joined->memory;
}

HIDDEN void *po_take(size_t alignment, size_t bytes) { return memory->take(alignment, bytes); }
HIDDEN void po_give(void *place) { memory->give(place); }

/* The number of threads of the regions that the caller enters. */
int po_wanted(void) { return team->wanted(); }
void po_want(int threads) { team->want(threads); }

HIDDEN void GOMP_parallel(Region *region, void *data, unsigned threads, unsigned flags)
{
    (void)flags;
    team->run(region, data, threads);
}

#define LOOPS(NAME)                                                                               \
    HIDDEN void GOMP_parallel_loop_##NAME(Region *region, void *data, unsigned threads,           \
                                          long start, long end, long step, long chunk,            \
                                          unsigned flags)                                         \
    {                                                                                             \
        (void)flags;                                                                              \
        team->run_loop(region, data, threads, start, end, step, chunk);                           \
    }                                                                                             \
    HIDDEN bool GOMP_loop_##NAME##_start(long start, long end, long step, long chunk, long *from, \
                                         long *to)                                                \
    {                                                                                             \
        return team->begin_loop(start, end, step, chunk, from, to);                               \
    }                                                                                             \
    HIDDEN bool GOMP_loop_##NAME##_next(long *from, long *to) { return team->next_chunk(from, to); }

LOOPS(nonmonotonic_dynamic)
LOOPS(dynamic) /* before gcc 9 */

HIDDEN void GOMP_loop_end_nowait(void) { }

HIDDEN void GOMP_atomic_start(void) { team->lock(); }
HIDDEN void GOMP_atomic_end(void) { team->unlock(); }

HIDDEN int omp_get_num_threads(void) { return team->shares(); }
HIDDEN int omp_get_thread_num(void) { return team->share(); }
HIDDEN int omp_get_max_threads(void) { return po_wanted(); }
HIDDEN void omp_set_num_threads(int threads) { po_want(threads); }
