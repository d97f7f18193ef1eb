/* Calls of kernels from CPython, between the files that make the module: a kernel as an object. */
#ifndef POLYOPT_CALLER_H
#define POLYOPT_CALLER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "call.h"

enum { WATCHED_DICTS = 8 };
enum { WEAK = 1, DECLARED = 2 };    /* a number of Python's own type; of the type an annotation says */

typedef struct {
    PyObject_HEAD
    const Call *call;
    PyObject *ndarray, *empty, *large, *dtypes, *constants, *fail, *library, *trim;
    PyObject *watched;    /* what captured values were, NULL: nothing to compare */
    char *flags;          /* of each number: WEAK, DECLARED */
    uint64_t versions[WATCHED_DICTS];
    int threads, forks;    /* `forks`: of the process the thread count was chosen in */
} Kernel;

_Static_assert(sizeof(Buffer) == sizeof(Py_buffer), "Py_buffer");
_Static_assert(offsetof(Buffer, shape) == offsetof(Py_buffer, shape), "Py_buffer");
_Static_assert(offsetof(Buffer, strides) == offsetof(Py_buffer, strides), "Py_buffer");
_Static_assert(sizeof(Py_ssize_t) == sizeof(int64_t), "extents have 64 bits");

#endif
