/* The allocator as the kernel sees it: memory that changes hands is no longer what it was. */
#include "heap.h"

#include "agent.h"

enum { KEPT = 4096 };

static HeapBlock blocks[KEPT]; /* a ring: the newest ones, those given back among them */
static uint32_t newest;        /* number of the block handed out last, from 1 on */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **block, size_t alignment, size_t size);
void __real_free(void *block);

static void *handed_out(void *block, size_t size, uintptr_t place)
{
    if (!block)
        return NULL;
    uintptr_t start = (uintptr_t)block;
    shadow_forget(po_shadow, start, size);
    blocks[++newest % KEPT] = (HeapBlock){start, size, po_site(place)};
    return block;
}

uint32_t po_owner_of(uintptr_t address)
{
    uint32_t oldest = newest < KEPT ? 1 : newest - KEPT + 1;
    for (uint32_t number = newest; number >= oldest; number--) {
        HeapBlock block = blocks[number % KEPT];
        if (address - block.start < block.size)
            return number;
    }
    return 0;
}

HeapBlock po_block(uint32_t number)
{
    bool kept = number != 0 && newest - number < KEPT;
    return kept ? blocks[number % KEPT] : (HeapBlock){0, 0, 0};
}

#define PLACE ((uintptr_t)__builtin_return_address(0))

void *__wrap_malloc(size_t size)
{
    return handed_out(__real_malloc(size), size, PLACE);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return handed_out(__real_calloc(count, size), count * size, PLACE);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return handed_out(__real_aligned_alloc(alignment, size), size, PLACE);
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t size)
{
    int failed = __real_posix_memalign(block, alignment, size);
    if (!failed)
        handed_out(*block, size, PLACE);
    return failed;
}

void __wrap_free(void *block)
{
    HeapBlock known = po_block(po_owner_of((uintptr_t)block));
    if (known.size && known.start == (uintptr_t)block)
        shadow_forget(po_shadow, known.start, known.size);
    __real_free(block);
}
