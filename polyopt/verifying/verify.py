"""Compare a Program with the function it was read from, call by call.

In: the function, its Program, types, how many samples or how many seconds.  Out: `Verification`.
Results must be the same bits of the same type where the numerics contract says exact, and within
the bound of that call elsewhere; where Python raises, the Program has to.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, unique
from typing import Any

import numpy as np

from polyopt.bounding import analysis_of
from polyopt.dataclass import dataclass, field
from polyopt.errors import ArgumentError, BudgetError, KernelFault, Loc, PolyoptError
from polyopt.frontend.syntax.annotations import (
    ArgType,
    ArrayType,
    ConstType,
    PartType,
    ScalarType,
    SizeCondition,
    by_position,
)
from polyopt.ir.arranging import flat
from polyopt.ir.clock import now
from polyopt.ir.interp import run_program, run_scop
from polyopt.ir.program import Program, Repeat, all_parts
from polyopt.ir.run_parts import run_parts
from polyopt.ir.scop import Scop
from polyopt.ir.showing import show
from polyopt.ir.source import ArrayArg
from polyopt.numerics.bounds import Analysis, error_bounds
from polyopt.numerics.compare import compare, plain, same_bits
from polyopt.numerics.flow import open_statements, written_statements
from polyopt.numerics.results import result_arrays
from polyopt.verifying.limits import TooLong, limited
from polyopt.verifying.record import Mismatch, Skip, Verification
from polyopt.verifying.sampling import Scale, Values, laid_out, sample
from polyopt.verifying.shrinking import shrunk
from polyopt.verifying.writers import writer_of

LONGEST = 2.0  # seconds of one call of the function or of the interpreter
SIZES = (3, 2, 4, 1, 5, 0)
TOO_WIDE = "PO0234"
OF_CAST = "invalid value encountered in cast"
OPEN_CAST = (
    "NaN or a number out of range becomes an integer: C leaves the result open, NumPy's depends on "
    "the processor and the place in the array; np.where or np.nan_to_num before astype decide"
)
CLOSE = 2.0**-20  # of the largest number around: what a first look takes for rounding (float32)


@unique
class Outcome(Enum):
    """What became of one sample."""

    SAME = "same"
    CLOSE = "close"  # other bits, as roundings that are allowed make
    RAISED = "raised"  # on both sides
    REFUSED = "refused"  # by a check of the call, or for want of bits; Python takes it


@dataclass(frozen=True, slots=True)
class Difference:
    """One element, or the result as a whole, that differs; `array` and `index` where it lies.

    `wider` names a result that differs by its type alone, which holds all values of Python's.
    """

    element: str
    got: str
    want: str
    array: str = ""
    index: tuple[int, ...] = ()
    wider: str = ""


class NotCompared(Exception):
    """A sample cannot be compared; the text says why."""


def verify_program(
    function: Callable[..., Any],
    program: Program,
    types: Sequence[ArgType],
    samples: int = 20,
    seed: int = 0,
    seconds: float | None = None,
) -> Verification:
    """Return how `samples` calls of `function` and `program` compare.

    With `seconds` of the processor, as many as fit are compared, at least one.  Both sides work on
    copies of the arguments.  Where Python's type of a result is another from call to call, the
    Program's is the widest one: it has to be Python's in one of the calls.
    """
    found = _Counts()
    bench = Bench(by_position(function), program, tuple(types), quick=seconds is not None)
    shown = (", ".join(map(_show_one, types)),)
    reason = bench.reason
    if reason is not None:
        return Verification(function.__name__, shown, skipped=(Skip(reason, samples),))
    end = None if seconds is None else now() + seconds
    mismatch = None
    wider: dict[str, tuple[Values, Difference, Scale]] = {}
    ranks = [len(a.shape) for a in program.signature.arguments if isinstance(a, ArrayArg)]
    largest = {4: 3, 5: 2}.get(max(ranks, default=0), 5 if max(ranks, default=0) < 4 else 2)
    for number in range(samples):
        if end is not None and number and now() > end and bench.agreed >= wider.keys():
            break
        scale = Scale(min(largest, SIZES[number % len(SIZES)]), odd=number % 5 in (2, 4))
        values = sample(program.signature, types, np.random.default_rng((seed, number)), scale)
        if values is None:
            found.skip("no arguments found that the checks of the call accept")
            continue
        try:
            result = bench.compared(values)
        except NotCompared as why:
            found.skip(str(why))
            continue
        if isinstance(result, Difference) and result.wider:
            wider.setdefault(result.wider, (values, result, scale))
            result = Outcome.SAME
        if isinstance(result, Difference):
            mismatch = _mismatch(bench, values, result, scale, seed)
            break
        found.add(result)
    for name, (values, result, scale) in wider.items():
        if mismatch is None and name not in bench.agreed:
            mismatch = _mismatch(bench, values, result, scale, seed)
    return found.verification(function.__name__, shown, mismatch)


@dataclass(slots=True)
class _Counts:
    outcomes: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))
    skipped: dict[str, int] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        self.outcomes[outcome] += 1

    def skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def verification(
        self, name: str, types: tuple[str, ...], mismatch: Mismatch | None
    ) -> Verification:
        counts = self.outcomes
        return Verification(
            name,
            types,
            samples=sum(n for kind, n in counts.items() if kind is not Outcome.REFUSED),
            raised=counts[Outcome.RAISED],
            refused=counts[Outcome.REFUSED],
            close=counts[Outcome.CLOSE],
            skipped=tuple(Skip(reason, count) for reason, count in self.skipped.items()),
            mismatch=mismatch,
        )


def _mismatch(bench: Bench, values: Values, first: Difference, scale: Scale, seed: int) -> Mismatch:
    """Return the smallest call found that differs, as it is reported."""

    def differs(candidate: Values) -> Difference | None:
        try:
            result = bench.compared(candidate)
        except NotCompared:
            return None
        if isinstance(result, Difference) and result.wider == first.wider:
            return result
        return None

    signature = bench.program.signature
    smaller = (
        sample(signature, bench.types, np.random.default_rng((seed, size, n)), Scale(size, odd))
        for size in range(scale.size + 1)
        for odd in (False, True)
        for n in range(6)
    )
    values, difference = shrunk(values, first, smaller, differs)
    names = [argument.name for argument in signature.arguments]
    shown = tuple(
        (name, repr(plain(v)) if isinstance(v, np.ndarray) else repr(v))
        for name, v in zip(names, values, strict=True)
    )
    loc: Loc | None = None
    if difference.array:
        loc = writer_of(bench.program, values, difference.array, difference.index)
    return Mismatch(shown, difference.element, difference.got, difference.want, loc)


# -- one call -----------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Bench:
    """A function and its Program side by side.  `quick`: bounds are computed only in need.

    `agreed`: the results that had Python's type in a call.
    """

    function: Callable[..., Any]
    program: Program
    types: tuple[ArgType, ...]
    quick: bool = False
    kept: list[Analysis] = field(default_factory=list)
    agreed: set[str] = field(default_factory=set)

    @property
    def reason(self) -> str | None:
        """Why nothing can be compared, or None."""
        signature = self.program.signature
        shares = [a for a in signature.arguments if isinstance(a, ArrayArg)]
        if signature.starts or any(a.part is not None or a.before for a in shares):
            return "arguments share memory, which the interpreter does not know"
        return None

    def compared(self, values: Values) -> Outcome | Difference:
        """Return what became of a call; raises `NotCompared`."""
        theirs, mine = laid_out(values, self.program.signature), copy.deepcopy(values)
        want, error = self._python(theirs)
        got, fault = self._interpreted(mine)
        if error is not None and fault is not None:
            return Outcome.RAISED
        if isinstance(fault, ArgumentError) or _is_of_width(fault):
            return Outcome.REFUSED
        if fault is not None:
            return Difference("the call", f"an error, {_told(fault)}", _short(want))
        if error is None:
            result = self._results(values, mine, theirs, got, want)
            if isinstance(result, Difference) and self._has_open_casts(values):
                raise NotCompared(OPEN_CAST)
            return result
        if is_of_floats(error):
            raise NotCompared(f"Python raises for floats of its own: {error}")
        return Difference("the call", _short(got), f"raises {_told(error)}")

    def _interpreted(self, values: Values) -> tuple[object, Exception | None]:
        """Return what the Program returns, or what it raises; library calls raise as in Python."""
        end = now() + LONGEST

        def timed(scop: Scop, arrays: Any, params: dict[str, int], symbols: Any) -> None:  # noqa: ANN401
            if now() > end:
                raise TooLong
            run_scop(scop, arrays, params, symbols)

        def execute(arrays: Any, params: dict[str, int], symbols: Any) -> None:  # noqa: ANN401
            run_parts(self.program, arrays, params, symbols, timed)

        try:
            with np.errstate(all="ignore"):
                return run_program(self.program, values, execute), None
        except TooLong:
            if self._may_hang():
                return None, TimeoutError("the loops do not end")
            raise NotCompared("the interpreter takes too long") from None
        except BudgetError:
            raise
        except Exception as error:  # faults, and whatever a library function raises
            return None, error

    def _may_hang(self) -> bool:
        """Tell whether only data ends one of the Program's loops."""
        parts = all_parts(self.program.parts)
        return any(isinstance(part, Repeat) and part.upper is None for part in parts)

    def _python(self, values: Values) -> tuple[Any, Exception | None]:
        """Return what the function returns, or what it raises."""
        try:
            with np.errstate(all="ignore"), np.printoptions(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what a program sets is set back
                return limited(lambda: self.function(*values), LONGEST), None
        except TooLong:
            raise NotCompared("the Python function takes too long") from None
        except RecursionError:
            raise NotCompared("the Python function calls itself too often") from None
        except Exception as error:  # whatever a program raises
            return None, error

    def _has_open_casts(self, values: Values) -> bool:
        """Tell whether NumPy warns of a call that a number does not fit its new type."""
        theirs = laid_out(values, self.program.signature)
        with (
            np.errstate(all="ignore", invalid="warn"),
            warnings.catch_warnings(record=True) as told,
        ):
            warnings.simplefilter("always")
            limited(lambda: self.function(*theirs), LONGEST)
        return any(OF_CAST in str(warning.message) for warning in told)

    def _results(
        self, values: Values, mine: Values, theirs: Values, got: object, want: object
    ) -> Outcome | Difference:
        pairs = [*self._arguments(mine, theirs)]
        nesting = self.program.signature.nesting
        ours = flat(nesting, got)
        try:
            other = flat(nesting, want)
        except ValueError:
            return Difference("the result", _short(got), _short(want))
        one = len(ours) == 1
        pairs += [
            ("result" if one else f"result{n}", g, w)
            for n, (g, w) in enumerate(zip(ours, other, strict=True))
        ]
        arrays = result_arrays(self.program)
        outcome = Outcome.SAME
        wider: Difference | None = None
        for name, g, w in pairs:
            found = self._output(name, arrays.get(name, name), values, g, w)
            if isinstance(found, Difference) and not found.wider:
                return found
            if isinstance(found, Difference):
                wider = wider or found
            outcome = Outcome.CLOSE if found is Outcome.CLOSE else outcome
        return wider or outcome

    def _arguments(self, mine: Values, theirs: Values) -> Iterator[tuple[str, Any, Any]]:
        """Yield every array argument: those that the Program does not write must not change."""
        for argument, g, w in zip(self.program.signature.arguments, mine, theirs, strict=True):
            if isinstance(argument, ArrayArg):
                yield argument.name, g, w

    def _output(
        self,
        name: str,
        array: str,
        values: Values,
        got: object,
        want: object,
    ) -> Outcome | Difference:
        right = np.asarray(want)
        left = np.asarray(got)
        if right.dtype == object:
            raise NotCompared("an integer of Python's does not fit 64 bits")
        if left.shape != right.shape or left.dtype != right.dtype:
            one, two = (f"{a.dtype}{list(a.shape)}" for a in (left, right))
            wider = name if _is_wider(left, right) else ""
            return Difference(f"the type of {name}", one, two, array, (0,) * left.ndim, wider)
        self.agreed.add(name)
        same = same_bits(plain(left), plain(right))
        if same.all():
            return Outcome.SAME
        if self._may_round() and not self._is_far(values, plain(left), plain(right)):
            return Outcome.CLOSE
        bound = self._bound(array, values)
        result = compare(name, left, right, bound)
        if result.holds:
            return Outcome.CLOSE
        if result.worst is None or result.worst.index is None:
            return Difference(name, _short(left), _short(right), array)
        worst = result.worst
        assert worst.index is not None
        return Difference(worst.place(name), worst.got, worst.want, array, worst.index)

    def _may_round(self) -> bool:
        """Tell whether a quick comparison leaves small differences alone."""
        program = self.program
        return self.quick and bool(
            open_statements(program) or written_statements(program) or program.signature.library
        )

    def _is_far(self, values: Values, left: Any, right: Any) -> bool:  # noqa: ANN401
        """Tell whether results lie farther apart than roundings usually bring them."""
        if left.dtype.kind not in "fc":
            return True
        largest = max((_largest(v) for v in (*values, left, right)), default=0.0)
        with np.errstate(all="ignore"):
            distance = np.abs(left - right)
            both = np.isnan(left) & np.isnan(right)
            near = (left == right) | both | (distance <= CLOSE * largest)
        return not bool(np.all(near))

    def _bound(self, array: str, values: Values) -> Any:  # noqa: ANN401
        """Return the bound on an output's error for such a call; None where it must be exact."""
        if not self.kept:
            self.kept.append(analysis_of(self.program))
        (analysis,) = self.kept
        if array not in analysis.inexact:
            return None
        try:
            return error_bounds(analysis, values).errors.get(array)
        except (ArgumentError, BudgetError, KernelFault):
            return np.inf


_FLOAT_ERRORS = ("division by zero", "modulo", "domain error", "range error", "out of range",
                 "negative power", "expected a positive input", "expected a nonnegative input",
                 "must be in the range", "absolute value too large")  # fmt: skip


def is_of_floats(error: Exception) -> bool:
    """Tell whether Python's floats raise where kernels give inf or NaN.

    Numbers that are Python's on one path and NumPy's on another are NumPy's in kernels.
    """
    if isinstance(error, ZeroDivisionError) and "integer" in str(error):
        return False
    known = isinstance(error, ZeroDivisionError | OverflowError | ValueError)
    return known and any(part in str(error) for part in _FLOAT_ERRORS)


def _is_wider(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> bool:
    """Tell whether a result has the values of `want` in a type that holds all of its type."""
    if got.shape != want.shape or not np.can_cast(want.dtype, got.dtype):
        return False
    eps = np.finfo(want.dtype).eps if want.dtype.kind in "fc" else 0.0
    with np.errstate(all="ignore"):
        return np.allclose(got, want.astype(got.dtype), rtol=64 * eps, atol=0.0, equal_nan=True)


def _is_of_width(fault: Exception | None) -> bool:
    """Tell whether a kernel raises because an integer of Python's leaves 64 bits."""
    return isinstance(fault, KernelFault) and fault.code == TOO_WIDE


def _largest(value: object) -> float:
    array = plain(value) if isinstance(value, np.ndarray | np.generic) else np.asarray(value)
    if array.dtype.kind not in "fciu" or not array.size:
        return 0.0
    with np.errstate(all="ignore"):
        sizes = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    return float(sizes[np.isfinite(sizes)].max(initial=0.0))


def _told(error: Exception) -> str:
    if isinstance(error, PolyoptError):
        return f"{error.code}: {error.message}"
    return f"{type(error).__name__}: {error}"


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:80] + "…"


def _show_one(kind: ArgType) -> str:
    match kind:
        case ArrayType():
            dims = kind.shown
            return f"{kind.dtype.short_name}[{dims}]"
        case ScalarType():
            return kind.dtype.short_name if not kind.weak else f"{kind.dtype.short_name}*"
        case ConstType():
            return f"={kind.known!r}"
        case PartType():
            return "part"
        case SizeCondition(condition=condition, holds=holds):
            return show(condition) if holds else f"not ({show(condition)})"
