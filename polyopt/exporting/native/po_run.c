/* Run exported kernels on arrays of files: arguments by name, results as .npy files. */
/* SPDX-License-Identifier: MIT-0 */
#define _POSIX_C_SOURCE 200809L

#include "po_run.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* A value that kernels know by a name: an array, or the text of a number. */
typedef struct {
    const char *name, *text;
    po_array array;
    int is_wanted;
} value;

typedef struct {
    const po_program *program;
    int values, repeat, calls;
    value *value;
    const char *folder;
    const po_kernel **call;
} run;

static const char *own_name = "program";
static int is_quiet;    /* while a call is judged that another kernel may run */

static int no_memory(void)
{
    po_error("there is no memory");
    return PO_NO_MEMORY;
}

/* --- messages ---------------------------------------------------------------------------------- */

int po_error(const char *format, ...)
{
    va_list rest;
    if (is_quiet)
        return 0;
    va_start(rest, format);
    fprintf(stderr, "%s: error: ", own_name);
    vfprintf(stderr, format, rest);
    fputc('\n', stderr);
    va_end(rest);
    return 0;
}

const char *po_quoted(const char *text)
{
    static char buffers[4][260];
    static int turn;
    char *buffer = buffers[turn++ % 4], *at = buffer;
    *at++ = '`';
    for (int k = 0; text[k] != 0 && k < 256; k++)
        *at++ = (char)(iscntrl((unsigned char)text[k]) ? '?' : text[k]);
    *at++ = '`';
    *at = 0;
    return buffer;
}

/* Sizes are computed from some below 2**48 with 128 bits; longer numbers are not shown. */
static const char *number_text(wide value, char text[32])
{
    if (value > INT64_MAX || value < INT64_MIN)
        strcpy(text, "beyond 64 bits");
    else
        snprintf(text, 32, "%lld", (long long)value);
    return text;
}

void po_where(const char *name, wide value, const char *meaning)
{
    char text[32];
    if (is_quiet)
        return;
    fprintf(stderr, "  where %s = %s, %s\n", name, number_text(value, text), meaning);
}

int po_wrong_extent(const char *name, int dim, int64_t extent, wide wanted, const char *text)
{
    char number[32];
    return po_error("dimension %d of %s is %lld and must be %s%s%s", dim, po_quoted(name),
                    (long long)extent, number_text(wanted, number), *text ? ", " : "", text);
}

/* --- numbers ----------------------------------------------------------------------------------- */

static double half_value(uint16_t bits, int is_bfloat)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    if (is_bfloat) {
        memcpy(&value, &word, sizeof value);
        return value;
    }
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, rest = bits & 1023;
    if (exponent == 0) {
        value = (float)rest / 16777216.0f;
        return sign ? -value : value;
    }
    word = sign | (exponent == 31 ? 0x7F800000u : (exponent + 112) << 23) | rest << 13;
    memcpy(&value, &word, sizeof value);
    return value;
}

static void load_number(const po_array *from, po_number *to)
{
    const void *at = from->data;
    int size = po_size_of_code(from->code);
    memset(to, 0, sizeof *to);
    switch (from->code[0]) {
    case 'b':
    case 'u':
        memcpy(&to->u, at, (size_t)size);
        to->i = (int64_t)to->u;
        break;
    case 'i':
        to->i = size == 1 ? *(const int8_t *)at : size == 2 ? *(const int16_t *)at
              : size == 4 ? *(const int32_t *)at : *(const int64_t *)at;
        to->u = (uint64_t)to->i;
        break;
    case 'V':
        to->re = half_value(*(const uint16_t *)at, 1);
        break;
    case 'f':
        to->re = size == 2 ? half_value(*(const uint16_t *)at, 0)
               : size == 4 ? *(const float *)at : *(const double *)at;
        break;
    default:
        to->re = size == 8 ? ((const float *)at)[0] : ((const double *)at)[0];
        to->im = size == 8 ? ((const float *)at)[1] : ((const double *)at)[1];
    }
}

static int is_integer(char family) { return family == 'i' || family == 'u'; }

/* Whether a whole number fits a type: no digit may be lost. */
static int holds(const char *code, const po_number *number, int is_negative)
{
    int size = po_size_of_code(code), bits = 8 * size;
    if (code[0] == 'i' || code[0] == 'u') {
        int own = code[0] == 'i' ? bits - 1 : bits;
        if (is_negative)
            return code[0] == 'i' && (bits == 64 || number->i >= -((int64_t)1 << own));
        return own == 64 || number->u >> own == 0;
    }
    uint64_t magnitude = is_negative ? -(uint64_t)number->i : number->u;
    int digits = code[0] == 'V' ? 8 : size == 2 ? 11 : code[0] == 'c' ? (size == 8 ? 24 : 53)
               : size == 4 ? 24 : 53;
    return magnitude <= (uint64_t)1 << digits;
}

static int converted(const char *name, const char *wanted, const char *found, po_number *number)
{
    int from = found[0], to = wanted[0], fits;
    if (from == 'b' || to == 'b')
        fits = from == to;
    else if (is_integer((char)from)) {
        int is_negative = from == 'i' && number->i < 0;
        fits = holds(wanted, number, is_negative);
        if (!is_integer((char)to))
            number->re = is_negative || from == 'i' ? (double)number->i : (double)number->u;
    } else if (is_integer((char)to))
        fits = 0;
    else if (from == 'c')
        fits = to == 'c' && po_size_of_code(found) <= po_size_of_code(wanted);
    else    /* 64 bits are Python's own numbers, which every type takes but those of 16 bits here */
        fits = strcmp(found, wanted) == 0
               || (strcmp(found, "f8") == 0 && strcmp(wanted, "f2") != 0 && to != 'V')
               || (from != 'V' && to != 'V' && to != 'c'
                   && po_size_of_code(found) < po_size_of_code(wanted))
               || (to == 'c' && 2 * po_size_of_code(found) <= po_size_of_code(wanted));
    if (!fits)
        return po_error("%s is a number of type %s, and the kernel takes %s", po_quoted(name), found,
                        wanted);
    return 1;
}

static int parsed(const char *name, const char *text, const char *wanted, po_number *number)
{
    char *end;
    memset(number, 0, sizeof *number);
    errno = 0;
    if (wanted[0] == 'b') {
        number->u = strcmp(text, "1") == 0 || strcmp(text, "True") == 0;
        number->i = (int64_t)number->u;
        if (number->u || strcmp(text, "0") == 0 || strcmp(text, "False") == 0)
            return 1;
    } else if (is_integer(wanted[0])) {
        int is_negative = *text == '-';
        if (is_negative) {
            number->i = strtoll(text, &end, 10);
            number->u = (uint64_t)number->i;
            is_negative = number->i < 0;
        } else {
            number->u = strtoull(text, &end, 10);
            number->i = (int64_t)number->u;
        }
        if (end != text && *end == 0 && errno == 0 && holds(wanted, number, is_negative))
            return 1;
    } else if (strcmp(wanted, "f2") != 0 && wanted[0] != 'V') {
        number->re = strtod(text, &end);
        if (end != text && *end == 0)
            return 1;
    }
    return po_error("%s is no number of type %s that can be read: %s", po_quoted(name), wanted,
                    po_quoted(text));
}

/* --- arguments --------------------------------------------------------------------------------- */

static value *find(const run *all, const char *name, size_t length)
{
    for (int k = 0; k < all->values; k++)
        if (strlen(all->value[k].name) == length && memcmp(all->value[k].name, name, length) == 0)
            return &all->value[k];
    return NULL;
}

static void add(run *all, const char *name, int is_wanted)
{
    value *found = find(all, name, strlen(name));
    if (found == NULL) {
        found = &all->value[all->values++];
        found->name = name;
    }
    found->is_wanted |= is_wanted;
}

static po_array *place(void *context, const char *name, size_t length)
{
    value *found = find(context, name, length);
    if (found == NULL || !found->is_wanted)
        return NULL;
    found->text = NULL;
    return &found->array;
}

static int is_number(const run *all, const char *name)
{
    for (int k = 0; k < all->calls; k++)
        for (int j = 0; j < all->call[k]->arguments; j++)
            if (strcmp(all->call[k]->argument[j].name, name) == 0
                && all->call[k]->argument[j].rank < 0)
                return 1;
    return 0;
}

/* Take NAME=FILE, NAME=NUMBER or FILE from the command line. */
static int take_value(run *all, const char *word)
{
    const char *equals = strchr(word, '=');
    value *found = equals == NULL ? NULL : find(all, word, (size_t)(equals - word));
    if (found != NULL && found->is_wanted) {
        size_t length = strlen(equals + 1);
        int is_file = length > 4 && strcmp(equals + 1 + length - 4, ".npy") == 0;
        if (found->array.data != NULL || found->text != NULL)
            return po_error("%s is given twice", po_quoted(found->name));
        if (is_number(all, found->name) && !is_file) {
            found->text = equals + 1;
            return 1;
        }
        return po_read_npy(equals + 1, found->name, &found->array);
    }
    int is_npy;
    if (!po_is_npy(word, &is_npy))
        return 0;
    if (!is_npy)
        return po_read_npz(word, place, all);
    const char *only = NULL;
    int wanted = 0;
    for (int k = 0; k < all->values; k++)
        if (all->value[k].is_wanted) {
            wanted++;
            only = all->value[k].name;
        }
    if (wanted != 1)
        return po_error("%s holds one array, and %d values are needed: write NAME=%s",
                        po_quoted(word), wanted, word);
    return find(all, only, strlen(only))->array.data != NULL
               ? po_error("%s is given twice", po_quoted(only))
               : po_read_npy(word, only, &find(all, only, strlen(only))->array);
}

static int fit_array(const po_kernel *kernel, const po_argument *argument, const po_array *array)
{
    if (array->data == NULL)
        return po_error("%s has no argument %s: give it by an .npz file, or as %s=FILE.npy",
                        po_quoted(kernel->name), po_quoted(argument->name), argument->name);
    if (strcmp(array->code, argument->code) != 0)
        return po_error("%s is an array of type %s, and the kernel takes %s",
                        po_quoted(argument->name), array->code, argument->code);
    if (array->rank != argument->rank)
        return po_error("%s has %d dimensions, and the kernel takes %d", po_quoted(argument->name),
                        array->rank, argument->rank);
    for (int d = 0; d < array->rank; d++)
        if (array->shape[d] > PO_LIMIT)
            return po_error("%s is larger than 2**48", po_quoted(argument->name));
    return 1;
}

static int fit_number(const po_kernel *kernel, const po_argument *argument, const value *given,
                      po_number *number)
{
    if (given->text != NULL)
        return parsed(argument->name, given->text, argument->code, number);
    if (given->array.data == NULL)
        return po_error("%s has no argument %s: give it by an .npz file, or as %s=NUMBER",
                        po_quoted(kernel->name), po_quoted(argument->name), argument->name);
    if (given->array.rank != 0)
        return po_error("%s is an array, and the kernel takes a number", po_quoted(argument->name));
    load_number(&given->array, number);
    return converted(argument->name, argument->code, given->array.code, number);
}

/* --- results ----------------------------------------------------------------------------------- */

static void show_number(const po_array *array)
{
    po_number number;
    load_number(array, &number);
    switch (array->code[0]) {
    case 'i':
        printf(" = %lld", (long long)number.i);
        break;
    case 'b':
    case 'u':
        printf(" = %llu", (unsigned long long)number.u);
        break;
    case 'c':
        printf(" = %.17g%+.17gj", number.re, number.im);
        break;
    default:
        printf(" = %.*g", po_size_of_code(array->code) == 8 ? 17 : 9, number.re);
    }
}

static int show_and_write(const run *all, const char *name, const po_array *array)
{
    printf("%s: %s (", name, array->code);
    for (int d = 0; d < array->rank; d++)
        printf("%s%lld", d ? ", " : "", (long long)array->shape[d]);
    printf(")");
    if (array->rank == 0)
        show_number(array);
    printf(", crc32 %08x\n", (unsigned)po_crc(0, array->data, array->bytes));
    if (all->folder == NULL)
        return 1;
    size_t length = strlen(all->folder) + strlen(name) + 6;
    char *path = malloc(length);
    if (path == NULL)
        return po_error("there is no memory for a file's name");
    snprintf(path, length, "%s/%s.npy", all->folder, name);
    int good = po_write_npy(path, array);
    free(path);
    return good;
}

/* Keep the entries of a result that count: `length` of them in dimension `axis`. */
static int trim(const char *name, po_array *array, int axis, int64_t length)
{
    size_t inner = (size_t)po_size_of_code(array->code), outer = 1;
    if (length < 0 || length > array->shape[axis])
        return po_error("%s has %lld entries of %lld", po_quoted(name), (long long)length,
                        (long long)array->shape[axis]);
    for (int d = axis + 1; d < array->rank; d++)
        inner *= (size_t)array->shape[d];
    for (int d = 0; d < axis; d++)
        outer *= (size_t)array->shape[d];
    size_t from = inner * (size_t)array->shape[axis], to = inner * (size_t)length;
    for (size_t k = 0; k < outer; k++)
        memmove((char *)array->data + k * to, (char *)array->data + k * from, to);
    array->shape[axis] = length;
    array->bytes = outer * to;
    return 1;
}

static int trim_outputs(const po_kernel *kernel, po_array *const *array)
{
    for (int k = 0; k < kernel->outputs; k++) {
        const po_output *output = &kernel->output[k];
        if (output->length < 0)
            continue;
        int64_t length;
        memcpy(&length, array[kernel->arguments + output->length]->data, sizeof length);
        if (!trim(kernel->name, array[kernel->arguments + k], output->axis, length))
            return 0;
    }
    return 1;
}

/* --- calls ------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int report_status(const po_kernel *kernel, int status)
{
    if (status == 1) {
        po_error("%s: there is no memory for its temporaries, or its device failed",
                 po_quoted(kernel->name));
        return PO_NO_MEMORY;
    }
    if (status >= 2 && status - 2 < kernel->faults)
        po_error("%s: %s", po_quoted(kernel->name), kernel->fault[status - 2]);
    else
        po_error("%s ended with status %d", po_quoted(kernel->name), status);
    return PO_FAULT;
}

/* Call a kernel as often as asked for, each time on the arguments as they were. */
static int timed(const run *all, const po_kernel *kernel, po_array *const *array,
                 const po_number *number, const int64_t *sizes)
{
    double fastest = 0;
    int code = PO_DONE;
    void **kept = calloc((size_t)kernel->arguments + 1, sizeof *kept);
    if (kept == NULL)
        return no_memory();
    for (int j = 0; j < kernel->arguments && all->repeat > 1 && code == PO_DONE; j++)
        if (kernel->argument[j].written) {
            kept[j] = malloc(array[j]->bytes + 1);
            if (kept[j] == NULL) {
                po_error("there is no memory for copies of the arguments; leave -r out");
                code = PO_NO_MEMORY;
            } else
                memcpy(kept[j], array[j]->data, array[j]->bytes);
        }
    for (int k = 0; k < all->repeat && code == PO_DONE; k++) {
        for (int j = 0; k > 0 && j < kernel->arguments; j++)
            if (kept[j] != NULL)
                memcpy(array[j]->data, kept[j], array[j]->bytes);
        double start = now();
        int status = kernel->enter(array, number, sizes);
        double seconds = now() - start;
        fastest = k == 0 || seconds < fastest ? seconds : fastest;
        if (status != 0)
            code = report_status(kernel, status);
    }
    if (code == PO_DONE)
        printf("%s: %.9f s%s\n", kernel->name, fastest, all->repeat > 1 ? ", the fastest call" : "");
    for (int j = 0; j < kernel->arguments; j++)
        free(kept[j]);
    free(kept);
    return code;
}

/* Put results where later kernels and the caller find them by name. */
static int keep_results(run *all, const po_kernel *kernel, po_array *const *array)
{
    for (int k = 0; k < kernel->results; k++) {
        const po_result *result = &kernel->result[k];
        const po_array *from = array[result->number + (result->is_argument ? 0 : kernel->arguments)];
        value *to = find(all, result->name, strlen(result->name));
        if (from == &to->array)
            continue;
        po_array copy = *from;
        if (!po_allocate(&copy, result->name))
            return 0;
        memcpy(copy.data, from->data, copy.bytes);
        free(to->array.data);
        to->array = copy;
        to->text = NULL;
    }
    return 1;
}

static int show_results(const run *all, const po_kernel *kernel, po_array *const *array)
{
    int good = 1;
    for (int k = 0; good && k < kernel->arguments; k++)
        if (kernel->argument[k].written)
            good = show_and_write(all, kernel->argument[k].name, array[k]);
    for (int k = 0; good && k < kernel->results; k++) {
        const char *name = kernel->result[k].name;
        good = show_and_write(all, name, &find(all, name, strlen(name))->array);
    }
    return good;
}

static int bind(run *all, const po_kernel *kernel, po_array **array, po_number *number)
{
    for (int k = 0; k < kernel->arguments; k++) {
        const po_argument *argument = &kernel->argument[k];
        value *given = find(all, argument->name, strlen(argument->name));
        array[k] = &given->array;
        if (!(argument->rank < 0 ? fit_number(kernel, argument, given, &number[k])
                                 : fit_array(kernel, argument, array[k])))
            return PO_BAD_INPUT;
    }
    return PO_DONE;
}

static int make_outputs(const po_kernel *kernel, po_array *made, const int64_t *extents)
{
    for (int k = 0; k < kernel->outputs; k++) {
        const po_output *output = &kernel->output[k];
        strcpy(made[k].code, output->code);
        made[k].rank = output->rank;
        for (int d = 0; d < output->rank; d++)
            made[k].shape[d] = extents[output->first + d];
        if (!po_allocate(&made[k], kernel->name))
            return PO_NO_MEMORY;
    }
    return PO_DONE;
}

static int call(run *all, const po_kernel *kernel)
{
    size_t count = (size_t)(kernel->arguments + kernel->outputs) + 1;
    po_array **array = calloc(count, sizeof *array), *made = calloc(count, sizeof *made);
    po_number *number = calloc(count, sizeof *number);
    int64_t *sizes = calloc((size_t)(kernel->sizes + kernel->extents) + 1, sizeof *sizes);
    int code = PO_NO_MEMORY, is_other = 0;
    if (array == NULL || made == NULL || number == NULL || sizes == NULL)
        no_memory();
    else {
        int64_t *extents = sizes + kernel->sizes;
        for (int k = 0; k < kernel->outputs; k++)
            array[kernel->arguments + k] = &made[k];
        code = bind(all, kernel, array, number);
        is_quiet = kernel->any_sizes != NULL;
        if (code == PO_DONE && !kernel->judge(array, number, sizes, extents))
            code = PO_BAD_INPUT;
        is_other = is_quiet && code == PO_BAD_INPUT;
        is_quiet = 0;
        if (code == PO_DONE)
            code = make_outputs(kernel, made, extents);
        if (code == PO_DONE)
            code = timed(all, kernel, array, number, sizes);
        if (code == PO_DONE && !trim_outputs(kernel, array))
            code = PO_FAULT;
        if (code == PO_DONE && !keep_results(all, kernel, array))
            code = PO_NO_MEMORY;
        if (code == PO_DONE && !show_results(all, kernel, array))
            code = PO_BAD_INPUT;
    }
    for (int k = 0; made != NULL && k < kernel->outputs; k++)
        free(made[k].data);
    free(array);
    free(made);
    free(number);
    free(sizes);
    return is_other ? call(all, kernel->any_sizes) : code;
}

/* --- the command line -------------------------------------------------------------------------- */

static void help(const po_program *program)
{
    printf("usage: %s [-o DIR] [-r COUNT]%s [FILE.npz | NAME=FILE.npy | NAME=NUMBER]...\n%s\n\n"
           "  -o DIR     write results and written arguments there, as .npy files\n"
           "  -r COUNT   calls; the time is that of the fastest one\n%s",
           program->name, program->kernels > 1 ? " [-k KERNEL]..." : "", program->about,
           program->kernels > 1 ? "  -k KERNEL  call this kernel; all of them in order otherwise\n"
                                : "");
    for (int k = 0; k < program->kernels; k++) {
        const po_kernel *kernel = &program->kernel[k];
        printf("\n%s:\n", kernel->name);
        for (int j = 0; j < kernel->arguments; j++)
            printf("  %s: %s\n", kernel->argument[j].name, kernel->argument[j].meaning);
        for (int j = 0; j < kernel->results; j++)
            printf("  makes %s\n", kernel->result[j].name);
    }
}

static int take_option(run *all, char option, const char *given)
{
    char *end;
    if (option == 'o') {
        all->folder = given;
        if (mkdir(given, 0777) != 0 && errno != EEXIST)
            return po_error("%s cannot be made: %s", po_quoted(given), strerror(errno));
        return 1;
    }
    if (option == 'r') {
        long count = strtol(given, &end, 10);
        if (*end != 0 || count < 1 || count > 1000000)
            return po_error("-r takes a number of calls, not %s", po_quoted(given));
        all->repeat = (int)count;
        return 1;
    }
    for (int k = 0; k < all->program->kernels; k++)
        if (strcmp(all->program->kernel[k].name, given) == 0) {
            all->call[all->calls++] = &all->program->kernel[k];
            return 1;
        }
    return po_error("there is no kernel %s", po_quoted(given));
}

static int take_words(run *all, int argc, char **argv)
{
    for (int k = 1; k < argc; k++) {
        const char *word = argv[k];
        if (word[0] != '-' || strchr(word, '=') != NULL)
            continue;
        if (word[1] == 0 || strchr("ork", word[1]) == NULL || word[2] != 0)
            return po_error("%s is no option; see -h", po_quoted(word));
        if (k + 1 == argc)
            return po_error("%s takes a value", po_quoted(word));
        if (!take_option(all, word[1], argv[++k]))
            return 0;
    }
    if (all->calls == 0)
        for (int k = 0; k < all->program->kernels; k++)
            all->call[all->calls++] = &all->program->kernel[k];
    for (int k = 0; k < all->calls; k++) {
        for (int j = 0; j < all->call[k]->arguments; j++)
            add(all, all->call[k]->argument[j].name,
                find(all, all->call[k]->argument[j].name, strlen(all->call[k]->argument[j].name))
                    == NULL);
        for (int j = 0; j < all->call[k]->results; j++)
            add(all, all->call[k]->result[j].name, 0);
    }
    for (int k = 1; k < argc; k++) {
        if (argv[k][0] == '-' && strchr(argv[k], '=') == NULL)
            k++;
        else if (!take_value(all, argv[k]))
            return 0;
    }
    return 1;
}

int po_main(const po_program *program, int argc, char **argv)
{
    size_t names = 1;
    run all = { .program = program, .repeat = 1 };
    own_name = program->name;
    for (int k = 1; k < argc; k++)
        if (strcmp(argv[k], "-h") == 0 || strcmp(argv[k], "--help") == 0) {
            help(program);
            return PO_DONE;
        }
    for (int k = 0; k < program->kernels; k++)
        names += (size_t)(program->kernel[k].arguments + program->kernel[k].results);
    all.value = calloc(names, sizeof *all.value);
    all.call = calloc((size_t)(program->kernels + argc), sizeof *all.call);
    int code = PO_NO_MEMORY;
    if (all.value == NULL || all.call == NULL)
        no_memory();
    else {
        code = take_words(&all, argc, argv) ? PO_DONE : PO_BAD_INPUT;
        for (int k = 0; k < all.calls && code == PO_DONE; k++)
            code = call(&all, all.call[k]);
    }
    for (int k = 0; all.value != NULL && k < all.values; k++)
        free(all.value[k].array.data);
    free(all.value);
    free(all.call);
    if (fflush(stdout) != 0 && code == PO_DONE)
        code = PO_BAD_INPUT;
    return code;
}
