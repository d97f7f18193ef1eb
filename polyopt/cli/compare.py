"""Compare a kernel's results with the undecorated function's, under bounds on rounding.

In: both results, the Program, the arguments.  Out: `Comparison` of each output.
Refuses: an element outside its bound (`MismatchError` PO0617), with the one farthest out.
Elements that no bound follows for are held against an estimate from the count of roundings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from polyopt.bounding import known_bounds
from polyopt.cli.exits import MismatchError
from polyopt.ir.expr import Binary, Call, Unary, walk
from polyopt.ir.interp import bind_sizes, fix_params
from polyopt.ir.program import Program
from polyopt.ir.scop import Statement
from polyopt.ir.types import DType
from polyopt.numerics.compare import Comparison, compare, plain
from polyopt.numerics.reals import unit

_SLACK = 8
_LIBRARY = 1000  # roundings that a library function is taken to make
_Results = Mapping[str, Any]


def judge(
    program: Program,
    values: Sequence[Any],
    got: _Results,
    want: _Results,
    compiler: str | None = None,
) -> list[Comparison]:
    """Compare all outputs, named as in `named_results`, of a call with `values`."""
    bounds = known_bounds(program, values, want, compiler)
    return [
        judged(program, values, name, value, want[name], bounds.get(name))
        for name, value in got.items()
    ]


def judged(
    program: Program,
    values: Sequence[Any],
    name: str,
    got: object,
    want: object,
    bound: NDArray[np.float64] | None,
) -> Comparison:
    """Compare one output; raises `MismatchError`."""
    result = compare(name, got, want, bound)
    if not result.holds:
        raise _mismatch(result)
    if result.unbounded and bound is not None and not result.bitwise:
        limit = estimate(program, values, np.asarray(want))
        guessed = compare(name, got, want, np.where(np.isfinite(bound), bound, limit))
        if limit > 0 and not guessed.holds:
            raise _mismatch(guessed, is_estimate=True)
    return result


def estimate(program: Program, values: Sequence[Any], want: NDArray[Any]) -> float:
    """Return what rounding usually explains: the count of roundings times the largest element."""
    kind = want.dtype.name
    rounding = unit(DType(kind) if kind in DType._value2member_map_ else DType.FLOAT64)
    want = plain(want)
    if want.dtype.kind not in "fc":
        return 0.0
    terms = count_terms(program, bind_sizes(program.signature, values))
    terms += _LIBRARY * len(program.signature.library)
    finite = np.abs(want[np.isfinite(want)])
    largest = max(largest_input(values), float(finite.max(initial=0.0)))
    return 2.0 * (terms + _SLACK) * 2.0 * rounding * largest


def count_terms(program: Program, sizes: Mapping[str, int]) -> int:
    """Return an upper bound on the roundings that lead to one element of a result.

    Each statement contributes its operations times how often it writes one element, both read off
    the bounding boxes of its iterations and of the elements it writes.
    """
    total = 0
    for statement in (s for scop in program.scops for s in scop.statements):
        roundings = sum(isinstance(e, Binary | Call | Unary) for e in walk(statement.value))
        total += roundings * _writes_per_element(statement, sizes)
    return total


def _writes_per_element(statement: Statement, sizes: Mapping[str, int]) -> int:
    domain = fix_params(statement.domain, sizes)
    if domain.is_empty():
        return 0
    cells = statement.write.relation.intersect_domain(statement.domain).range()
    elements = _box(fix_params(cells, sizes)) if statement.write.exact else 1
    return -(-_box(domain) // max(1, elements))


def _box(value: isl.Set) -> int:
    """The points of the bounding box; 1 for a dimension without bounds."""
    volume = 1
    for d in range(value.dim(isl.dim_type.set)):
        low, high = value.dim_min_val(d), value.dim_max_val(d)
        if low.is_int() and high.is_int():
            volume *= int(high.to_python()) - int(low.to_python()) + 1
    return volume


def _mismatch(result: Comparison, *, is_estimate: bool = False) -> MismatchError:
    worst = result.worst
    assert worst is not None
    limit = "an estimate from the count of roundings" if is_estimate else "its bound"
    notes = [f"{worst.place(result.name)} is {worst.got}, expected {worst.want}"]
    if worst.index is not None:
        allowed = "must be the same bits" if result.is_exact else f"{limit} is {worst.bound:.3g}"
        notes.append(f"{result.wrong} of {result.elements} elements differ too much; {allowed}")
    return MismatchError(
        "PO0617",
        f"`{result.name}` differs from the Python function's result",
        notes=tuple(notes),
        hint="`polyopt bisect` names the step of a schedule that is to blame; "
        '--schedule "source" keeps the order of the source',
    )


def largest_input(values: Sequence[object]) -> float:
    """Return the largest magnitude among floating-point inputs."""
    found = 0.0
    for value in values:
        array = plain(value)
        if array.dtype.kind in "fc" and array.size:
            finite = np.abs(array[np.isfinite(array)])
            found = max(found, float(finite.max(initial=0.0)))
    return found
