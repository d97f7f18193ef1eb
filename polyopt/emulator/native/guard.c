/* What a kernel does to itself ends the kernel, not the process: stacks that overflow, divisions. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emulator.h"

enum { SIGNAL_STACK = 64 << 10 };

static const int watched[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
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
    for (int k = 0; k < WATCHED; k++) /* another thread's: as it was before */
        if (watched[k] == number)
            sigaction(number, &before[k], NULL);
}

/* Run `action`; a signal of this thread ends it. */
bool pe_guarded(bool (*action)(void), uint64_t milliseconds)
{
    (void)milliseconds;
    stack_t own = {.ss_sp = signal_stack, .ss_size = SIGNAL_STACK}, other;
    sigaltstack(&own, &other);
    struct sigaction ours = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    for (int k = 0; k < WATCHED; k++)
        sigaction(watched[k], &ours, &before[k]);
    volatile bool fine = true;
    int number = sigsetjmp(outside, 1);
    if (number == 0) {
        inside = 1;
        fine = action();
    }
    inside = 0;
    for (int k = 0; k < WATCHED; k++)
        sigaction(watched[k], &before[k], NULL);
    sigaltstack(&other, NULL);
    if (number != 0)
        pe_crash(number);
    return fine;
}
