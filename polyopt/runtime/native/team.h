/* What kernels call to run a parallel region; see team.c. */
#ifndef POLYOPT_TEAM_H
#define POLYOPT_TEAM_H

#include <stdbool.h>

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

#endif
