/* What a kernel's library says of its calls, for the module that makes them (caller.c). */
#ifndef POLYOPT_CALL_H
#define POLYOPT_CALL_H

#include <stddef.h>
#include <stdint.h>

/* Of what few calls need: the compiler is asked for little, and done sooner. */
#if defined(__GNUC__) && !defined(__clang__)
#define SELDOM __attribute__((optimize("O0")))
#else
#define SELDOM
#endif

typedef __int128 wide;
#define SIZE_LIMIT ((int64_t)1 << 48)

/* Python's `Py_buffer`, of which the layout is part of Python's stable interface. */
typedef struct {
    void *buf, *object;
    ptrdiff_t len, itemsize;
    int readonly, ndim;
    char *format;
    ptrdiff_t *shape, *strides, *suboffsets;
    void *internal;
} Buffer;

enum { LAYOUT_C, LAYOUT_ROWS, LAYOUT_STRIDED };
enum { CALL, DISPATCH, APART };    /* who calls */
enum { GENERAL_LIMIT = 4096 };    /* elements; larger arrays get the code made for their layout */

/* A number of any type, as C has it in memory. */
typedef struct {
    _Alignas(16) char bytes[16];
} Number;

typedef int Library(int site, void *const *data, const int64_t *extents);

typedef struct {
    int position;        /* among the arguments */
    char family, size;    /* 'b', 'i', 'u', 'f' or 'c'; in bytes */
} NumberArgument;

typedef struct {
    int position;
    int written;
} ArrayArgument;

typedef struct {
    int rank;
    int first;     /* cell of its first extent */
    int length;    /* buffer with the number of entries that count, or -1 */
    int axis;      /* of which dimension */
} Output;

enum { OUTPUT, OUTPUT_SCALAR, ARGUMENT };

typedef struct {
    int kind, number;
} Result;

typedef struct {
    int arrays, extents;    /* operands of a library function */
} Site;

/* Where an array begins in a dimension of another: known when the kernel was made, or not. */
typedef struct {
    int known, from_end;
    int64_t value;
} Start;

/* What the module judges where few calls come to; see arguments.c. */
typedef struct {
    int (*may_nest_badly)(const Buffer *v, const ptrdiff_t *shape);
    int (*may_meet)(const Buffer *a, const Buffer *b);
    int (*locate)(const Buffer *owner, const Buffer *part, const Start *given, const int *axes,
                  const int64_t *steps, int64_t *starts);
} Rare;

/* Whether a signal waits for the interpreter, and what lets it handle that: nonzero if an exception
   came of it. */
typedef struct {
    const volatile int *signalled;
    int (*ask)(void);
} Stop;

typedef struct {
    Stop *stop;              /* which loops of the kernel look at */
    int arguments, numbers, constants, arrays, outputs, results, sites;
    int cells;               /* length of `n` */
    const char *nesting;     /* of results: `.` one, `N` None, `(...)` a tuple, `[...]` a list */
    int is_lost_by_forks;    /* its threads do not live on in a forked process */
    const int *constant;     /* positions */
    const NumberArgument *number;
    const ArrayArgument *array;
    const Output *output;
    const Result *result;
    const Site *site;
    /* Whether arrays `v` and numbers `s` are what the kernel was made for; finds sizes and extents. */
    int (*judge)(const Buffer *v, const Number *s, int64_t *n, int who, const Rare *rare);
    /* Run the kernel; results are arrays after the arguments. */
    int (*enter)(const Buffer *v, const Number *s, const int64_t *n, int threads, Library *library);
} Call;

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

static inline int is_contiguous(const Buffer *v)
{
    ptrdiff_t expected = v->itemsize;
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

static inline int is_empty(const Buffer *v)
{
    for (int d = 0; d < v->ndim; d++)
        if (v->shape[d] == 0)
            return 1;
    return 0;
}

typedef struct {
    uintptr_t low, high;
} Span;

static inline Span span_of(const Buffer *v)
{
    uintptr_t low = (uintptr_t)v->buf, high = low;
    if (is_empty(v))
        return (Span){ 0, 0 };
    for (int d = 0; d < v->ndim; d++) {
        ptrdiff_t reach = v->strides[d] * (v->shape[d] - 1);
        if (reach < 0)
            low += (uintptr_t)reach;
        else
            high += (uintptr_t)reach;
    }
    return (Span){ low, high + (uintptr_t)v->itemsize };
}

/* Whether two arrays may share an element: their spans meet, and no stride tells them apart. */
static inline int overlaps(const Buffer *a, const Buffer *b, Span first, Span second,
                           const Rare *rare)
{
    return first.low < second.high && second.low < first.high && rare->may_meet(a, b);
}

/* Whether two of `count` arrays, one of them written, may share an element; `span` is for its use. */
static inline int any_overlap(int count, const Buffer *v, const char *written, Span *span,
                              const Rare *rare)
{
    for (int j = 0; j < count; j++) {
        span[j] = span_of(&v[j]);
        for (int i = 0; i < j; i++)
            if ((written[i] | written[j]) && overlaps(&v[i], &v[j], span[i], span[j], rare))
                return 1;
    }
    return 0;
}

/* Judge what needs no sizes of an array's buffer; the size and the alignment of elements are powers
   of two.  With `choosy`, a large array that code for a more regular layout serves better is refused. */
static inline int is_fit(const Buffer *v, int rank, char kind, ptrdiff_t size, uintptr_t align,
                         int layout, int written, int choosy, const Rare *rare)
{
    if (v->ndim != rank || v->itemsize != size || family(v->format) != kind
        || ((uintptr_t)v->buf & (align - 1)) != 0)
        return 0;
    if (rank == 0)
        return 1;
    int contiguous = is_contiguous(v);
    if (layout == LAYOUT_C)
        return contiguous;
    if (is_empty(v))
        return 1;
    for (int d = 0; d < rank; d++)
        if (v->shape[d] > 1 && (v->strides[d] & (size - 1)) != 0)
            return 0;
    if (written && !contiguous && rare->may_nest_badly(v, v->shape))
        return 0;
    int unit = v->shape[rank - 1] == 1 || v->strides[rank - 1] == size;
    if (layout == LAYOUT_ROWS && !unit)
        return 0;
    return !(choosy && v->len > GENERAL_LIMIT * size
             && (contiguous || (layout == LAYOUT_STRIDED && unit && rank > 1)));
}

#endif
