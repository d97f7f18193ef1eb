"""Every planted fault is found under every order; the kernels without them are right and silent."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.emulator import DeviceFault, EmulatedProvider, Order, Rules
from polyopt.runtime.device.provider import Module
from tests.gpu.emulator.planted import HELPERS, KERNELS, ROOM, THREADS, Fault, Planted

pytestmark = pytest.mark.toolchain

CASES = [(kernel, fault) for kernel in KERNELS for fault in kernel.faults]
TEXTS = {kernel.name: kernel.text(kernel.name) for kernel in KERNELS} | {
    f"{kernel.name}_{fault.name}": kernel.text(f"{kernel.name}_{fault.name}", fault)
    for kernel, fault in CASES
}
TEXT = HELPERS + "".join(TEXTS.values())
ORDERS = [Rules(order=order, seed=3, seconds=0.1) for order in Order]
UNCHECKED = Rules(checks=False, seconds=5)


@pytest.fixture(scope="module")
def devices() -> dict[Rules, tuple[EmulatedProvider, Module]]:
    providers = {rules: EmulatedProvider(rules) for rules in (*ORDERS, UNCHECKED)}
    return {r: (p, p.compile(TEXT, list(TEXTS))) for r, p in providers.items()}


def run(
    device: tuple[EmulatedProvider, Module], kernel: Planted, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return b, a and c after a run."""
    provider, module = device
    b = np.random.default_rng(5).integers(0, 99, ROOM).astype(np.float32)
    a, c = np.zeros(ROOM, np.float32), np.zeros(ROOM, np.int32)
    buffers = [provider.alloc(array.nbytes) for array in (a, b, c)]
    for buffer, array in zip(buffers, (a, b, c), strict=True):
        provider.upload(buffer, array)
    try:
        arguments = [*buffers, np.int64(kernel.n)]
        grid = (kernel.blocks, 1, 1)
        provider.launch(module, name, grid, (THREADS, 1, 1), arguments, kernel.shared)
        provider.download(buffers[0], a)
        provider.download(buffers[2], c)
    finally:
        for buffer in buffers:
            provider.free(buffer)
    return b, a, c


@pytest.mark.parametrize("rules", [*ORDERS, UNCHECKED], ids=str)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_right_kernels_are_silent(devices, kernel: Planted, rules: Rules) -> None:
    b, a, c = run(devices[rules], kernel, kernel.name)
    wanted_a, wanted_c = kernel.expected(b)
    assert np.array_equal(a[: wanted_a.size], wanted_a)
    assert np.array_equal(c[: wanted_c.size], wanted_c)


@pytest.mark.matrix
@pytest.mark.parametrize("rules", ORDERS, ids=lambda rules: rules.order.name)
@pytest.mark.parametrize("kernel, fault", CASES, ids=lambda value: value.name)
def test_planted_faults_are_found(
    devices, kernel: Planted, fault: Fault, rules: Rules
) -> None:  # fmt: skip
    name = f"{kernel.name}_{fault.name}"
    with pytest.raises(DeviceFault) as caught:
        run(devices[rules], kernel, name)
    kinds = {finding.kind for finding in caught.value.findings}
    assert kinds & fault.kinds, str(caught.value)
    own = TEXTS[name].splitlines()
    first = TEXT[: TEXT.index(TEXTS[name])].count("\n")
    for finding in caught.value.findings:
        line = finding.actor.line.number
        inside = first < line <= first + len(own) or 0 <= line <= HELPERS.count("\n")
        assert inside, str(caught.value)
