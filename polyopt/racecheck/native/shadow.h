/* Shadow memory: who touched each byte since the last synchronization of all.
 *
 * It knows nothing of OpenMP.  An agent is whatever may run at the same time as another agent: an
 * iteration, a lane, a thread of a block.  Two accesses conflict when they lie in one epoch, come
 * from different agents, touch a common byte, one of them writes, and no common guard (an atomic
 * operation, a lock) keeps them apart.  Which agent runs first does not matter: of each kind of
 * access two agents are remembered, so a conflict exists if and only if one is found.
 */
#ifndef PO_SHADOW_H
#define PO_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t agent;
    uint32_t site;  /* where in the program; the caller's numbering */
    uint32_t guard; /* 0: none */
    bool write;
} Access;

typedef struct {
    Access earlier, later;
    uintptr_t address; /* the first common byte that was seen */
    uint32_t size;     /* of the later access */
    uint32_t owner;    /* of the memory, as the caller numbers owners */
    uint32_t cause;    /* of the epoch, as the caller numbers causes */
    uint64_t times;    /* how many accesses of the later site met the earlier one in conflict */
    uint64_t counted;  /* the number of the last of them */
} Conflict;

typedef struct Shadow Shadow;

/* `owner_of` is asked when a conflict is found. */
Shadow *shadow_new(uint32_t (*owner_of)(uintptr_t address));

/* Everything before is ordered before everything after; `cause` is why agents run side by side. */
void shadow_next_epoch(Shadow *shadow, uint32_t cause);

void shadow_touch(Shadow *shadow, uintptr_t address, size_t size, Access access);

/* The bytes have become other memory: a block was given back or handed out. */
void shadow_forget(Shadow *shadow, uintptr_t address, size_t size);

/* The conflicts so far, one for each pair of sites and kinds, in the order they were found. */
size_t shadow_conflicts(const Shadow *shadow, const Conflict **first);

#endif
