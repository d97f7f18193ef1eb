/* What gcc calls under -fsanitize=thread, -fsanitize=bounds-strict and the like, and for each
 * basic block under -fsanitize-coverage=trace-pc.
 */
#include "emulator.h"

#define PLACE ((uintptr_t)__builtin_return_address(0))

static inline __attribute__((always_inline)) void touch(const void *where, size_t size,
                                                        AccessKind kind, uintptr_t place)
{
    uintptr_t address = (uintptr_t)where;
    if (!pe_now || (address >= (uintptr_t)__builtin_frame_address(0)
                    && address < pe_now->stack_end))
        return;
    uint32_t depth = pe_now->depth;
    uintptr_t call = depth ? pe_now->calls[(depth - 1) % DEEPEST] : 0;
    pe_touch(address, (uint32_t)size, kind, pe_site(place, call));
}

void __tsan_init(void)
{
}

void __tsan_func_entry(void *call)
{
    if (pe_now)
        pe_now->calls[pe_now->depth++ % DEEPEST] = (uintptr_t)call;
}

void __tsan_func_exit(void)
{
    if (pe_now)
        pe_now->depth--;
}

void __sanitizer_cov_trace_pc(void)
{
    pe_tick(PLACE);
}

#define HOOKS(size)                                                                                \
    void __tsan_read##size(void *p) { touch(p, size, READ, PLACE); }                               \
    void __tsan_write##size(void *p) { touch(p, size, WRITE, PLACE); }                             \
    void __tsan_unaligned_read##size(void *p) { touch(p, size, READ, PLACE); }                     \
    void __tsan_unaligned_write##size(void *p) { touch(p, size, WRITE, PLACE); }                   \
    void __tsan_volatile_read##size(void *p) { touch(p, size, VOLATILE_READ, PLACE); }             \
    void __tsan_volatile_write##size(void *p) { touch(p, size, VOLATILE_WRITE, PLACE); }

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void __tsan_read_range(void *p, size_t size)
{
    touch(p, size, READ, PLACE);
}

void __tsan_write_range(void *p, size_t size)
{
    touch(p, size, WRITE, PLACE);
}

/* An atomic operation of `size` bytes in line `line` is about to be done. */
void pe_atomic(void *address, unsigned size, int line)
{
    if (pe_run.checks && pe_now)
        pe_touch((uintptr_t)address, size, ATOMIC, pe_site_of_line(line));
    if (pe_run.checks)
        pe_fences_atomic((uintptr_t)address);
}

/* An access by a function of the header, in line `line`. */
void pe_plain(const void *address, unsigned size, int writes, int line)
{
    if (!pe_run.checks || !pe_now)
        return;
    touch(address, size, writes ? WRITE : READ, (uintptr_t)1 << LINE_SITE_BITS | (uintptr_t)line);
}

/* The compiler's own checks: where, and of which types. */
typedef struct {
    const char *file;
    uint32_t line, column;
} Where;

typedef struct {
    uint16_t kind, info;
    char name[];
} Type;

typedef struct {
    Where where;
    const Type *array, *index;
} Bounds;

typedef struct {
    Where where;
    const Type *type;
    unsigned char alignment_bits, what;
} Mismatch;

static int64_t value_of(const Type *type, uintptr_t handle)
{
    unsigned bits = 1u << (type->info >> 1);
    if (bits >= 64 || !(type->info & 1))
        return (int64_t)handle;
    return (int64_t)(handle << (64 - bits)) >> (64 - bits);
}

static _Noreturn void found(FindingKind kind, const Where *where, uint64_t address, int64_t first,
                            int64_t second)
{
    int64_t facts[4] = {first, second};
    if (pe_now)
        pe_find(kind, (Touch){0}, address, 0, pe_site_of_line((int)where->line), facts);
    pe_stop();
}

void __ubsan_handle_out_of_bounds_abort(const Bounds *data, uintptr_t index)
{
    int64_t value = value_of(data->index, index);
    found(ARRAY_INDEX, &data->where, 0, value, (int64_t)(uintptr_t)data->array->name);
}

void __ubsan_handle_type_mismatch_v1_abort(const Mismatch *data, uintptr_t pointer)
{
    int64_t alignment = (int64_t)1 << data->alignment_bits;
    bool fits = pointer % (uint64_t)alignment == 0;
    found(fits ? OUTSIDE : MISALIGNED, &data->where, pointer, alignment, 0);
}

void __ubsan_handle_divrem_overflow_abort(const Where *where, uintptr_t left, uintptr_t right)
{
    (void)left, (void)right;
    found(DIVISION, where, 0, 0, 0);
}
