/* The threads of a process on which kernels run their parallel regions, in place of OpenMP's.
 *
 * A region is cut into shares: SHARES for each thread, more than there are threads.  Whoever is
 * there takes the next one, its own first and then what others have not begun.  The caller is
 * always there, so that a thread which comes late, since its core is taken by another library's
 * thread or another process or has been asleep, is not waited for: its shares are done when it
 * comes.  OpenMP's teams wait for each of their threads at the end of each region.  Shares that
 * are left are taken from the far end of the range of their owner, who goes on at the near one
 * (Blumofe and Leiserson, "Scheduling multithreaded computations by work stealing", 1999); threads
 * keep their shares from region to region, and find in their caches what they left there.  Loops
 * whose iterations are handed out some at a time are shared in the same way.
 *
 * A region holds no barrier: a share is run from its begin to its end by one thread.  Which thread
 * that is does not matter to it, it asks for the number of its share where it would ask OpenMP for
 * that of its thread.
 *
 * A helper may run on any core but the one its caller is on.  The scheduler of Linux often wakes a
 * thread on the core of the one that wakes it, if the other cores of a virtual machine sleep: both
 * then take turns on one core, until it is balanced some milliseconds later.
 */
#include "process.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SHARES = 4,         /* of each thread; at most 255 */
    MOST_THREADS = 256, /* of a region; more are not used */
    JOBS = 8,           /* regions that run at a time; the callers of more run them alone */
    LINE = 128,         /* bytes that cores hand each other */
};

/* nanoseconds */
static long helper_waits = 1000000; /* until a helper without work sleeps */
static long caller_waits = 1000000; /* until a caller sleeps whose last shares others run */
enum { MOVES = 1000000 };           /* between two changes of where helpers may run */

/* What is left of a thread's chunks of a loop: the first, and the one behind the last. */
typedef atomic_uint_least64_t Chunks;

/* A loop whose iterations are handed out a chunk at a time.  Each thread begins with a range of its
 * own: threads that run neighbouring chunks write to the same lines of caches.
 */
typedef struct {
    atomic_int state; /* NO_LOOP, then BEGINS while its first thread sets it up, then RUNS */
    long start, end, length; /* of a chunk, in the loop's direction */
    unsigned threads;
    Chunks *left; /* of each thread */
} Loop;

enum { NO_LOOP, BEGINS, RUNS };

/* A region that runs.  `epoch` counts up at its begin, to an odd number, and when its caller finds
 * no more shares.  A range is what is left of the shares of one thread: the epoch that it belongs
 * to, its first share, the one behind its last.  Whoever has taken a share may read `region` and
 * `data`: the caller waits until none is `left`.
 */
typedef struct {
    _Alignas(LINE) atomic_uint_least64_t epoch;
    atomic_uint threads, first_helper;
    Region *region;
    void *data;
    atomic_bool is_used;
    _Alignas(LINE) atomic_uint left; /* shares that have not ended */
    atomic_bool is_waited_for;       /* by a caller that sleeps */
    _Alignas(LINE) Loop loop;
    _Alignas(LINE) atomic_uint_least64_t ranges[MOST_THREADS];
    _Alignas(LINE) Chunks chunks[MOST_THREADS];
} Job;

static Job jobs[JOBS];

static _Alignas(LINE) atomic_uint begun; /* regions; helpers wait for it to change */
static _Alignas(LINE) atomic_uint sleepers;

static pthread_mutex_t hiring = PTHREAD_MUTEX_INITIALIZER;
static pthread_t helpers[MOST_THREADS];
static atomic_uint hired;
static atomic_uint most_helpers = MOST_THREADS; /* fewer once no more were to be had */
static cpu_set_t cores;              /* that this process may use */
static atomic_int callers_core = -1; /* on which no helper may run */
static atomic_long moved;            /* when that was decided */

static pthread_mutex_t combining = PTHREAD_MUTEX_INITIALIZER;

static __thread struct {
    Loop *loop;
    unsigned thread;
    unsigned share, shares; /* none: in no region */
    unsigned wanted;
} self;

/* ---- time and waiting ---- */

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void pause_core(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("isb" ::: "memory");
#endif
}

static void sleep_while(atomic_uint *word, unsigned value, unsigned group)
{
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, NULL, NULL, group);
}

static void wake(atomic_uint *word, unsigned groups)
{
    syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, NULL, NULL, groups);
}

enum { ROUNDS = 64, YIELDS = 512 };

/* Wait busily until `word` is no longer `value`, for so many nanoseconds; tell whether it is not.
 * Others that want the core get it now and then.
 */
static bool changes(atomic_uint *word, unsigned value, long most)
{
    long until = 0;
    for (unsigned round = 1; most > 0; round++) {
        if (atomic_load_explicit(word, memory_order_acquire) != value)
            return true;
        pause_core();
        if (round % ROUNDS != 0)
            continue;
        long time = now();
        if (until == 0)
            until = time + most;
        else if (time > until)
            break;
        if (round % YIELDS == 0)
            sched_yield();
    }
    return atomic_load(word) != value;
}

/* ---- shares ---- */

static uint64_t range(uint64_t epoch, unsigned first, unsigned end)
{
    return epoch << 16 | first << 8 | end;
}

/* Take a share of a thread, its first or its last; -1: none is left. */
static int take_share(Job *job, unsigned thread, uint64_t epoch, bool last)
{
    uint64_t found = atomic_load_explicit(&job->ranges[thread], memory_order_relaxed);
    for (;;) {
        unsigned first = found >> 8 & 255, end = found & 255;
        if (found >> 16 != epoch || first >= end)
            return -1;
        uint64_t rest = last ? range(epoch, first, end - 1) : range(epoch, first + 1, end);
        if (atomic_compare_exchange_weak(&job->ranges[thread], &found, rest))
            return (int)(thread * SHARES + (last ? end - 1 : first));
    }
}

static void run_share(Job *job, unsigned share, unsigned thread, unsigned threads)
{
    self.loop = &job->loop;
    self.thread = thread;
    self.share = share;
    self.shares = threads * SHARES;
    job->region(job->data);
    self.shares = 0;
    if (atomic_fetch_sub(&job->left, 1) == 1 && atomic_load(&job->is_waited_for))
        wake(&job->left, ~0u);
}

/* Run a thread's own shares, then what is left of others'. */
static void work(Job *job, unsigned thread, unsigned threads, uint64_t epoch)
{
    int share;
    while ((share = take_share(job, thread, epoch, false)) >= 0)
        run_share(job, share, thread, threads);
    for (unsigned next = 1; next < threads; next++)
        while ((share = take_share(job, (thread + next) % threads, epoch, true)) >= 0)
            run_share(job, share, thread, threads);
}

/* ---- helpers ---- */

static unsigned group(unsigned helper) { return 1u << helper % 32; }

static void help(unsigned helper)
{
    unsigned all = atomic_load(&hired);
    for (Job *job = jobs; job < jobs + JOBS && all > 0; job++) {
        uint64_t epoch = atomic_load(&job->epoch);
        if (epoch % 2 == 0)
            continue;
        unsigned threads = atomic_load_explicit(&job->threads, memory_order_relaxed);
        unsigned first = atomic_load_explicit(&job->first_helper, memory_order_relaxed);
        unsigned thread = (helper + all - first % all) % all + 1;
        if (thread < threads)
            work(job, thread, threads, epoch);
    }
}

static void *serve(void *number)
{
    unsigned helper = (unsigned)(uintptr_t)number;
    for (;;) {
        unsigned seen = atomic_load(&begun);
        help(helper);
        if (changes(&begun, seen, helper_waits))
            continue;
        atomic_fetch_add(&sleepers, 1);
        while (atomic_load(&begun) == seen)
            sleep_while(&begun, seen, group(helper));
        atomic_fetch_sub(&sleepers, 1);
    }
    return NULL;
}

/* Return the cores for helpers of a caller on `core`: all, where there is no other. */
static cpu_set_t cores_but(int core)
{
    cpu_set_t others = cores;
    if (core >= 0 && core < CPU_SETSIZE && CPU_COUNT(&others) > 1)
        CPU_CLR(core, &others);
    return others;
}

/* Keep helpers off the caller's core.  Where callers take turns, that is decided now and then. */
static void keep_apart(void)
{
    int core = sched_getcpu();
    if (core == atomic_load_explicit(&callers_core, memory_order_relaxed))
        return;
    long time = now();
    if (time - atomic_load(&moved) < MOVES || pthread_mutex_trylock(&hiring) != 0)
        return;
    cpu_set_t others = cores_but(core);
    for (unsigned helper = 0; helper < atomic_load(&hired) && CPU_COUNT(&others) > 0; helper++)
        pthread_setaffinity_np(helpers[helper], sizeof others, &others);
    atomic_store(&callers_core, core);
    atomic_store(&moved, now());
    pthread_mutex_unlock(&hiring);
}

/* Start helpers until there are `enough`, or no more are to be had: others do their shares. */
static void hire(unsigned enough)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_mutex_lock(&hiring);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the threads of the user */
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        CPU_ZERO(&cores);
    int core = sched_getcpu();
    cpu_set_t others = cores_but(core);
    pthread_attr_t how;
    pthread_attr_init(&how);
    pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
    if (CPU_COUNT(&others) > 0)
        pthread_attr_setaffinity_np(&how, sizeof others, &others);
    for (unsigned next = atomic_load(&hired); next < enough; next++) {
        void *number = (void *)(uintptr_t)next;
        if (pthread_create(&helpers[next], &how, serve, number) != 0) {
            atomic_store(&most_helpers, next);
            break;
        }
        atomic_store(&hired, next + 1);
    }
    atomic_store(&callers_core, core);
    pthread_attr_destroy(&how);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_unlock(&hiring);
}

/* ---- regions ---- */

static uint64_t chunks_from(uint64_t first, uint64_t end) { return first << 32 | end; }

/* Share out a loop's chunks, which are made larger where they are too many to be counted. */
static void set_loop(Loop *loop, unsigned threads, long start, long end, long step, long chunk)
{
    uint64_t span = step > 0 ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
    bool is_empty = step > 0 ? start >= end : start <= end;
    uint64_t size = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    uint64_t iterations = is_empty ? 0 : (span - 1) / size + 1;
    uint64_t each = (uint64_t)chunk;
    while (iterations / each >= UINT32_MAX)
        each *= 2;
    uint64_t count = iterations == 0 ? 0 : (iterations - 1) / each + 1;
    loop->start = start;
    loop->end = end;
    loop->length = (long)((uint64_t)step * each);
    loop->threads = threads;
    for (unsigned thread = 0; thread < threads; thread++)
        atomic_store(&loop->left[thread], chunks_from(count * thread / threads,
                                                      count * (thread + 1) / threads));
    atomic_store(&loop->state, RUNS);
}

static Job *free_job(void)
{
    for (Job *job = jobs; job < jobs + JOBS; job++) {
        bool is_used = atomic_load(&job->is_used);
        if (!is_used && atomic_compare_exchange_strong(&job->is_used, &is_used, true))
            return job;
    }
    return NULL;
}

/* Let helpers know of a job that is set up. */
static void announce(Job *job, unsigned threads)
{
    atomic_fetch_add(&begun, 1);
    unsigned all = atomic_load(&hired);
    if (atomic_load(&sleepers) == 0 || all == 0)
        return;
    unsigned groups = 0;
    for (unsigned thread = 1; thread < threads && thread <= all; thread++)
        groups |= group((thread - 1 + atomic_load(&job->first_helper)) % all);
    wake(&begun, groups);
}

static void wait_for_helpers(Job *job)
{
    unsigned left = atomic_load(&job->left);
    for (long until = now() + caller_waits; left > 0; left = atomic_load(&job->left)) {
        long most = until - now();
        if (changes(&job->left, left, most))
            continue;
        atomic_store(&job->is_waited_for, true);
        while ((left = atomic_load(&job->left)) > 0)
            sleep_while(&job->left, left, ~0u);
    }
}

static void run_alone(Region *region, void *data, Loop *loop)
{
    Chunks all;
    Loop own = { .state = NO_LOOP, .threads = 1, .left = &all };
    Loop *outer = self.loop;
    unsigned thread = self.thread, share = self.share, shares = self.shares;
    self.loop = loop == NULL ? &own : loop;
    self.thread = 0;
    self.share = 0;
    self.shares = 1;
    region(data);
    self.loop = outer;
    self.thread = thread;
    self.share = share;
    self.shares = shares;
}

static void run_together(Job *job, Region *region, void *data, unsigned threads)
{
    atomic_store_explicit(&job->first_helper, (unsigned)(job - jobs) * (threads - 1),
                          memory_order_relaxed);
    atomic_store_explicit(&job->threads, threads, memory_order_relaxed);
    keep_apart();
    unsigned all = atomic_load(&hired);
    if (all < threads - 1 && all < atomic_load(&most_helpers))
        hire(threads - 1);
    job->region = region;
    job->data = data;
    atomic_store(&job->is_waited_for, false);
    atomic_store(&job->left, threads * SHARES);
    uint64_t epoch = atomic_load(&job->epoch) + 1;
    for (unsigned thread = 0; thread < threads; thread++)
        atomic_store_explicit(&job->ranges[thread], range(epoch, 0, SHARES), memory_order_release);
    atomic_store(&job->epoch, epoch);
    announce(job, threads);
    work(job, 0, threads, epoch);
    atomic_store(&job->epoch, epoch + 1);
    wait_for_helpers(job);
    atomic_store(&job->is_used, false);
}

static int wanted(void)
{
    if (self.wanted == 0) {
        cpu_set_t usable;
        int count = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
        self.wanted = (unsigned)count;
    }
    return (int)self.wanted;
}

static void want(int threads) { self.wanted = threads < 1 ? 1 : (unsigned)threads; }

/* Return the job for a region that several threads run; NULL: the caller runs it alone. */
static Job *job_of(unsigned *threads)
{
    if (*threads == 0)
        *threads = (unsigned)wanted();
    if (*threads > MOST_THREADS)
        *threads = MOST_THREADS;
    return *threads > 1 && self.shares == 0 ? free_job() : NULL;
}

static void run(Region *region, void *data, unsigned threads)
{
    Job *job = job_of(&threads);
    if (job == NULL) {
        run_alone(region, data, NULL);
        return;
    }
    job->loop.left = job->chunks;
    job->loop.threads = threads;
    atomic_store(&job->loop.state, NO_LOOP);
    run_together(job, region, data, threads);
}

static void run_loop(Region *region, void *data, unsigned threads, long start, long end, long step,
                     long chunk)
{
    Job *job = job_of(&threads);
    if (job == NULL) {
        Chunks all;
        Loop loop = { .left = &all };
        set_loop(&loop, 1, start, end, step, chunk);
        run_alone(region, data, &loop);
        return;
    }
    job->loop.left = job->chunks;
    set_loop(&job->loop, threads, start, end, step, chunk);
    run_together(job, region, data, threads);
}

/* Take a chunk of a thread, its first or its last. */
static bool take_chunk(Chunks *left, bool last, uint64_t *chunk)
{
    uint64_t found = atomic_load_explicit(left, memory_order_relaxed);
    for (;;) {
        uint64_t first = found >> 32, end = (uint32_t)found;
        if (first >= end)
            return false;
        *chunk = last ? end - 1 : first;
        uint64_t rest = last ? chunks_from(first, end - 1) : chunks_from(first + 1, end);
        if (atomic_compare_exchange_weak(left, &found, rest))
            return true;
    }
}

static bool next_chunk(long *from, long *to)
{
    const Loop *loop = self.loop;
    uint64_t chunk;
    bool found = take_chunk(&loop->left[self.thread], false, &chunk);
    for (unsigned next = 1; next < loop->threads && !found; next++)
        found = take_chunk(&loop->left[(self.thread + next) % loop->threads], true, &chunk);
    if (!found)
        return false;
    *from = (long)((uint64_t)loop->start + chunk * (uint64_t)loop->length);
    uint64_t rest = (uint64_t)loop->end - (uint64_t)*from, length = (uint64_t)loop->length;
    bool is_last = loop->length > 0 ? rest <= length : 0 - rest <= 0 - length;
    *to = is_last ? loop->end : (long)((uint64_t)*from + length);
    return true;
}

static bool begin_loop(long start, long end, long step, long chunk, long *from, long *to)
{
    Loop *loop = self.loop;
    int state = NO_LOOP;
    if (atomic_compare_exchange_strong(&loop->state, &state, BEGINS))
        set_loop(loop, loop->threads, start, end, step, chunk);
    while (atomic_load(&loop->state) != RUNS)
        pause_core();
    return next_chunk(from, to);
}

static int shares(void) { return self.shares == 0 ? 1 : (int)self.shares; }

static int share(void) { return self.shares == 0 ? 0 : (int)self.share; }

static void lock(void) { pthread_mutex_lock(&combining); }

static void unlock(void) { pthread_mutex_unlock(&combining); }

const Team po_team = { run, run_loop, begin_loop, next_chunk, lock, unlock, shares, share, wanted,
                       want };

/* ---- the process ---- */

/* Wait as OpenMP's variable says. */
void po_set_up_team(void)
{
    const char *policy = getenv("OMP_WAIT_POLICY");
    if (policy != NULL && strcasecmp(policy, "passive") == 0)
        helper_waits = caller_waits = 0;
    if (policy != NULL && strcasecmp(policy, "active") == 0)
        helper_waits = caller_waits = 100000000;
}

void po_before_fork_of_team(void)
{
    pthread_mutex_lock(&hiring);
    pthread_mutex_lock(&combining);
}

void po_after_fork_of_team(void)
{
    pthread_mutex_unlock(&combining);
    pthread_mutex_unlock(&hiring);
}

/* A child has one thread: no helpers, and no region that another thread had begun. */
void po_team_of_child(void)
{
    atomic_store(&hired, 0);
    atomic_store(&most_helpers, MOST_THREADS);
    atomic_store(&sleepers, 0);
    atomic_store(&callers_core, -1);
    for (Job *job = jobs; job < jobs + JOBS; job++) {
        uint64_t epoch = atomic_load(&job->epoch);
        atomic_store(&job->epoch, epoch + epoch % 2);
        atomic_store(&job->is_used, false);
    }
}
