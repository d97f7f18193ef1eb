"""A user's function for `polyopt bench`: argument values for every size, operations, results.

In: `FILE.py:FUNC`, types, sizes or stored values, a sweep.  Out: a folder that the harness reads.
Refuses: what `run` refuses, and arguments that other compilers cannot be given (PO0600).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyopt.cli.inputs import random_values, stored_values
from polyopt.cli.prepare import Prepared, compile_prepared, make_options, parse_sizes, prepare
from polyopt.dataclass import dataclass, replace
from polyopt.errors import UsageError
from polyopt.explaining import subject_of
from polyopt.ir.integers import evaluate
from polyopt.ir.source import ArrayArg, SizeOf
from polyopt.sizing import choose_sizes

if TYPE_CHECKING:
    from polyopt.report.summary import Subject
    from polyopt.targets import Options

_SMALL = (40, 20, 12, 7, 4)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says of a function; `sweep` is a `bench.sweeps.Sweep` or None."""

    target: str
    types: str | None
    sizes: str | None
    npz: str | None
    seed: int
    sweep: Any
    fp: str | None
    threads: int | None
    c_form: str | None


def write_function(wanted: Wanted, folder: Path, seconds: float | None = None) -> Options:
    """Write the function to a folder; return the options that it is compiled with.

    `seconds` bounds how long it is compiled for, as the options do.
    Operations are counted in the order of the source, which computes nothing twice.
    """
    given = parse_sizes(wanted.sizes)
    prepared = prepare(wanted.target, wanted.types, given)
    options = make_options(prepared.target.kernel, fp=wanted.fp, threads=wanted.threads)
    budget = min((one for one in (seconds, options.budget) if one is not None), default=None)
    source = replace(options, schedule="source", budget=budget)
    chosen = _Chosen(prepared, source, given, wanted.seed)
    points = chosen.stored(Path(wanted.npz)) if wanted.npz else chosen.random(wanted.sweep)
    for name, value in points[0].values.items():
        _refuse_unshared(name, value)
    target = prepared.target
    c_form = None if wanted.c_form is None else Path(wanted.c_form)
    named = (target.path, target.name)
    _harness().write(folder, named, _outputs(prepared), points, c_form)
    return options


class _Chosen:
    """Argument values of a function for chosen sizes, as points of the harness."""

    def __init__(
        self, prepared: Prepared, options: Options, given: Mapping[str, int], seed: int
    ) -> None:
        self._prepared, self._options, self._given, self._seed = prepared, options, given, seed
        self._compilation = compile_prepared(prepared, options)
        self._signature = prepared.program.signature
        self._names = [argument.name for argument in self._signature.arguments]

    def stored(self, path: Path) -> list[Any]:
        """Return the values of a file; Python computes what is expected with them."""
        values = stored_values(self._prepared.target.func, path)
        sizes = {}
        for size in self._signature.sizes:
            value = values[size.argument]
            sizes[size.param] = value.shape[size.dim] if isinstance(size, SizeOf) else int(value)
        return [self._point("given", self._subject(sizes), values)]

    def random(self, sweep: Any) -> list[Any]:  # noqa: ANN401
        """Return random values for every size, the ones to check at first."""
        if sweep is None:
            subjects = {"given": self._subject(self._given)}
        else:
            subjects = {
                sweep.label(value): self._subject({**self._given, **sweep.at(value)})
                for value in sweep.values
            }
        found = [self._made(label, subject) for label, subject in subjects.items()]
        if found[0].flops <= _harness().PYTHONS:
            return found
        names = (*self._given, *(() if sweep is None else sweep.names))
        return [*self._small(names, next(iter(subjects.values()))), *found]

    def _small(self, names: Iterable[str], subject: Subject) -> list[Any]:
        """Return values that Python itself is done with soon, none where no sizes fit."""
        function = self._prepared.target.func
        for most in _SMALL:
            given = {name: min(subject.sizes.get(name, most), most) for name in names}
            try:
                sizes = choose_sizes(self._signature, function, given, most)
                point = self._made(_harness().CHECK, replace(subject, sizes=sizes))
            except UsageError:
                continue
            if point.flops <= _harness().PYTHONS:
                return [point]
        return []

    def _subject(self, given: Mapping[str, int]) -> Subject:
        return subject_of(self._prepared.target.func, self._compilation, self._options, given)

    def _made(self, label: str, subject: Subject) -> Any:  # noqa: ANN401
        return self._point(
            label, subject, random_values(self._signature, subject.sizes, self._seed)
        )

    def _point(self, label: str, subject: Subject, values: tuple[Any, ...]) -> Any:  # noqa: ANN401
        named = dict(zip(self._names, values, strict=True))
        sizes = {size.param: subject.sizes[size.param] for size in self._signature.sizes}
        returned = _returned(self._prepared, subject.sizes)
        return _harness().Point(label, sizes, operations(subject), named, returned)


def _harness() -> Any:  # noqa: ANN401
    """Return the module of the harness that reads what is written here."""
    return import_module("bench.function")


def operations(subject: Subject) -> int:
    """Return an estimate of the arithmetic operations of a call."""
    total = 0.0
    for nest in subject.nests:
        runs = nest.seconds / nest.prediction.seconds if nest.prediction.seconds > 0 else 1.0
        total += float(nest.prediction.operations.value) * runs
    return round(total)


def _outputs(prepared: Prepared) -> list[str]:
    """Return what a call gives: written arguments and returned values, in the harness's names."""
    signature = prepared.program.signature
    found = [a.name for a in signature.arguments if isinstance(a, ArrayArg) and a.written]
    count = len(signature.results)
    return found + (["return"] if count == 1 else [f"return[{k}]" for k in range(count)])


def _returned(prepared: Prepared, sizes: Mapping[str, int]) -> list[tuple[list[int], str]] | None:
    """Return shape and type of each returned value, None where the call decides a shape."""
    program = prepared.program
    arguments = {a.name: a for a in program.signature.arguments if isinstance(a, ArrayArg)}
    found = []
    for result in program.signature.results:
        array = arguments.get(result.array) or program.array(result.array)
        try:
            shape = [evaluate(extent, sizes) for extent in array.shape]
        except (KeyError, TypeError):
            return None
        found.append((shape, array.dtype.numpy.str))
    return found


def _refuse_unshared(name: str, value: object) -> None:
    """Refuse values that not every compiler and library can be given."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in tuple("biufc") and getattr(value, "ndim", 0) > 0:
        return
    if value is None or isinstance(value, bool | int | float | str):
        return
    raise UsageError(
        "PO0600",
        f"`{name}` is of type {type(value).__name__}: peers are given arrays and numbers alone",
        hint="compare a function of arrays of NumPy's own types, integers and floats",
    )
