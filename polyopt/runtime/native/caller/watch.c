/* Whether the values outside of a function that its kernel was made for are what they were. */
#include "caller.h"

/* The fields of NumPy's arrays, which its binary interface keeps; `watch` compares them with what
   the buffer protocol says. */
typedef struct {
    PyObject_HEAD
    char *data;
    int nd;
    Py_ssize_t *shape, *strides;
    PyObject *base, *descr;
} ArrayFields;

static int same_elements(const char *data, int nd, const Py_ssize_t *shape,
                         const Py_ssize_t *strides, Py_ssize_t size, const char **other)
{
    if (nd == 0) {
        const char *at = *other;
        *other += size;
        return memcmp(data, at, (size_t)size) == 0;
    }
    for (Py_ssize_t i = 0; i < shape[0]; i++)
        if (!same_elements(data + i * strides[0], nd - 1, shape + 1, strides + 1, size, other))
            return 0;
    return 1;
}

/* Whether an array has the type, shape and elements of its copy, which is contiguous. */
static int same_array(PyObject *array, PyObject *copy, Py_ssize_t size)
{
    const ArrayFields *now = (const ArrayFields *)array, *before = (const ArrayFields *)copy;
    if (now->descr != before->descr || now->nd != before->nd)
        return 0;
    Py_ssize_t length = size;
    int contiguous = 1;
    for (int d = now->nd - 1; d >= 0; d--) {
        if (now->shape[d] != before->shape[d])
            return 0;
        contiguous &= now->strides[d] == length;
        length *= now->shape[d];
    }
    if (contiguous)
        return memcmp(now->data, before->data, (size_t)length) == 0;
    const char *other = before->data;
    return same_elements(now->data, now->nd, now->shape, now->strides, size, &other);
}

static int same_names(PyObject *entry)
{
    PyObject *names = PyTuple_GET_ITEM(entry, 0), *keys = PyTuple_GET_ITEM(entry, 1);
    PyObject *values = PyTuple_GET_ITEM(entry, 2), *absent = PyTuple_GET_ITEM(entry, 3);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); i++)
        if (PyDict_GetItemWithError(names, PyTuple_GET_ITEM(keys, i))
            != PyTuple_GET_ITEM(values, i))
            return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(absent); i++)
        if (PyDict_GetItemWithError(names, PyTuple_GET_ITEM(absent, i)) != NULL)
            return 0;
    return 1;
}

#define EACH(entry, list)                                                                        \
    for (Py_ssize_t k_##list = 0; k_##list < PyTuple_GET_SIZE(list); k_##list++)                 \
        if ((entry = PyTuple_GET_ITEM(list, k_##list)) != NULL)
#define FIELD(number) PyTuple_GET_ITEM(entry, number)

static int is_still(PyObject *value, PyObject *before)
{
    return value == before || (value == NULL && before == Py_None);
}

/* Whether all captured values are what the kernel was made for. */
static int compare_watched(Kernel *kernel)
{
    PyObject *entry, *watched = kernel->watched, *names = PyTuple_GET_ITEM(watched, 0);
    PyObject *cells = PyTuple_GET_ITEM(watched, 1), *functions = PyTuple_GET_ITEM(watched, 2);
    PyObject *lists = PyTuple_GET_ITEM(watched, 3), *arrays = PyTuple_GET_ITEM(watched, 4);
    PyObject *others = PyTuple_GET_ITEM(watched, 5);
    EACH(entry, names) {
#if PY_VERSION_HEX < 0x030C0000    /* dicts have a version that every change makes a new one */
        uint64_t version = ((PyDictObject *)FIELD(0))->ma_version_tag;
        if (k_names < WATCHED_DICTS && kernel->versions[k_names] == version)
            continue;
        if (!same_names(entry))
            return 0;
        if (k_names < WATCHED_DICTS)
            kernel->versions[k_names] = version;
#else
        if (!same_names(entry))
            return 0;
#endif
    }
    EACH(entry, cells)
        if (PyCell_GET(FIELD(0)) != FIELD(1))
            return 0;
    EACH(entry, functions)
        if (PyFunction_GET_CODE(FIELD(0)) != FIELD(1)
            || !is_still(PyFunction_GET_DEFAULTS(FIELD(0)), FIELD(2))
            || !is_still(PyFunction_GET_KW_DEFAULTS(FIELD(0)), FIELD(3)))
            return 0;
    EACH(entry, lists) {
        PyObject *list = FIELD(0), *items = FIELD(1);
        if (PyList_GET_SIZE(list) != PyTuple_GET_SIZE(items))
            return 0;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++)
            if (PyList_GET_ITEM(list, i) != PyTuple_GET_ITEM(items, i))
                return 0;
    }
    EACH(entry, arrays)
        if (!same_array(FIELD(0), FIELD(1), (Py_ssize_t)PyLong_AsLong(FIELD(2))))
            return 0;
    if (others != Py_None) {
        PyObject *found = PyObject_CallNoArgs(others);
        int same = found == Py_True;
        Py_XDECREF(found);
        PyErr_Clear();
        return same;
    }
    return 1;
}

static inline int is_current(Kernel *kernel)
{
    return kernel->watched == NULL || compare_watched(kernel);
}

SELDOM static int has_fields(PyObject *array)
{
    const ArrayFields *fields = (const ArrayFields *)array;
    Py_buffer v;
    if (PyObject_GetBuffer(array, &v, PyBUF_RECORDS_RO) < 0) {
        PyErr_Clear();
        return 0;
    }
    int same = fields->data == v.buf && fields->nd == v.ndim;
    for (int d = 0; same && d < v.ndim; d++)
        same = fields->shape[d] == v.shape[d] && fields->strides[d] == v.strides[d];
    PyBuffer_Release(&v);
    return same;
}

/* watch((names, cells, functions, lists, arrays, others) or None) -> whether it can be done */
SELDOM static PyObject *watch(PyObject *self, PyObject *guards)
{
    Kernel *kernel = (Kernel *)self;
    PyObject *old = kernel->watched;
    if (guards == Py_None) {
        kernel->watched = NULL;
    } else {
        PyObject *entry, *arrays = PyTuple_GET_ITEM(guards, 4);
        EACH(entry, arrays)
            if (!has_fields(FIELD(0)) || !has_fields(FIELD(1)))
                Py_RETURN_FALSE;
        memset(kernel->versions, 0, sizeof kernel->versions);
        kernel->watched = Py_NewRef(guards);
    }
    Py_XDECREF(old);
    Py_RETURN_TRUE;
}
