/* Memory and messages of the run time, which must not use the allocator it watches. */
#ifndef PO_MEMORY_H
#define PO_MEMORY_H

#include <stddef.h>

/* Fresh zeroed memory straight from the system, never given back by itself. */
void *po_map(size_t bytes);
void po_unmap(void *memory, size_t bytes);

/* Say on stderr why the run cannot be judged, and end the process with status 86. */
_Noreturn void po_give_up(const char *reason);

#endif
