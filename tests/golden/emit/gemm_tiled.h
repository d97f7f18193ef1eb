#ifndef POLYOPT_GEMM_H
#define POLYOPT_GEMM_H

#include <stdint.h>

#ifndef POLYOPT_RESTRICT
#ifdef __cplusplus
#define POLYOPT_RESTRICT __restrict
#else
#define POLYOPT_RESTRICT restrict
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * gemm: what the Python function of this name computes.
 *
 * Parameters:
 *   N: the extent of dimension 0 of `alpha`
 *   M: the extent of dimension 0 of `alpha`
 *   K: the extent of dimension 0 of `alpha`
 *   alpha_: a number, the argument `alpha`
 *   C: N * M elements of double, row-major, contiguous; read and written
 *   A: N * K elements of double, row-major, contiguous; read only
 *   B: K * M elements of double, row-major, contiguous; read only
 *
 * Required, and not checked here: no size is larger than 2**48, no integer below -2**48.
 *
 * C is written and must not overlap with another array; those only read may overlap.
 * Returns 0, always.
 * Thread-safe: no state is kept; calls at the same time write to arrays of their own.
 * Build as C11 with -O3 -march=..., -fopenmp for threads or -fopenmp-simd without them, never
 * -ffast-math; link with -lm.  Compilers other than gcc need -fwrapv, with which integers wrap as
 * NumPy's do.
 */
int polyopt_gemm(int64_t N, int64_t M, int64_t K, double alpha_, double *POLYOPT_RESTRICT C,
    const double *POLYOPT_RESTRICT A, const double *POLYOPT_RESTRICT B);

#ifdef __cplusplus
}
#endif

#endif /* POLYOPT_GEMM_H */
