/* Ctrl-C while a kernel runs that is called without the module of caller/: its library listens.
 *
 * A handler that is there, the interpreter's, is told afterwards as before.  Only the thread that
 * listens is asked: it calls the kernel between `po_listen` and `po_unlisten`.
 */
#include <signal.h>
#include <stddef.h>

static volatile int po_signalled = 0;
static void (*po_handler)(int) = NULL;

__attribute__((visibility("hidden")))
struct { const volatile int *signalled; int (*ask)(void); } po_stop = { &po_signalled, NULL };

static __thread int po_listens = 0;
static int (*po_asked)(void) = NULL;

static void po_note(int number)
{
    po_signalled = 1;
    po_handler(number);
}

/* Let the interpreter handle its signals; nonzero if an exception came of it. */
static int po_ask(void)
{
    if (!po_listens)
        return 0;
    po_signalled = 0;
    return po_asked();
}

/* Be told of SIGINT until `po_unlisten`, which gets what this returns, and ask this thread by `ask`.
   A kernel may be called while another call of it, of the same thread, waits for a function. */
void *po_listen(int (*ask)(void))
{
    void *before = (void *)po_asked;
    struct sigaction now;
    po_asked = ask;
    po_stop.ask = po_ask;
    po_signalled = 0;
    po_listens = 1;
    if (sigaction(SIGINT, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO)
        && now.sa_handler != po_note && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN) {
        po_handler = now.sa_handler;
        now.sa_handler = po_note;
        sigaction(SIGINT, &now, NULL);
    }
    return before;
}

/* Give the handler back after the outermost call, unless another one has been set since. */
void po_unlisten(void *before)
{
    struct sigaction now;
    po_asked = (int (*)(void))before;
    if (before != NULL)
        return;
    po_listens = 0;
    if (sigaction(SIGINT, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO)
        && now.sa_handler == po_note) {
        now.sa_handler = po_handler;
        sigaction(SIGINT, &now, NULL);
    }
}
