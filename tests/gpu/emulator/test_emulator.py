"""The emulated device: results, faults with their lines, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.emulator import DeviceFault, EmulatedProvider, FindingKind, Order, Rules
from polyopt.emulator.build import find_gcc
from polyopt.errors import PolyoptError
from polyopt.runtime.store import Store
from tests.gpu.emulator.planted import HELPER, HELPERS

pytestmark = pytest.mark.toolchain

REVERSE = """\
extern "C" __global__ void __launch_bounds__(64)
turn(float *__restrict__ a, const float *__restrict__ b, long long n)
{
    __shared__ float s[64];
    const int t = (int)threadIdx.x;
    const long long i = (long long)blockIdx.x * 64 + t;
    if (i < n)
        s[t] = b[i];
    __syncthreads();
    if (i < n)
        a[i] = s[63 - t];
}
"""


@pytest.fixture(scope="module", params=[Order.FORWARD, Order.BACKWARD, Order.SHUFFLED])
def device(request: pytest.FixtureRequest) -> EmulatedProvider:
    return EmulatedProvider(Rules(order=request.param, seed=7))


def turned(device: EmulatedProvider, text: str, n: int, room: int) -> np.ndarray:
    """Run `turn` on `n` of `room` elements, in blocks of 64."""
    module = device.compile(text, ["turn"])
    values = np.arange(room, dtype=np.float32)
    a, b = device.alloc(values.nbytes), device.alloc(values.nbytes)
    device.upload(b, values)
    device.launch(module, "turn", (-(-n // 64), 1, 1), (64, 1, 1), [a, b, np.int64(n)])
    device.synchronize()
    device.download(a, values)
    return values


def test_a_kernel_runs(device: EmulatedProvider) -> None:
    expected = np.arange(128, dtype=np.float32).reshape(2, 64)[:, ::-1].ravel()
    assert np.array_equal(turned(device, REVERSE, 128, 128), expected)


def test_a_missing_barrier_is_found_with_its_lines(device: EmulatedProvider) -> None:
    with pytest.raises(DeviceFault, match="PO0521") as caught:
        turned(device, REVERSE.replace("__syncthreads();", ""), 128, 128)
    first = caught.value.findings[0]
    assert first.kind.is_race
    assert first.then is not None
    assert {first.actor.line.number, first.then.line.number} == {8, 11}
    assert "line 8 `s[t] = b[i];`" in str(caught.value)


def test_an_array_ends_where_it_ends(device: EmulatedProvider) -> None:
    with pytest.raises(DeviceFault, match="PO0521") as caught:
        turned(device, REVERSE, 128, 124)
    assert caught.value.findings[0].kind is FindingKind.OUTSIDE
    assert caught.value.findings[0].actor.line.number == 8
    assert "of `b`" in caught.value.findings[0].place


def test_a_tile_that_is_not_whole_is_found(device: EmulatedProvider) -> None:
    with pytest.raises(DeviceFault) as caught:
        turned(device, REVERSE, 100, 128)
    assert caught.value.findings[0].kind is FindingKind.UNSET_SHARED
    assert "shared `s`" in caught.value.findings[0].place


def test_gcc_is_needed() -> None:
    with pytest.raises(PolyoptError, match="PO0520"):
        find_gcc(Store(None), "no-such-compiler")


@pytest.mark.parametrize(
    "name, kind", [("endless", FindingKind.ENDLESS), ("too_deep", FindingKind.CRASH)]
)
def test_without_checks_the_process_survives(name: str, kind: FindingKind) -> None:
    device = EmulatedProvider(Rules(checks=False, seconds=0.1))
    planted = next(fault for fault in HELPER.faults if fault.name == name)
    module = device.compile(HELPERS + HELPER.text("k", planted), ["k"])
    buffer = device.alloc(4096)
    with pytest.raises(DeviceFault) as caught:
        device.launch(module, "k", (1, 1, 1), (64, 1, 1), [buffer] * 3 + [np.int64(128)])
    assert caught.value.findings[0].kind is kind
