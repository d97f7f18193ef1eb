"""The emulated device: results, faults with their lines, and what it refuses."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

from polyopt.emulator import DeviceFault, EmulatedProvider, FindingKind, Order, Rules
from polyopt.emulator.build import Built, find_gcc
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


def launch(device: EmulatedProvider, text: str, *args: object, shared: int = 0, threads: int = 1):
    """Run the kernel `k` of `text`."""
    module = device.compile(text, ["k"])
    device.launch(module, "k", (1, 1, 1), (threads, 1, 1), args, shared)


ANY = EmulatedProvider
COPY = 'extern "C" __global__ void k(float *a, const float *b) { a[0] = b[threadIdx.x]; }\n'


def test_text_that_does_not_compile() -> None:
    with pytest.raises(PolyoptError, match="PO0515") as caught:
        ANY().compile(f"\n{COPY.replace(';', '')}", ["k"])
    assert caught.value.notes[0].startswith("line 2: ")


@pytest.mark.parametrize(
    "args, reason",
    [
        ((), "takes 2 arguments, got 0"),
        ((1, np.float32(2)), "takes 8 bytes for `b`, got a float32"),
        ((1, np.int64(2)), "takes 8 bytes for `b`, got a int64"),
    ],
)
def test_arguments_that_do_not_fit(args: tuple[object, ...], reason: str) -> None:
    device = ANY()
    given = [device.alloc(4) if value == 1 else value for value in args]
    with pytest.raises(PolyoptError, match="PO0918") as caught:
        launch(device, COPY, *given)
    assert reason in caught.value.message


def test_numbers_are_of_the_kind_that_is_taken() -> None:
    device = ANY()
    text = 'extern "C" __global__ void k(long long n, float x, bool y) {}\n'
    launch(device, text, np.int64(1), np.float32(2), np.bool_(True))
    with pytest.raises(PolyoptError, match="PO0918"):
        launch(device, text, np.float64(1), np.float32(2), np.bool_(True))
    with pytest.raises(PolyoptError, match="PO0918"):
        launch(device, text, np.int32(1), np.float32(2), np.bool_(True))


def test_limits_are_a_devices() -> None:
    device = ANY()
    text = 'extern "C" __global__ void k() { __shared__ double s[6000]; s[0] = 0.0; }\n'
    launch(device, text, shared=163 * 1024 - 48000)
    with pytest.raises(PolyoptError, match="PO0517"):
        launch(device, text, shared=163 * 1024 - 47999)
    with pytest.raises(PolyoptError, match="PO0516"):
        launch(device, text, threads=1025)


def test_libraries_that_do_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    device = ANY()
    built = Built(b"no library", ())
    monkeypatch.setattr("polyopt.emulator.provider.build", lambda *_, **__: built)
    with pytest.raises(PolyoptError, match="PO0503"):
        device.compile(COPY, ["k"])


def test_grids_end_somewhere() -> None:
    device = ANY(Rules(seconds=0.2))
    text = 'extern "C" __global__ void k() {}\n'
    module = device.compile(text, ["k"])
    with pytest.raises(PolyoptError, match="PO0518"):
        device.launch(module, "k", (1, 65536, 1), (1, 1, 1), [])
    with pytest.raises(PolyoptError, match="PO0707"):
        device.launch(module, "k", (65536, 65535, 1), (1, 1, 1), [])
    device.launch(module, "k", (0, 1, 1), (1, 1, 1), [])


def test_memory_that_nobody_has_set() -> None:
    text = COPY.replace("a[0]", "a[threadIdx.x]")
    for unset, known in ((False, 1), (True, 2)):
        device = ANY(Rules(unset=unset))
        a, b = device.alloc(8), device.alloc(8)
        device.upload(b, np.ones(known, np.float32))
        launch(device, text, a, b, threads=2)
    device = ANY(Rules(unset=True))
    a, b = device.alloc(8), device.alloc(8)
    device.upload(b, np.ones(1, np.float32))
    with pytest.raises(DeviceFault) as caught:
        launch(device, text, a, b, threads=2)
    assert caught.value.findings[0].kind is FindingKind.UNSET_GLOBAL
    assert caught.value.findings[0].place == "byte 4 of `b`"


def test_what_was_written_before_is_known() -> None:
    device = ANY(Rules(unset=True))
    a, b = device.alloc(4), device.alloc(4)
    device.upload(b, np.ones(1, np.float32))
    launch(device, COPY, a, b)
    launch(device, COPY, b, a)  # another library: what the first one wrote


def test_only_what_is_passed_can_be_touched() -> None:
    device = ANY()
    text = COPY.replace("a[0] =", "((float *)n)[0] =").replace("float *a", "long long n")
    a, b = device.alloc(4), device.alloc(4)
    module = device.compile(text + COPY.replace(" k(", " other("), ["k", "other"])
    device.upload(b, np.ones(1, np.float32))
    device.launch(module, "other", (1, 1, 1), (1, 1, 1), [a, b])
    address = np.int64(a.handle.place.address)
    with pytest.raises(DeviceFault) as caught:
        device.launch(module, "k", (1, 1, 1), (1, 1, 1), [address, b])
    assert caught.value.findings[0].kind is FindingKind.OUTSIDE


def test_threads_of_the_host_take_turns() -> None:
    def work(number: int) -> bool:
        device = ANY(Rules(seed=number))
        return bool((turned(device, REVERSE, 6400, 6400)[:64] == np.arange(63, -1, -1)).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


def test_libraries_are_given_back() -> None:
    device = ANY()
    module = device.compile(REVERSE, ["turn"])
    library = weakref.ref(module.keep)
    del module
    gc.collect()
    assert library() is None
    turned(device, REVERSE, 64, 64)


ACQUIRED = """\
extern "C" __global__ void k(float *a, volatile int *c)
{
    const int t = (int)threadIdx.x;
    if (t == 0) {
        a[blockIdx.x] = 1.0f;
        __threadfence();
        atomicAdd((int *)c, 1);
    }
    WAIT
    if (t == 1 && c[0] == 2)
        a[2] = a[0] + a[1];
}
"""


@pytest.mark.parametrize("wait", ["", "__syncthreads();"])
def test_what_one_thread_has_seen_the_others_know_after_a_barrier(wait: str) -> None:
    device = ANY(Rules(order=Order.FORWARD))
    module = device.compile(ACQUIRED.replace("WAIT", wait), ["k"])
    a, c = device.alloc(12), device.alloc(4)
    device.fill(c, 0)
    with nullcontext() if wait else pytest.raises(DeviceFault) as caught:
        device.launch(module, "k", (2, 1, 1), (2, 1, 1), [a, c])
    found = np.zeros(3, np.float32)
    device.download(a, found)
    assert found.tolist() == [1, 1, 2]
    if caught is not None:
        assert [f.place for f in caught.value.findings] == ["byte 0 of `a`", "byte 4 of `a`"]
