"""Tiles of products that the warps of a block compute by matrix instructions: their form.

In: a nest of THREAD loops around four MATRIX loops.  Out: its parts, each checked against PTX's
`mma.sync.m16n8k*`: with g = lane / 4 and t = lane % 4 a lane has the results (g + 8r, 2t + e + 8c).
Refuses (`NoTile`): all that is not exactly a tile of such products.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import Binary, BinaryOp, Cast, Const, Expr, Iter, Load, loads, substitute
from polyopt.ir.integers import evaluate
from polyopt.ir.linear import linear
from polyopt.ir.loops import Assign, Body, For, If, LoopKind
from polyopt.ir.names import has_iterator
from polyopt.ir.nodes import has_loop
from polyopt.ir.types import DType

ROWS, COLUMNS = 8, 4
"""Lanes of a warp down the rows of a fragment, and across its columns."""
LANES = ROWS * COLUMNS
PAIR = 2
"""Neighbouring results in one row that a lane has."""
DEPTHS = {DType.FLOAT16: 16, DType.BFLOAT16: 16, DType.FLOAT32: 8}
"""Terms that one instruction adds, by the type of the factors."""
MOST = 256
"""Results of a lane."""


class NoTile(Exception):
    """A nest is no tile of products; the text says why."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An array of factors; its subscripts `row` and `depth` move along results and terms.

    The others are the same for the whole block.  `row` counts columns for the right operand.
    """

    load: Load
    row: int
    depth: int


@dataclass(frozen=True, slots=True)
class MatrixTile:
    """`target += left * right` for a box of results and terms, where `condition` holds.

    `threads` are the loops across threads, the last two a warp's lanes.  `depth`, `rows`, `columns`
    and `pair` are the loops of a lane, which has the rows `8 rows + lane` and so on.
    """

    threads: tuple[For, ...]
    depth: For
    rows: For
    columns: For
    pair: For
    condition: Expr | None
    assign: Assign
    left: Operand
    right: Operand

    @property
    def dtype(self) -> DType:
        """The type of the factors."""
        return self.left.load.dtype

    @property
    def target(self) -> Load:
        """The results."""
        target = self.assign.target
        assert isinstance(target, Load)
        return target

    @property
    def extents(self) -> dict[str, int]:
        """The number of iterations of every loop."""
        return {loop.iter: trips(loop) for loop in self.loops}

    @property
    def loops(self) -> tuple[For, ...]:
        """All loops, outermost first."""
        return (*self.threads, self.depth, self.rows, self.columns, self.pair)


def has_matrix(body: Body) -> bool:
    """Tell whether a MATRIX loop is anywhere in `body`."""
    return has_loop(body, LoopKind.MATRIX)


def trips(loop: For) -> int:
    """Return the number of iterations of a loop from 0; raises `NoTile`."""
    match loop:
        case For(step=1, lower=Const(value=0), upper=Const(value=int(count))) if count > 0:
            return count
        case _:
            raise NoTile(f"loop {loop.iter} does not run a constant number of times from 0")


def matrix_tile(outermost: For, threads: int, *, in_registers: bool = True) -> MatrixTile:
    """Return the tile that a nest is, in blocks of `threads` threads; raises `NoTile`.

    Its results are `in_registers`: their first subscript is the thread.
    """
    chain, condition, assign = _chain(outermost)
    kinds = [loop.kind for loop in chain]
    count = len(chain) - 4
    if count < 2 or kinds != [LoopKind.THREAD] * count + [LoopKind.MATRIX] * 4:
        raise NoTile("it is not four loops of a tile inside loops across threads")
    if len({loop.iter for loop in chain}) != len(chain):
        raise NoTile("two of its loops have one name")
    lanes, own = chain[:count], chain[count:]
    extents = [trips(loop) for loop in chain]
    if extents[count - 2 : count] != [ROWS, COLUMNS] or prod(extents[:count]) != threads:
        raise NoTile(f"{prod(extents[:count])} of {threads} threads are no warps of 8 by 4 lanes")
    left, right = _factors(assign, chain, count)
    tile = MatrixTile(lanes, own[0], own[1], own[2], own[3], condition, assign, left, right)
    _check_extents(tile)
    if in_registers:
        _check_target(tile)
    return tile


def _chain(outermost: For) -> tuple[tuple[For, ...], Expr | None, Assign]:
    chain = [outermost]
    while True:
        match chain[-1].body:
            case (For() as inner,):
                chain.append(inner)
            case (If(otherwise=(), then=(Assign() as assign,)) as test,):
                if loads(test.condition):
                    raise NoTile("data tells which of its products there are")
                return tuple(chain), test.condition, assign
            case (Assign() as assign,):
                return tuple(chain), None, assign
            case _:
                raise NoTile("it does more than one assignment")


def _check_extents(tile: MatrixTile) -> None:
    if trips(tile.pair) != PAIR:
        raise NoTile(f"a lane has pairs of results, not {trips(tile.pair)} neighbours")
    if trips(tile.rows) % 2 != 0:
        raise NoTile(f"its {ROWS * trips(tile.rows)} rows are no multiple of {2 * ROWS}")
    depth = DEPTHS[tile.dtype]
    if trips(tile.depth) % depth != 0:
        raise NoTile(f"its {trips(tile.depth)} terms are no multiple of {depth}")
    if trips(tile.rows) * trips(tile.columns) * PAIR > MOST:
        raise NoTile("a lane has more results than registers")


def _check_target(tile: MatrixTile) -> None:
    """Check that a lane's results are elements of its own, each another one."""
    own = (tile.rows, tile.columns, tile.pair)
    names = {loop.iter for loop in own}
    index = tile.target.index[1:]
    if any(
        not isinstance(part, Iter) or part.name not in names for i in index for part in atoms(i)
    ):
        raise NoTile(
            f"the place of a result in {tile.target.array} is not told by the lane's loops"
        )
    box = product(*(range(trips(loop)) for loop in own))
    keys = [loop.iter for loop in own]
    places = [tuple(evaluate(i, dict(zip(keys, at, strict=True))) for i in index) for at in box]
    if len(set(places)) != len(places):
        raise NoTile(f"two results are one element of {tile.target.array}")
    if tile.target.array in (tile.left.load.array, tile.right.load.array):
        raise NoTile(f"{tile.target.array} is both a result and a factor")


def _factors(assign: Assign, chain: tuple[For, ...], count: int) -> tuple[Operand, Operand]:
    """Return the left and the right operand of the products that are added."""
    match assign:
        case Assign(
            target=Load() as target,
            value=Binary(
                op=BinaryOp.ADD,
                dtype=DType.FLOAT32,
                left=Load() as before,
                right=Binary(op=BinaryOp.MUL, dtype=DType.FLOAT32, left=one, right=two),
            ),
        ) if before == target:
            pass
        case _:
            raise NoTile("it is no sum of products in float32")
    names = [loop.iter for loop in chain]
    row, column = names[count - 2 : count]
    depth, rows, columns, pair = names[count:]
    warps = frozenset(names[: count - 2])
    single = {loop.iter for loop in chain if trips(loop) == 1}
    shapes = [
        {name: factor for name, factor in shape.items() if name not in single}
        for shape in ({row: 1, rows: ROWS}, {column: PAIR, columns: ROWS, pair: 1})
    ]
    found = []
    for side, shape in zip(("rows", "columns"), shapes, strict=True):
        own = [
            _operand(_stored(part), shape, depth, frozenset(names), warps) for part in (one, two)
        ]
        fitting = [operand for operand in own if operand is not None]
        if len(fitting) != 1:
            raise NoTile(f"not one factor moves along the {side} of a fragment as its lanes do")
        found += fitting
    left, right = found
    if left.load.dtype is not right.load.dtype or left.load.dtype not in DEPTHS:
        raise NoTile(f"there is no instruction for {left.load.dtype} times {right.load.dtype}")
    return left, right


def _stored(factor: Expr) -> Load:
    """Return the element that a factor is, widened to float32 where it is shorter."""
    if isinstance(factor, Cast) and factor.dtype is DType.FLOAT32 and factor.operand.dtype.is_half:
        factor = factor.operand
    if not isinstance(factor, Load):
        raise NoTile("a factor is computed, not read")
    return factor


def _operand(
    load: Load,
    shape: Mapping[str, int],
    depth: str,
    names: frozenset[str],
    warps: frozenset[str],
) -> Operand | None:
    """Return `load` with its subscripts told apart, if they move as `shape` says; else None."""
    row = deep = None
    for position, part in enumerate(load.index):
        own = {a.name: f for a, f in linear(part).terms if isinstance(a, Iter) and a.name in names}
        hidden = [a for a in atoms(part) if not isinstance(a, Iter)]
        if any(has_iterator(atom, names) for atom in hidden):
            return None
        if own == {depth: 1}:
            if deep is not None:
                return None
            deep = position
        elif {name: f for name, f in own.items() if name not in warps} == shape:
            if row is not None:
                return None
            row = position
        elif own:
            return None
    return None if row is None or deep is None else Operand(load, row, deep)


def atoms(expr: Expr) -> tuple[Expr, ...]:
    """Return what an INT64 expression is a sum of multiples of."""
    return tuple(atom for atom, _ in linear(expr).terms)


def reach(tile: MatrixTile, expr: Expr) -> tuple[int, int] | None:
    """Return the least and the most value of a subscript in the whole tile, if constants are."""
    value = linear(expr)
    least = most = value.constant
    extents = tile.extents
    for atom, factor in value.terms:
        if not isinstance(atom, Iter) or atom.name not in extents:
            return None
        last = factor * (extents[atom.name] - 1)
        least, most = least + min(last, 0), most + max(last, 0)
    return least, most


def touched(tile: MatrixTile, names: tuple[str, str]) -> For:
    """Return a nest that touches what the tile's instructions touch: every lane what its warp does.

    `names` are free for two loops over the lanes.
    """
    row, column = (Iter(loop.iter) for loop in tile.threads[-2:])
    moved = {row.name: Iter(names[0]), column.name: Iter(names[1])}
    factors = tuple(
        replace(part, index=tuple(substitute(i, moved) for i in part.index))
        for part in (tile.left.load, tile.right.load)
    )
    value = Binary(BinaryOp.MUL, factors[0], factors[1], DType.FLOAT32)
    added = Binary(BinaryOp.ADD, tile.target, value, DType.FLOAT32)
    body: Body = (Assign(tile.target, added),)
    lanes = [
        replace(loop, iter=name, kind=LoopKind.SEQUENTIAL)
        for loop, name in zip(tile.threads[-2:], names, strict=True)
    ]
    own = [replace(loop, kind=LoopKind.SEQUENTIAL) for loop in tile.loops[len(tile.threads) :]]
    for loop in reversed((*tile.threads, *lanes, *own)):
        body = (replace(loop, body=body),)
    (nest,) = body
    assert isinstance(nest, For)
    return nest


def skipped(tile: MatrixTile, probe: Load) -> For:
    """Return a nest over the products that the instructions add though `condition` is false.

    Its one assignment is to `probe`.
    """
    zero = Const(0.0, DType.FLOAT32)
    body: Body = (If(tile.condition or Const(True, DType.BOOL), (), (Assign(probe, zero),)),)
    for loop in reversed(tile.loops):
        kind = loop.kind if loop.kind is LoopKind.THREAD else LoopKind.SEQUENTIAL
        body = (replace(loop, kind=kind, body=body),)
    (nest,) = body
    assert isinstance(nest, For)
    return nest


__all__ = [
    "COLUMNS", "DEPTHS", "LANES", "PAIR", "ROWS", "MatrixTile", "NoTile", "Operand", "has_matrix",
    "matrix_tile", "reach", "skipped", "touched", "trips",
]  # fmt: skip
