/* The agent that runs now: what the hooks need to know of it, and what they tell it. */
#ifndef PO_AGENT_H
#define PO_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow.h"

enum { DEEPEST = 256 };

/* Call sites of the instrumented functions that are being executed, outermost first. */
typedef struct {
    uint32_t depth;
    uintptr_t site[DEEPEST];
} Calls;

typedef struct {
    bool watched;                    /* other agents run at the same time: accesses count */
    uint32_t number;                 /* of the agent among those */
    uint32_t team;                   /* how many threads it is told there are */
    uint32_t guard;                  /* of the lock it holds; 0: none */
    uintptr_t own_end;               /* of its stack, which no other agent can mean to use */
    uint64_t path;                   /* a digest of the basic blocks it ran through */
    Calls *calls;
} Agent;

extern Agent po_agent;
extern Shadow *po_shadow;

/* Guards that are not a lock of the program. */
enum { GUARD_ATOMIC = 1, GUARD_ATOMIC_REGION = 2, GUARD_FIRST_LOCK = 3 };

/* Where an access happened: its own place, and the call of the function it stands in. */
typedef struct {
    uintptr_t place, call;
} Site;

uint32_t po_site(uintptr_t place);
Site po_site_of(uint32_t number);

#endif
