"""The fixed part of every call wrapper: C functions that judge buffers and numbers.

In: nothing.  Out: C text.  Nothing in it depends on a kernel.
"""

from __future__ import annotations

HEAD = r"""/* CPython call wrapper: checks a call's arguments, then runs the kernel without the GIL.
   Every refusal is NotImplemented; the caller finds out why and says so. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
"""

SUPPORT = r"""
typedef __int128 wide;
enum { LAYOUT_C, LAYOUT_ROWS, LAYOUT_STRIDED };
enum { CALL, DISPATCH, APART };    /* who calls */
enum { GENERAL_LIMIT = 4096 };    /* elements; larger arrays get the code made for their layout */
#define SIZE_LIMIT ((int64_t)1 << 48)
#define MANY ((int64_t)1 << 15)    /* elements: their memory may be kept for later calls */

static inline wide floor_div(wide a, wide b)
{
    if (b == 0)
        return 0;
    wide q = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

static inline wide floor_mod(wide a, wide b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }
static inline wide wide_min(wide a, wide b) { return a < b ? a : b; }
static inline wide wide_max(wide a, wide b) { return a > b ? a : b; }

/* The family of numbers a buffer format means in native byte order, 0 for any other format. */
static inline char family(const char *format)
{
    if (format == NULL)
        return 'u';
    if (*format == '@' || *format == '=')
        format++;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    else if (*format == '<')
        format++;
#endif
    if (format[0] == 'Z' && (format[1] == 'f' || format[1] == 'd') && format[2] == 0)
        return 'c';
    if (format[0] == 0 || format[1] != 0)
        return 0;
    switch (format[0]) {
    case '?': return 'b';
    case 'b': case 'h': case 'i': case 'l': case 'q': case 'n': return 'i';
    case 'B': case 'H': case 'I': case 'L': case 'Q': case 'N': return 'u';
    case 'e': case 'f': case 'd': return 'f';
    default: return 0;
    }
}

static inline int is_contiguous(const Py_buffer *v)
{
    Py_ssize_t expected = v->itemsize;
    int same = 1;
    for (int d = v->ndim - 1; d >= 0; d--) {
        if (v->shape[d] == 0)
            return 1;
        if (v->shape[d] != 1 && v->strides[d] != expected)
            same = 0;
        expected *= v->shape[d];
    }
    return same;
}

static inline int is_empty(const Py_buffer *v)
{
    for (int d = 0; d < v->ndim; d++)
        if (v->shape[d] == 0)
            return 1;
    return 0;
}

/* Whether two elements of an array of this shape in the place of `v` may share a byte
   (dimensions in order of stride must nest). */
static inline int may_nest_badly(const Py_buffer *v, const Py_ssize_t *shape)
{
    Py_ssize_t step[64], extent[64];
    int n = 0;
    for (int d = 0; d < v->ndim; d++) {
        if (shape[d] == 1)
            continue;
        Py_ssize_t s = v->strides[d] < 0 ? -v->strides[d] : v->strides[d];
        int at = n++;
        while (at > 0 && step[at - 1] > s) {
            step[at] = step[at - 1];
            extent[at] = extent[at - 1];
            at--;
        }
        step[at] = s;
        extent[at] = shape[d];
    }
    Py_ssize_t reach = v->itemsize;
    for (int k = 0; k < n; k++) {
        if (step[k] < reach)
            return 1;
        reach += step[k] * (extent[k] - 1);
    }
    return 0;
}

static inline int may_overlap_itself(const Py_buffer *v) { return may_nest_badly(v, v->shape); }

typedef struct {
    uintptr_t low, high;
} Span;

static inline Span span_of(const Py_buffer *v)
{
    uintptr_t low = (uintptr_t)v->buf, high = low;
    if (is_empty(v))
        return (Span){ 0, 0 };
    for (int d = 0; d < v->ndim; d++) {
        Py_ssize_t reach = v->strides[d] * (v->shape[d] - 1);
        if (reach < 0)
            low += (uintptr_t)reach;
        else
            high += (uintptr_t)reach;
    }
    return (Span){ low, high + (uintptr_t)v->itemsize };
}

/* The bytes of an array modulo `step`: from *low, *length of them, if they fit one step. */
static inline int residues(const Py_buffer *v, Py_ssize_t step, uintptr_t *low, uintptr_t *length)
{
    uintptr_t at = (uintptr_t)v->buf, reach = (uintptr_t)v->itemsize;
    for (int d = 0; d < v->ndim; d++) {
        if (v->shape[d] == 1 || v->strides[d] % step == 0)
            continue;
        Py_ssize_t r = v->strides[d] * (v->shape[d] - 1);
        if (r < 0)
            at += (uintptr_t)r;
        reach += (uintptr_t)(r < 0 ? -r : r);
    }
    *low = at % (uintptr_t)step;
    *length = reach;
    return reach <= (uintptr_t)step;
}

/* Whether two arrays lie side by side in every `step` bytes, so that they share no element. */
static inline int is_apart(const Py_buffer *a, const Py_buffer *b, Py_ssize_t step)
{
    uintptr_t first, length, second, other;
    step = step < 0 ? -step : step;
    if (step == 0 || !residues(a, step, &first, &length) || !residues(b, step, &second, &other))
        return 0;
    uintptr_t gap = (second + (uintptr_t)step - first) % (uintptr_t)step;
    return gap >= length && gap + other <= (uintptr_t)step;
}

/* Whether two arrays may share an element: their spans meet, and no stride tells them apart. */
static inline int overlaps(const Py_buffer *a, const Py_buffer *b, Span first, Span second)
{
    if (first.low >= second.high || second.low >= first.high)
        return 0;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] > 1 && is_apart(a, b, a->strides[d]))
            return 0;
    for (int d = 0; d < b->ndim; d++)
        if (b->shape[d] > 1 && is_apart(a, b, b->strides[d]))
            return 0;
    return 1;
}

typedef struct {
    int known, from_end;
    int64_t value;
} Start;

/* Whether `part` runs in `owner` along the given dimensions, by steps; where it begins. */
static inline int locate(const Py_buffer *owner, const Py_buffer *part, const Start *given,
                         const int *axes, const int64_t *steps, int64_t *starts)
{
    for (int d = 0; d < owner->ndim; d++)
        starts[d] = 0;
    if (is_empty(part))
        return 1;
    for (int d = 0; d < part->ndim; d++)    /* strides of dimensions of length 1 mean nothing */
        if (part->shape[d] > 1
            && (axes[d] < 0 || owner->shape[axes[d]] <= 1
                || part->strides[d] != steps[d] * owner->strides[axes[d]]))
            return 0;
    intptr_t rest = (intptr_t)((uintptr_t)part->buf - (uintptr_t)owner->buf);
    char left[64] = { 0 };
    for (int d = 0; d < owner->ndim; d++) {
        if (given[d].known) {
            starts[d] = given[d].from_end ? owner->shape[d] - 1 - given[d].value : given[d].value;
            if (starts[d] != 0 && owner->shape[d] <= 1)
                return 0;
            rest -= starts[d] * owner->strides[d];
        } else
            left[d] = owner->shape[d] > 1 && owner->strides[d] != 0;
    }
    for (;;) {    /* the longest stride first, so that what is left fits the others */
        int best = -1;
        Py_ssize_t most = 0;
        for (int d = 0; d < owner->ndim; d++) {
            Py_ssize_t stride = owner->strides[d] < 0 ? -owner->strides[d] : owner->strides[d];
            if (left[d] && stride > most) {
                best = d;
                most = stride;
            }
        }
        if (best < 0)
            return rest == 0;
        starts[best] = (int64_t)floor_div(rest, owner->strides[best]);
        rest -= starts[best] * owner->strides[best];
        left[best] = 0;
    }
}

/* Get the buffer of an array argument and judge everything that needs no sizes.
   Only arrays of the type `ndarray` itself; other exporters are converted by the caller. */
static inline int take_array(PyObject *object, PyObject *ndarray, Py_buffer *v, int rank,
                             char kind, Py_ssize_t size, uintptr_t align, int layout,
                             int written, int choosy)
{
    if ((PyObject *)Py_TYPE(object) != ndarray)
        return 0;
    if (PyObject_GetBuffer(object, v, written ? PyBUF_RECORDS : PyBUF_RECORDS_RO) < 0) {
        PyErr_Clear();
        return 0;
    }
    if (v->ndim != rank || v->itemsize != size || family(v->format) != kind
        || (uintptr_t)v->buf % align != 0)
        goto refuse;
    if (rank == 0)
        return 1;
    int contiguous = is_contiguous(v);
    if (layout == LAYOUT_C) {
        if (!contiguous)
            goto refuse;
        return 1;
    }
    if (!is_empty(v)) {
        for (int d = 0; d < rank; d++)
            if (v->shape[d] > 1 && v->strides[d] % size != 0)
                goto refuse;
        if (written && !contiguous && may_overlap_itself(v))
            goto refuse;
        int unit = v->shape[rank - 1] == 1 || v->strides[rank - 1] == size;
        if (layout == LAYOUT_ROWS && !unit)
            goto refuse;
        if (choosy && v->len / size > GENERAL_LIMIT
            && (contiguous || (layout == LAYOUT_STRIDED && unit && rank > 1)))
            goto refuse;
    }
    return 1;
refuse:
    PyBuffer_Release(v);
    return 0;
}

/* Read a number of exactly the given type: Python's own (weak), or a NumPy scalar by its buffer. */
static inline int take_number(PyObject *object, char kind, Py_ssize_t size, void *into, int weak,
                              int choosy)
{
    const int own = !choosy || weak;
    if (kind == 'f' && size == 8 && own && PyFloat_CheckExact(object)) {
        *(double *)into = PyFloat_AS_DOUBLE(object);
        return 1;
    }
    if (kind == 'i' && size == 8 && own && PyLong_CheckExact(object)) {
        int overflow = 0;
        long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
        *(int64_t *)into = value;
        return !overflow;
    }
    if (kind == 'b' && own && PyBool_Check(object)) {
        *(_Bool *)into = object == Py_True;
        return 1;
    }
    if (kind == 'c' && size == 16 && own && PyComplex_CheckExact(object)) {
        ((double *)into)[0] = PyComplex_RealAsDouble(object);
        ((double *)into)[1] = PyComplex_ImagAsDouble(object);
        return 1;
    }
    if ((choosy && weak) || !PyObject_CheckBuffer(object))
        return 0;
    Py_buffer v;
    if (PyObject_GetBuffer(object, &v, PyBUF_RECORDS_RO) < 0) {
        PyErr_Clear();
        return 0;
    }
    int same = v.ndim == 0 && v.itemsize == size && family(v.format) == kind;
    if (same)
        memcpy(into, v.buf, (size_t)size);
    PyBuffer_Release(&v);
    return same;
}

/* Whether an argument is the value compiled in. */
static inline int is_constant(PyObject *object, PyObject *constant)
{
    if (object == constant)
        return 1;
    if (Py_TYPE(object) != Py_TYPE(constant)
        || !(PyIndex_Check(constant) || PyUnicode_CheckExact(constant)))
        return 0;
    int same = PyObject_RichCompareBool(object, constant, Py_EQ);
    if (same < 0)
        PyErr_Clear();
    return same == 1;
}

/* The element of a 0-d array, as a NumPy scalar. */
static inline PyObject *scalar_of(PyObject *array)
{
    PyObject *index = PyTuple_New(0);
    if (index == NULL)
        return NULL;
    PyObject *value = PyObject_GetItem(array, index);
    Py_DECREF(index);
    return value;
}

/* `empty(shape, dtype)`, or `large(shape, dtype)` where there are many elements. */
static inline PyObject *make_array(PyObject *empty, PyObject *large, PyObject *dtype, int rank,
                                   const int64_t *shape)
{
    int64_t many = 1;
    for (int d = 0; d < rank && many < MANY; d++)
        many = shape[d] < MANY ? many * shape[d] : MANY;
    PyObject *dims = PyTuple_New(rank);
    if (dims == NULL)
        return NULL;
    for (int d = 0; d < rank; d++) {
        PyObject *extent = PyLong_FromLongLong(shape[d]);
        if (extent == NULL) {
            Py_DECREF(dims);
            return NULL;
        }
        PyTuple_SET_ITEM(dims, d, extent);
    }
    PyObject *arguments[] = { dims, dtype };
    PyObject *array = PyObject_Vectorcall(many < MANY ? empty : large, arguments, 2, NULL);
    Py_DECREF(dims);
    return array;
}
"""

OPENMP = r"""
#include <pthread.h>
extern int omp_get_max_threads(void);
extern void omp_set_num_threads(int);
#ifdef PO_OWN_THREADS
enum { forks = 0 };
#else
static int forks = 0;    /* on the way to this process; OpenMP's threads survive none */
static void after_fork(void) { forks++; }
#endif
"""

SERIAL = r"""
enum { forks = 0 };
"""

STATE = r"""
enum { WATCHED_DICTS = 8 };
typedef struct {
    PyObject *ndarray, *empty, *large, *dtypes, *constants, *fail, *library, *trim;
    PyObject *watched;         /* what captured values were, NULL: nothing to compare */
    uint64_t versions[WATCHED_DICTS];
    int threads, forks;        /* `forks`: of the process the thread count was chosen in */
    char weak[NUMBERS + 1];    /* of each number: made for Python's own types */
} State;

enum { NO_MEMORY = 1 };

/* Raise the error that a kernel's status stands for, instead of any other. */
static void fail(State *state, int status)
{
    PyErr_Clear();
    PyObject *number = PyLong_FromLong(status);
    PyObject *nothing = number == NULL ? NULL : PyObject_CallOneArg(state->fail, number);
    Py_XDECREF(number);
    if (nothing != NULL) {
        Py_DECREF(nothing);
        PyErr_SetString(PyExc_SystemError, "a kernel failed");
    }
}

/* Cut an array that was made for the call to the first `length` entries of a dimension. */
static inline int trim(State *state, PyObject **made, int64_t length, int axis)
{
    PyObject *part = PyObject_CallFunction(state->trim, "OLi", *made, (long long)length, axis);
    if (part == NULL)
        return 0;
    Py_SETREF(*made, part);
    return 1;
}
"""

TAIL = r"""
static PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    return run(PyModule_GetState(self), args, nargs, CALL);
}

static PyObject *dispatch(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    return run(PyModule_GetState(self), args, nargs, DISPATCH);
}

/* As `call`, for arrays that are known to share no element with one another. */
static PyObject *call_apart(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    return run(PyModule_GetState(self), args, nargs, APART);
}

static void keep(PyObject **place, PyObject *value)
{
    PyObject *old = *place;
    *place = Py_XNewRef(value);
    Py_XDECREF(old);
}

/* configure(ndarray, empty, large, dtypes, constants, weak, threads, fail, library, trim): what is
   needed from Python. */
static PyObject *configure(PyObject *self, PyObject *args)
{
    State *state = PyModule_GetState(self);
    PyObject *ndarray, *empty, *large, *dtypes, *constants, *fail, *library, *trim;
    Py_buffer flags;
    int threads;
    if (!PyArg_ParseTuple(args, "OOOO!O!y*iOOO", &ndarray, &empty, &large, &PyTuple_Type,
                          &dtypes, &PyTuple_Type, &constants, &flags, &threads, &fail, &library,
                          &trim))
        return NULL;
    const int fits = flags.len == NUMBERS;
    if (fits && NUMBERS > 0)
        memcpy(state->weak, flags.buf, NUMBERS);
    PyBuffer_Release(&flags);
    if (!fits || PyTuple_GET_SIZE(dtypes) != DTYPES || PyTuple_GET_SIZE(constants) != CONSTANTS) {
        PyErr_SetString(PyExc_ValueError, "configure: wrong lengths");
        return NULL;
    }
    keep(&state->ndarray, ndarray);
    keep(&state->empty, empty);
    keep(&state->large, large);
    keep(&state->dtypes, dtypes);
    keep(&state->constants, constants);
    keep(&state->fail, fail);
    keep(&state->library, library);
    keep(&state->trim, trim);
    state->threads = threads;
    Py_RETURN_NONE;
}

static PyObject *set_threads(PyObject *self, PyObject *count)
{
    State *state = PyModule_GetState(self);
    long value = PyLong_AsLong(count);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    state->threads = (int)value;
    state->forks = forks;
    Py_RETURN_NONE;
}

/* is_forked() -> whether the process forked since the thread count was chosen */
static PyObject *is_forked(PyObject *self, PyObject *unused)
{
    State *state = PyModule_GetState(self);
    (void)unused;
    return PyBool_FromLong(state->forks != forks);
}

static PyMethodDef methods[] = {
    { "call", (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL },
    { "call_apart", (PyCFunction)(void (*)(void))call_apart, METH_FASTCALL, NULL },
    { "dispatch", (PyCFunction)(void (*)(void))dispatch, METH_FASTCALL, NULL },
    { "configure", configure, METH_VARARGS, NULL },
    { "watch", watch, METH_O, NULL },
    { "set_threads", set_threads, METH_O, NULL },
    { "is_forked", is_forked, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static int execute(PyObject *module)
{
    State *state = PyModule_GetState(module);
    state->threads = 1;
    REGISTER
    state->forks = forks;
    return 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    Py_VISIT(state->ndarray);
    Py_VISIT(state->empty);
    Py_VISIT(state->large);
    Py_VISIT(state->dtypes);
    Py_VISIT(state->constants);
    Py_VISIT(state->fail);
    Py_VISIT(state->library);
    Py_VISIT(state->trim);
    Py_VISIT(state->watched);
    return 0;
}

static int clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    keep(&state->ndarray, NULL);
    keep(&state->empty, NULL);
    keep(&state->large, NULL);
    keep(&state->dtypes, NULL);
    keep(&state->constants, NULL);
    keep(&state->fail, NULL);
    keep(&state->library, NULL);
    keep(&state->trim, NULL);
    keep(&state->watched, NULL);
    return 0;
}

static void release(void *module) { clear((PyObject *)module); }

static PyModuleDef_Slot slots[] = { { Py_mod_exec, (void *)execute }, { 0, NULL } };

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "polyopt_call", .m_size = sizeof(State),
    .m_methods = methods, .m_slots = slots, .m_traverse = traverse, .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC PyInit_polyopt_call(void) { return PyModuleDef_Init(&definition); }
"""

REGISTER = r"""#ifndef PO_OWN_THREADS
    static int registered = 0;    /* the library may be loaded more than once */
    if (!registered)
        pthread_atfork(NULL, NULL, after_fork);
    registered = 1;
#endif"""
