/* The blocks of memory that the kernel has asked for. */
#ifndef PO_HEAP_H
#define PO_HEAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uintptr_t start;
    size_t size;
    uint32_t site; /* of the call that asked for it */
} HeapBlock;

/* Return the number of the newest block that holds an address; 0: none does. */
uint32_t po_owner_of(uintptr_t address);

/* Return a block, which may be given back; its size is 0 where it is forgotten. */
HeapBlock po_block(uint32_t number);

#endif
