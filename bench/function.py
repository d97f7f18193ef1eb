"""A function of the user's as a workload: its file, its name, argument values for each size.

In: a folder with `function.json`, as `Function.write` makes it, and an .npz file for each size.
Out: `Function`.  Peers in Python get the text of the function, without decorators; Python itself
and polyopt import its file.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.folder import digest
from workloads import Workload

FORM = "python"  # the only form that a function has
CHAIN = 16  # roundings for each step of a loop along every size: generous, defects are far larger
CHECK = "MINI"  # the size at which Python computes what is expected
_NOTE = "function.json"
PYTHONS = 1e7
"""Operations that Python itself is given for a check: a few seconds in explicit loops."""


@dataclass(frozen=True, slots=True)
class Point:
    """Sizes and the argument values for them; `flops`: an estimate of the operations.

    `returned`: shape and type of each returned value, None where the call alone decides it.
    """

    label: str
    sizes: Mapping[str, int]
    flops: int
    values: Mapping[str, Any]
    returned: Sequence[tuple[Sequence[int], str]] | None = ()


@dataclass(frozen=True, slots=True)
class Named:
    """A function of a file that is not imported yet; called, it is."""

    path: str
    __name__: str

    def __call__(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        """Run the function by Python."""
        return imported(self)(*arguments, **named)


@dataclass(frozen=True, slots=True)
class Function(Workload):
    """A user's function.

    `mark`: a digest of its text and its values.  `c_form`: a file with the same function in C, ""
    where there is none.  `shapes`: of sizes, shapes and types of what is
    returned.
    """

    mark: str
    c_form: str
    shapes: Callable[[Mapping[str, int]], Sequence[tuple[Sequence[int], str]] | None]

    def fresh_results(self, sizes: Mapping[str, int]) -> list[NDArray[Any]] | None:
        """Return arrays for what a call returns; None where the call decides their shapes."""
        found = self.shapes(sizes)
        return None if found is None else [np.full(shape, 0, dtype) for shape, dtype in found]

    def reference(self, arguments: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """Return what Python itself computes."""
        own = copy.deepcopy(dict(arguments))
        with np.errstate(all="ignore"):
            return self.results(own, self.forms[FORM](*own.values()))

    def check_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Return the sizes at which results are compared with Python's: these or smaller ones."""
        if self.flops(sizes) <= PYTHONS:
            return dict(sizes)
        soon = [one for one in self.sizes.values() if self.flops(one) <= PYTHONS]
        if soon:
            return dict(max(soon, key=self.flops))
        return dict(min((sizes, *self.sizes.values()), key=self.flops))


def write(
    folder: Path,
    target: tuple[Path, str],
    outputs: Sequence[str],
    points: Sequence[Point],
    c_form: Path | None = None,
) -> None:
    """Write a function with its values to a folder; the first point is the one to check at.

    Values are arrays and numbers, and constants that JSON has.
    """
    path, name = target
    for number, point in enumerate(points):
        arrays = {n: v for n, v in point.values.items() if isinstance(v, np.ndarray)}
        np.savez(folder / f"{number}.npz", **arrays)
    note = {
        "path": str(path.resolve()),
        "name": name,
        "outputs": list(outputs),
        "c": "" if c_form is None else str(c_form.resolve()),
        "arguments": list(points[0].values),
        "points": [
            {
                "label": point.label,
                "sizes": dict(point.sizes),
                "flops": point.flops,
                "returned": point.returned,
                "numbers": {n: v for n, v in point.values.items() if not isinstance(v, np.ndarray)},
            }
            for point in points
        ],
    }
    (folder / _NOTE).write_text(json.dumps(note), encoding="utf-8")


def read(folder: Path) -> Function:
    """Return the function that a folder describes."""
    text = (folder / _NOTE).read_text(encoding="utf-8")
    note = json.loads(text)
    known = {_key(point["sizes"]): k for k, point in enumerate(note["points"])}
    points = note["points"]

    def build(*, dtype: object, **sizes: int) -> dict[str, Any]:
        del dtype  # values have types of their own
        number = known[_key(sizes)]
        with np.load(folder / f"{number}.npz") as arrays:
            found = {**points[number]["numbers"], **arrays}
        return {name: found[name] for name in note["arguments"]}

    path = Path(note["path"])
    return Function(
        name=f"{path.name}:{note['name']}",
        suite="",
        forms={FORM: Named(str(path), note["name"])},
        sizes={CHECK: points[0]["sizes"], **{p["label"]: p["sizes"] for p in points}},
        outputs=tuple(note["outputs"]),
        dtype=_precision(folder, len(points)),
        build=build,
        randomize=None,
        expect=None,
        count=lambda **sizes: points[known[_key(sizes)]]["flops"],
        counted=False,
        exact=False,
        chain=lambda **sizes: CHAIN * (sum(sizes.values()) + 64),
        approximation=0.0,
        least={},
        steps=None,
        whole_reference=False,
        definite=False,
        c_form=note["c"],
        shapes=lambda sizes: points[known[_key(sizes)]]["returned"],
        mark=digest(text, path.read_bytes(), [_mark(folder, k) for k in range(len(points))]),
    )


def labels(function: Function) -> tuple[str, ...]:
    """Return the names of the sizes to time."""
    return tuple(label for label in function.sizes if label != CHECK)


def _key(sizes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(sizes.items()))


def _mark(folder: Path, number: int) -> bytes:
    """Return the head of a file of values, which has their shapes, types and check sums."""
    with (folder / f"{number}.npz").open("rb") as file:
        file.seek(0, 2)
        file.seek(-min(file.tell(), 4096), 2)
        return file.read()


def _precision(folder: Path, count: int) -> np.dtype[Any]:
    """Return the coarsest floating-point type among the arrays: results are no more exact."""
    with np.load(folder / f"{count - 1}.npz") as arrays:
        types = [arrays[name].dtype for name in arrays.files]
    real = [np.finfo(one).dtype for one in types if one.kind in "fc"]
    return max(real, key=lambda one: float(np.finfo(one).eps), default=np.dtype(np.float64))


def imported(named: Named) -> Callable[..., Any]:
    """Import the file; return its function, and let Python run every kernel of the file."""
    module = _module(Path(named.path))
    for name, value in list(vars(module).items()):
        plain = getattr(value, "py_func", None)
        if plain is not None:
            setattr(module, name, plain)
    found: Callable[..., Any] = getattr(module, named.__name__)
    return found


def kernel_source(named: Named) -> Callable[..., Any]:
    """Import the file; return its function as polyopt takes it, helpers as they are."""
    found = getattr(_module(Path(named.path)), named.__name__)
    plain: Callable[..., Any] = getattr(found, "py_func", found)
    return plain


def _module(path: Path) -> ModuleType:
    """Import a file; one of a package under its full name, so that its relative imports work."""
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        parts.insert(0, folder.name)
        folder = folder.parent
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    if len(parts) > 1:
        return importlib.import_module(".".join(parts))
    name = f"bench_target_{path.stem}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def call_with(
    function: Callable[..., Any],
) -> Callable[[dict[str, int], dict[str, Any]], Callable[[], object]]:
    """Return how a function of the arguments in their order is called."""
    parameters = inspect.signature(function).parameters
    named = {name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}

    def bound(sizes: dict[str, int], arguments: dict[str, Any]) -> Callable[[], object]:
        first = [value for name, value in arguments.items() if name not in named]
        return partial(function, *first, **{name: arguments[name] for name in named})

    return bound
