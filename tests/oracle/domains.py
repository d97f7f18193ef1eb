"""The points of integer sets, by plain search: no decision and no enumeration of isl takes part.

In: an isl set, of which only the coefficients of its constraints are read; sizes.
Out: its points in lexicographic order.  Refuses: unbounded sets (`ValueError`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

import islpy as isl

Point: TypeAlias = tuple[int, ...]
PARAM, SET, DIV = isl.dim_type.param, isl.dim_type.set, isl.dim_type.div


@dataclass(frozen=True, slots=True)
class Row:
    """`constant + sum(params) + sum(values) >= 0`, or `= 0`; values are dimensions, then divs."""

    constant: int
    params: tuple[int, ...]
    values: tuple[int, ...]
    is_equality: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """A conjunction; the last `divs` of its values are existentially quantified."""

    params: tuple[str, ...]
    rank: int
    divs: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class _Form:
    """A row at known sizes: `constant + sum(factor * value)`, factors by position."""

    constant: int
    factors: tuple[tuple[int, int], ...]
    is_equality: bool


def pieces_of(value: isl.Set) -> tuple[Piece, ...]:
    """Return the coefficients of `value`."""
    found: list[isl.BasicSet] = []
    value.compute_divs().foreach_basic_set(found.append)  # each value is bounded by those before
    return tuple(_piece(basic) for basic in found)


def _piece(basic: isl.BasicSet) -> Piece:
    count, rank, divs = (basic.dim(kind) for kind in (PARAM, SET, DIV))
    names = tuple(str(basic.get_dim_name(PARAM, n)) for n in range(count))
    rows: list[Row] = []
    order = (isl.dim_type.cst, PARAM, SET, DIV)
    for is_equality, matrix in (
        (True, basic.equalities_matrix(*order)),
        (False, basic.inequalities_matrix(*order)),
    ):
        for r in range(matrix.rows()):
            wide = range(1 + count + rank + divs)
            cells = [int(matrix.get_element_val(r, c).to_python()) for c in wide]
            head, tail = tuple(cells[1 : 1 + count]), tuple(cells[1 + count :])
            rows.append(Row(cells[0], head, tail, is_equality))
    return Piece(names, rank, divs, tuple(rows))


def set_points(pieces: Sequence[Piece], params: Mapping[str, int]) -> list[Point]:
    """Return the points of the union of `pieces` at `params`."""
    found: set[Point] = set()
    for piece in pieces:
        found.update(_piece_points(piece, params))
    return sorted(found)


def holds(pieces: Sequence[Piece], point: Point, params: Mapping[str, int]) -> bool:
    """Tell whether `point` lies in the union of `pieces`."""
    return any(_contains(piece, point, params) for piece in pieces)


def _forms(piece: Piece, params: Mapping[str, int]) -> list[_Form]:
    sizes = [params[name] for name in piece.params]
    return [
        _Form(
            row.constant + sum(f * n for f, n in zip(row.params, sizes, strict=True)),
            tuple((position, f) for position, f in enumerate(row.values) if f),
            row.is_equality,
        )
        for row in piece.rows
    ]


def _satisfied(row: Row, point: Point, names: Sequence[str], params: Mapping[str, int]) -> bool:
    total = row.constant
    for name, factor in zip(names, row.params, strict=True):
        if factor:
            total += factor * params[name]
    for value, factor in zip(point, row.values, strict=True):
        total += factor * value
    return total == 0 if row.is_equality else total >= 0


def _piece_points(piece: Piece, params: Mapping[str, int]) -> Iterator[Point]:
    forms = _forms(piece, params)
    count = piece.rank + piece.divs
    box = _box(forms, count)
    if box is not None and any(None in bounds for bounds in box):
        forms = _eliminated(forms, count)
        box = _box(forms, count)
    if box is None:
        return
    by_last: list[list[_Form]] = [[] for _ in range(count)]
    for form in forms:
        if form.factors:
            by_last[form.factors[-1][0]].append(form)
    yield from _search(by_last, box, piece.rank, ())


def _eliminated(forms: Sequence[_Form], count: int) -> list[_Form]:
    """Return `forms` and what they say of the first values whatever the later ones are."""
    found = dict.fromkeys(forms)
    for position in reversed(range(1, count)):
        last = [f for f in found if f.factors and f.factors[-1][0] == position]
        halves = [half for form in last for half in _halves(form)]
        lower = [form for form in halves if form.factors[-1][1] > 0]
        upper = [form for form in halves if form.factors[-1][1] < 0]
        found |= dict.fromkeys(_combined(one, two) for one in lower for two in upper)
    return list(found)


def _halves(form: _Form) -> list[_Form]:
    """Return an equality as two inequalities."""
    if not form.is_equality:
        return [form]
    other = tuple((position, -factor) for position, factor in form.factors)
    return [_Form(form.constant, form.factors, False), _Form(-form.constant, other, False)]


def _combined(lower: _Form, upper: _Form) -> _Form:
    """Return the sum of positive multiples of two forms in which their last value cancels."""
    first, second = -upper.factors[-1][1], lower.factors[-1][1]
    total: dict[int, int] = {}
    for scale, form in ((first, lower), (second, upper)):
        for position, factor in form.factors:
            total[position] = total.get(position, 0) + scale * factor
    constant = first * lower.constant + second * upper.constant
    factors = tuple(sorted((p, f) for p, f in total.items() if f))
    common = gcd(*(f for _, f in factors)) or 1
    return _Form(constant // common, tuple((p, f // common) for p, f in factors), False)


def _contains(piece: Piece, point: Point, params: Mapping[str, int]) -> bool:
    if piece.divs == 0:
        return all(_satisfied(row, point, piece.params, params) for row in piece.rows)
    count = piece.rank + piece.divs
    forms = _forms(piece, params)
    here = [_Form(-n, ((d, 1),), True) for d, n in enumerate(point)]
    box = _box([*here, *forms], count)
    if box is not None and any(None in bounds for bounds in box):
        forms = _eliminated([*here, *forms], count)
        box = _box(forms, count)
    if box is None:
        return False
    by_last: list[list[_Form]] = [[] for _ in range(count)]
    for form in [*here, *forms]:
        if form.factors:
            by_last[form.factors[-1][0]].append(form)
    return next(_search(by_last, box, piece.rank, ()), None) is not None


_Range: TypeAlias = tuple[int | None, int | None]


def _search(
    by_last: list[list[_Form]], box: list[_Range], rank: int, values: Point
) -> Iterator[Point]:
    """Yield the first `rank` values of the solutions that begin with `values`, each once."""
    depth = len(values)
    if depth == len(by_last):
        yield values[:rank]
        return
    low, high = box[depth]
    for form in by_last[depth]:
        rest = form.constant
        for position, factor in form.factors[:-1]:
            rest += factor * values[position]
        low, high = _tightened(low, high, form.factors[-1][1], rest, form.is_equality)
    if low is None or high is None:
        raise ValueError(f"dimension {depth} has no bound")
    for value in range(low, high + 1):
        for found in _search(by_last, box, rank, (*values, value)):
            yield found
            if depth >= rank:  # an existential has a value: one is enough
                return


def _tightened(
    low: int | None, high: int | None, factor: int, rest: int, is_equality: bool
) -> _Range:
    """Return the range with `factor * value + rest >= 0` (or `= 0`) taken in."""
    if factor > 0 or is_equality:
        least = -(rest // factor) if factor > 0 else -(-rest // -factor)
        low = least if low is None else max(low, least)
    if factor < 0 or is_equality:
        most = rest // -factor if factor < 0 else -rest // factor
        high = most if high is None else min(high, most)
    return low, high


def _box(forms: Sequence[_Form], count: int) -> list[_Range] | None:
    """Return ranges that hold every solution, or None where there is none."""
    box: list[_Range] = [(None, None)] * count
    for form in forms:
        if not form.factors and (form.constant != 0 if form.is_equality else form.constant < 0):
            return None
    for _ in range(2 * count + 4):
        before = list(box)
        for form in forms:
            for position, factor in form.factors:
                box[position] = _propagated(form, position, factor, box)
        if any(low is not None and high is not None and low > high for low, high in box):
            return None
        if box == before:
            break
    return box


def _propagated(form: _Form, position: int, factor: int, box: list[_Range]) -> _Range:
    low, high = box[position]
    most = _extreme(form, position, box, 1)  # factor * value >= -most
    if most is not None:
        low, high = _tightened(low, high, factor, most, False)
    if form.is_equality:
        least = _extreme(form, position, box, -1)
        if least is not None:
            low, high = _tightened(low, high, -factor, -least, False)
    return low, high


def _extreme(form: _Form, position: int, box: list[_Range], sign: int) -> int | None:
    """Return the largest (sign 1) or least value of the rest of `form`."""
    total = form.constant
    for other, factor in form.factors:
        if other == position:
            continue
        bound = box[other][1 if (factor > 0) == (sign > 0) else 0]
        if bound is None:
            return None
        total += factor * bound
    return total
