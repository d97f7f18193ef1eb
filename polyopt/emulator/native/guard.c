/* What a kernel does to itself ends the kernel, not the process: stacks that overflow, divisions,
 * and, where nothing else would notice, loops without end.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emulator.h"

enum { SIGNAL_STACK = 64 << 10 };

static const int watched[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF};
enum { WATCHED = sizeof watched / sizeof *watched };

static sigjmp_buf outside;
static __thread volatile sig_atomic_t inside;
static char signal_stack[SIGNAL_STACK];
static struct sigaction before[WATCHED];

static void leave(int number, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    if (inside) {
        inside = 0;
        siglongjmp(outside, number);
    }
    if (number == SIGPROF) /* too late */
        return;
    for (int k = 0; k < WATCHED; k++) /* another thread's: as it was before */
        if (watched[k] == number)
            sigaction(number, &before[k], NULL);
}

/* Have a signal sent to this thread later. */
static bool start_timer(timer_t *timer, uint64_t milliseconds)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    struct itimerspec when = {
        .it_value = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000},
    };
    if (timer_create(CLOCK_MONOTONIC, &event, timer) != 0)
        return false;
    timer_settime(*timer, 0, &when, NULL);
    return true;
}

/* Run `action`; a signal of this thread ends it, and so does the time, if it is not 0. */
bool pe_guarded(bool (*action)(void), uint64_t milliseconds)
{
    timer_t timer;
    volatile bool timed = false;
    stack_t own = {.ss_sp = signal_stack, .ss_size = SIGNAL_STACK}, other;
    sigaltstack(&own, &other);
    struct sigaction ours = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    for (int k = 0; k < WATCHED; k++)
        sigaction(watched[k], &ours, &before[k]);
    volatile bool fine = true;
    int number = sigsetjmp(outside, 1);
    if (number == 0) {
        timed = milliseconds && start_timer(&timer, milliseconds);
        inside = 1;
        fine = action();
    }
    inside = 0;
    if (timed)
        timer_delete(timer);
    for (int k = 0; k < WATCHED; k++)
        sigaction(watched[k], &before[k], NULL);
    sigaltstack(&other, NULL);
    if (number != 0)
        pe_crash(number);
    return fine;
}
