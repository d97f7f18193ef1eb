"""Why a schedule is refused: two concrete iterations, the cell they share, the smallest sizes.

In: the violated pairs.  Out: a `Witness`, the smallest pair at the smallest sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polyopt.errors import Loc
from polyopt.ir.affine import param_names
from polyopt.ir.expr import evaluate, show
from polyopt.ir.scop import Access, Scop, Statement
from polyopt.schedule.dependences import Dependence, DependenceKind, Dependences
from polyopt.schedule.legality import Fault, Violation


@dataclass(frozen=True, slots=True)
class Witness:
    """Two instances that a schedule would run in the wrong order, or together.

    `source` runs first in the program, `target` later; each is (statement name, iteration).
    `cell` is the subscript of the element of `array` both touch, `params` the sizes.
    """

    kind: str
    array: str
    cell: tuple[int, ...] | None
    source: tuple[str, tuple[int, ...]]
    target: tuple[str, tuple[int, ...]]
    params: tuple[tuple[str, int], ...]
    fault: Fault
    exact: bool


def find_witness(scop: Scop, dependences: Dependences, violation: Violation) -> Witness:
    """Return the smallest pair of `violation`; every violation has one."""
    best: tuple[tuple[int, ...], Witness] | None = None
    for dependence in dependences.memory:
        pairs = violation.pairs.intersect(isl.UnionMap.from_map(dependence.relation))
        if pairs.is_empty():
            continue
        params, source, target = smallest_pair(isl.Map.from_union_map(pairs), scop)
        cell = _cell(scop, dependence, params, source, target)
        witness = Witness(
            dependence.kind.value,
            dependence.array,
            cell,
            (dependence.source, source),
            (dependence.target, target),
            tuple(params.items()),
            violation.fault,
            dependence.exact,
        )
        sizes = params.values()
        size = (sum(map(abs, sizes)), -sum(sizes), *source, *target)
        if best is None or size < best[0]:
            best = (size, witness)
    assert best is not None, "a violation holds at least one dependent pair"
    return best[1]


def smallest_pair(
    pairs: isl.Map, scop: Scop
) -> tuple[dict[str, int], tuple[int, ...], tuple[int, ...]]:
    """Return (parameter values, source, target) of the smallest pair, smallest parameters first."""
    inside = pairs.intersect_params(scop.context)
    sources = inside.dim(isl.dim_type.in_)
    names = param_names(inside)
    flat = inside.wrap().flatten()
    flat = flat.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, len(names))
    values = []
    for position in range(flat.dim(isl.dim_type.set)):
        if position < len(names):
            flat = _small_sizes(flat, position)
        least = _least(flat, position)
        flat = flat.fix_val(isl.dim_type.set, position, isl.Val(least))
        values.append(least)
    params = dict(zip(names, values, strict=False))
    rest = values[len(names) :]
    return params, tuple(rest[:sources]), tuple(rest[sources:])


def _small_sizes(value: isl.Set, position: int) -> isl.Set:
    """Return the part of a set whose size at `position` is small: not negative if it can be."""

    def from_bound(bound: int) -> isl.Set:
        return value.lower_bound_val(isl.dim_type.set, position, isl.Val(bound))

    part, bound = from_bound(0), -1
    while part.is_empty():
        part, bound = from_bound(bound), 2 * bound
    return part


def _least(value: isl.Set, position: int) -> int:
    """Return the smallest integer in one dimension of a set that is not empty and bounded below.

    Bisection over emptiness: isl's `lexmin` and `dim_min_val` fail on some sets with floors.
    """
    point = value.sample_point()
    high = int(point.get_coordinate_val(isl.dim_type.set, position).to_python())
    low, step = high - 1, 1
    while not _up_to(value, position, low).is_empty():
        high, low, step = low, low - step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if _up_to(value, position, middle).is_empty():
            low = middle
        else:
            high = middle
    return high


def _up_to(value: isl.Set, position: int, bound: int) -> isl.Set:
    return value.upper_bound_val(isl.dim_type.set, position, isl.Val(bound))


def _cell(
    scop: Scop,
    dependence: Dependence,
    params: dict[str, int],
    source: tuple[int, ...],
    target: tuple[int, ...],
) -> tuple[int, ...] | None:
    first, second = scop.statement(dependence.source), scop.statement(dependence.target)
    firsts = first.reads if dependence.kind is DependenceKind.ANTI else (first.write,)
    seconds = second.reads if dependence.kind is DependenceKind.FLOW else (second.write,)
    here = {_cell_of(a, first, source, params) for a in firsts if a.array == dependence.array}
    there = {_cell_of(a, second, target, params) for a in seconds if a.array == dependence.array}
    common = (here & there) - {None}
    return min((cell for cell in common if cell is not None), default=None)


def _cell_of(
    access: Access, statement: Statement, instance: tuple[int, ...], params: dict[str, int]
) -> tuple[int, ...] | None:
    if not access.exact:
        return None
    env = params | dict(zip(statement.iters, instance, strict=True))
    return tuple(evaluate(index, env) for index in access.index)


_VERBS = {"flow": ("writes", "reads"), "anti": ("reads", "writes"), "output": ("writes", "writes")}
_FAULTS = {
    Fault.REVERSED: "the second would run before the first",
    Fault.UNORDERED: "nothing would order the two",
    Fault.CONCURRENT: "the two would run at the same time",
    Fault.LOST: "one would not run exactly once",
}


def describe(witness: Witness, scop: Scop) -> tuple[str, ...]:
    """Return the witness as lines for a person: the example, what goes wrong, both source lines."""
    first, second = scop.statement(witness.source[0]), scop.statement(witness.target[0])
    sizes = ", ".join(f"{name}={value}" for name, value in witness.params)
    cell = f"{witness.array}{_subscript(witness)}"
    verbs = _VERBS[witness.kind]
    may = "" if witness.exact else " (a may-dependence: the subscript is not affine)"
    example = (
        f"example{': ' + sizes if sizes else ''}: "
        f"{_iteration(first, witness.source[1])} {verbs[0]} {cell}, "
        f"then {_iteration(second, witness.target[1])} {verbs[1]} it; {_FAULTS[witness.fault]}"
    )
    kind = f"kind: {witness.kind} dependence on {witness.array}, {first.name} -> {second.name}{may}"
    return (example, kind, *dict.fromkeys((_line(first), _line(second))))


def _subscript(witness: Witness) -> str:
    if witness.cell is None:
        return "[…]"
    return f"[{', '.join(map(str, witness.cell))}]" if witness.cell else ""


def _iteration(statement: Statement, instance: tuple[int, ...]) -> str:
    values = ", ".join(f"{n}={v}" for n, v in zip(statement.iters, instance, strict=True))
    return f"iteration ({values})" if values else f"statement {statement.name}"


def _line(statement: Statement) -> str:
    place: Loc | None = statement.loc
    where = f"line {place.line}" if place is not None else statement.name
    text = statement.text or f"{show(statement.target)} = {show(statement.value)}"
    return f"{where}: {text}"
