"""The process that runs checked kernels: a crash or an endless loop ends nothing else.

In: directories of jobs, one a line on stdin.  Out: `result.json` and arrays in each directory.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import PolyoptError
from polyopt.ir.arranging import flat
from polyopt.ir.source import ArrayArg, CParamKind, Source
from polyopt.racecheck.packing import pack, save_memory, unpack
from polyopt.runtime.check import Bound
from polyopt.runtime.foreign import ForeignKernel
from polyopt.runtime.records import from_json
from polyopt.runtime.values import AnyArray

_ACCESS = ("iteration", "place", "call", "writes")
_REPORT = (
    *(f"earlier_{name}" for name in _ACCESS),
    *(f"later_{name}" for name in _ACCESS),
    "loop", "address", "size", "times", "block", "block_size", "block_place", "block_call",
)  # fmt: skip
_THREADS = 2  # of kernels that are not watched
_TOTALS = ("regions", "iterations", "longest")


def main() -> None:
    """Do the jobs named on stdin; say `done` on stdout after each."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what a library function prints is no answer
    for line in sys.stdin:
        directory = Path(line.removesuffix("\n"))
        result = run(json.loads((directory / "job.json").read_text()), directory)
        (directory / "result.json").write_text(json.dumps(result))
        print("done", file=answers, flush=True)


def run(job: Any, directory: Path) -> object:  # noqa: ANN401
    """Run one job; return what came of it as JSON."""
    source = from_json(job["source"])
    assert isinstance(source, Source)
    rules, library = job["rules"], Path(job["library"])
    values, memory = unpack(job["arguments"], directory, exactly=rules is None)
    kernel = (
        ForeignKernel(library, source, (), _THREADS)
        if rules is None
        else _Watched(library, source, rules)
    )
    error: PolyoptError | None = None
    returned: object = None
    try:
        returned = kernel.call(*values)
    except PolyoptError as raised:
        error = raised
    assert returned is not NotImplemented, "the arguments were checked before"
    save_memory(memory, directory)
    (directory / "returned").mkdir()
    parts = () if error is not None else flat(source.signature.nesting, returned)
    return {
        "error": None if error is None else [error.code, error.message],
        "conflicts": kernel.conflicts() if isinstance(kernel, _Watched) else [],
        "totals": kernel.totals() if isinstance(kernel, _Watched) else {},
        "returned": pack(parts, directory / "returned"),
    }


@dataclass(frozen=True, slots=True)
class _Area:
    """An array that the kernel got: where element 0 is, and how far its elements lie apart."""

    name: str
    address: int
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def index(self, address: int) -> tuple[int, ...] | None:
        """Return the subscripts of the element that holds the byte at `address`."""
        low = self.address
        for extent, stride in zip(self.shape, self.strides, strict=True):
            low += min(0, (extent - 1) * stride)
        rest = address - low
        found = [0] * len(self.shape)
        for dim in sorted(range(len(self.shape)), key=lambda d: -abs(self.strides[d])):
            stride = self.strides[dim]
            if stride == 0 or self.shape[dim] == 0:
                continue
            steps = min(max(rest, 0) // abs(stride), self.shape[dim] - 1)
            rest -= steps * abs(stride)
            found[dim] = steps if stride > 0 else self.shape[dim] - 1 - steps
        return tuple(found) if 0 <= rest < self.itemsize else None


class _Watched(ForeignKernel):
    """A library linked with the run time that watches its accesses."""

    def __init__(self, path: Path, source: Source, rules: Mapping[str, int]) -> None:
        super().__init__(path, source, (), 1)
        self._library = ctypes.CDLL(str(path))
        settings = (ctypes.c_uint32 * 2).in_dll(self._library, "po_settings")
        settings[0] = rules["obeys_if"]
        settings[1] = rules["team"]
        self._library.po_race_count.restype = ctypes.c_uint64
        self._areas: tuple[_Area, ...] = ()
        self._shapes: Mapping[str, tuple[int, ...]] = {}

    def totals(self) -> dict[str, int]:
        """Return how much ran in parallel."""
        found = (ctypes.c_uint64 * len(_TOTALS)).in_dll(self._library, "po_totals")
        return dict(zip(_TOTALS, found, strict=True))

    def conflicts(self) -> list[dict[str, Any]]:
        """Return the conflicts that the run time found."""
        found: list[dict[str, Any]] = []
        for number in range(self._library.po_race_count()):
            words = (ctypes.c_uint64 * len(_REPORT))()
            self._library.po_race_get(ctypes.c_uint64(number), words)
            report: dict[str, Any] = dict(zip(_REPORT, words, strict=True))
            report["cell"] = self._cell(report["address"])
            found.append(report)
        return found

    def _cell(self, address: int) -> list[Any] | None:
        for area in self._areas:
            index = area.index(address)
            if index is not None:
                return [area.name, list(index)]
        return None

    def _run(self, bound: Bound, values: tuple[object, ...], key: object) -> object:
        shapes = {name: array.shape for name, array in bound.arrays.items()}
        self._shapes = {**bound.shapes, **shapes}
        return super()._run(bound, values, key)

    def _call_entry(self, passed: list[object]) -> int:
        self._areas = tuple(self._passed_areas(passed))
        return super()._call_entry(passed)

    def _passed_areas(self, passed: list[object]) -> list[_Area]:
        source = self._source
        owners = {a.array: a.name for a in source.signature.arguments if isinstance(a, ArrayArg)}
        steps: dict[tuple[str, int], int] = {}
        for param, value in zip(source.params, passed, strict=True):
            if param.kind is CParamKind.STRIDE:
                assert isinstance(value, int)
                steps[param.name, param.dim] = value
        areas: list[_Area] = []
        for param, value in zip(source.params, passed, strict=True):
            if param.kind is not CParamKind.ARRAY or param.name not in self._shapes:
                continue
            assert isinstance(value, int)
            shape = self._shapes[param.name]
            plain: AnyArray = np.empty((0,), param.dtype.numpy)
            size = plain.itemsize
            strides: list[int] = []
            step = 1
            for dim in reversed(range(len(shape))):
                strides.insert(0, size * steps.get((param.name, dim), step))
                step *= max(shape[dim], 1)
            name = owners.get(param.name, param.name)
            areas.append(_Area(name, value, size, shape, tuple(strides)))
        return areas
