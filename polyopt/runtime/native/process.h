/* What the kernels of a process have in common: its threads (team.c), its memory (memory.c). */
#ifndef POLYOPT_PROCESS_H
#define POLYOPT_PROCESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdbool.h>
#include <stddef.h>

typedef void Region(void *data);

typedef struct {
    void (*run)(Region *region, void *data, unsigned threads);
    void (*run_loop)(Region *region, void *data, unsigned threads, long start, long end, long step,
                     long chunk);
    bool (*begin_loop)(long start, long end, long step, long chunk, long *from, long *to);
    bool (*next_chunk)(long *from, long *to);
    void (*lock)(void);
    void (*unlock)(void);
    int (*shares)(void);   /* of the region that the caller is in */
    int (*share)(void);    /* the caller's own */
    int (*wanted)(void);   /* threads of the regions that the caller enters */
    void (*want)(int threads);
} Team;

typedef struct {
    void *(*take)(size_t alignment, size_t bytes); /* not zeroed; NULL: there is none */
    void (*give)(void *place);                     /* what was taken, or NULL */
} Memory;

typedef struct {
    const Team *team;
    const Memory *memory;
} Process;

const Process *po_process(void);

/* Between the files that make a process. */
extern const Team po_team;
extern const Memory po_memory;
void po_set_up_team(void);
void po_before_fork_of_team(void);
void po_after_fork_of_team(void);
void po_team_of_child(void);
void po_before_fork_of_memory(void);
void po_after_fork_of_memory(void);

#endif
