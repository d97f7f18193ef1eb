"""What the emulator's header gives for CUDA's names: warps, atomics, numbers, matrices, vectors."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polyopt.emulator import DeviceFault, EmulatedProvider, FindingKind, Order, Rules
from polyopt.runtime.device.provider import Module
from tests.gpu.runtime.needs import needs_nvcc

pytestmark = pytest.mark.toolchain
Ints = list[int]
FULL = 0xFFFFFFFF
# integer results of each of 40 threads (two warps, the second not whole); model: thread -> result
WARPS: dict[str, tuple[str, Callable[[int], int]]] = {
    "from_one": ("__shfl_sync(0xffffffffu, 3 * t, 5)", lambda t: 3 * (t // 32 * 32 + 5)),
    "from_one_of_eight": (
        "__shfl_sync(0xffffffffu, 3 * t, 13, 8)",
        lambda t: 3 * (t // 8 * 8 + 5),
    ),
    "up": ("__shfl_up_sync(0xffffffffu, t, 3)", lambda t: t if t % 32 < 3 else t - 3),
    "up_in_four": (
        "__shfl_up_sync(0xffffffffu, t, 1, 4)",
        lambda t: t if t % 4 == 0 else t - 1,
    ),
    "down": (
        "(t < 32 ? __shfl_down_sync(0xffffffffu, t, 3) : __shfl_down_sync(0xffu, t, 3, 4))",
        lambda t: (t if t % 32 >= 29 else t + 3) if t < 32 else (t + 3 if t % 4 == 0 else t),
    ),
    "other": ("__shfl_xor_sync(0xffffffffu, t, 5, 8)", lambda t: t ^ 5),
    "votes": (
        "(int)__ballot_sync(0xffffffffu, t % 3 == 0)",
        lambda t: sum(1 << k % 32 for k in _warp(t) if k % 3 == 0),
    ),
    "any": ("__any_sync(0xffffffffu, t == 33)", lambda t: int(t >= 32)),
    "all": ("__all_sync(0xffffffffu, t < 35)", lambda t: int(t < 32)),
    "active": ("(int)__activemask()", lambda t: 1 << t % 32),
    "sum": ("__reduce_add_sync(0xffffffffu, t)", lambda t: sum(_warp(t))),
    "least": ("__reduce_min_sync(0xffffffffu, 7 - t)", lambda t: 7 - max(_warp(t))),
    "double": (
        "(int)__shfl_sync(0xffffffffu, 0.5 * t, 6)",
        lambda t: (t // 32 * 32 + 6) // 2,
    ),
    "halves": (
        "(t % 32 < 4 ? __shfl_sync(0xfu, t, 2) : __shfl_sync(0xfffffff0u, t, 6))",
        lambda t: t // 32 * 32 + (2 if t % 32 < 4 else 6),
    ),
}
# operation on `at`, which begins as `start`, by each of 40 threads; result
ATOMICS: dict[str, tuple[str, str, int, int]] = {
    "add": ("int", "atomicAdd(at, t)", 5, 785),
    "sub": ("int", "atomicSub(at, t)", 5, -775),
    "min": ("int", "atomicMin(at, 7 - t)", 5, -32),
    "max": ("int", "atomicMax(at, t - 7)", 5, 32),
    "and": ("unsigned int", "atomicAnd(at, ~(1u << t % 32))", 2**32 - 1, 0),
    "or": ("unsigned int", "atomicOr(at, 1u << t % 32)", 0, 2**32 - 1),
    "xor": ("unsigned int", "atomicXor(at, 1u << t % 32)", 0, 2**32 - 2**8),
    "inc": ("unsigned int", "atomicInc(at, 6u)", 0, 40 % 7),
    "dec": ("unsigned int", "atomicDec(at, 6u)", 0, 40 * 6 % 7),
    "cas": ("int", "atomicCAS(at, 5, t + 50) == 5 ? atomicAdd(at, 1000 - t) : 0", 5, 1050),
    "exch": ("int", "atomicExch(at, 9)", 0, 9),
    "add_wide": ("unsigned long long", "atomicAdd(at, 1ull << 33)", 0, 40 << 33),
    "max_wide": ("long long", "atomicMax(at, (long long)t << 33)", 0, 39 << 33),
}
# double results of x = 0.5, 1.5, 2.5, ... in float
NUMBERS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "rsqrtf": ("rsqrtf(x)", lambda x: 1 / np.sqrt(x)),
    "fmaf": ("fmaf(x, x, 1.0f)", lambda x: x * x + 1),
    "expf": ("expf(-x)", lambda x: np.exp(-x)),
    "powf": ("powf(x, 0.25f)", lambda x: x**0.25),
    "min": ("min(x, 3.0f)", lambda x: np.minimum(x, 3)),
    "fmaxf": ("fmaxf(x, __int_as_float(0x7fffffff))", lambda x: x),
    "max_int": ("max((int)x, 3)", lambda x: np.maximum(x.astype(int), 3)),
    "round_even": ("__float2int_rn(x)", lambda x: np.rint(x)),
    "floor": ("floorf(-x)", lambda x: np.floor(-x)),
    "double": ("sqrt((double)x)", lambda x: np.sqrt(x.astype(np.float64))),
    "bits": ("__popc((unsigned)x) + 32 - __clz((int)x)", lambda x: _bits(x)),
    "high": ("__mulhi((int)x << 20, 1 << 20)", lambda x: x.astype(int) * 256),
    "isnan": ("isnan(x) + 2 * isinf(1.0f / (x - x))", lambda x: 2 + 0 * x),
    "divided": ("__fdiv_rn(x, 3.0f)", lambda x: x / np.float32(3)),
}


def _warp(t: int) -> range:
    return range(32) if t < 32 else range(32, 40)


def _bits(x: np.ndarray) -> np.ndarray:
    return np.array([bin(int(v)).count("1") + int(v).bit_length() for v in x])


def _kernel(name: str, params: str, body: str) -> str:
    head = f'extern "C" __global__ void {name}({params})'
    return f"{head}\n{{\n    const int t = (int)threadIdx.x;\n    {body}\n}}\n"


TEXT = "".join(
    (
        *(_kernel(f"warp_{n}", "int *a", f"a[t] = {e};") for n, (e, _) in WARPS.items()),
        *(_kernel(f"atomic_{n}", f"{d} *at", f"{e};") for n, (d, e, _, _) in ATOMICS.items()),
        *(
            _kernel(f"number_{n}", "double *a", f"const float x = t + 0.5f; a[t] = {e};")
            for n, (e, _) in NUMBERS.items()
        ),
        _kernel("ended", "int *a", "if (t >= 36) return; a[t] = __ballot_sync(0xffffffffu, 1);"),
        _kernel("from_ended", "int *a", "if (t >= 36) return; a[t] = __shfl_sync(~0u, t, 7);"),
        _kernel(
            "apart",
            "int *a",
            "__shared__ int s[40]; s[t] = t; __syncwarp(t % 32 < 8 ? 0xffu : ~0xffu); "
            "a[t] = s[t ^ 1];",
        ),
        _kernel(
            "tell",
            "unsigned int *a",
            "const unsigned int at = t + 3u * (threadIdx.y + 2u * threadIdx.z); "
            "a[12u * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) + at] = "
            "blockDim.x + 10u * blockDim.y + 100u * blockDim.z + 1000u * blockIdx.z;",
        ),
        _kernel("bytes", "unsigned char *a", "if (a[t] < 3) a[t] = (unsigned char)(a[t] + t);"),
        _kernel("byte_race", "unsigned char *a", "a[t / 2] = (unsigned char)t;"),
    )
)
MATRIX = _kernel(
    "pairs_KIND",
    "const unsigned short *x, const unsigned short *y, float *z",
    """\
    const int g = t / 4, m = t % 4;
    unsigned a[4], b[2];
    float c[4], d[4];
    for (int i = 0; i < 8; i += 2) {
        const int row = (i < 2 || (i >= 4 && i < 6)) ? g : g + 8;
        const int column = m * 2 + (i < 4 ? 0 : 8);
        a[i / 2] = x[16 * row + column] | (unsigned)x[16 * row + column + 1] << 16;
    }
    for (int i = 0; i < 4; i += 2) {
        const int row = m * 2 + (i < 2 ? 0 : 8);
        b[i / 2] = y[8 * row + g] | (unsigned)y[8 * (row + 1) + g] << 16;
    }
    for (int i = 0; i < 4; i++)
        c[i] = z[8 * (i < 2 ? g : g + 8) + m * 2 + (i & 1)];
    po_mma_m16n8k16_KIND(d, a, b, c);
    for (int i = 0; i < 4; i++)
        z[8 * (i < 2 ? g : g + 8) + m * 2 + (i & 1)] = d[i];""",
)
SINGLES = _kernel(
    "singles",
    "const float *x, const float *y, float *z",
    """\
    const int g = t / 4, m = t % 4;
    unsigned a[4], b[2];
    float c[4], d[4];
    for (int i = 0; i < 4; i++)
        a[i] = po_tf32(x[8 * (i % 2 == 0 ? g : g + 8) + (i < 2 ? m : m + 4)]);
    for (int i = 0; i < 2; i++)
        b[i] = po_tf32(y[8 * (m + 4 * i) + g]);
    for (int i = 0; i < 4; i++)
        c[i] = z[8 * (i < 2 ? g : g + 8) + m * 2 + (i & 1)];
    po_mma_m16n8k8_tf32(d, a, b, c);
    for (int i = 0; i < 4; i++)
        z[8 * (i < 2 ? g : g + 8) + m * 2 + (i & 1)] = d[i];""",
)
ALL = TEXT + MATRIX.replace("KIND", "f16") + MATRIX.replace("KIND", "bf16") + SINGLES


@pytest.fixture(scope="module")
def device() -> tuple[EmulatedProvider, Module]:
    provider = EmulatedProvider(Rules(seed=2))
    names = [line.split("(")[0].split()[-1] for line in ALL.splitlines() if "__global__" in line]
    return provider, provider.compile(ALL, names)


def run(
    device: tuple[EmulatedProvider, Module],
    name: str,
    *arrays: np.ndarray,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (40, 1, 1),
) -> np.ndarray:
    """Return the last array after a run."""
    provider, module = device
    buffers = [provider.alloc(array.nbytes) for array in arrays]
    for buffer, array in zip(buffers, arrays, strict=True):
        provider.upload(buffer, array)
    provider.launch(module, name, grid, block, buffers)
    result = np.empty_like(arrays[-1])
    provider.download(buffers[-1], result)
    return result


@pytest.mark.parametrize("name", WARPS)
def test_warps(device, name: str) -> None:
    found = run(device, f"warp_{name}", np.zeros(40, np.int32))
    expected = np.array([WARPS[name][1](t) for t in range(40)], np.int64).astype(np.uint32)
    assert np.array_equal(found.view(np.uint32), expected)


@pytest.mark.parametrize("name", ATOMICS)
def test_atomics(device, name: str) -> None:
    kind, _, start, end = ATOMICS[name]
    types = {"int": "i4", "unsigned int": "u4", "long long": "i8", "unsigned long long": "u8"}
    assert run(device, f"atomic_{name}", np.array([start], types[kind]))[0] == end


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(device, name: str) -> None:
    found = run(device, f"number_{name}", np.zeros(40))
    expected = NUMBERS[name][1](np.arange(40, dtype=np.float32) + np.float32(0.5))
    assert np.allclose(found, expected, rtol=3e-7, atol=0)


@pytest.mark.parametrize("order", Order)
def test_lanes_that_have_ended_need_not_come(order: Order) -> None:
    provider = EmulatedProvider(Rules(order=order))
    device = provider, provider.compile(ALL, ["ended"])
    found = run(device, "ended", np.zeros(40, np.int32))
    assert found.view(np.uint32).tolist() == [FULL] * 32 + [0xF] * 4 + [0] * 4


def test_lanes_that_have_ended_give_nothing(device) -> None:
    with pytest.raises(DeviceFault) as caught:
        run(device, "from_ended", np.zeros(40, np.int32))
    assert caught.value.findings[0].kind is FindingKind.WARP_SOURCE


def test_lanes_meet_in_groups(device) -> None:
    found = run(device, "apart", np.zeros(40, np.int32))
    assert found.tolist() == [t ^ 1 for t in range(40)]


def test_threads_know_where_they_are(device) -> None:
    found = run(
        device, "tell", np.zeros(144, np.uint32), grid=(2, 3, 2), block=(3, 2, 2)
    )  # fmt: skip
    assert np.array_equal(found, np.repeat([223, 1223], 72))


def test_bytes_are_watched_one_by_one(device) -> None:
    found = run(device, "bytes", np.arange(40, dtype=np.uint8) % 5)
    expected = [t % 5 + t if t % 5 < 3 else t % 5 for t in range(40)]
    assert found.tolist() == expected
    with pytest.raises(DeviceFault) as caught:
        run(device, "byte_race", np.zeros(40, np.uint8))
    assert caught.value.findings[0].kind is FindingKind.RACE_WRITE_WRITE


def _floats(values: np.ndarray, kind: str) -> np.ndarray:
    bits = values.astype(np.float32).view(np.uint32) >> 16
    return values.astype(np.float16).view(np.uint16) if kind == "f16" else bits.astype(np.uint16)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_products_of_small_numbers(device, kind: str) -> None:
    rng = np.random.default_rng(4)
    x, y, z = (rng.integers(-9, 9, shape) for shape in ((16, 16), (16, 8), (16, 8)))
    arrays = [_floats(x, kind), _floats(y, kind), z.astype(np.float32)]
    found = run(device, f"pairs_{kind}", *arrays, block=(32, 1, 1))
    assert np.array_equal(found, x @ y + z)


def test_products_in_tf32(device) -> None:
    rng = np.random.default_rng(4)
    x, y, z = (rng.standard_normal(shape).astype("f4") for shape in ((16, 8), (8, 8), (16, 8)))
    found = run(device, "singles", x, y, z, block=(32, 1, 1))
    assert np.allclose(found, x @ y + z, atol=1e-2)
    assert not np.array_equal(found, x @ y + z)


@pytest.mark.machine
@needs_nvcc
def test_nvcc_knows_the_same_names(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TEXT)
    command = ["nvcc", "-arch=sm_80", "-cubin", "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run([*command, str(tmp_path / "k.cu")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
