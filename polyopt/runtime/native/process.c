/* What kernels of this process call. */
#include "process.h"

#include <pthread.h>

static void before_fork(void)
{
    po_before_fork_of_memory();
    po_before_fork_of_team();
}

static void after_fork(void)
{
    po_after_fork_of_team();
    po_after_fork_of_memory();
}

static void in_child(void)
{
    after_fork();
    po_team_of_child();
}

/* Return the functions; called once. */
const Process *po_process(void)
{
    static const Process functions = { &po_team, &po_memory };
    po_set_up_team();
    pthread_atfork(before_fork, after_fork, in_child);
    return &functions;
}
