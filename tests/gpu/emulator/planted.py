"""Kernels written by hand, each right and with faults planted into it.

In: nothing.  Out: `KERNELS`: a kernel's text, the edits that spoil it and what must be found then.
All take `float *a, const float *b, int *c, long long n` and run in blocks of 64 threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polyopt.emulator import FindingKind

Kind = FindingKind
Arrays = tuple[np.ndarray, np.ndarray]
RACE = frozenset({Kind.RACE_READ_WRITE, Kind.RACE_WRITE_READ, Kind.RACE_WRITE_WRITE})
THREADS = 64
ROOM = 4096  # elements of each array


@dataclass(frozen=True)
class Fault:
    """An edit of a right kernel: `old` text to `new`, and the kinds of which one is found."""

    name: str
    old: str
    new: str
    kinds: frozenset[Kind]


@dataclass(frozen=True)
class Planted:
    """A right kernel; `expected` gives `a` and `c` from `b`, where they are written."""

    name: str
    body: str
    expected: Callable[[np.ndarray], Arrays]
    faults: tuple[Fault, ...]
    blocks: int = 2
    n: int = 128
    shared: int = 0
    before: str = ""

    def text(self, name: str, fault: Fault | None = None) -> str:
        """Return the kernel, called `name`, with `fault`."""
        body = self.body
        if fault is not None:
            assert body.count(fault.old) == 1, (self.name, fault.name)
            body = body.replace(fault.old, fault.new)
        before, body = self.before.replace("NAME", name), body.replace("NAME", name)
        return (
            f'{before}extern "C" __global__ void __launch_bounds__({THREADS}) {name}(\n'
            "    float *__restrict__ a, const float *__restrict__ b, int *__restrict__ c,\n"
            f"    long long n)\n{{\n    const int t = (int)threadIdx.x;\n{body}}}\n\n"
        )


def fault(name: str, old: str, new: str, *kinds: Kind) -> Fault:
    """Return a fault; without kinds, a race."""
    return Fault(name, old, new, frozenset(kinds) or RACE)


NONE = np.zeros(0, np.float32)
NO_C = np.zeros(0, np.int32)
SET = (*RACE, Kind.UNSET_SHARED)


def _matmul(b: np.ndarray) -> Arrays:
    square = b[:1024].reshape(32, 32)
    return (square @ square).ravel(), NO_C


MATMUL = Planted(
    "matmul",
    """\
    __shared__ float left[8][8];
    __shared__ float right[8][9];
    const int x = t % 8, y = t / 8;
    const int i = 8 * (int)(blockIdx.x / 4) + y, j = 8 * (int)(blockIdx.x % 4) + x;
    float sum = 0.0f;
    for (int k = 0; k < 32; k += 8) {
        left[y][x] = b[32 * i + k + x];
        right[y][x] = b[32 * (k + y) + j];
        __syncthreads(); // loaded
        for (int p = 0; p < 8; p++)
            sum = fmaf(left[y][p], right[p][x], sum);
        __syncthreads(); // used
    }
    a[32 * i + j] = sum;
""",
    _matmul,
    (
        fault("no_barrier_after_load", "__syncthreads(); // loaded", "", *SET),
        fault("no_barrier_after_use", "__syncthreads(); // used", ""),
        fault("half_a_tile", "right[y][x] =", "if (y < 7) right[y][x] =", Kind.UNSET_SHARED),
        fault("past_the_row", "right[p][x], sum", "right[p][x + 8], sum", Kind.ARRAY_INDEX),
        fault("past_the_array", "b[32 * i + k + x]", "b[4096 * i + k + x]", Kind.OUTSIDE),
        fault(
            "barrier_under_if",
            "__syncthreads(); // used",
            "if (y != 2) __syncthreads();",
            Kind.DIVERGENCE,
        ),
        fault(
            "barriers_in_branches",
            "__syncthreads(); // used",
            "if (y != 2)\n__syncthreads();\nelse\n__syncthreads();",
            Kind.DIVERGENCE,
        ),
        fault("one_place", "a[32 * i + j] = sum", "a[32 * i] = sum", Kind.RACE_WRITE_WRITE),
    ),
    blocks=16,
)


def _stencil(b: np.ndarray) -> Arrays:
    whole = np.concatenate(([0], b[:128], [0])).astype(np.float32)
    return whole[:-2] + whole[1:-1] + whole[2:], NO_C


STENCIL = Planted(
    "stencil",
    """\
    __shared__ float s[66];
    const long long i = 64 * (long long)blockIdx.x + t;
    s[t + 1] = i < n ? b[i] : 0.0f;
    if (t < 2) {
        const long long k = 64 * (long long)blockIdx.x - 1 + 65 * t;
        s[65 * t] = k >= 0 && k < n ? b[k] : 0.0f;
    }
    __syncthreads();
    if (i < n)
        a[i] = s[t] + s[t + 1] + s[t + 2];
""",
    _stencil,
    (
        fault("no_barrier", "__syncthreads();", "", *SET),
        fault("short_halo", "if (t < 2)", "if (t < 1)", Kind.UNSET_SHARED),
        fault("no_guard", "k >= 0 && k < n ? b[k] : 0.0f", "b[k]", Kind.OUTSIDE),
        fault("subscript", "s[t + 1] + s[t + 2]", "s[t + 1] + s[t + 4]", Kind.ARRAY_INDEX),
        fault("in_place", "a[i] = s[t]", "a[i] = s[t] = s[t]"),
        fault("returns_early", "__syncthreads();", "if (i > n - 3) return; __syncthreads();",
              Kind.DIVERGENCE),
    ),
)  # fmt: skip


TRANSPOSE = Planted(
    "transpose",
    """\
    __shared__ float s[8][9];
    const int x = t % 8, y = t / 8;
    const int i = 8 * (int)(blockIdx.x / 2), j = 8 * (int)(blockIdx.x % 2);
    s[y][x] = b[16 * (i + y) + j + x];
    __syncthreads();
    a[16 * (j + y) + i + x] = s[x][y];
""",
    lambda b: (b[:256].reshape(16, 16).T.ravel(), NO_C),
    (
        fault("no_barrier", "__syncthreads();", "", *SET),
        fault("wrong_block", "(i + y) + j + x", "(i + y) + j + x - 1", Kind.OUTSIDE),
        fault("blocks_overlap", "16 * (j + y) + i + x", "16 * (j + y) + x", Kind.RACE_WRITE_WRITE),
    ),
    blocks=4,
)


def _sums(b: np.ndarray) -> Arrays:
    return b[:128].reshape(2, 64).sum(axis=1), NO_C


TREE = Planted(
    "tree",
    """\
    __shared__ float s[64];
    s[t] = b[64 * blockIdx.x + t];
    for (int k = 32; k > 0; k /= 2) {
        __syncthreads();
        if (t < k)
            s[t] += s[t + k];
    }
    if (t == 0)
        a[blockIdx.x] = s[0];
""",
    _sums,
    (
        fault("no_barrier", "__syncthreads();", "", *SET),
        fault("no_barrier_in_a_warp", "__syncthreads();", "if (k >= 16) __syncthreads();"),
        fault("all_write", "if (t == 0)", "", *RACE),
        fault("not_alone", "if (t < k)", "if (t < 2 * k && t + k < 64)"),
    ),
)


WARP_TREE = Planted(
    "warp_tree",
    """\
    __shared__ float s[64];
    float own = b[64 * blockIdx.x + t];
    s[t] = own;
    __syncthreads();
    if (t < 32) {
        for (int k = 32; k > 0; k /= 2) {
            own += s[t + k];
            __syncwarp(); // read
            s[t] = own;
            __syncwarp(); // written
        }
        if (t == 0)
            a[blockIdx.x] = own;
    }
""",
    _sums,
    (
        fault("no_sync_after_read", "__syncwarp(); // read", "if (k == 64) __syncwarp();"),
        fault("no_sync_after_write", "__syncwarp(); // written", ""),
        fault("shuffles_order_nothing", "__syncwarp(); // written",
              "(void)__shfl_sync(0xffffffffu, t, 0);"),
        fault("mask_without_caller", "__syncwarp(); // read", "__syncwarp(0xfffffffe);",
              Kind.WARP_MASK),
        fault("half_skips", "__syncwarp(); // read", "if (t < 16) __syncwarp();", Kind.WARP_MASK,
              *RACE),
    ),
)  # fmt: skip


SHUFFLE = Planted(
    "shuffle",
    """\
    __shared__ float s[2];
    float own = b[64 * blockIdx.x + t];
    for (int k = 16; k > 0; k /= 2)
        own += __shfl_down_sync(0xffffffffu, own, k);
    if (t % 32 == 0)
        s[t / 32] = own;
    __syncthreads();
    if (t == 0)
        a[blockIdx.x] = s[0] + s[1];
""",
    _sums,
    (
        fault("mask", "0xffffffffu", "0x0000ffffu", Kind.WARP_MASK),
        fault("skips", "own += __shfl", "if (t % 32 < 16) own += __shfl", Kind.WARP_MASK),
        fault(
            "source",
            "own += __shfl_down_sync(0xffffffffu, own, k)",
            "own += t % 32 < 16 ? __shfl_sync(0xffffu, own, 20) : 0.0f",
            Kind.WARP_SOURCE,
        ),
        fault("no_barrier", "__syncthreads();", "", *SET),
    ),
)


def _histogram(b: np.ndarray) -> Arrays:
    return NONE, np.bincount(b[:128].astype(int) % 16, minlength=16).astype(np.int32)


HISTOGRAM = Planted(
    "histogram",
    """\
    __shared__ int s[16];
    if (t < 16)
        s[t] = 0;
    __syncthreads(); // zero
    atomicAdd(&s[(int)b[64 * blockIdx.x + t] % 16], 1);
    __syncthreads(); // counted
    if (t < 16)
        atomicAdd(&c[t], s[t]);
""",
    _histogram,
    (
        fault("not_zeroed", "s[t] = 0;", ";", Kind.UNSET_SHARED),
        fault("no_barrier_after_zero", "__syncthreads(); // zero", "", *SET),
        fault("no_barrier_after_count", "__syncthreads(); // counted", ""),
        fault("no_atomic_shared", "atomicAdd(&s[(int)b[64 * blockIdx.x + t] % 16], 1)",
              "s[(int)b[64 * blockIdx.x + t] % 16] += 1"),
        fault("no_atomic_global", "atomicAdd(&c[t], s[t])", "c[t] += s[t]"),
        fault("read_then_add", "atomicAdd(&c[t], s[t])", "if (c[t] >= 0) atomicAdd(&c[t], s[t])"),
    ),
)  # fmt: skip


COPIES = Planted(
    "copies",
    """\
    __shared__ __align__(16) float s[2][64];
    float sum = 0.0f;
    if (t < 16)
        po_cp_async16(&s[0][4 * t], &b[4 * t]);
    po_cp_async_commit();
    for (int k = 0; k < 4; k++) {
        if (k < 3 && t < 16)
            po_cp_async16(&s[(k + 1) % 2][4 * t], &b[64 * (k + 1) + 4 * t]);
        po_cp_async_commit();
        po_cp_async_wait<1>();
        __syncthreads(); // landed
        sum += s[k % 2][63 - t];
        __syncthreads(); // used
    }
    a[64 * blockIdx.x + t] = sum;
""",
    lambda b: (np.tile(b[:256].reshape(4, 64).sum(axis=0)[::-1], 2), NO_C),
    (
        fault("waits_for_too_few", "wait<1>", "wait<2>", Kind.IN_FLIGHT, *SET),
        fault("no_barrier_after_wait", "__syncthreads(); // landed", "", *SET, Kind.IN_FLIGHT),
        fault("refilled_too_early", "__syncthreads(); // used", "", *RACE),
        fault("misaligned", "&s[0][4 * t]", "&s[0][4 * t + (t == 3)]", Kind.MISALIGNED),
        fault("outside", "&b[64 * (k + 1) + 4 * t]", "&b[64 * (k + 99) + 4 * t]", Kind.OUTSIDE),
        fault("never_waited", "if (k < 3 && t < 16)", "if (t < 16)", Kind.NEVER_WAITED),
    ),
)


VECTORS = Planted(
    "vectors",
    """\
    if (t < 16) {
        const float4 v = *reinterpret_cast<const float4 *>(&b[64 * blockIdx.x + 4 * t]);
        float4 *to = reinterpret_cast<float4 *>(&a[64 * blockIdx.x + 4 * t]);
        *to = make_float4(v.w, v.z, v.y, v.x);
    }
""",
    lambda b: (b[:128].reshape(-1, 4)[:, ::-1].ravel(), NO_C),
    (
        fault("load", "&b[64 * blockIdx.x + 4 * t]", "&b[64 * blockIdx.x + 4 * t + 1]",
              Kind.MISALIGNED),
        fault("store", "&a[64 * blockIdx.x + 4 * t]", "&a[64 * blockIdx.x + 4 * t + 2]",
              Kind.MISALIGNED),
        fault("overlap", "&a[64 * blockIdx.x + 4 * t]", "&a[4 * t]", Kind.RACE_WRITE_WRITE),
    ),
)  # fmt: skip


def _sums_of_pairs(b: np.ndarray) -> Arrays:
    own = b[:256].reshape(2, 64, 2)
    turned = own[:, ::-1]
    return (turned[..., 0] - turned[..., 1] + own[..., 1]).ravel(), NO_C


PAIRS = Planted(
    "pairs",
    """\
    __shared__ float2 s[64];
    const float2 *pairs = (const float2 *)b + 64 * blockIdx.x;
    s[t] = pairs[t];
    __syncthreads(); // loaded
    a[64 * blockIdx.x + t] = NAME_sum(s[63 - t], pairs[t]);
""",
    _sums_of_pairs,
    (
        fault("no_barrier", "__syncthreads(); // loaded", "", *SET),
        fault("half", "s[t] = pairs[t];", "if (t < 32) s[t] = pairs[t];", Kind.UNSET_SHARED),
        fault("past_the_row", "s[63 - t]", "s[65 - t]", Kind.ARRAY_INDEX),
        fault("past_the_array", "pairs[t]);", "pairs[4096 * t]);", Kind.OUTSIDE),
        fault("misaligned", "(const float2 *)b + 64", "(const float2 *)(b + 1) + 64",
              Kind.MISALIGNED),
    ),
    before="static __device__ float NAME_sum(float2 x, float2 y) { return x.x - x.y + y.y; }\n",
)  # fmt: skip


LAST_BLOCK = Planted(
    "last_block",
    """\
    __shared__ int last;
    a[2 + 64 * blockIdx.x + t] = b[64 * blockIdx.x + t];
    __syncthreads(); // published
    if (t == 0) {
        __threadfence();
        last = atomicAdd(&c[0], 1) == (int)gridDim.x - 1;
    }
    __syncthreads(); // told
    if (last && t < 2) {
        float sum = 0.0f;
        for (int k = 0; k < 64; k++)
            sum += a[2 + 64 * t + k];
        a[t] = sum;
    }
""",
    lambda b: (b[:128].reshape(2, 64).sum(axis=1), np.array([2], np.int32)),
    (
        fault("no_fence", "__threadfence();", ""),
        fault("no_barrier", "__syncthreads(); // published", ""),
        fault("not_told", "__syncthreads(); // told", "", *SET),
        fault("no_atomic", "atomicAdd(&c[0], 1)", "c[0]++"),
    ),
)


REGISTERS = Planted(
    "registers",
    """\
    float acc[4][2];
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < 2; k++)
            acc[r][k] = b[8 * t + 2 * r + k];
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < 2; k++)
            a[8 * t + 2 * r + k] = acc[r][1 - k];
""",
    lambda b: (b[:512].reshape(-1, 2)[:, ::-1].ravel(), NO_C),
    (
        fault("row", "acc[r][1 - k]", "acc[r + 1][1 - k]", Kind.ARRAY_INDEX),
        fault("column", "acc[r][1 - k]", "acc[r][2 - k]", Kind.ARRAY_INDEX),
    ),
    blocks=1,
)


DYNAMIC = Planted(
    "dynamic",
    """\
    extern __shared__ float s[];
    s[t] = b[64 * blockIdx.x + t];
    __syncthreads();
    a[64 * blockIdx.x + t] = s[63 - t];
""",
    lambda b: (b[:128].reshape(2, 64)[:, ::-1].ravel(), NO_C),
    (
        fault("outside", "s[63 - t]", "s[64 - t]", Kind.OUTSIDE),
        fault("no_barrier", "__syncthreads();", "", *SET),
    ),
    shared=256,
)


HELPER = Planted(
    "helper",
    """\
    const long long i = 64 * (long long)blockIdx.x + t;
    a[i] = NAME_at(b, i) / NAME_div((int)n - 126, 1);
""".replace("NAME", "helper"),
    lambda b: (b[:128] / 2, NO_C),
    (
        fault("outside", "_at(b, i)", "_at(b, i + 4000)", Kind.OUTSIDE),
        fault("division", "- 126, 1", "- 126, t - 3", Kind.DIVISION),
        fault("endless", "a[i] =", "while (n > 0) a[i] = 1.0f; a[i] =", Kind.ENDLESS),
        fault("constant", "a[i] =", "((float *)helper_table)[0] = 1.0f; a[i] =",
              Kind.CONSTANT_WRITE),
        fault("too_deep", "a[i] =", "helper_deep(a, n); a[i] =", Kind.CRASH),
    ),
)  # fmt: skip
HELPERS = """\
__constant__ float helper_table[2] = {1.0f, 2.0f};
static __device__ inline float helper_at(const float *p, long long i)
{
    return p[i] * helper_table[0];
}
static __device__ inline int helper_div(int x, int y)
{
    return x / y;
}
static __device__ void helper_deep(float *p, long long n)
{
    float big[4096];
    big[n % 4096] = p[0];
    if (n)
        helper_deep(big, n + 1);
    p[1] = big[1];
}

"""

KERNELS = (
    MATMUL, STENCIL, TRANSPOSE, TREE, WARP_TREE, SHUFFLE, HISTOGRAM, COPIES, VECTORS, PAIRS,
    LAST_BLOCK, REGISTERS, DYNAMIC, HELPER,
)  # fmt: skip
