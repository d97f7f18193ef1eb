/* Arguments of calls as C has them, and arrays for results. */
#include "caller.h"

#include <math.h>

#define MANY ((int64_t)1 << 15)    /* elements: their memory may be kept for later calls */

/* Whether two elements of an array of this shape in the place of `v` may share a byte
   (dimensions in order of stride must nest). */
SELDOM static int may_nest_badly(const Buffer *v, const ptrdiff_t *shape)
{
    ptrdiff_t step[64], extent[64];
    int n = 0;
    for (int d = 0; d < v->ndim; d++) {
        if (shape[d] == 1)
            continue;
        ptrdiff_t s = v->strides[d] < 0 ? -v->strides[d] : v->strides[d];
        int at = n++;
        while (at > 0 && step[at - 1] > s) {
            step[at] = step[at - 1];
            extent[at] = extent[at - 1];
            at--;
        }
        step[at] = s;
        extent[at] = shape[d];
    }
    ptrdiff_t reach = v->itemsize;
    for (int k = 0; k < n; k++) {
        if (step[k] < reach)
            return 1;
        reach += step[k] * (extent[k] - 1);
    }
    return 0;
}

/* The bytes of an array modulo `step`: from *low, *length of them, if they fit one step. */
SELDOM static int residues(const Buffer *v, ptrdiff_t step, uintptr_t *low, uintptr_t *length)
{
    uintptr_t at = (uintptr_t)v->buf, reach = (uintptr_t)v->itemsize;
    for (int d = 0; d < v->ndim; d++) {
        if (v->shape[d] == 1 || v->strides[d] % step == 0)
            continue;
        ptrdiff_t r = v->strides[d] * (v->shape[d] - 1);
        if (r < 0)
            at += (uintptr_t)r;
        reach += (uintptr_t)(r < 0 ? -r : r);
    }
    *low = at % (uintptr_t)step;
    *length = reach;
    return reach <= (uintptr_t)step;
}

/* Whether two arrays lie side by side in every `step` bytes, so that they share no element. */
SELDOM static int is_apart(const Buffer *a, const Buffer *b, ptrdiff_t step)
{
    uintptr_t first, length, second, other;
    step = step < 0 ? -step : step;
    if (step == 0 || !residues(a, step, &first, &length) || !residues(b, step, &second, &other))
        return 0;
    uintptr_t gap = (second + (uintptr_t)step - first) % (uintptr_t)step;
    return gap >= length && gap + other <= (uintptr_t)step;
}

/* Whether no stride tells two arrays apart that lie in the same bytes. */
SELDOM static int may_meet(const Buffer *a, const Buffer *b)
{
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] > 1 && is_apart(a, b, a->strides[d]))
            return 0;
    for (int d = 0; d < b->ndim; d++)
        if (b->shape[d] > 1 && is_apart(a, b, b->strides[d]))
            return 0;
    return 1;
}

/* Whether `part` runs in `owner` along the given dimensions, by steps; where it begins. */
SELDOM static int locate(const Buffer *owner, const Buffer *part, const Start *given,
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
        ptrdiff_t most = 0;
        for (int d = 0; d < owner->ndim; d++) {
            ptrdiff_t stride = owner->strides[d] < 0 ? -owner->strides[d] : owner->strides[d];
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

static const Rare rare = { may_nest_badly, may_meet, locate };

/* Get the buffer of an array argument.  Only arrays of the type `ndarray` itself; other exporters are
   converted by the caller. */
static inline int take_array(PyObject *object, PyObject *ndarray, Py_buffer *v, int written)
{
    if ((PyObject *)Py_TYPE(object) != ndarray)
        return 0;
    if (PyObject_GetBuffer(object, v, written ? PyBUF_RECORDS : PyBUF_RECORDS_RO) < 0) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

/* Read one of Python's own numbers as the type that the function declares, if it is exactly that;
   floats are rounded.  What is left out is converted, or refused, by the caller. */
static int take_declared(PyObject *object, char kind, Py_ssize_t size, void *into)
{
    if (PyFloat_CheckExact(object) && kind == 'f' && size == 4) {
        const double value = PyFloat_AS_DOUBLE(object);
        *(float *)into = (float)value;
        return isfinite(*(float *)into) || !isfinite(value);
    }
    if (!PyLong_CheckExact(object))
        return 0;
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow)
        return 0;
    if (kind == 'f' && size == 8) {
        *(double *)into = (double)value;
        return value >= -(1LL << 53) && value <= 1LL << 53;
    }
    if (kind == 'f' && size == 4) {
        *(float *)into = (float)value;
        return value >= -(1LL << 24) && value <= 1LL << 24;
    }
    if (kind == 'i' && size == 4) {
        *(int32_t *)into = (int32_t)value;
        return *(int32_t *)into == value;
    }
    return 0;
}

/* Read a number of exactly the given type: Python's own (weak), or a NumPy scalar by its buffer; one
   that is declared may be another of Python's own. */
static inline int take_number(PyObject *object, char kind, Py_ssize_t size, void *into, int flags,
                              int choosy)
{
    const int weak = flags & WEAK, own = !choosy || weak;
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
    if ((flags & DECLARED) && take_declared(object, kind, size, into))
        return 1;
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
