"""Tensorize: run a tile of products by matrix instructions of warps, on a device.

In: a band whose first loops are rows and columns of a tile, and a warp's share of them.  Out: the
band with warps and their lanes across threads, a lane's results as matrix instructions keep them.
Refuses: sizes, element types and modes without an instruction (PO0340).
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.expr import Binary, BinaryOp, Cast, Expr, Load
from polyopt.ir.loops import LoopKind
from polyopt.ir.matrix import COLUMNS, DEPTHS, PAIR, ROWS
from polyopt.ir.scop import Scop, Statement
from polyopt.ir.types import DType
from polyopt.schedule.sizes import Size
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Tree,
    find_band,
    only_statement,
    replace_band,
    resolve,
)
from polyopt.transforms.mapping import MAPPED, around, loops_inside, refuse_kinds
from polyopt.transforms.tile import checked_sizes, tile_index
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Tensorize(Written):
    """Give each warp `rows` x `columns` results of a tile, each lane those of its fragments.

    The last loops of a sum of products are rows, columns and terms.  Factors of float16 or bfloat16
    are added in float32; those of float32 are rounded to tf32, which `fp="fast"` allows.  In other
    bands the last two loops are rows and columns of results, distributed to the lanes in the same
    way.

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms.tile import Tile
    >>> tiled = demo().apply(Tile("L0", (64, 64)))
    >>> print(tiled.apply(Tensorize("L0.point", 32, 32)))
    for i_tile = floor(i/64):  [L0.tile[0]]  # carries no dependence, permutable band
      for j_tile = floor(j/64):  [L0.tile[1]]  # carries no dependence
        for i_warp = floor(i/32):  [L0.point[0]]  # thread, permutable band
          for j_warp = floor(j/32):  [L0.point[1]]  # thread
            for i_lane = i mod 8:  [L0.point[2]]  # thread
              for j_lane = floor(j/2) - 4*floor(j/8):  [L0.point[3]]  # thread
                for i_part = floor(i/8):  [L0.point[4]]  # carries no dependence
                  for j_part = floor(j/8):  [L0.point[5]]  # carries no dependence
                    for j = j:  [L0.point[6]]  # carries no dependence
                      S0: A1[i, j] = A0[i, j]
    """

    band: str
    rows: Size
    columns: Size

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loops taken apart and marked.

        Raises `ScheduleError` PO0301, PO0303, PO0336, PO0340.
        """
        label = resolve(tree, self.band).label
        rows, columns = checked_sizes((self.rows, self.columns), str(self))
        if rows % (2 * ROWS) or columns % ROWS:
            raise self.refused(
                f"a warp's {rows} x {columns} results are no fragments of {2 * ROWS} x {ROWS}",
                f"give a multiple of {2 * ROWS} rows and of {ROWS} columns",
            )
        statement = only_statement(tree, scop, label)
        is_product = statement is not None and factors_of(statement) is not None
        count = 3 if is_product else 2
        members = find_band(tree, label).members
        if len(members) < count:
            raise self.refused(
                f"band {label} has {len(members)} loops, not rows, columns and terms",
                "name the point loops of a tile",
            )
        hint = "tensorize deals a band out to threads by itself: leave `threads` of it out"
        refuse_kinds(str(self), around(tree, label, 0), (LoopKind.THREAD,), "around it", hint)
        refuse_kinds(str(self), loops_inside(tree, label, -1), MAPPED, "inside it", hint)
        if statement is not None and is_product:
            self.check_product(statement)
        elif len(members) > 2 and statement is not None and statement.reduction is not None:
            raise self.refused(
                f"{statement.name} is no sum of products of two arrays' elements in float32",
                "name the loops of one statement `C[i, j] += A[i, k] * B[k, j]`",
            )
        first = len(members) - count
        return replace_band(tree, label, lambda old: _distributed(old, first, rows, columns))

    def check_product(self, statement: Statement) -> None:
        """Check that an instruction computes the product; raises `ScheduleError` PO0340."""
        factors = factors_of(statement)
        assert factors is not None
        found = {factor.dtype for factor in factors}
        if len(found) != 1 or not found <= set(DEPTHS):
            types = " and ".join(str(factor.dtype) for factor in factors)
            raise self.refused(
                f"there is no matrix instruction for factors of {types}",
                "factors are both float16, bfloat16, or float32 under fp='fast'",
            )
        reduction = statement.reduction
        assert reduction is not None
        if not reduction.reassociable:
            raise self.refused(
                "its terms are added in the order of the source",
                "write the sum as `@`, or use fp='reassociate'",
            )
        if found == {DType.FLOAT32} and not reduction.rounds:
            raise self.refused(
                "float32 factors would be rounded to tf32, to 11 bits",
                "use fp='fast', which allows it, or float16 or bfloat16 arrays",
            )

    def refused(self, reason: str, hint: str) -> ScheduleError:
        """Return the refusal."""
        return ScheduleError("PO0340", f"{self}: {reason}", hint=hint)


def factors_of(statement: Statement) -> tuple[Load, Load] | None:
    """Return the operands of the products that a statement adds in float32, or None."""
    match statement:
        case Statement(
            guard=None,
            value=Binary(
                op=BinaryOp.ADD,
                dtype=DType.FLOAT32,
                left=Load() as before,
                right=Binary(op=BinaryOp.MUL, dtype=DType.FLOAT32, left=left, right=right),
            ),
        ) if before == statement.target and statement.reduction is not None:
            one, two = _factor(left), _factor(right)
            return None if one is None or two is None else (one, two)
        case _:
            return None


def _factor(expr: Expr) -> Load | None:
    match expr:
        case Load():
            return expr
        case Cast(operand=Load() as stored, dtype=DType.FLOAT32) if stored.dtype.is_half:
            return stored
        case _:
            return None


def _distributed(band: Band, first: int, rows: int, columns: int) -> Band:
    """Return the band as warps, lanes, and the points of a lane: terms outermost."""
    i, j, *terms = band.members[first:]
    pairs = tile_index(j.schedule, PAIR)
    own = LoopKind.MATRIX if terms else LoopKind.SEQUENTIAL
    thread = LoopKind.THREAD
    members = (
        *band.members[:first],
        _member(tile_index(i.schedule, rows), f"{i.name}_warp", thread),
        _member(tile_index(j.schedule, columns), f"{j.name}_warp", thread),
        _member(_rest(i.schedule, ROWS), f"{i.name}_lane", thread),
        _member(_rest(pairs, COLUMNS), f"{j.name}_lane", thread),
        *(replace(term, kind=own) for term in terms),
        _member(tile_index(i.schedule, ROWS), f"{i.name}_part", own),
        _member(tile_index(pairs, COLUMNS), f"{j.name}_part", own),
        replace(j, kind=own),
    )
    return replace(band, members=members)


def _member(schedule: isl.UnionPwAff, name: str, kind: LoopKind) -> BandMember:
    return BandMember(schedule, name, kind=kind)


def _rest(schedule: isl.UnionPwAff, size: int) -> isl.UnionPwAff:
    return schedule.sub(tile_index(schedule, size).scale_val(isl.Val(size)))
