"""The part of a call wrapper that calls back into Python for library functions.

In: a signature with library calls.  Out: C text of `library`, which the kernel gets a pointer to.
"""

from __future__ import annotations

from polyopt.ir.source import Signature


def library_text(signature: Signature) -> str:
    """Return the C text; the table says how many arrays and extents each function takes."""
    counts = []
    for call in signature.library:
        arrays = (*call.inputs, *call.outputs)
        counts.append(f"{{ {len(arrays)}, {sum(rank for _, rank in arrays)} }}")
    return LIBRARY.replace("COUNTS", ", ".join(counts))


LIBRARY = r"""
/* The calls that run in this thread, the innermost first: kernels may be called from a callback. */
typedef struct Running {
    State *state;
    PyThreadState *thread;
    struct Running *outer;
} Running;

static _Thread_local Running *current = NULL;
static const int operands[][2] = { COUNTS };    /* arrays and extents of each library function */

static PyObject *tuple_of(PyObject *(*make)(const void *, int), const void *values, int count)
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
static int library(int site, void *const *data, const int64_t *extents)
{
    Running *running = current;
    PyEval_RestoreThread(running->thread);
    PyObject *addresses = tuple_of(address_of, data, operands[site][0]);
    PyObject *shape = addresses == NULL ? NULL : tuple_of(extent_of, extents, operands[site][1]);
    PyObject *result = NULL;
    if (shape != NULL)
        result = PyObject_CallFunction(running->state->library, "iOO", site, addresses, shape);
    const int status = result == NULL ? -1 : 0;
    Py_XDECREF(result);
    Py_XDECREF(shape);
    Py_XDECREF(addresses);
    running->thread = PyEval_SaveThread();
    return status;
}
"""
