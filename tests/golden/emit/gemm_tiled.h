#ifndef POLYOPT_GEMM_H
#define POLYOPT_GEMM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns 0, or 1 when there is no memory for temporaries.
 *
 * Build without -ffast-math; the file switches contraction off by itself.  Compilers other than
 * gcc need -fwrapv, with which integers wrap as NumPy's do.
 */
int polyopt_gemm(int64_t N, int64_t M, int64_t K, double alpha_, double *C, const double *A,
    const double *B);

#ifdef __cplusplus
}
#endif

#endif /* POLYOPT_GEMM_H */
