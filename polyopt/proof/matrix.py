"""Check that matrix instructions compute the same as the loops they replace.

In: kernels with MATRIX loops, the program.  Out: one claim for each such kernel.
The instructions multiply whole tiles.  The products that they add beyond the loops are of zeros
that copies have set and nothing has overwritten, or go to results that nothing reads.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import Const, Expr, Load
from polyopt.ir.linear import linear
from polyopt.ir.loops import (
    Assign,
    AwaitCopies,
    Barrier,
    Body,
    CommitCopies,
    DeclareArray,
    For,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    Space,
)
from polyopt.ir.matrix import MatrixTile, NoTile, Operand, matrix_tile, reach, skipped, touched
from polyopt.ir.nodes import all_nodes, bodies, has_loop, map_bodies
from polyopt.ir.program import Program
from polyopt.ir.types import DType
from polyopt.proof.affine import NotAffine
from polyopt.proof.block_accesses import BlockAccess, BlockReader, ProgramPoint, depth
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.kernels import locals_of
from polyopt.proof.paths import Path, with_paths
from polyopt.proof.pipelines import without_pipelines

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
LANE_NAMES = ("$row", "$column")


class _Wrong(Exception):
    """The instructions may compute something else; the text says what."""


def check_matrices(program: Program, function: LoopFunction, path: Path) -> Iterator[Claim]:
    """Yield whether the matrix instructions of each kernel compute what its loops do."""
    for node, place in with_paths(function.body, path):
        if not isinstance(node, Kernel) or not _has_matrix(node.body):
            continue
        try:
            _check(program, function, node, place)
        except (_Wrong, NoTile) as error:
            yield Claim(ClaimKind.MATRIX, node.name, Verdict.REFUTED, "", str(error))
        else:
            yield Claim(ClaimKind.MATRIX, node.name, Verdict.PROVEN, "")


def as_touched(body: Body) -> Body:
    """Return `body` with the accesses of matrix instructions as loops, in place of them."""
    result: list[Node] = []
    for node in body:
        if isinstance(node, Kernel):
            tiles = _tiles(node)
            nests = {id(nest): touched(tile, LANE_NAMES) for nest, tile in tiles}
            result.append(replace(node, body=_replaced(node.body, nests)))  # `finish` has none
        else:
            result.append(map_bodies(node, as_touched))
    return tuple(result)


def _has_matrix(body: Body) -> bool:
    return has_loop(body, LoopKind.MATRIX)


def _tiles(kernel: Kernel) -> list[tuple[For, MatrixTile]]:
    """Return the nests with matrix instructions; raises `NoTile`."""
    return [(nest, matrix_tile(nest, kernel.threads)) for nest in _nests(kernel.body)]


def _nests(body: Body) -> Iterator[For]:
    for node in body:
        match node:
            case For(kind=LoopKind.THREAD):
                if _has_matrix((node,)):
                    yield node
            case For(kind=LoopKind.MATRIX):
                raise NoTile("it stands outside of loops across threads")
            case _:
                for part in bodies(node):
                    yield from _nests(part)


def _replaced(body: Body, nests: dict[int, For]) -> Body:
    result: list[Node] = []
    for node in body:
        if id(node) in nests:
            result.append(nests[id(node)])
        else:
            result.append(map_bodies(node, _replaced, nests))
    return tuple(result)


def _check(program: Program, function: LoopFunction, kernel: Kernel, path: Path) -> None:
    homes = {n.array.name: n for n in all_nodes(kernel.body) if isinstance(n, DeclareArray)}
    tiles = _tiles(kernel)
    for _, tile in tiles:
        _check_allowed(program, function, tile)
        target = homes.get(tile.target.array)
        if target is None or target.space is not Space.REGISTER:
            raise _Wrong(f"{tile.target.array} is not kept in registers")
        for operand in (tile.left, tile.right):
            home = homes.get(operand.load.array)
            if home is None or home.space is not Space.SHARED:
                raise _Wrong(f"{operand.load.array} is not shared by the threads of a block")
    _check_inside(kernel, path, tiles, homes)
    plain = replace(kernel, body=without_pipelines(_in_turn(kernel.body)))
    _check_skipped(plain, path, _tiles(plain))


def _in_turn(body: Body) -> Body:
    """Return `body` without barriers, its copies executed when they are started."""
    result: list[Node] = []
    for node in body:
        match node:
            case Barrier() | CommitCopies() | AwaitCopies():
                pass
            case Assign():
                result.append(replace(node, is_async=False))
            case _:
                result.append(map_bodies(node, _in_turn))
    return tuple(result)


def _check_allowed(program: Program, function: LoopFunction, tile: MatrixTile) -> None:
    """Check that the source allows the rounding and order of the instructions' sums."""
    name = tile.assign.statement
    if name not in function.reassociable:
        raise _Wrong(f"the order of {name or 'a sum'} is not open")
    if tile.dtype is DType.FLOAT32:
        found = [s for scop in program.scops for s in scop.statements if s.name == name]
        if not found or not all(s.reduction is not None and s.reduction.rounds for s in found):
            raise _Wrong(f"the factors of {name} may not be rounded")


# -- what is read


@dataclass(eq=False)
class _Watcher(BlockReader):
    """Records the writes that set an element to zero, whatever the data."""

    zeros: set[int] = field(default_factory=set)

    def node(self, node: Node, where: ProgramPoint) -> None:
        before = len(self.accesses)
        BlockReader.node(self, node, where)
        if isinstance(node, Assign) and self.is_zero(node, where):
            self.zeros |= {id(touch) for touch in self.accesses[before:] if touch.is_written}

    def is_zero(self, node: Assign, where: ProgramPoint) -> bool:
        if where.path.data or not isinstance(node.target, Load):
            return False
        try:
            for part in node.target.index:
                where.path.frame.pw(self.plain(part))
        except NotAffine:
            return False
        return isinstance(node.value, Const) and node.value.value == 0


def _watched(kernel: Kernel, path: Path, body: Body, arrays: frozenset[str]) -> _Watcher:
    """Return the accesses of threads to `arrays` in a kernel with `body`."""
    grid, inside = 0, body
    while len(inside) == 1 and isinstance(inside[0], For) and inside[0].kind is LoopKind.BLOCK:
        grid += 1
        inside = inside[0].body
    outside = len(path.loops) + grid
    changed = replace(kernel, body=body)
    watcher = _Watcher(
        changed, outside, arrays, frozenset(), locals_of(body), 2 * depth(inside) + 1
    )
    watcher.body(body, ProgramPoint(path, ()))
    return watcher


def _check_inside(
    kernel: Kernel,
    path: Path,
    tiles: list[tuple[For, MatrixTile]],
    homes: dict[str, DeclareArray],
) -> None:
    """Check that whole tiles lie inside the arrays of their operands."""
    nests = {id(nest): touched(tile, LANE_NAMES) for nest, tile in tiles}
    names = frozenset(o.load.array for _, tile in tiles for o in (tile.left, tile.right))
    watcher = _watched(kernel, path, _replaced(kernel.body, nests), names)
    for touch in watcher.accesses:
        if touch.is_written:
            continue
        reached = touch.place.project_out(_OUT, 0, touch.length + 1).range()
        for dim, extent in enumerate(homes[touch.array].array.shape):
            assert isinstance(extent, Const)
            least = reached.upper_bound_val(isl.dim_type.set, dim, isl.Val(-1))
            most = reached.lower_bound_val(isl.dim_type.set, dim, isl.Val(int(extent.value.real)))
            if not (least.is_empty() and most.is_empty()):
                raise _Wrong(f"a whole tile goes beyond {touch.array}")


# -- what is added beyond the loops


def _check_skipped(kernel: Kernel, path: Path, tiles: list[tuple[For, MatrixTile]]) -> None:
    """Check that products that the loops do not add are zero, or go to results nothing reads."""
    probes = [Load(f"$tile{number}", (), DType.FLOAT32) for number in range(len(tiles))]
    nests = {
        id(nest): skipped(tile, replace(probe, index=_places(tile)))
        for (nest, tile), probe in zip(tiles, probes, strict=True)
    }
    names = {p.array for p in probes} | {tile.target.array for _, tile in tiles}
    names |= {o.load.array for _, tile in tiles for o in (tile.left, tile.right)}
    watcher = _watched(kernel, path, _replaced(kernel.body, nests), frozenset(names))
    lives = dict(_lives(kernel.body, 0))
    for (_, tile), probe in zip(tiles, probes, strict=True):
        for touch in watcher.accesses:
            if touch.array == probe.array:
                _check_added(tile, touch, watcher, lives[tile.target.array])


def _lives(body: Body, count: int) -> Iterator[tuple[str, int]]:
    """Yield the arrays of a block, with the components of a time that tell which one it is.

    Each iteration of the loops around a declaration has an array of its own; `count` is of those.
    """
    for node in body:
        if isinstance(node, DeclareArray):
            yield node.array.name, count
        is_loop = isinstance(node, For) and node.kind is not LoopKind.BLOCK
        for part in bodies(node):
            yield from _lives(part, count + 2 * is_loop)


def _places(tile: MatrixTile) -> tuple[Expr, ...]:
    return (*tile.target.index, *tile.left.load.index, *tile.right.load.index)


def _check_added(tile: MatrixTile, touch: BlockAccess, watcher: _Watcher, life: int) -> None:
    """Check the additional products of an access, `{ [outside] -> [time, thread, places] }`.

    Only reads matter whose time has the same first `life` components: others are of other arrays.
    """
    skip = touch.length + 1
    used = len(tile.target.index)
    sizes = [len(tile.left.load.index), len(tile.right.load.index)]
    seen = [
        t.place.project_out(_OUT, life, skip - life)
        for t in watcher.accesses
        if t.array == tile.target.array and not t.is_written
    ]
    if not seen:
        return
    read = seen[0]
    for one in seen[1:]:
        read = read.union(one)
    read = read.insert_dims(_OUT, life + used, sum(sizes)).insert_dims(_OUT, life, skip - life)
    added = touch.place.intersect(coalesced(read))
    if added.is_empty():
        return
    added = added.project_out(_OUT, touch.length, 1 + used)
    start = touch.length
    for operand, first in ((tile.left, start), (tile.right, start + sizes[0])):
        own = added
        after = start + sum(sizes) - first - len(operand.load.index)
        own = own.project_out(_OUT, first + len(operand.load.index), after)
        own = own.project_out(_OUT, start, first - start)
        rough = _inside(own.remove_divs(), touch.length, tile, operand)
        # what is asked of more reads is quick to answer, and often enough
        if not (_is_zero(operand, rough, touch, watcher) or _is_zero(operand, own, touch, watcher)):
            raise _Wrong(f"{operand.load.array} is not zero outside of what was copied")


def _inside(reads: isl.Map, length: int, tile: MatrixTile, operand: Operand) -> isl.Map:
    """Return the places inside whole tiles."""
    for dim, part in enumerate(operand.load.index):
        found = reach(tile, part)
        if found is not None:
            reads = reads.lower_bound_val(_OUT, length + dim, isl.Val(found[0]))
            reads = reads.upper_bound_val(_OUT, length + dim, isl.Val(found[1]))
    return reads


def _is_zero(operand: Operand, reads: isl.Map, at: BlockAccess, watcher: _Watcher) -> bool:
    """Tell whether each of `reads`, `{ [outside] -> [time, place] }`, reads a zero.

    The zero was set in the same iteration of all loops around, and not overwritten.
    """
    writes = [t for t in watcher.accesses if t.array == operand.load.array and t.is_written]
    others = [t for t in writes if id(t) not in watcher.zeros]
    left = reads
    for fill in (t for t in writes if id(t) in watcher.zeros):
        start = _common(fill.when, at.when)
        if not _is_earlier(fill.when, at.when, start):
            continue
        if any(_may_lie_between(other.when, fill.when, at.when, start) for other in others):
            continue
        zero = _since(fill, start)
        for other in others:
            if other.when == fill.when:
                zero = zero.subtract(_since(other, start))
        left = left.subtract(zero.insert_dims(_OUT, start, at.length - start))
    return bool(left.is_empty())


def _since(touch: BlockAccess, start: int) -> isl.Map:
    """Return `{ [outside] -> [first components of the time, place] }`."""
    return touch.place.project_out(_OUT, start, touch.length + 1 - start)


def _common(one: tuple[Expr, ...], two: tuple[Expr, ...]) -> int:
    """Return the length of the common prefix of two times."""
    count = 0
    while count < min(len(one), len(two)) and one[count] == two[count]:
        count += 1
    return count


def _is_earlier(one: tuple[Expr, ...], two: tuple[Expr, ...], at: int) -> bool:
    """Tell whether `one` is before `two` by the first component in which they differ."""
    distance = _distance(one, two, at)
    return distance is not None and distance > 0


def _distance(one: tuple[Expr, ...], two: tuple[Expr, ...], at: int) -> int | None:
    if at >= len(one) or at >= len(two):
        return None
    first, second = linear(one[at]), linear(two[at])
    return None if first.terms or second.terms else second.constant - first.constant


def _may_lie_between(
    when: tuple[Expr, ...], first: tuple[Expr, ...], last: tuple[Expr, ...], start: int
) -> bool:
    """Tell whether `when` may be after `first` and before `last`, which differ at `start`."""
    if when == first:
        return False
    shared = _common(when, last)
    if shared < start:
        return _distance(when, last, shared) is None
    to_first, to_last = _distance(first, when, start), _distance(when, last, start)
    return to_first is None or to_last is None or (to_first >= 0 and to_last >= 0)
