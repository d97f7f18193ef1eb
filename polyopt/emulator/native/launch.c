/* A launch: blocks one after another, the threads of each in turn from one wait to the next. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "emulator.h"
#include "shadow.h"

enum { MOST_INTERVALS = 3000000000u, TICKS = 1 << 20 };
enum { FORWARD, BACKWARD, SHUFFLED };

/* As the launching program writes it. */
typedef struct {
    uint64_t grid[3], block[3];
    uint64_t order, seed, milliseconds, checks, unset;
} Settings;

typedef struct {
    uint32_t interval, number;
} Start;

Run pe_run;
Thread pe_threads[MOST_THREADS];
Thread *pe_now;

/* Memory of arrays whose size is told at the launch. */
__attribute__((aligned(1024))) unsigned char pe_dynamic_memory[256 << 10];

static void (*entry)(void **arguments);
static void **given;
static Settings settings;
static uint64_t random_state, ticks, deadline;
static uint32_t thread_order[MOST_THREADS], *block_order, blocks;
static Start *starts;
static size_t started, starts_room;

static uint64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(((random_state >> 32) * bound) >> 32);
}

static void put_in_order(uint32_t *numbers, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        numbers[k] = settings.order == BACKWARD ? count - 1 - k : k;
    for (uint32_t k = count; settings.order == SHUFFLED && k > 1; k--) {
        uint32_t other = random_below(k), kept = numbers[k - 1];
        numbers[k - 1] = numbers[other];
        numbers[other] = kept;
    }
}

static const Start *start_of(uint32_t interval)
{
    size_t low = 0, high = started;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (starts[middle].interval <= interval)
            low = middle;
        else
            high = middle;
    }
    return &starts[low];
}

uint32_t pe_block_start(uint32_t interval)
{
    return start_of(interval)->interval;
}

static Dim position(uint32_t number, Dim extents)
{
    return (Dim){
        number % extents.x,
        number / extents.x % extents.y,
        number / extents.x / extents.y,
    };
}

Dim pe_block_of(uint32_t interval)
{
    return position(start_of(interval)->number, pe_run.grid);
}

void pe_stop(void)
{
    pe_run.stopped = true;
    for (;;)
        pe_fiber_leave();
}

void pe_wait(State state, int line)
{
    pe_now->state = state;
    pe_now->line = line;
    pe_fiber_leave();
}

void pe_crash(int signal)
{
    int64_t facts[4] = {signal};
    if (pe_now)
        pe_find(signal == SIGPROF ? ENDLESS : CRASH, (Touch){0}, 0, 0, pe_site_of_line(0), facts);
    pe_run.stopped = true;
}

/* Called from time to time by whatever may go on for ever. */
void pe_tick(uintptr_t place)
{
    if (!pe_now || ++ticks % TICKS || milliseconds() < deadline)
        return;
    pe_find(ENDLESS, (Touch){0}, 0, 0, pe_site(place, 0), NULL);
    pe_stop();
}

void pe_barrier(int line)
{
    pe_wait(AT_BARRIER, line);
}

static void body(void)
{
    entry(given);
    pe_async_at_end(pe_now);
    pe_now->state = ENDED;
    pe_warp_at_end(pe_now);
}

static void reset_thread(uint32_t number)
{
    Thread *thread = &pe_threads[number];
    thread->state = RUNS;
    thread->number = number;
    thread->index = position(number, pe_run.block);
    for (int lane = 0; lane < LANES; lane++)
        thread->clocks[lane] = 0;
    thread->clocks[number % LANES] = 1;
    thread->depth = 0;
    thread->fence_interval = 0;
    thread->stack_end = pe_fiber_end(number);
    pe_async_new_block(thread);
    pe_fiber_start(number, body);
}

static void find_divergence(Thread *first)
{
    int64_t facts[4] = {0, first->line, 0, 0};
    for (uint32_t k = 0; k < pe_run.count; k++) {
        Thread *thread = &pe_threads[k];
        if (thread->state == AT_BARRIER && thread->line == first->line) {
            facts[0]++;
            continue;
        }
        facts[2]++;
        if (thread->state == AT_BARRIER)
            facts[3] = thread->line;
    }
    pe_now = first;
    pe_find(DIVERGENCE, (Touch){0}, 0, 0, pe_site_of_line(first->line), facts);
    pe_run.stopped = true;
}

/* No thread can go on: the block has ended, all are at one barrier, or something is wrong.
 * Return whether there is more to run.
 */
static bool next_interval(void)
{
    Thread *waits = NULL;
    uint32_t together = 0, ended = 0;
    for (uint32_t k = 0; k < pe_run.count; k++) {
        Thread *thread = &pe_threads[k];
        if (thread->state == AT_WARP) {
            pe_now = thread;
            pe_warp_stuck();
            return false;
        }
        ended += thread->state == ENDED;
        if (thread->state != AT_BARRIER)
            continue;
        waits = waits ? waits : thread;
        together += thread->line == waits->line;
    }
    if (ended == pe_run.count)
        return false;
    if (together < pe_run.count) {
        find_divergence(waits);
        return false;
    }
    pe_run.interval++;
    for (uint32_t k = 0; k < pe_run.count; k++)
        pe_threads[k].state = RUNS;
    if (settings.order == SHUFFLED)
        put_in_order(thread_order, pe_run.count);
    return true;
}

static bool run_ready(void)
{
    bool ran = false;
    for (uint32_t k = 0; k < pe_run.count && !pe_run.stopped; k++) {
        Thread *thread = &pe_threads[thread_order[k]];
        if (thread->state != RUNS)
            continue;
        pe_now = thread;
        pe_fiber_resume(thread->number);
        ran = true;
    }
    return ran;
}

static bool note_start(uint32_t number)
{
    if (started == starts_room) {
        size_t room = starts_room ? 2 * starts_room : 1024;
        Start *larger = realloc(starts, room * sizeof *starts);
        if (!larger)
            return false;
        starts = larger;
        starts_room = room;
    }
    starts[started++] = (Start){pe_run.interval, number};
    return true;
}

static bool run_block(uint32_t number)
{
    pe_run.at = position(number, pe_run.grid);
    pe_run.first_of_block = ++pe_run.interval;
    pe_fences_new_block();
    if (pe_run.checks && !note_start(number))
        return false;
    for (uint32_t k = 0; k < pe_run.count; k++)
        reset_thread(k);
    put_in_order(thread_order, pe_run.count);
    while (!pe_run.stopped)
        if (!run_ready() && !next_interval())
            break;
    return true;
}

static bool run_blocks(void)
{
    bool fine = true;
    for (uint32_t k = 0; k < blocks && fine && !pe_run.stopped; k++) {
        fine = run_block(block_order[k]);
        if (milliseconds() >= deadline && k + 1 < blocks && !pe_run.stopped) {
            pe_find(ENDLESS, (Touch){0}, 0, 0, pe_site_of_line(0), NULL);
            pe_run.stopped = true;
        }
    }
    return fine;
}

/* Run a kernel; 0 when there is not enough memory.  What is wrong with it is among the findings. */
int pe_launch(void (*kernel)(void **arguments), void **arguments, const Settings *wanted)
{
    settings = *wanted;
    entry = kernel;
    given = arguments;
    random_state = settings.seed * 2 + 1;
    pe_findings_clear();
    pe_fences_new_launch();
    started = 0;
    if (pe_run.interval > MOST_INTERVALS) {
        pe_areas_forget();
        pe_run.interval = 0;
    }
    pe_run.grid = (Dim){settings.grid[0], settings.grid[1], settings.grid[2]};
    pe_run.block = (Dim){settings.block[0], settings.block[1], settings.block[2]};
    pe_run.count = pe_run.block.x * pe_run.block.y * pe_run.block.z;
    pe_run.checks = settings.checks;
    pe_run.unset = settings.unset;
    pe_run.stopped = false;
    pe_run.first_of_launch = pe_run.interval + 1;
    deadline = milliseconds() + settings.milliseconds;
    blocks = pe_run.grid.x * pe_run.grid.y * pe_run.grid.z;
    block_order = malloc((blocks ? blocks : 1) * sizeof *block_order);
    if (!block_order)
        return 0;
    put_in_order(block_order, blocks);
    bool fine = pe_guarded(run_blocks, settings.checks ? 0 : settings.milliseconds);
    free(block_order);
    pe_now = NULL;
    return fine;
}

Dim pe_thread_index(void)
{
    return pe_now->index;
}

Dim pe_block_index(void)
{
    return pe_run.at;
}

Dim pe_block_extents(void)
{
    return pe_run.block;
}

Dim pe_grid_extents(void)
{
    return pe_run.grid;
}
