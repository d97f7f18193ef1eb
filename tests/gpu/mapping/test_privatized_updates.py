"""Updates that a block gathers in shared memory: when, that they are right, what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import polyopt as po
from polyopt.emit.cuda import emit_cuda
from polyopt.emit.gpu import device_loops
from polyopt.emit.lower import lower
from polyopt.emit.opencl import emit_opencl
from polyopt.emulator import DeviceFault
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.expr import BinaryOp, integer
from polyopt.ir.loops import Assign, Gathered, Kernel, LoopFunction, Node
from polyopt.ir.nodes import all_nodes
from polyopt.ir.program import Program
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.proof.certificate import Verdict
from polyopt.proof.certification import certify
from polyopt.proof.kernels import check_kernels
from polyopt.report.launches import launches
from polyopt.runtime.device.resources import resources_of
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from tests.gpu.mapping.changed import Device
from tests.gpu.runtime.needs import needs_nvcc

pytestmark = pytest.mark.usefixtures("changed_device")

Array = npt.NDArray[Any]
WORDS = (DType.INT64, DType.INT32)


def histogram(idx: Array, h: Array) -> None:
    for i in range(idx.shape[0]):
        h[idx[i]] += 1


def masks(idx: Array, h: Array) -> None:
    for i in range(idx.shape[0]):
        h[idx[i]] &= i | 4080


def both(idx: Array, h: Array) -> None:
    for i in range(idx.shape[0]):
        h[idx[i]] += 1
    for i in range(idx.shape[0]):
        h[idx[i]] |= 4


def table(idx: Array, h: Array) -> None:
    for i in range(idx.shape[0]):
        h[idx[i], 0] += 1


def program_of(function: Callable[..., object], *dtypes: DType, ranks: tuple[int, ...]) -> Program:
    types = zip(dtypes, ranks, strict=True)
    return build(function, tuple(ArrayType(d, r, Layout.C, (False,) * r) for d, r in types))


def loops_of(function: Callable[..., object], *dtypes: DType, ranks: tuple[int, ...] = (1, 1)):
    program = program_of(function, *dtypes, ranks=ranks)
    schedule = auto_schedule_gpu(program.scop, GpuModel())
    return device_loops(lower((schedule,), program))


def gathered(fn: LoopFunction) -> list[Gathered]:
    return [by for n in all_nodes(fn.body) if isinstance(n, Kernel) for by in n.gathered]


def test_each_kernel_privatizes_its_own_operation():
    fn = loops_of(both, DType.INT64, DType.INT64)
    assert [(by.op, by.most) for by in gathered(fn)] == [
        (BinaryOp.ADD, 2048),
        (BinaryOp.OR, 2048),
    ]
    assert certify(program_of(both, DType.INT64, DType.INT64, ranks=(1, 1)), fn).is_proven


def test_privatization_is_reported():
    fn = loops_of(histogram, *WORDS)
    (told, _) = launches(fn, ())
    text = "\n".join(told.lines())
    assert "gathers updates of h in shared memory" in text
    assert "no barriers" not in text


def test_tables_are_updated_in_place():
    fn = loops_of(table, *WORDS, ranks=(1, 2))
    assert any(isinstance(n, Assign) and n.is_atomic for n in all_nodes(fn.body))
    assert gathered(fn) == []


def test_opencl_does_not_privatize():
    fn = loops_of(histogram, *WORDS)
    assert len(gathered(fn)) == 1
    assert "h_own" not in emit_opencl(fn).text


@pytest.mark.machine
@needs_nvcc
def test_nvcc_takes_atomic_updates_for_every_architecture():
    for function in (histogram, masks):
        for dtype in (DType.INT32, DType.INT64, DType.UINT32, DType.UINT64):
            if function is masks and dtype is not DType.INT64:
                continue
            source = emit_cuda(loops_of(function, DType.INT64, dtype))
            assert source.text.count("atomic") >= 3
            resources_of(source.text, tuple(e.name for e in source.entries), source.flags)


# -- faults


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"op": BinaryOp.MAX}, "by `\\+`, too"),
        ({"op": BinaryOp.SUB}, "can be seen"),
        ({"extent": integer(3)}, "other elements"),
        ({"array": "idx"}, "other elements"),
        ({"most": 0}, "other elements"),
    ],
)
def test_the_certificate_refuses(change: dict[str, Any], words: str):
    program = program_of(histogram, *WORDS, ranks=(1, 1))
    fn = loops_of(histogram, *WORDS)
    assert certify(program, fn).is_proven
    (by,) = gathered(fn)
    check_refused(program, fn, (replace(by, **change),), words)


def test_the_certificate_refuses_arrays_read_or_privatized_twice():
    program = program_of(histogram, *WORDS, ranks=(1, 1))
    fn = loops_of(histogram, *WORDS)
    (by,) = gathered(fn)
    check_refused(program, fn, (by, by), "twice")
    (idx,) = (array for array in fn.arrays if array.name == "idx")
    read = Gathered("idx", BinaryOp.ADD, idx.shape[0], 16)
    check_refused(program, fn, (read,), "no update")


def check_refused(
    program: Program, fn: LoopFunction, gathers: tuple[Gathered, ...], words: str
) -> None:
    """Check that kernels that gather otherwise are no proven ones, and why."""

    def change(node: Node) -> Node:
        return replace(node, gathered=gathers) if isinstance(node, Kernel) else node

    changed = replace(fn, body=tuple(change(node) for node in fn.body))
    assert changed != fn
    claim = check_kernels(changed)
    assert claim.verdict is Verdict.REFUTED
    assert re.search(words, claim.reason)
    assert not certify(program, changed).is_proven


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("__syncthreads();  /* h_own_: set", "/* set"),
        ("__syncthreads();  /* h_own_: updated", "/* updated"),
        ("h_own_[place_] = 0", "(void)0"),
        ("atomicAdd(&h_own_[idx_[i] < 0 ? idx_[i] + h_0_ : idx_[i]], 1)", "h_own_[0]++"),
    ],
)
def test_the_emulator_sees_faults(old: str, new: str):
    kernel = po.kernel(target="cuda", device="emulated")(histogram)
    Device.change = (old, new)
    with pytest.raises(DeviceFault):
        kernel(np.zeros(700, np.int64), np.zeros(500, np.int32))


# -- results


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_histograms_of_every_size(dtype: type):
    most = 16 * 1024 // np.dtype(dtype).itemsize
    kernel = po.kernel(target="cuda", device="emulated")(histogram)
    for size, bins in ((0, 1), (1, 1), (5000, 7), (4097, 300), (900, most), (900, most + 1)):
        idx = np.random.default_rng(size).integers(-bins, bins, size)
        ours = np.arange(bins).astype(dtype)
        theirs = ours.copy()
        kernel(idx, ours)
        np.add.at(theirs, idx, 1)
        assert np.array_equal(ours, theirs)


@pytest.mark.toolchain
def test_masks_keep_initial_values():
    kernel = po.kernel(target="cuda", device="emulated")(masks)
    idx = np.random.default_rng(0).integers(0, 9, 5000)
    ours = np.array([-5, 9000, 0, 1, 2, 3, 4, 5, 6])
    theirs = ours.copy()
    kernel(idx, ours)
    np.bitwise_and.at(theirs, idx, np.arange(5000) | 4080)
    assert np.array_equal(ours, theirs)
    assert "h_own" in kernel.compile(idx, ours).source
