/* Programs around exported kernels: arrays in files, arguments by name, results. */
/* SPDX-License-Identifier: MIT-0 */
#ifndef POLYOPT_RUN_H
#define POLYOPT_RUN_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "arrays in files are little-endian, and so has the machine to be"
#endif

__extension__ typedef __int128 wide;

enum { PO_RANKS = 64 };                   /* NumPy has no more dimensions */
#define PO_LIMIT ((int64_t)1 << 48)       /* of sizes and integers that are sizes */

/* Exit codes of the program. */
enum { PO_DONE = 0, PO_FAULT = 1, PO_BAD_INPUT = 2, PO_NO_MEMORY = 5 };

/* An array in C order; `code` is its type as NumPy writes it without byte order: "f8", "V2". */
typedef struct {
    char code[8];
    int rank;
    int64_t shape[PO_RANKS];
    size_t bytes;
    void *data;    /* NULL: there is none */
} po_array;

/* A number in each form that it has without loss. */
typedef struct {
    int64_t i;
    uint64_t u;
    double re, im;
} po_number;

typedef struct {
    const char *name, *code, *meaning;
    int rank;       /* -1: a number */
    int written;
} po_argument;

typedef struct {
    const char *code;
    int rank;
    int first;      /* of its extents, among the extents of all results */
    int length;     /* the result with the number of entries that count, or -1 */
    int axis;       /* of which dimension */
} po_output;

typedef struct {
    const char *name;
    int is_argument;
    int number;     /* of an argument or an output */
} po_result;

typedef struct po_kernel {
    const char *name;
    int arguments, outputs, results, faults, sizes, extents;
    const po_argument *argument;
    const po_output *output;
    const po_result *result;
    const char *const *fault;
    /* Find sizes `n` and extents `e`; 0, and the reason is printed, where the call does not fit. */
    int (*judge)(po_array *const *a, const po_number *s, int64_t *n, int64_t *e);
    int (*enter)(po_array *const *a, const po_number *s, const int64_t *n);
    const struct po_kernel *any_sizes;  /* what runs calls that do not fit, or NULL */
} po_kernel;

typedef struct {
    const char *name, *about;
    int kernels;
    const po_kernel *kernel;
} po_program;

int po_main(const po_program *program, int argc, char **argv);

/* Print an error and return 0; `po_where` adds a line about a size. */
int po_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void po_where(const char *name, wide value, const char *meaning);
int po_wrong_extent(const char *name, int dim, int64_t extent, wide wanted, const char *text);
const char *po_quoted(const char *text);

/* po_files.c */

/* Return the array that an entry of a file belongs in; NULL where nobody wants it. */
typedef po_array *po_place(void *context, const char *name, size_t length);

int po_read_npz(const char *path, po_place *place, void *context);
int po_read_npy(const char *path, const char *name, po_array *array);
int po_is_npy(const char *path, int *is_npy);
int po_write_npy(const char *path, const po_array *array);
int po_allocate(po_array *array, const char *name);
int po_size_of_code(const char *code);
uint32_t po_crc(uint32_t crc, const void *data, size_t bytes);

/* Bytes of an array; 0 and `bytes` unset where they are too many for memory. */
static inline int po_bytes(const po_array *array, size_t *bytes)
{
    size_t count = (size_t)po_size_of_code(array->code);
    for (int d = 0; d < array->rank; d++)
        if (array->shape[d] == 0) {
            *bytes = 0;
            return 1;
        }
    for (int d = 0; d < array->rank; d++)
        if (__builtin_mul_overflow(count, (size_t)array->shape[d], &count) || count > PTRDIFF_MAX)
            return 0;
    *bytes = count;
    return 1;
}

/* Elements from one index of a dimension to the next. */
static inline int64_t po_stride(const po_array *array, int dim)
{
    int64_t stride = 1;
    for (int d = array->rank - 1; d > dim; d--)
        stride *= array->shape[d];
    return stride;
}

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

#endif
