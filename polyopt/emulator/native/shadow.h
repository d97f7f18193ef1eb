/* What is remembered of the accesses to one word (or part of one). */
#ifndef PE_SHADOW_H
#define PE_SHADOW_H

#include "emulator.h"

enum { KEPT = 3 };

typedef struct {
    uint32_t interval; /* 0: none */
    uint32_t clock;    /* of the thread, within its warp */
    uint16_t who;      /* thread, and ATOMIC_BIT */
    uint16_t site;
} Entry;

/* `write` is the latest plain one.  Since then: atomic operations and reads, each of different
 * threads, the newest first; none is ordered before a newer one.
 */
struct Cell {
    Entry write, atomic[KEPT], read[KEPT];
    uint32_t flight; /* the interval in which an asynchronous copy to it was issued */
};

bool pe_area_refine(Area *area, uint32_t shift);
void pe_areas_forget(void);

#endif
