#include "mm.h"
#include <stdlib.h>

void three_mm(long NI, long NJ, long NK, long NL, long NM, real *A, real *B, real *C, real *D,
              real *G)
{
    real *E = calloc(NI * NJ, sizeof(real)), *F = calloc(NJ * NL, sizeof(real));
    mm_all(NI, NJ, NK, 1, A, NK, 1, B, NJ, E, NJ);
    mm_all(NJ, NL, NM, 1, C, NM, 1, D, NL, F, NL);
    memset(G, 0, NI * NL * sizeof(real));
    mm_all(NI, NL, NJ, 1, E, NJ, 1, F, NL, G, NL);
    free(F);
    free(E);
}
