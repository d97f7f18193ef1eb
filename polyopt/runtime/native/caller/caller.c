/* The module that calls kernels: checks a call's arguments, then runs the kernel without the GIL.
 *
 * Every refusal is NotImplemented; the caller finds out why and says so.
 */
#include "caller.h"

#include <pthread.h>

enum { NO_MEMORY = 1 };

static int forks = 0;    /* on the way to this process; threads of OpenMP survive none */
static void after_fork(void)
{
    forks++;
    main_thread = pthread_self();
}

static inline int is_lost(const Kernel *kernel)
{
    return kernel->call->is_lost_by_forks && kernel->forks != forks;
}

/* Raise the error that a kernel's status stands for, instead of any other. */
SELDOM static void fail(Kernel *kernel, int status, PyObject *const *args)
{
    PyErr_Clear();
    PyObject *values = PyTuple_New(kernel->call->arguments);
    for (int k = 0; values != NULL && k < kernel->call->arguments; k++)
        PyTuple_SET_ITEM(values, k, Py_NewRef(args[k]));
    PyObject *nothing = values == NULL
        ? NULL : PyObject_CallFunction(kernel->fail, "iO", status, values);
    Py_XDECREF(values);
    if (nothing != NULL) {
        Py_DECREF(nothing);
        PyErr_SetString(PyExc_SystemError, "a kernel failed");
    }
}

/* Cut an array that was made for the call to the first `length` entries of a dimension. */
static int trim(Kernel *kernel, PyObject **made, int64_t length, int axis)
{
    PyObject *part = PyObject_CallFunction(kernel->trim, "OLi", *made, (long long)length, axis);
    if (part == NULL)
        return 0;
    Py_SETREF(*made, part);
    return 1;
}

static int take_numbers(const Kernel *kernel, PyObject *const *args, Number *s, int who)
{
    const Call *call = kernel->call;
    for (int k = 0; k < call->numbers; k++) {
        const NumberArgument *a = &call->number[k];
        if (!take_number(args[a->position], a->family, a->size, &s[k], kernel->flags[k],
                         who == DISPATCH))
            return 0;
    }
    for (int k = 0; k < call->constants; k++)
        if (!is_constant(args[call->constant[k]], PyTuple_GET_ITEM(kernel->constants, k)))
            return 0;
    return 1;
}

static int make_output(Kernel *kernel, int k, const int64_t *n, PyObject **made, Py_buffer *v)
{
    const Output *o = &kernel->call->output[k];
    /* memory of earlier results is for arrays of which no part is cut off */
    PyObject *large = o->length < 0 ? kernel->large : kernel->empty;
    PyObject *dtype = PyTuple_GET_ITEM(kernel->dtypes, k);
    *made = make_array(kernel->empty, large, dtype, o->rank, n + o->first);
    return *made != NULL && PyObject_GetBuffer(*made, v, PyBUF_RECORDS) >= 0;
}

static int enter(Kernel *kernel, const Py_buffer *v, const Number *s, const int64_t *n)
{
    const Call *call = kernel->call;
    const Buffer *buffers = (const Buffer *)v;
    int status;
    keep_listening();
    if (call->sites > 0) {
        Running running = { kernel, PyEval_SaveThread(), current };
        current = &running;
        status = call->enter(buffers, s, n, kernel->threads, library);
        current = running.outer;
        PyEval_RestoreThread(running.thread);
    } else {
        Py_BEGIN_ALLOW_THREADS
        status = call->enter(buffers, s, n, kernel->threads, NULL);
        Py_END_ALLOW_THREADS
    }
    return status;
}

/* Cut results to their lengths, which the kernel found. */
static int cut(Kernel *kernel, const Py_buffer *v, PyObject **made)
{
    const Call *call = kernel->call;
    for (int k = 0; k < call->outputs; k++) {
        const Output *o = &call->output[k];
        if (o->length >= 0 && !trim(kernel, &made[k], *(int64_t *)v[o->length].buf, o->axis))
            return 0;
    }
    return 1;
}

static PyObject *give(const Result *result, PyObject *const *args, PyObject *const *made)
{
    switch (result->kind) {
    case OUTPUT: return Py_NewRef(made[result->number]);
    case OUTPUT_SCALAR: return scalar_of(made[result->number]);
    default: return Py_NewRef(args[result->number]);
    }
}

/* Return the part of the results that `*nesting` begins with, and move it behind. */
static PyObject *arrange(const char **nesting, const Result **next, PyObject *const *args,
                         PyObject *const *made)
{
    char kind = *(*nesting)++;
    if (kind == '.')
        return give((*next)++, args, made);
    if (kind == 'N')
        return Py_NewRef(Py_None);
    PyObject *list = PyList_New(0);
    while (list != NULL && **nesting != ')' && **nesting != ']') {
        PyObject *item = arrange(nesting, next, args, made);
        if (item == NULL || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    (*nesting)++;
    if (kind == '[' || list == NULL)
        return list;
    PyObject *tuple = PyList_AsTuple(list);
    Py_DECREF(list);
    return tuple;
}

static PyObject *results(const Call *call, PyObject *const *args, PyObject *const *made)
{
    const char *nesting = call->nesting;
    const Result *next = call->result;
    return arrange(&nesting, &next, args, made);
}

static PyObject *run(PyObject *self, PyObject *const *args, Py_ssize_t nargs, int who)
{
    Kernel *kernel = (Kernel *)self;
    const Call *call = kernel->call;
    if (nargs != call->arguments || is_lost(kernel) || (who != APART && !is_current(kernel)))
        return Py_NewRef(Py_NotImplemented);
    Py_buffer v[call->arrays + call->outputs + 1];
    Number s[call->numbers + 1];
    int64_t n[call->cells + 1];
    PyObject *made[call->outputs + 1], *result = NULL;
    int held = 0, filled = 0, status;
    if (!take_numbers(kernel, args, s, who))
        goto refuse;
    for (int k = 0; k < call->arrays; k++) {
        const ArrayArgument *a = &call->array[k];
        if (!take_array(args[a->position], kernel->ndarray, &v[k], a->written))
            goto refuse;
        held++;
    }
    if (!call->judge((const Buffer *)v, s, n, who, &rare))
        goto refuse;
    while (filled < call->outputs) {
        const int fits = make_output(kernel, filled, n, &made[filled], &v[held]);
        filled++;
        if (!fits) {
            fail(kernel, NO_MEMORY, args);
            goto done;
        }
        held++;
    }
    status = enter(kernel, v, s, n);
    if (status == 0) {
        if (cut(kernel, v, made))
            result = results(call, args, made);
    } else if (status > 0 || !PyErr_Occurred())
        fail(kernel, status, args);
    goto done;
refuse:
    result = Py_NewRef(Py_NotImplemented);
done:
    while (held > 0)
        PyBuffer_Release(&v[--held]);
    while (filled > 0)
        Py_XDECREF(made[--filled]);
    return result;
}

static PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    return run(self, args, nargs, CALL);
}

static PyObject *dispatch(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    return run(self, args, nargs, DISPATCH);
}

/* As `call`, for arrays that are known to share no element with one another. */
static PyObject *call_apart(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    return run(self, args, nargs, APART);
}

SELDOM static PyObject *set_threads(PyObject *self, PyObject *count)
{
    Kernel *kernel = (Kernel *)self;
    const long value = PyLong_AsLong(count);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    kernel->threads = (int)value;
    kernel->forks = forks;
    Py_RETURN_NONE;
}

/* is_forked() -> whether the process forked since the thread count was chosen */
SELDOM static PyObject *is_forked(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(is_lost((Kernel *)self));
}

static PyMethodDef methods[] = {
    { "call", (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL },
    { "call_apart", (PyCFunction)(void (*)(void))call_apart, METH_FASTCALL, NULL },
    { "dispatch", (PyCFunction)(void (*)(void))dispatch, METH_FASTCALL, NULL },
    { "watch", watch, METH_O, NULL },
    { "set_threads", set_threads, METH_O, NULL },
    { "is_forked", is_forked, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

SELDOM static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Kernel *kernel = (Kernel *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(kernel->ndarray);
    Py_VISIT(kernel->empty);
    Py_VISIT(kernel->large);
    Py_VISIT(kernel->dtypes);
    Py_VISIT(kernel->constants);
    Py_VISIT(kernel->fail);
    Py_VISIT(kernel->library);
    Py_VISIT(kernel->trim);
    Py_VISIT(kernel->watched);
    return 0;
}

static const Call nothing = { .arguments = -1 };    /* refuses whatever it is given */

/* Only what may lead back to the kernel is cleared. */
SELDOM static int clear(PyObject *self)
{
    Kernel *kernel = (Kernel *)self;
    kernel->call = &nothing;
    Py_CLEAR(kernel->watched);
    return 0;
}

SELDOM static void release(PyObject *self)
{
    Kernel *kernel = (Kernel *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(kernel->ndarray);
    Py_CLEAR(kernel->empty);
    Py_CLEAR(kernel->large);
    Py_CLEAR(kernel->dtypes);
    Py_CLEAR(kernel->constants);
    Py_CLEAR(kernel->fail);
    Py_CLEAR(kernel->library);
    Py_CLEAR(kernel->trim);
    Py_CLEAR(kernel->watched);
    PyMem_Free(kernel->flags);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot kernel_slots[] = {
    { Py_tp_methods, methods },
    { Py_tp_traverse, traverse },
    { Py_tp_clear, clear },
    { Py_tp_dealloc, release },
    { 0, NULL },
};

static PyType_Spec kernel_spec = {
    .name = "polyopt_call.Kernel",
    .basicsize = sizeof(Kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = kernel_slots,
};

typedef struct {
    PyObject *type;
} Module;

/* make(address, ndarray, empty, large, dtypes, constants, numbers, threads, fail, library, trim) -> a
   kernel: `address` is that of its library's `Call`, the rest what is needed from Python. */
SELDOM static PyObject *make(PyObject *self, PyObject *args)
{
    PyTypeObject *type = (PyTypeObject *)((Module *)PyModule_GetState(self))->type;
    PyObject *address, *ndarray, *empty, *large, *dtypes, *constants, *numbers, *fail;
    PyObject *library, *trim;
    int threads;
    if (!PyArg_ParseTuple(args, "O!OOOO!O!O!iOOO", &PyLong_Type, &address, &ndarray, &empty, &large,
                          &PyTuple_Type, &dtypes, &PyTuple_Type, &constants, &PyBytes_Type, &numbers,
                          &threads, &fail, &library, &trim))
        return NULL;
    const Call *call = PyLong_AsVoidPtr(address);
    if (call == NULL)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "make: no address");
    if (PyBytes_GET_SIZE(numbers) != call->numbers || PyTuple_GET_SIZE(dtypes) != call->outputs
        || PyTuple_GET_SIZE(constants) != call->constants)
        return PyErr_Format(PyExc_ValueError, "make: wrong lengths");
    char *flags = PyMem_Malloc((size_t)call->numbers + 1);
    if (flags == NULL)
        return PyErr_NoMemory();
    memcpy(flags, PyBytes_AS_STRING(numbers), (size_t)call->numbers);
    Kernel *kernel = (Kernel *)type->tp_alloc(type, 0);
    if (kernel == NULL) {
        PyMem_Free(flags);
        return NULL;
    }
    *call->stop = (Stop){ &signalled, ask };
    kernel->call = call;
    kernel->flags = flags;
    kernel->threads = threads;
    kernel->forks = forks;
    kernel->ndarray = Py_NewRef(ndarray);
    kernel->empty = Py_NewRef(empty);
    kernel->large = Py_NewRef(large);
    kernel->dtypes = Py_NewRef(dtypes);
    kernel->constants = Py_NewRef(constants);
    kernel->fail = Py_NewRef(fail);
    kernel->library = Py_NewRef(library);
    kernel->trim = Py_NewRef(trim);
    return (PyObject *)kernel;
}

SELDOM static int execute(PyObject *module)
{
    static int registered = 0;    /* the library may be loaded more than once */
    if (!registered)
        pthread_atfork(NULL, NULL, after_fork);
    registered = 1;
    PyObject *type = PyType_FromModuleAndSpec(module, &kernel_spec, NULL);
    ((Module *)PyModule_GetState(module))->type = type;
    return type == NULL ? -1 : find_main_thread();
}

SELDOM static int traverse_module(PyObject *module, visitproc visit, void *arg)
{
    Py_VISIT(((Module *)PyModule_GetState(module))->type);
    return 0;
}

SELDOM static int clear_module(PyObject *module)
{
    Py_CLEAR(((Module *)PyModule_GetState(module))->type);
    return 0;
}

static void release_module(void *module) { clear_module((PyObject *)module); }

static PyMethodDef functions[] = {
    { "make", make, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyModuleDef_Slot slots[] = { { Py_mod_exec, (void *)execute }, { 0, NULL } };

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "polyopt_call", .m_size = sizeof(Module),
    .m_methods = functions, .m_slots = slots, .m_traverse = traverse_module,
    .m_clear = clear_module, .m_free = release_module,
};

PyMODINIT_FUNC PyInit_polyopt_call(void) { return PyModuleDef_Init(&definition); }
