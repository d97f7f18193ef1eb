"""Find a witness of an illegal schedule: two iterations, the cell they share, the smallest sizes.

In: the violated pairs, the refused tree.  Out: a `Witness`: the smallest pair at the smallest
sizes, and how the refused order changes values.  The witness of a lost instance is that instance.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import BudgetError
from polyopt.ir.affine import NotAffine, index_box, quota, sample_point
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import fix_params
from polyopt.ir.parameters import param_names
from polyopt.ir.scop import Access, Scop, Statement
from polyopt.ir.showing import show
from polyopt.schedule.dependences import Dependence, DependenceKind, Dependences
from polyopt.schedule.legality import Fault, Violation
from polyopt.schedule.replay import Disorder, Replay, replay
from polyopt.schedule.tree import Tree

BUDGET = 3_000_000
"""isl operations for the smallest pair, and for replaying it: under a second each."""

LARGER = 2
"""What is added to every size where the smallest show no difference: sums of two are the same."""

LOST = "lost"
"""The `kind` of the witness of an instance that does not run exactly once."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Two instances that a schedule would run in the wrong order, or together.

    `source` runs first in the program, `target` later; each is (statement name, iteration).
    `cell` is the subscript of the element of `array` both touch, `params` the sizes.  `exact` is
    False for a may-dependence, `because` is the subscript that makes it one.  `kind` "lost": the
    one instance does not run exactly once.
    """

    kind: str
    array: str
    cell: tuple[int, ...] | None
    source: tuple[str, tuple[int, ...]]
    target: tuple[str, tuple[int, ...]]
    params: tuple[tuple[str, int], ...]
    fault: Fault
    exact: bool
    because: str = ""
    replay: Replay | None = None


def find_witness(
    scop: Scop, dependences: Dependences, violation: Violation, tree: Tree | None = None
) -> Witness:
    """Return the smallest pair of `violation`; every violation has one.

    With the refused `tree` the witness records how its order changes values.
    """
    if violation.fault is Fault.LOST:
        found = _lost(scop, violation)
    else:
        found = _pair(scop, dependences, violation)
    return found if tree is None else replace(found, replay=_replayed(scop, found, violation, tree))


def _pair(scop: Scop, dependences: Dependences, violation: Violation) -> Witness:
    best: tuple[tuple[int, ...], Witness] | None = None
    for dependence in dependences.touching(violation.pairs):
        pairs = violation.pairs.intersect(isl.UnionMap.from_map(dependence.relation))
        if pairs.is_empty():
            continue
        sized = _with_sizes(isl.Map.from_union_map(pairs), scop, dependence)
        params, source, target = _small_pair(sized, scop)
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
            "" if dependence.exact else inexact_access(scop, dependence),
        )
        sizes = params.values()
        size = (sum(map(abs, sizes)), -sum(sizes), *source, *target)
        if best is None or size < best[0]:
            best = (size, witness)
    assert best is not None, "a violation holds at least one dependent pair"
    return best[1]


def _with_sizes(pairs: isl.Map, scop: Scop, dependence: Dependence) -> isl.Map:
    """Return the pairs at sizes at which arrays have the elements that both instances access.

    All pairs where no such sizes are found.
    """
    try:
        with quota(BUDGET):
            first, second = (_inside(scop, n) for n in (dependence.source, dependence.target))
            found = pairs.intersect_domain(first).intersect_range(second)
            return pairs if found.intersect_params(scop.context).is_empty() else found
    except (BudgetError, NotAffine):
        return pairs


def _inside(scop: Scop, name: str) -> isl.Set:
    """Return the instances of a statement that access elements of arrays alone."""
    statement = scop.statement(name)
    found = statement.domain
    for access in (statement.write, *statement.reads):
        box = index_box(access.array, scop.array(access.array).shape, scop.params)
        found = found.intersect(access.relation.intersect_range(box).domain())
    return found


def _lost(scop: Scop, violation: Violation) -> Witness:
    """Return the smallest instance that would not run exactly once."""
    found: list[tuple[tuple[int, ...], Witness]] = []
    for statement in scop.statements:
        own = violation.pairs.intersect_domain(isl.UnionSet.from_set(statement.domain))
        if own.is_empty():
            continue
        params, point, _ = _small_pair(isl.Map.from_union_map(own), scop)
        instance = (statement.name, point)
        cell = _cell_of(statement.write, statement, point, params)
        sizes = tuple(params.items())
        array = statement.target.array
        witness = Witness(LOST, array, cell, instance, instance, sizes, violation.fault, True)
        found.append(((sum(map(abs, params.values())), *point), witness))
    assert found, "a violation holds at least one instance"
    return min(found, key=lambda item: item[0])[1]


def _replayed(scop: Scop, witness: Witness, violation: Violation, tree: Tree) -> Replay:
    disorder = Disorder(
        tree,
        (witness.source, witness.target),
        violation.level if witness.fault is Fault.CONCURRENT else None,
        _updates(scop, witness),
        ties=witness.fault is Fault.UNORDERED,
    )
    params = dict(witness.params)
    try:
        with quota(BUDGET):
            found = replay(scop, params, disorder)
            larger = {name: size + LARGER for name, size in params.items()}
            if found.change is None and not found.reason and _holds(scop, witness, larger):
                more = replay(scop, larger, disorder)
                return found if more.change is None else more
            return found
    except BudgetError:
        return Replay(0, None, reason="finding the refused order takes too long")


def _holds(scop: Scop, witness: Witness, params: dict[str, int]) -> bool:
    """Tell whether the program may run, with both instances, at other sizes."""
    if not params or fix_params(scop.context, params).is_empty():
        return False
    for name, point in (witness.source, witness.target):
        inside = fix_params(scop.statement(name).domain, params)
        for position, value in enumerate(point):
            inside = inside.fix_val(isl.dim_type.set, position, isl.Val(value))
        if inside.is_empty():
            return False
    return True


def _updates(scop: Scop, witness: Witness) -> bool:
    """Tell whether both instances modify the cell, the second one using its value."""
    first, second = scop.statement(witness.source[0]), scop.statement(witness.target[0])
    params, cell = dict(witness.params), witness.cell
    return (
        cell is not None
        and _cell_of(first.write, first, witness.source[1], params) == cell
        and _cell_of(second.write, second, witness.target[1], params) == cell
        and {first.target.array, second.target.array} == {witness.array}
        and any(
            read.array == witness.array
            and _cell_of(read, second, witness.target[1], params) == cell
            for read in second.reads
        )
    )


def _small_pair(
    pairs: isl.Map, scop: Scop
) -> tuple[dict[str, int], tuple[int, ...], tuple[int, ...]]:
    """Return the smallest pair, or any pair if the smallest takes too long to find."""
    try:
        with quota(BUDGET):
            return smallest_pair(pairs, scop)
    except BudgetError:
        return any_pair(pairs, scop)


def any_pair(pairs: isl.Map, scop: Scop) -> tuple[dict[str, int], tuple[int, ...], tuple[int, ...]]:
    """Return (parameter values, source, target) of the pair that isl finds first."""
    inside = pairs.intersect_params(scop.context)
    sources, names = inside.dim(isl.dim_type.in_), param_names(inside)
    flat = inside.wrap().flatten()
    flat = flat.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, len(names))
    point = sample_point(flat)
    assert point is not None
    values = point[1]
    rest = values[len(names) :]
    return dict(zip(names, values, strict=False)), rest[:sources], rest[sources:]


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
    """Return the part of a set with a small size at `position`, nonnegative if possible."""

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


def inexact_access(scop: Scop, dependence: Dependence) -> str:
    """Return the access whose subscript is not affine."""
    for name in (dependence.source, dependence.target):
        statement = scop.statement(name)
        for access in (statement.write, *statement.reads):
            if access.array == dependence.array and not access.exact:
                return f"{access.array}[{', '.join(map(show, access.index))}]"
    raise AssertionError(f"every access of {dependence} is exact")
