#ifndef POLYOPT_GEMM_H
#define POLYOPT_GEMM_H

#include <stdint.h>

#ifndef POLYOPT_RESTRICT
#if defined(__GNUC__) || defined(__clang__) || defined(_MSC_VER)
#define POLYOPT_RESTRICT __restrict
#elif !defined(__cplusplus)
#define POLYOPT_RESTRICT restrict
#else
#define POLYOPT_RESTRICT
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
 * Required, and not checked here (// floors, % is not negative, as in Python):
 *   no size is larger than 2**48, no integer below -2**48
 *
 * Arrays are aligned as their elements ask for.  C is written and must not overlap with another
 * array; arrays that are only read may overlap with each other.
 *
 * Returns 0, always.
 *
 * Thread-safe: there is no state between calls; calls at the same time need arrays of their own to
 * write.
 *
 * Build the file as C11 with -O3 -march=..., and -fopenmp for several threads (optional).  Never
 * with -ffast-math, which the file refuses; it switches contraction off by itself.  Compilers
 * other than gcc need -fwrapv, with which integers wrap as NumPy's do.  Link with -lm.
 */
int polyopt_gemm(int64_t N, int64_t M, int64_t K, double alpha_, double *POLYOPT_RESTRICT C,
    const double *POLYOPT_RESTRICT A, const double *POLYOPT_RESTRICT B);

#ifdef __cplusplus
}
#endif

#endif /* POLYOPT_GEMM_H */
