"""Iterations of a statement and its dependences as points and arrows in a plane.

In: the source's schedule, the final one, the size of the picture.  Out: `Plane`s, one in the order
of the source and one in the final order.  A statement with more than two loops is cut: the others
have their middle value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.errors import BudgetError
from polyopt.ir.affine import quota
from polyopt.ir.interp import fix_params, points
from polyopt.ir.scop import Scop, Statement
from polyopt.report.names import Names, statement_line
from polyopt.schedule import Dependence, Schedule
from polyopt.schedule.tree import BandMember, leaves, statement_function, tuple_names

SIZE = 8  # of every size of the program
STATEMENTS = 4
MOST_POINTS = 150
MOST_ARROWS = 4  # kinds of distances
QUOTA = 3_000_000

_Point = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """An iteration: its place in the plane, the number of its tile, its text."""

    x: int
    y: int
    tile: int
    text: str


@dataclass(frozen=True, slots=True)
class Arrow:
    """A dependence between two iterations of the plane."""

    start: tuple[int, int]
    end: tuple[int, int]
    kind: str


@dataclass(frozen=True, slots=True)
class Plane:
    """Iterations over two loops, `across` to the right, `down` downwards."""

    title: str
    across: str
    down: str
    dots: tuple[Dot, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A statement's iterations before and, where they can be drawn, after its schedule."""

    title: str
    planes: tuple[Plane, ...]


def pictures(before: Schedule, after: Schedule, names: Names) -> Iterator[Picture]:
    """Yield pictures of the first statements with two loops or more, dependent ones before."""
    drawn = 0
    own = {d.source for d in before.dependences.memory if d.source == d.target}
    for statement in sorted(before.scop.statements, key=lambda one: one.name not in own):
        if len(statement.iters) < 2 or drawn == STATEMENTS:
            continue
        try:
            with quota(QUOTA):
                found = _picture(before, after, statement, names)
        except (BudgetError, isl.Error):
            continue
        if found is not None:
            drawn += 1
            yield found


def _picture(
    before: Schedule, after: Schedule, statement: Statement, names: Names
) -> Picture | None:
    params = dict.fromkeys(before.scop.params, SIZE)
    if fix_params(before.scop.context, params).is_empty():
        return None
    own = [
        d
        for d in before.dependences.memory
        if d.source == d.target == statement.name and not d.relation.is_empty()
    ]
    shown = _dimensions(statement, own)
    cut = _cut(statement, shown, params)
    found = points(cut, params)
    if not 2 <= len(found) <= MOST_POINTS:
        return None
    pairs = list(_pairs(own, cut, params, len(statement.iters)))
    source = {p: (p[shown[1]], p[shown[0]]) for p in found}
    loops = tuple(names.text(statement.iters[d]) for d in shown)
    planes = [_plane("in the order of the source", loops, source, {}, pairs, statement)]
    planes += _after(after, statement, found, params, pairs)
    line = statement_line(statement)
    rest = [names.text(n) for d, n in enumerate(statement.iters) if d not in shown]
    cut_text = f", {', '.join(rest)} in the middle" if rest else ""
    return Picture(f"line {line}: {statement.text}{cut_text}", tuple(planes))


def _dimensions(statement: Statement, own: Sequence[Dependence]) -> tuple[int, int]:
    """Return the two loops that dependences cross most, the outer one first."""
    crossed = [0] * len(statement.iters)
    for one in own:
        deltas = one.relation.deltas()
        for d in range(len(crossed)):
            crossed[d] += not deltas.plain_get_val_if_fixed(isl.dim_type.set, d).is_zero()
    best = sorted(range(len(crossed)), key=lambda d: (-crossed[d], d))[:2]
    return min(best), max(best)


def _cut(statement: Statement, shown: tuple[int, int], params: dict[str, int]) -> isl.Set:
    """Return the iterations in which all loops but two have a value in the middle."""
    cut = fix_params(statement.domain, params)
    for d in range(len(statement.iters)):
        if d not in shown and not cut.is_empty():
            low, high = cut.dim_min_val(d).to_python(), cut.dim_max_val(d).to_python()
            cut = cut.fix_val(isl.dim_type.set, d, isl.Val((low + high) // 2))
    return cut


def _pairs(
    own: Sequence[Dependence], cut: isl.Set, params: dict[str, int], dims: int
) -> Iterator[tuple[_Point, _Point, str]]:
    """Yield pairs of iterations; of those at multiples of a distance, the nearest."""
    kept: dict[tuple[str, _Point], None] = {}
    for one in own:
        relation = one.relation.intersect_domain(cut).intersect_range(cut)
        found = [(p[:dims], p[dims:]) for p in points(relation.wrap().flatten(), params)]
        apart = {_minus(b, a) for a, b in found}
        near = sorted(apart, key=lambda d: (sum(map(abs, d)), d))
        basic = [d for d in near if not any(_is_multiple(d, other) for other in near)]
        kept |= dict.fromkeys((one.kind.value, d) for d in basic[:MOST_ARROWS])
        for a, b in found:
            if (one.kind.value, _minus(b, a)) in kept:
                yield a, b, one.kind.value


def _minus(a: _Point, b: _Point) -> _Point:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def _is_multiple(d: _Point, other: _Point) -> bool:
    size, unit = sum(map(abs, d)), sum(map(abs, other))
    if unit == 0 or size <= unit or size % unit:
        return False
    return all(x == y * (size // unit) for x, y in zip(d, other, strict=True))


def _after(
    after: Schedule,
    statement: Statement,
    found: Sequence[_Point],
    params: dict[str, int],
    pairs: Sequence[tuple[_Point, _Point, str]],
) -> list[Plane]:
    """Return the plane of the final order; none where the statement was rewritten."""
    same = [s for s in after.scop.statements if s.name == statement.name]
    if not same or same[0].iters != statement.iters:
        return []
    path = _path(after, statement.name, params)
    tiles = [m for m in path if m.is_tile]
    moved = [(m, _values(m, after.scop, statement.name, found, params)) for m in path]
    varying = [(m, v) for m, v in moved if not m.is_tile and len(set(v.values())) > 1]
    if len(varying) < 2:
        return []
    (down, rows), (across, columns) = varying[:2]
    places = {p: (columns[p], rows[p]) for p in found}
    if len(set(places.values())) < len(found):
        return []
    numbers = [v for m, v in moved if m in tiles]
    tile = {p: tuple(v[p] for v in numbers) for p in found}
    order = {one: n for n, one in enumerate(sorted(set(tile.values())))}
    loops = tuple(f"{m.name} ({m.kind.value})" for m in (down, across))
    colours = {p: order[tile[p]] for p in found}
    return [_plane("in the final order", loops, places, colours, pairs, statement)]


def _path(schedule: Schedule, name: str, params: dict[str, int]) -> tuple[BandMember, ...]:
    """Return the loops around most of a statement's iterations."""
    own = schedule.scop.statement(name).domain
    parts: list[tuple[int, tuple[BandMember, ...]]] = []
    for path, domain in leaves(schedule.tree, schedule.scop.domain):
        if name in tuple_names(domain):
            inside = domain.extract_set(own.get_space().align_params(domain.get_space()))
            parts.append((len(points(inside, params)), path))
    return max(parts, key=lambda part: part[0])[1] if parts else ()


def _values(
    member: BandMember, scop: Scop, name: str, found: Sequence[_Point], params: dict[str, int]
) -> dict[_Point, int]:
    """Return the loop's value at every iteration."""
    function = isl.Map.from_pw_aff(statement_function(member, scop, name))
    flat = fix_params(function.wrap().flatten(), params)
    wanted = set(found)
    inside = isl.Set.empty(flat.get_space())
    for point in found:
        one = flat
        for position, value in enumerate(point):
            one = one.fix_val(isl.dim_type.set, position, isl.Val(value))
        inside = inside.union(one)
    return {p[:-1]: p[-1] for p in points(inside, params) if p[:-1] in wanted}


def _plane(
    title: str,
    loops: tuple[str, ...],
    places: dict[_Point, tuple[int, int]],
    tiles: dict[_Point, int],
    pairs: Sequence[tuple[_Point, _Point, str]],
    statement: Statement,
) -> Plane:
    left = min(x for x, _ in places.values())
    top = min(y for _, y in places.values())
    at = {p: (x - left, y - top) for p, (x, y) in places.items()}

    def text(point: _Point) -> str:
        return ", ".join(f"{n}={v}" for n, v in zip(statement.iters, point, strict=True))

    dots = tuple(Dot(*at[p], tiles.get(p, 0), text(p)) for p in places)
    arrows = {Arrow(at[a], at[b], kind): None for a, b, kind in pairs if a in at and b in at}
    return Plane(title, loops[1], loops[0], dots, tuple(arrows))
