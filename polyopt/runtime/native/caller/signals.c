/* Ctrl-C while a kernel runs: the interpreter, which notes signals, is not asked until it returns. */
#include "caller.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

static volatile int signalled = 0;    /* SIGINT came; loops of kernels look at it */
static void (*handler)(int) = NULL;   /* of the interpreter */
static pthread_t main_thread;

static void note(int number)
{
    signalled = 1;
    handler(number);
}

/* Be told of SIGINT before the interpreter's handler is, wherever it has one; it may be set anew. */
static void listen(void)
{
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler == note
        || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN)
        return;
    handler = now.sa_handler;
    now.sa_handler = note;
    sigaction(SIGINT, &now, NULL);
}

/* Listen again every 16 microseconds: `signal.signal` puts the interpreter's own handler back. */
static inline void keep_listening(void)
{
    static _Atomic int64_t last;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t tick = (int64_t)now.tv_sec * 1000000000 / 16384 + now.tv_nsec / 16384;
    if (tick == last)
        return;
    last = tick;
    listen();
}

/* Let the interpreter handle its signals, in the one thread in which it does; nonzero if an exception
   came of it.  It is asked without the GIL. */
static int ask(void)
{
    if (!pthread_equal(pthread_self(), main_thread))
        return 0;
    signalled = 0;
    const PyGILState_STATE state = PyGILState_Ensure();
    const int raised = PyErr_CheckSignals();
    PyGILState_Release(state);
    return raised;
}

/* Find out which thread that is; returns -1 with an exception set. */
static int find_main_thread(void)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *thread = threading == NULL ? NULL : PyObject_CallMethod(threading, "main_thread", NULL);
    PyObject *number = thread == NULL ? NULL : PyObject_GetAttrString(thread, "ident");
    if (number != NULL)
        main_thread = (pthread_t)PyLong_AsUnsignedLong(number);
    Py_XDECREF(number);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    return PyErr_Occurred() ? -1 : 0;
}
