/* Calls back into Python for the library functions of a kernel. */
#include "caller.h"

/* The calls that run in this thread, the innermost first: kernels may be called from a callback. */
typedef struct Running {
    Kernel *kernel;
    PyThreadState *thread;
    struct Running *outer;
} Running;

static _Thread_local Running *current = NULL;

SELDOM static PyObject *tuple_of(PyObject *(*make)(const void *, int), const void *values,
                                 int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int k = 0; tuple != NULL && k < count; k++) {
        PyObject *item = make(values, k);
        if (item == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, k, item);
    }
    return tuple;
}

static PyObject *address_of(const void *values, int k)
{
    return PyLong_FromVoidPtr(((void *const *)values)[k]);
}

static PyObject *extent_of(const void *values, int k)
{
    return PyLong_FromLongLong(((const int64_t *)values)[k]);
}

/* Call library function `site` with the GIL; its exception waits in this thread for the call's end.
   Only the thread that called the kernel comes here. */
SELDOM static int library(int site, void *const *data, const int64_t *extents)
{
    Running *running = current;
    const Site *counts = &running->kernel->call->site[site];
    PyEval_RestoreThread(running->thread);
    PyObject *addresses = tuple_of(address_of, data, counts->arrays);
    PyObject *shape = addresses == NULL ? NULL : tuple_of(extent_of, extents, counts->extents);
    PyObject *result = NULL;
    if (shape != NULL)
        result = PyObject_CallFunction(running->kernel->library, "iOO", site, addresses, shape);
    const int status = result == NULL ? -1 : 0;
    Py_XDECREF(result);
    Py_XDECREF(shape);
    Py_XDECREF(addresses);
    running->thread = PyEval_SaveThread();
    return status;
}
