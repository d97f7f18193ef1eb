/* Threads of a team that wait for each other, as fibers of one thread. */
#ifndef PO_FIBERS_H
#define PO_FIBERS_H

#include <stdint.h>

/* Run `body(0)` … `body(count - 1)`, each on a stack of its own, until all have ended.
 * `next_phase` is called whenever all of them wait or have ended; if only some have, it is an error.
 */
void fibers_run(uint32_t count, void (*body)(uint32_t number), void (*next_phase)(void));

/* Wait until all fibers wait; called by one of them. */
void fibers_wait(void);

#endif
