#include "factor.h"

void lu(long N, real *A)
{
    factor(N, A);
}
