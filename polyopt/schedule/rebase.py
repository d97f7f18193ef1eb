"""Make the order of a proven tree the order of the Scop.

In: a Scop and a tree that was proven for it.  Out: an equal Scop whose statements are in the tree's
order.  Data steps start from it, since their dataflow is compared in the order of the loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Values

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.affine import pieces_of
from polyopt.ir.expr import Const, Expr, Iter, Select, integer
from polyopt.ir.isl_ast import affine_expr, set_expr
from polyopt.ir.parameters import sets_of
from polyopt.ir.scop import Scop, Statement
from polyopt.ir.types import DType
from polyopt.never import assert_never
from polyopt.schedule.tree import Band, BandMember, Filter, Leaf, Sequence, Tree, depth

_IN, _DIV = isl.dim_type.in_, isl.dim_type.div


def rebased(scop: Scop, tree: Tree, known: Scop | None = None) -> Scop:
    """Return `scop` with the tree's order as its own.

    Instances that the tree leaves unordered follow the text and their iterators.  Times of
    statements in `known` are reused where the loops are the same.
    """
    answers = _answers(known or scop)
    orders, is_total = _times(scop, tree, answers)
    levels = [level for level in range(max(map(len, orders), default=0)) if _varies(orders, level)]
    statements = []
    for position, (statement, order) in enumerate(zip(scop.statements, orders, strict=True)):
        told = tuple(order[level] for level in levels) if order else ()
        ties: tuple[Expr, ...] = ()
        if not is_total:
            ties = (integer(position), *map(Iter, statement.iters))
        statements.append(statement.at((*told, *ties)))
    found = replace(scop, statements=tuple(statements))
    found.known[_Answers] = answers
    return found


@dataclass(frozen=True, eq=False)
class _Answers:
    """Memoized times of statements at their places, by identities of the objects they depend on.

    The objects are kept alive with the answers.
    """

    times: dict[tuple[object, ...], tuple[tuple[Expr, ...], bool, object]]


def _answers(scop: Scop) -> _Answers:
    found = scop.known.get(_Answers)
    if not isinstance(found, _Answers):
        found = scop.known[_Answers] = _Answers({})
    return found


def _varies(orders: list[tuple[Expr, ...]], level: int) -> bool:
    """Tell whether a level is not the same constant for all statements."""
    values = {order[level] for order in orders if order}
    return len(values) > 1 or not all(isinstance(value, Const) for value in values)


def _times(scop: Scop, tree: Tree, answers: _Answers) -> tuple[list[tuple[Expr, ...]], bool]:
    """Return the statements' times, () for one that never runs, and whether no two are equal."""
    places: dict[str, list[_Place]] = {s.name: [] for s in scop.statements}
    every = _Runs({s.name: s.domain.intersect_params(scop.context) for s in scop.statements})
    is_total = True
    for place in _leaves(tree, every, (), ()):
        running = place.runs.running()
        is_total = is_total and len(running) <= 1
        for name in running:
            places[name].append(place)
    length = max(1, depth(tree))
    times: list[tuple[Expr, ...]] = []
    for statement in scop.statements:
        found = places[statement.name]
        if not found:
            times.append(())
            continue
        about = (statement.iters, id(statement.domain), id(scop.context), scop.params, length)
        key = (_key(found), *about)
        if key not in answers.times:
            if len(found) == 1:
                time, own = _read(statement, found, length, scop.params)
            else:
                time, own = _chosen(statement, found, length, scop)
            kept = (found, statement.domain, scop.context)
            answers.times[key] = (time, own, kept)
        time, own, _ = answers.times[key]
        is_total = is_total and own
        times.append(time)
    return times, is_total


def _key(places: Values[_Place]) -> tuple[object, ...]:
    """Return identities of the loops and filters around the places of a statement."""
    return tuple(
        (
            tuple(n if isinstance(n, int) else (id(n.schedule),) for n in place.levels),
            tuple(map(id, place.filters)),
        )
        for place in places
    )


@dataclass(frozen=True, eq=False)
class _Runs:
    """The instances of each statement at a place of a tree."""

    parts: dict[str, isl.Set]

    def within(self, domain: isl.UnionSet) -> _Runs:
        """Return the instances in `domain`."""
        chosen = {part.get_tuple_name(): part for part in sets_of(domain)}
        return _Runs({n: p.intersect(chosen[n]) for n, p in self.parts.items() if n in chosen})

    def running(self) -> tuple[str, ...]:
        """Return the statements with instances."""
        return tuple(name for name, part in self.parts.items() if not part.is_empty())


@dataclass(frozen=True, eq=False)
class _Place:
    """A leaf: its instances, and the positions and loops that identify it."""

    runs: _Runs
    levels: tuple[int | BandMember, ...]
    filters: tuple[isl.UnionSet, ...]


def _leaves(
    tree: Tree,
    runs: _Runs,
    levels: tuple[int | BandMember, ...],
    filters: tuple[isl.UnionSet, ...],
) -> Iterator[_Place]:
    match tree:
        case Leaf():
            yield _Place(runs, levels, filters)
        case Filter():
            inside = runs.within(tree.domain)
            yield from _leaves(tree.child, inside, levels, (*filters, tree.domain))
        case Sequence():
            for position, part in enumerate(tree.parts):
                yield from _leaves(part, runs, (*levels, position), filters)
        case Band():
            yield from _leaves(tree.child, runs, (*levels, *tree.members), filters)
        case _:
            assert_never(tree)


def _read(
    statement: Statement, places: Values[_Place], length: int, params: tuple[str, ...]
) -> tuple[tuple[Expr, ...], bool]:
    """Return the time of a statement at one place, and whether all its instances' times differ."""
    (place,) = places
    domain = place.runs.parts[statement.name]
    time: list[Expr] = []
    told: list[isl.PwAff] = []
    for level in place.levels:
        if isinstance(level, int):
            time.append(integer(level))
            continue
        value = _own(level, statement.name)
        if value.n_piece() > 1:
            value = value.intersect_domain(domain).coalesce()
        told.append(value)
        time.append(_level(value, statement, params))
    time += [integer(0)] * (length - len(time))
    return tuple(time), _is_injective(told, domain)


def _own(loop: BandMember, statement: str) -> isl.PwAff:
    """Return a loop's value for the instances of a statement."""
    found: list[isl.PwAff] = []
    loop.schedule.foreach_pw_aff(found.append)
    return next(
        v for v in found if v.get_domain_space().get_tuple_name(isl.dim_type.set) == statement
    )


def _is_injective(values: list[isl.PwAff], domain: isl.Set) -> bool:
    """Tell whether no two instances of `domain` have the same `values`."""
    sums = [total for value in values if (total := _one_sum(value)) is not None]
    left = _undetermined_dimensions(sums, domain)
    if not left or not _undetermined_dimensions([*sums, *_constants(domain)], domain):
        return True
    times = isl.Map.from_domain(domain)
    for value in values:
        times = times.flat_range_product(isl.Map.from_pw_aff(value).intersect_domain(domain))
    return bool(times.is_injective())


def _undetermined_dimensions(sums: list[isl.Aff], domain: isl.Set) -> set[int]:
    """Return dimensions that may differ where `sums` are equal, a superset."""
    left = set(range(domain.dim(isl.dim_type.set)))
    found = True
    while left and found:
        found = False
        for total in sums:
            moved = {n for n in left if total.involves_dims(_IN, n, 1)}
            if len(moved) == 1:
                left -= moved
                found = True
    return left


def _one_sum(value: isl.PwAff) -> isl.Aff | None:
    """Return the single affine function without floors that a function is, or None."""
    pieces = pieces_of(value)
    return pieces[0] if len(pieces) == 1 and pieces[0].dim(_DIV) == 0 else None


def _constants(domain: isl.Set) -> Iterator[isl.Aff]:
    """Yield affine functions without floors that are 0 on all of `domain`."""
    for constraint in domain.affine_hull().get_constraints():
        if constraint.is_equality() and not constraint.involves_dims(_DIV, 0, constraint.dim(_DIV)):
            yield constraint.get_aff()


def _chosen(
    statement: Statement, places: Values[_Place], length: int, scop: Scop
) -> tuple[tuple[Expr, ...], bool]:
    """Return the time of a statement at several places, and whether its instances' times differ.

    An instance has the time of its place.  Times at two places differ, since a sequence orders the
    places.
    """
    read = [_read(statement, (place,), length, scop.params) for place in places]
    every = statement.domain.intersect_params(scop.context)
    parts = (place.runs.parts[statement.name] for place in places[:-1])
    here = [set_expr(part.gist(every), statement.iters, scop.params) for part in parts]
    levels = []
    for *values, level in zip(*(time for time, _ in read), strict=True):
        for condition, value in reversed(tuple(zip(here, values, strict=True))):
            level = value if value == level else Select(condition, value, level, DType.INT64)
        levels.append(level)
    return tuple(levels), all(own for _, own in read)


def _level(value: isl.PwAff, statement: Statement, params: tuple[str, ...]) -> Expr:
    if value.n_piece() == 1 and value.is_cst():
        constant = value.max_val()
        if constant.is_int():
            return integer(int(constant.to_python()))
    return affine_expr(value, statement.iters, params)
