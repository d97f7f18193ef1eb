/* CUDA's names for g++, so that the text of kernels compiles as it is and runs in the emulator.
 *
 * Included before the text.  PO_EMULATED is defined: where a text has helpers in PTX, it leaves
 * them out under `#ifndef PO_EMULATED` and gets these instead, with the same meaning:
 *     po_cp_async4, po_cp_async8, po_cp_async16(void *to, const void *from[, int taken])
 *     po_cp_async_commit(), po_cp_async_wait<N>()         (copies.h)
 *     po_mma_*                                            (matrix.h)
 * Like NVRTC it declares what CUDA declares without any #include.  The header itself is not
 * watched; what its functions touch, and where, they tell the run time.
 */
#ifndef PO_CUDA_H
#define PO_CUDA_H

#define PO_EMULATED 1

#define PE_UNSEEN                                                                                  \
    __attribute__((unused, no_sanitize("thread", "undefined"), no_sanitize_coverage))
#define PE_OWN static inline PE_UNSEEN
#define PE_LINE int line = __builtin_LINE()

typedef __SIZE_TYPE__ size_t;

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __constant__ static __attribute__((section("pe_constant")))
#define __shared__ static __attribute__((section("pe_shared")))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

extern "C" {
struct PeDim {
    unsigned x, y, z;
};
PeDim pe_thread_index() __attribute__((const));
PeDim pe_block_index() __attribute__((const));
PeDim pe_block_extents() __attribute__((const));
PeDim pe_grid_extents() __attribute__((const));
void pe_barrier(int line);
void pe_fence();
void pe_atomic(void *address, unsigned size, int line);
void pe_plain(const void *address, unsigned size, int writes, int line);
void pe_warp(int kind, unsigned mask, const void *given, unsigned size, void *all, int line);
void pe_warp_source(unsigned mask, unsigned from, int line);
unsigned pe_warp_present();
void pe_copy(void *to, const void *from, unsigned size, unsigned taken, int line);
void pe_copy_commit();
void pe_copy_wait(unsigned open);
extern unsigned char pe_dynamic_memory[];
}

#include "vectors.h"

#define threadIdx (pe_thread_index())
#define blockIdx (pe_block_index())
#define blockDim (pe_block_extents())
#define gridDim (pe_grid_extents())
#define warpSize 32

PE_OWN void __syncthreads(PE_LINE) { pe_barrier(line); }
PE_OWN void __threadfence() { pe_fence(); }
PE_OWN void __threadfence_system() { pe_fence(); }
PE_OWN void __threadfence_block() {}

#include "maths.h"
#include "atomics.h"
#include "warps.h"
#include "copies.h"
#include "half.h"
#include "matrix.h"
#include "entries.h"

#endif
