/* Take memory and give it back, from one thread and from several. */
#include "process.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALL = 1 << 10, LARGE = 1 << 20, HUGE = 1 << 21, CALLERS = 4, ROUNDS = 2000 };

static const Memory *memory;
static int wrong;

static void expect(int holds, const char *what)
{
    if (!holds) {
        printf("not so: %s\n", what);
        wrong = 1;
    }
}

static void *taken(size_t alignment, size_t bytes)
{
    void *place = memory->take(alignment, bytes);
    expect(place != NULL && (uintptr_t)place % alignment == 0, "there is memory, aligned");
    memset(place, 1, bytes);
    return place;
}

static void one_after_another(void)
{
    void *first = taken(64, LARGE), *second = taken(64, LARGE);
    expect(first != second, "two that are taken are apart");
    memory->give(first);
    memory->give(second);
    expect(taken(64, LARGE) == second, "what came back last is taken first");
    void *less = taken(64, LARGE - LARGE / 8);
    expect(less == first, "a little more than is needed will do");
    memory->give(less);
    void *little = taken(64, LARGE / 2);
    expect(little != first, "twice of what is needed will not");
    void *more = taken(64, 2 * LARGE);
    expect(more != first, "a larger one is another");
    void *aligned = taken(HUGE, HUGE);
    memory->give(aligned);
    expect(taken(HUGE, HUGE) == aligned, "huge pages are kept");
    memory->give(NULL);
    memory->give(taken(64, SMALL));
    memory->give(aligned);
    memory->give(little);
    memory->give(more);
    memory->give(second);
}

/* Bytes of this process that are in memory. */
static size_t resident(void)
{
    size_t whole = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    expect(file != NULL && fscanf(file, "%zu %zu", &whole, &pages) == 2, "Linux tells");
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void more_than_is_kept(void)
{
    size_t quarter = (size_t)1 << 26;
    void *places[6];
    for (int index = 0; index < 6; index++)
        places[index] = taken(64, quarter);
    for (int index = 0; index < 6; index++)
        memory->give(places[index]);
    size_t kept = resident();
    expect(kept > 3 * quarter && kept < 5 * quarter, "four of six are kept");
    expect(memory->take(64, quarter) == places[5], "the last is among them");
    memory->give(places[5]);
    expect(memory->take(64, SIZE_MAX / 2) == NULL, "there is an end of memory");
    void *none_kept = memory->take(64, quarter);
    expect(none_kept != NULL, "all that is kept is given up before");
    memory->give(none_kept);
}

static void many_at_once(void)
{
    void *places[200];
    for (int index = 0; index < 200; index++)
        places[index] = taken(64, LARGE / 8);
    for (int index = 0; index < 200; index++)
        memory->give(places[index]);
}

static void *call(void *number)
{
    unsigned seed = (unsigned)(uintptr_t)number + 1;
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = SMALL << rand_r(&seed) % 9;
        unsigned char *place = memory->take(64, bytes);
        unsigned char mark = (unsigned char)rand_r(&seed);
        place[0] = place[bytes - 1] = mark;
        expect(place[0] == mark && place[bytes - 1] == mark, "nobody else has it");
        memory->give(place);
    }
    return NULL;
}

static void all_at_once(void)
{
    pthread_t threads[CALLERS];
    for (uintptr_t number = 0; number < CALLERS; number++)
        pthread_create(&threads[number], NULL, call, (void *)number);
    for (int number = 0; number < CALLERS; number++)
        pthread_join(threads[number], NULL);
}

int main(int count, char **arguments)
{
    memory = po_process()->memory;
    if (count < 2 || strcmp(arguments[1], "together") != 0) {
        one_after_another();
        many_at_once();
        more_than_is_kept();
        pid_t child = fork();
        if (child == 0) {
            one_after_another();
            _exit(wrong);
        }
        int status;
        waitpid(child, &status, 0);
        expect(status == 0, "a forked child has memory");
    }
    all_at_once();
    printf(wrong ? "wrong\n" : "fine\n");
    return 0;
}
