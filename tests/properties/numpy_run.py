"""Run a random NumPy-style program as Python and through polyopt, and compare.

In: a case.  Out: a `Verdict`: equal, refused with a code, or wrong with the reason.
Where Python raises, polyopt must raise a coded error or be defined; it may not crash.
"""

from __future__ import annotations

import enum
import importlib.util
import itertools
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import polyopt as po
from polyopt.errors import ArgumentError, InternalError, PolyoptError
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArgType
from polyopt.ir.interp import run_program
from polyopt.ir.program import Program
from polyopt.ir.source import Signature
from polyopt.specialize import Parameters, types_of
from tests.properties.numpy_case import SIZES, KeptCase, NumpyCase, arguments

Call = Callable[..., Any]


class Outcome(enum.Enum):
    """What became of a program."""

    EQUAL = "equal"
    UNSTABLE = "equal up to the program's own sensitivity"
    REFUSED = "refused"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome; `code` of a refusal, `detail` of it or of the difference."""

    outcome: Outcome
    code: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Raised:
    """Python raised this instead of a result."""

    error: Exception


class Differs(Exception):
    """Results differ; `by_value` when only floating-point values do."""

    def __init__(self, text: str, *, by_value: bool = False) -> None:
        super().__init__(text)
        self.by_value = by_value


def load(case: NumpyCase | KeptCase, directory: Path) -> Call:
    """Return the case's function, from a module written to `directory`."""
    name = f"numpy_case{next(_NUMBERS)}"
    path = directory / f"{name}.py"
    path.write_text(case.text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f  # type: ignore[no-any-return]


_NUMBERS = itertools.count()


def copied(args: list[Any]) -> list[Any]:
    """Return the arguments with arrays copied; strides are kept."""
    return [_copy(a) if isinstance(a, np.ndarray) else a for a in args]


def _copy(array: Any) -> Any:
    if array.ndim == 0 or array.size == 0:
        return array.copy()
    if any(stride < 0 for stride in array.strides):
        return _copy(array[::-1])[::-1]
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        wide = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
        view = wide[tuple(slice(None, None, 2) for _ in array.shape)]
        view[...] = array
        return view
    return array.copy(order="K")


def effects(func: Call, args: list[Any]) -> list[Any] | Raised:
    """Call `func` and return what it returned and the arrays it was given."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            returned = func(*args)
    except PolyoptError:
        raise
    except Exception as error:
        return Raised(error)
    returned = returned if isinstance(returned, tuple) else (returned,)
    return [*returned, *(a for a in args if isinstance(a, np.ndarray))]


def compare(want: list[Any], got: list[Any], case: NumpyCase | KeptCase) -> None:
    """Raise `Differs` unless two calls had the same results."""
    if len(want) != len(got):
        raise Differs(f"{len(want)} results and {len(got)}")
    for number, (one, two) in enumerate(zip(want, got, strict=True)):
        if one is None or two is None:
            if one is not two:
                raise Differs(f"result {number}: {one!r} and {two!r}")
            continue
        first, second = np.asarray(one), np.asarray(two)
        if first.shape != second.shape:
            raise Differs(f"result {number}: shape {first.shape}, not {second.shape}")
        python_number = isinstance(one, bool | int | float | complex) and not isinstance(
            one, np.generic
        )
        if first.dtype != second.dtype and not (
            python_number or (first.ndim == 0 and _chosen_while_running(case, first, second))
        ):
            raise Differs(f"result {number}: {first.dtype}, not {second.dtype}")
        _compare_values(number, first, second, case)


def _chosen_while_running(case: NumpyCase | KeptCase, first: Any, second: Any) -> bool:
    """Whether the type of a number may depend on the path taken: ours is then the wider one."""
    paths = any(word in case.text for word in (" max(", " min(", "for ", " if ", "(max(", "(min("))
    return paths and bool(np.result_type(first.dtype, second.dtype) == second.dtype)


def _compare_values(number: int, first: Any, second: Any, case: NumpyCase | KeptCase) -> None:
    floating = first.dtype.kind in "fc"
    if not floating or case.exact:
        same = np.array_equal(first, second, equal_nan=floating)
        if same and floating and case.signed:
            zero = (first.real == 0) & (first.dtype.kind == "f")
            same = bool(np.all(~zero | (np.signbit(first.real) == np.signbit(second.real))))
    else:
        eps = 1e-4 if _is_single(case, first) else 1e-10
        finite = np.abs(first[np.isfinite(first)])
        scale = float(finite.max()) if finite.size else 1.0
        same = np.allclose(first, second, rtol=eps, atol=eps * max(scale, 1.0), equal_nan=True)
    if not same:
        where = np.argwhere(np.atleast_1d(first != second))[:3].tolist()
        text = f"result {number} differs at {where}: {first.ravel()[:8]} and {second.ravel()[:8]}"
        raise Differs(text, by_value=not case.exact)


def _is_single(case: NumpyCase | KeptCase, result: Any) -> bool:
    """Whether values of single precision may be part of the result."""
    single = ("float32", "complex64")
    return (
        result.dtype.name in single
        or any(spec.dtype in single for spec in case.arrays)
        or any(name in case.text for name in single)
    )


def check(case: NumpyCase | KeptCase, directory: Path, seed: int, *, compiled: bool) -> Verdict:
    """Compare polyopt with Python at several sizes, interpreted and, if asked, compiled."""
    func = load(case, directory)
    calls: list[Call] = [Interpreted(func)]
    if compiled:
        calls.append(po.kernel(func))
    verdict = Verdict(Outcome.EQUAL)
    for call in calls:
        for number, sizes in enumerate(SIZES):
            args = arguments(case, sizes, seed + number, layouts=seed % 2 == 1 and number == 0)
            found = _check_call(func, call, args, case)
            if found.outcome in (Outcome.WRONG, Outcome.REFUSED):
                how = "compiled" if call is not calls[0] else "interpreted"
                return Verdict(found.outcome, found.code, f"{how}, {sizes}: {found.detail}")
            if found.outcome is Outcome.UNSTABLE:
                verdict = found
    return verdict


def _check_call(func: Call, call: Call, args: list[Any], case: NumpyCase | KeptCase) -> Verdict:
    want = effects(func, copied(args))
    mine = copied(args)
    try:
        got = effects(call, mine)
    except InternalError as error:
        return Verdict(Outcome.WRONG, error.code, f"internal error: {error}")
    except PolyoptError as error:
        if isinstance(want, Raised):
            return Verdict(Outcome.EQUAL)
        if isinstance(error, ArgumentError) and any(map(_changed, args, mine)):
            return Verdict(Outcome.WRONG, error.code, f"arrays changed by a refused call: {error}")
        return Verdict(Outcome.REFUSED, error.code, str(error))
    if isinstance(got, Raised):
        if isinstance(want, Raised):
            return Verdict(Outcome.EQUAL)
        detail = "".join(traceback.format_exception(got.error)[-3:])
        return Verdict(Outcome.WRONG, f"raised {type(got.error).__name__}", detail)
    if isinstance(want, Raised):
        return Verdict(Outcome.EQUAL, "defined", str(want.error))
    try:
        compare(want, got, case)
    except Differs as difference:
        if difference.by_value and _sensitive(func, args, want, got, case):
            return Verdict(Outcome.UNSTABLE)
        return Verdict(Outcome.WRONG, "differs", str(difference))
    return Verdict(Outcome.EQUAL)


def _changed(one: Any, two: Any) -> bool:
    return isinstance(one, np.ndarray) and one.tobytes() != two.tobytes()


def _sensitive(
    func: Call, args: list[Any], want: list[Any], got: list[Any], case: NumpyCase | KeptCase
) -> bool:
    """Whether NumPy's own results move as far when the inputs move by a few roundings."""
    rng = np.random.default_rng(7)
    for _ in range(12):
        moved = [_nudged(a, rng) for a in copied(args)]
        other = effects(func, moved)
        if isinstance(other, Raised):
            return True
        try:
            compare(got[: len(got)], other[: len(got)], case)
        except Differs:
            try:
                compare(want, other, case)
            except Differs:
                return True
            continue
        return True
    return False


def _nudged(value: Any, rng: np.random.Generator) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
        return value
    eps = np.finfo(value.dtype).eps
    value[...] = value * (1 + eps * rng.integers(-4, 5, value.shape)).astype(value.dtype)
    return value


class Interpreted:
    """A function run by the interpreter of its Scop; read once for each set of types."""

    def __init__(self, func: Call) -> None:
        self.kernel = po.kernel(func)
        self.programs: dict[Any, Program] = {}

    def __call__(self, *args: Any) -> Any:
        """Run the program on the arguments."""
        parameters = Parameters.of(self.kernel.py_func)
        args = parameters.bind(args, {})
        types = types_of(parameters, args, self.kernel._constants)
        types = self.kernel._settle_types(types, args, self._signature)
        return run_program(self.programs[types], args)

    def _signature(self, types: tuple[ArgType, ...]) -> Signature:
        if types not in self.programs:
            self.programs[types] = build(self.kernel.py_func, types)
        return self.programs[types].signature
