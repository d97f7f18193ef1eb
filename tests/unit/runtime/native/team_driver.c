/* Run regions of all kinds from several threads at once, and check what each of them computed. */
#include "process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void po_join(const Process *joined);
void po_want(int threads);

enum { LENGTH = 1000, CALLERS = 4 };

static int rounds = 300;

static int check(const int *counts, int expected, const char *what)
{
    for (int i = 0; i < LENGTH; i++)
        if (counts[i] != expected) {
            printf("%s: iteration %d ran %d times, not %d\n", what, i, counts[i], expected);
            return 1;
        }
    return 0;
}

static int in_equal_parts(int *counts)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < LENGTH; i++)
        counts[i]++;
    return check(counts, 1, "static");
}

static int some_at_a_time(int *counts)
{
#pragma omp parallel for schedule(dynamic, 7)
    for (int i = LENGTH - 1; i >= 0; i--)
        counts[i]++;
    return check(counts, 1, "dynamic, downwards");
}

static int with_sums(int *counts)
{
    double sum = 0.0;
    _Complex double turned = 0.0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum, turned)
    for (int i = 0; i < LENGTH; i++) {
        counts[i]++;
        sum += i;
        turned += i * 1.0i;
    }
    double exact = LENGTH * (LENGTH - 1) / 2.0;
    if (sum != exact || __imag__ turned != exact) {
        printf("sums are %g and %g\n", sum, __imag__ turned);
        return 1;
    }
    return check(counts, 1, "sums");
}

static int nested(int *counts)
{
#pragma omp parallel for schedule(dynamic)
    for (int block = 0; block < 10; block++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < LENGTH / 20; i++)
            counts[block * (LENGTH / 10) + i]++;
#pragma omp parallel for schedule(dynamic)
        for (int i = LENGTH / 20; i < LENGTH / 10; i++)
            counts[block * (LENGTH / 10) + i]++;
    }
    return check(counts, 1, "nested");
}

static int under_a_condition(int *counts)
{
    for (int way = 0; way < 2; way++) {
#pragma omp parallel for schedule(dynamic, 3) if (way == 1)
        for (int i = 0; i < LENGTH; i++)
            counts[i]++;
    }
    return check(counts, 2, "if");
}

static int few(int *counts)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 3; i++)
        counts[i]++;
    for (int i = 3; i < LENGTH; i++)
        counts[i]++;
    return check(counts, 1, "few iterations");
}

static atomic_int waiting;
static atomic_bool is_released;

static void *hold(void *unused)
{
    (void)unused;
    po_want(2);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < LENGTH; i++) {
        atomic_fetch_add(&waiting, 1);
        while (!atomic_load(&is_released))
            usleep(100);
    }
    return NULL;
}

/* A region ends while the thread that could help is in another one, which ends later. */
static long without_helper(void)
{
    int counts[LENGTH] = { 0 };
    pthread_t holder;
    pthread_create(&holder, NULL, hold, NULL);
    while (atomic_load(&waiting) < 2)
        usleep(100);
    po_want(2);
    long wrong = in_equal_parts(counts);
    atomic_store(&is_released, true);
    pthread_join(holder, NULL);
    return wrong;
}

static void *call(void *number)
{
    int (*const kinds[])(int *) = { in_equal_parts, some_at_a_time, with_sums,
                                    nested, under_a_condition, few };
    long wrong = 0;
    po_want(2 + (int)(long)number % 3);
    for (int round = 0; round < rounds && !wrong; round++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
            int counts[LENGTH] = { 0 };
            wrong += kinds[kind](counts);
        }
    return (void *)wrong;
}

static long call_from(int callers)
{
    pthread_t threads[CALLERS];
    long wrong = 0;
    for (long t = 0; t < callers; t++)
        pthread_create(&threads[t], NULL, call, (void *)t);
    for (int t = 0; t < callers; t++) {
        void *found;
        pthread_join(threads[t], &found);
        wrong += (long)found;
    }
    return wrong;
}

int main(int count, char **arguments)
{
    if (count > 1)
        rounds = atoi(arguments[1]);
    po_join(po_process());
    long wrong = without_helper() + call_from(1) + call_from(CALLERS);
    pid_t child = count > 2 && strcmp(arguments[2], "fork") == 0 ? fork() : -1;
    if (child == 0)
        _exit(call_from(CALLERS) != 0);
    int status = 0;
    if (child > 0)
        waitpid(child, &status, 0);
    wrong += call_from(1);
    printf(wrong == 0 && status == 0 ? "fine\n" : "wrong\n");
    return 0;
}
