/* What gcc calls under -fsanitize=thread and -fsanitize-coverage=trace-pc.
 *
 * Each access of memory that may be shared arrives here with its address; each basic block tells
 * that it runs, by which a thread that got no iteration is known from one that did.
 */
#include "agent.h"
#include "heap.h"
#include "memory.h"

enum { SITES = 1 << 16 };

static Calls first_calls;

Agent po_agent = {.calls = &first_calls};
Shadow *po_shadow;

static Site sites[SITES];
static uint32_t known_sites;

__attribute__((constructor)) static void prepare(void)
{
    po_shadow = shadow_new(po_owner_of);
}

/* Sites are kept in a hash table; a site's number is its slot plus one. */
uint32_t po_site(uintptr_t place)
{
    const Calls *calls = po_agent.calls;
    uintptr_t call = calls->depth ? calls->site[(calls->depth - 1) % DEEPEST] : 0;
    uint64_t mixed = ((uint64_t)place ^ ((uint64_t)call << 20)) * 0x9e3779b97f4a7c15u;
    for (uint32_t k = (uint32_t)(mixed >> 48);; k = (k + 1) % SITES) {
        Site *site = &sites[k];
        if (!site->place) {
            if (++known_sites == SITES)
                po_give_up("the kernel has too many places that access memory");
            *site = (Site){.place = place, .call = call};
        }
        if (site->place == place && site->call == call)
            return k + 1;
    }
}

Site po_site_of(uint32_t number)
{
    return number ? sites[number - 1] : (Site){0, 0};
}

static void touch(const void *where, size_t size, bool write, uint32_t guard, uintptr_t place)
{
    uintptr_t address = (uintptr_t)where;
    bool own = address >= (uintptr_t)__builtin_frame_address(0) && address < po_agent.own_end;
    if (!po_agent.watched || own)
        return;
    Access access = {
        .agent = po_agent.number,
        .site = po_site(place),
        .guard = guard,
        .write = write,
    };
    shadow_touch(po_shadow, address, size, access);
}

#define PLACE ((uintptr_t)__builtin_return_address(0))

void __tsan_init(void)
{
}

void __tsan_func_entry(void *call)
{
    Calls *calls = po_agent.calls;
    calls->site[calls->depth++ % DEEPEST] = (uintptr_t)call;
}

void __tsan_func_exit(void)
{
    po_agent.calls->depth--;
}

void __sanitizer_cov_trace_pc(void)
{
    po_agent.path = (po_agent.path ^ PLACE) * 0x9e3779b97f4a7c15u;
}

#define PLAIN(size)                                                                                \
    void __tsan_read##size(void *p) { touch(p, size, false, po_agent.guard, PLACE); }              \
    void __tsan_write##size(void *p) { touch(p, size, true, po_agent.guard, PLACE); }              \
    void __tsan_unaligned_read##size(void *p) { touch(p, size, false, po_agent.guard, PLACE); }    \
    void __tsan_unaligned_write##size(void *p) { touch(p, size, true, po_agent.guard, PLACE); }    \
    void __tsan_volatile_read##size(void *p) { touch(p, size, false, po_agent.guard, PLACE); }     \
    void __tsan_volatile_write##size(void *p) { touch(p, size, true, po_agent.guard, PLACE); }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *p, size_t size)
{
    touch(p, size, false, po_agent.guard, PLACE);
}

void __tsan_write_range(void *p, size_t size)
{
    touch(p, size, true, po_agent.guard, PLACE);
}

/* Atomic operations come as calls that must also do the work. */
#define FETCH(bits, type, name, builtin)                                                           \
    type __tsan_atomic##bits##_##name(volatile type *p, type value, int order)                     \
    {                                                                                              \
        (void)order;                                                                               \
        touch((const void *)p, sizeof(type), true, GUARD_ATOMIC, PLACE);                           \
        return builtin(p, value, __ATOMIC_SEQ_CST);                                                \
    }

#define COMPARE(bits, type, name)                                                                  \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *expected,            \
                                                      type value, int success, int failure)        \
    {                                                                                              \
        (void)success, (void)failure;                                                              \
        touch((const void *)p, sizeof(type), true, GUARD_ATOMIC, PLACE);                           \
        return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST,            \
                                           __ATOMIC_SEQ_CST);                                      \
    }

#define ATOMIC(bits, type)                                                                         \
    type __tsan_atomic##bits##_load(const volatile type *p, int order)                             \
    {                                                                                              \
        (void)order;                                                                               \
        touch((const void *)p, sizeof(type), false, GUARD_ATOMIC, PLACE);                          \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                               \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *p, type value, int order)                      \
    {                                                                                              \
        (void)order;                                                                               \
        touch((const void *)p, sizeof(type), true, GUARD_ATOMIC, PLACE);                           \
        __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                              \
    }                                                                                              \
    FETCH(bits, type, exchange, __atomic_exchange_n)                                               \
    FETCH(bits, type, fetch_add, __atomic_fetch_add)                                               \
    FETCH(bits, type, fetch_sub, __atomic_fetch_sub)                                               \
    FETCH(bits, type, fetch_and, __atomic_fetch_and)                                               \
    FETCH(bits, type, fetch_or, __atomic_fetch_or)                                                 \
    FETCH(bits, type, fetch_xor, __atomic_fetch_xor)                                               \
    FETCH(bits, type, fetch_nand, __atomic_fetch_nand)                                             \
    COMPARE(bits, type, strong)                                                                    \
    COMPARE(bits, type, weak)                                                                      \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type value,   \
                                                    int success, int failure)                      \
    {                                                                                              \
        (void)success, (void)failure;                                                              \
        touch((const void *)p, sizeof(type), true, GUARD_ATOMIC, PLACE);                           \
        __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST,                  \
                                    __ATOMIC_SEQ_CST);                                             \
        return expected;                                                                           \
    }

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

/* gcc keeps the comparing exchange of a reduction to itself; -fno-inline-atomics makes it a call. */
#define KEPT_COMPARE(size, type)                                                                   \
    bool compare_exchange_##size(volatile type *p, type *expected, type value, int success,        \
                                 int failure) __asm__("__atomic_compare_exchange_" #size);         \
    bool compare_exchange_##size(volatile type *p, type *expected, type value, int success,        \
                                 int failure)                                                      \
    {                                                                                              \
        (void)success, (void)failure;                                                              \
        touch((const void *)p, size, true, GUARD_ATOMIC, PLACE);                                   \
        return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST,            \
                                           __ATOMIC_SEQ_CST);                                      \
    }

KEPT_COMPARE(1, uint8_t)
KEPT_COMPARE(2, uint16_t)
KEPT_COMPARE(4, uint32_t)
KEPT_COMPARE(8, uint64_t)

void __tsan_atomic_thread_fence(int order)
{
    (void)order;
}

void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}

/* Library functions that touch much memory at once; linked by --wrap. */
void *__real_memset(void *to, int value, size_t size);
void *__real_memcpy(void *to, const void *from, size_t size);
void *__real_memmove(void *to, const void *from, size_t size);

void *__wrap_memset(void *to, int value, size_t size)
{
    touch(to, size, true, po_agent.guard, PLACE);
    return __real_memset(to, value, size);
}

void *__wrap_memcpy(void *to, const void *from, size_t size)
{
    touch(from, size, false, po_agent.guard, PLACE);
    touch(to, size, true, po_agent.guard, PLACE);
    return __real_memcpy(to, from, size);
}

void *__wrap_memmove(void *to, const void *from, size_t size)
{
    touch(from, size, false, po_agent.guard, PLACE);
    touch(to, size, true, po_agent.guard, PLACE);
    return __real_memmove(to, from, size);
}
