"""Match control that is not affine between the program and the loops, part by part.

In: the program's parts and the read-back body.  Out: for each static control part its nodes;
`Mismatch` where the control differs.  Loops marked parallel are proven independent here, for all
values that sizes computed at run time may have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import islpy as isl

from polyopt import proof
from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Symbol,
    Unary,
    UnaryOp,
    walk,
)
from polyopt.ir.loops import (
    CONCURRENT,
    AllocateArray,
    Assign,
    Body,
    Break,
    CallLibrary,
    Comment,
    Declare,
    DeclareArray,
    Fail,
    For,
    If,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.names import reads
from polyopt.ir.nodes import all_nodes, map_bodies, own_expressions
from polyopt.ir.parameters import without_params
from polyopt.ir.program import (
    Allocate,
    Bind,
    Invoke,
    Part,
    Parts,
    Program,
    Repeat,
    Require,
    all_parts,
)
from polyopt.ir.scop import AccessKind, Array, Role, Scop
from polyopt.ir.types import DType
from polyopt.proof.affine import Frame, NotAffine
from polyopt.proof.certificate import Unclaimable
from polyopt.proof.nodes import written
from polyopt.proof.part_conditions import bound_inside, meet, outside_loads
from polyopt.proof.paths import Path
from polyopt.proof.values import is_same


class Mismatch(Unclaimable):
    """The control around static parts differs from the source's; `subject` is the place."""


@dataclass(frozen=True, eq=False)
class MatchedPart:
    """A static control part, the nodes that run it, and those of its arrays dead afterwards."""

    scop: Scop
    body: Body
    is_temporary: Callable[[str], bool]


@dataclass(frozen=True, eq=False)
class _Level:
    """Parts, and the current position among them; `loop`: they are its body."""

    parts: Parts
    position: int
    loop: Repeat | None


def without_stops(body: Body, faults: frozenset[str]) -> Body:
    """Return `body` with stops at faults as assignments that note them, without their tests."""
    found: list[Node] = []
    for node in body:
        if _is_stop(node, faults):
            continue
        match node:
            case Fail() if node.statement and faults:
                node = _noted(node, faults)
            case If(condition=Compare(op=CompareOp.NE, left=Symbol()), then=(Fail() as fail,)):
                if faults and not node.otherwise:
                    node = If(node.condition, (_noted(fail, faults),))
            case _:
                pass
        found.append(map_bodies(node, without_stops, faults))
    return tuple(found)


def _noted(fail: Fail, faults: frozenset[str]) -> Assign:
    """Return the assignment that notes the fault at which the loops stop."""
    (array,) = faults
    target = Load(array, (Const(fail.fault, DType.INT64),), DType.UINT8)
    return Assign(target, Const(1, DType.UINT8), fail.statement, fail.instance)


def _is_stop(node: Node, faults: frozenset[str]) -> bool:
    match node:
        case If(
            condition=Compare(op=CompareOp.NE, left=Load() as flag, right=Const() as zero),
            then=(Fail(statement="", fault=fault),),
            otherwise=(),
        ):
            own = flag.index == (Const(fault, DType.INT64),)
            return own and flag.array in faults and not zero.value
        case _:
            return False


class Regions:
    """Walks parts and nodes side by side."""

    def __init__(self, program: Program, path: Path) -> None:
        self.program = program
        self.path = path
        self.names = {
            id(part): frozenset(s.name for s in part.statements)
            for part in all_parts(program.parts)
            if isinstance(part, Scop)
        }

    def match(self, body: Body) -> Iterator[MatchedPart]:
        """Yield the static control parts with their nodes; raises `Mismatch`."""
        yield from self._parts(self.program.parts, body, (), None)

    def _parts(
        self, parts: Parts, body: Body, outer: tuple[_Level, ...], loop: Repeat | None
    ) -> Iterator[MatchedPart]:
        rest: list[Node] = [node for node in body if not isinstance(node, Comment)]
        for position, part in enumerate(parts):
            levels = (*outer, _Level(parts, position, loop))
            match part:
                case Scop():
                    mine = self._nodes_of(part, rest)
                    del rest[: len(mine)]
                    yield MatchedPart(part, tuple(mine), self._lives(part, levels))
                case Repeat():
                    yield from self._repeat(part, self._next(rest, part), levels)
                case Require():
                    self._require(part, rest)
                case _:
                    self._plain(part, self._next(rest, part))
        if rest:
            raise Mismatch(type(rest[0]).__name__, "the source has nothing like it here")

    def _next(self, rest: list[Node], part: Part) -> Node:
        if not rest:
            raise Mismatch(type(part).__name__, "it is missing")
        return rest.pop(0)

    def _nodes_of(self, scop: Scop, rest: list[Node]) -> list[Node]:
        """Return the leading nodes that run instances of `scop`, their storage included."""
        names = self.names[id(scop)]
        others = frozenset().union(*self.names.values()) - names
        count = 0
        for number, node in enumerate(rest, start=1):
            tags = _tags(node)
            if tags & others or not (tags or _is_storage(node, scop)):
                break
            if tags:
                count = number
        while more := self._joining(rest[count:], rest[:count]):
            count += more
        return rest[:count]

    def _joining(self, rest: Sequence[Node], before: Sequence[Node]) -> int:
        """Return how many of the next nodes copy or join results of those `before` them.

        The last of them joins into a target that the others set and do not read.
        """
        made = {name for name in written(tuple(before)) if not self._is_array(name)}
        for number, node in enumerate(rest):
            if not _is_move(node):
                return 0
            read, own = _read(node), written((node,))
            if not made.isdisjoint(read):
                first = written(tuple(rest[:number]))
                return number + 1 if first <= read | own else 0
            if read:
                return 0
        return 0

    def _plain(self, part: Part, node: Node) -> None:
        match part, node:
            case Bind(), Declare():
                same = part.param == node.name and self._same(part.value, node.value)
            case Allocate(), AllocateArray():
                array = self.program.array(part.array)
                same = array.name == node.array.name and array.dtype is node.array.dtype
                shapes = zip(array.shape, node.array.shape, strict=True)
                same = same and all(self._same(a, b) for a, b in shapes)
            case Invoke(), CallLibrary():
                inputs = tuple(a.name for a in node.inputs)
                outputs = tuple(a.name for a in node.outputs)
                same = (part.site, part.inputs, part.outputs) == (node.site, inputs, outputs)
            case _:
                same = False
        if not same:
            raise Mismatch(type(part).__name__, f"{type(node).__name__} stands for it")

    def _require(self, part: Require, rest: list[Node]) -> None:
        if rest:
            match rest[0]:
                case If(condition=condition, then=(Fail(fault=fault, statement=""),), otherwise=()):
                    negated = Unary(UnaryOp.INVERT, part.condition, DType.BOOL)
                    if fault == part.fault and self._is_condition(negated, condition):
                        del rest[0]
                        return
                case Fail(fault=fault, statement="") if fault == part.fault:
                    del rest[0]
                    return
                case _:
                    pass
        if not self._always(part.condition):
            raise Mismatch("a condition on sizes", f"fault {part.fault} is not tested")

    def _always(self, condition: Expr) -> bool:
        frame = Frame(self.path.params)
        try:
            fails = frame.condition(condition).complement()
        except NotAffine:
            return False
        return bool(fails.intersect_params(self.path.context).is_empty())

    def _is_condition(self, want: Expr, found: Expr) -> bool:
        if self._same(want, found):
            return True
        frame = Frame(self.path.params)
        try:
            one, two = frame.condition(want), frame.condition(found)
        except NotAffine:
            return False
        context = self.path.context
        return bool(one.intersect_params(context).is_equal(two.intersect_params(context)))

    def _same(self, want: Expr, found: Expr) -> bool:
        return is_same(want, found, self.path)

    # -- loops

    def _repeat(
        self, part: Repeat, node: Node, levels: tuple[_Level, ...]
    ) -> Iterator[MatchedPart]:
        match node:
            case While(condition=condition, body=body):
                if part.upper is not None or part.going is None:
                    raise Mismatch(part.param, "it is a counted loop")
                if not self._same(part.going, condition):
                    raise Mismatch(part.param, "its condition differs")
            case For(body=body):
                body = self._counted(part, node, levels)
            case _:
                raise Mismatch(part.param, f"{type(node).__name__} stands for the loop")
        yield from self._parts(part.body, body, levels, part)

    def _counted(self, part: Repeat, node: For, levels: tuple[_Level, ...]) -> Body:
        if part.upper is None or node.iter != part.param or node.step != part.step:
            raise Mismatch(part.param, "another loop stands for it")
        for want, found in ((part.lower, node.lower), (part.upper, node.upper)):
            if not self._same(want, found):
                raise Mismatch(part.param, "its bounds differ")
        private = []
        body = list(node.body)
        while body and isinstance(body[0], DeclareArray) and self._is_array(body[0].array.name):
            declared = body.pop(0)
            assert isinstance(declared, DeclareArray)
            private.append(declared.array.name)
        if part.going is not None:
            leave = body.pop(0) if body else None
            match leave:
                case If(condition=condition, then=(Break(),), otherwise=()):
                    negated = Unary(UnaryOp.INVERT, part.going, DType.BOOL)
                    if not self._same(negated, condition):
                        raise Mismatch(part.param, "its condition differs")
                case _:
                    raise Mismatch(part.param, "it does not end where the source's does")
        self._check_private(part, tuple(private), levels)
        if node.kind in CONCURRENT:
            if part.going is not None:
                raise Mismatch(part.param, "a loop that may be left is marked parallel")
            self._check_independent(part, node, frozenset(private))
        return tuple(body)

    def _is_array(self, name: str) -> bool:
        return any(array.name == name for array in self.program.arrays)

    # -- what lives on

    def _lives(self, scop: Scop, levels: tuple[_Level, ...]) -> Callable[[str], bool]:
        def is_temporary(name: str) -> bool:
            if not self._is_array(name):
                return scop.array(name).role is Role.TEMP
            array = self.program.array(name)
            if array.role is not Role.TEMP:
                return False
            if proof.exposed_reads.written_after(
                (scop,), array, proof.exposed_reads.nothing_written(array)
            ).exposed:
                return False
            return self._is_dead(array, levels)

        return is_temporary

    def _is_dead(self, array: Array, levels: tuple[_Level, ...]) -> bool:
        """Tell whether nothing after this place may read the current values of `array`."""
        state = proof.exposed_reads.nothing_written(array)
        for level in reversed(levels):
            state = proof.exposed_reads.written_after(
                level.parts[level.position + 1 :], array, state
            )
            if state.exposed:
                return False
            if (
                level.loop is not None
                and proof.exposed_reads.written_after((level.loop,), array, state).exposed
            ):
                return False
        return True

    def _check_private(
        self, part: Repeat, private: tuple[str, ...], levels: tuple[_Level, ...]
    ) -> None:
        for name in private:
            array = self.program.array(name)
            if array.role is not Role.TEMP:
                raise Mismatch(name, "an array of the caller is private to an iteration")
            if proof.exposed_reads.written_after(
                (part,), array, proof.exposed_reads.nothing_written(array)
            ).exposed:
                raise Mismatch(name, "an iteration may read what another one wrote")
            if not self._is_dead(array, levels):
                raise Mismatch(name, "it is read after the loop that it is private to")

    # -- independent iterations

    def _check_independent(self, part: Repeat, node: For, private: frozenset[str]) -> None:
        sums: dict[str, object] = {symbol.name: op for op, symbol in node.reductions}
        for piece in all_parts(part.body):
            if isinstance(piece, Invoke | Allocate):
                raise Mismatch(part.param, "its iterations call library functions")
            if isinstance(piece, Scop):
                self._check_sums(part, piece, sums)
        reads, writes = self._touched(part)
        shared = {a.name for a in self.program.arrays if a.role is Role.FAULT}
        for name, cells in writes.items():
            if name in private or name in shared or name in sums:
                continue
            others = reads.get(name)
            touched = cells if others is None else cells.union(others)
            if meet(cells, touched, part.param):
                raise Mismatch(part.param, f"two of its iterations may touch one {name}")

    def _touched(self, part: Repeat) -> tuple[dict[str, isl.Set], dict[str, isl.Set]]:
        """Return the elements that one iteration may read and write, by array."""
        inner = frozenset(bound_inside(part))
        reads: dict[str, isl.Set] = {}
        writes: dict[str, isl.Set] = {}
        for piece in all_parts(part.body):
            match piece:
                case Scop():
                    for access in (a for s in piece.statements for a in (s.write, *s.reads)):
                        relation = access.relation.intersect_params(piece.context)
                        store = reads if access.kind is AccessKind.READ else writes
                        _add(store, access.array, without_params(relation.range(), inner))
                case Bind() | Require() | Repeat():
                    for load in outside_loads(piece):
                        _add(reads, load.array, self._all_cells(load.array))
                case Invoke() | Allocate():
                    pass
        return reads, writes

    def _check_sums(self, part: Repeat, scop: Scop, sums: dict[str, object]) -> None:
        for statement in scop.statements:
            for access in (statement.write, *statement.reads):
                if access.array not in sums:
                    continue
                own = statement.target.array == access.array and statement.is_reassociable
                if not own or (access.array, access.index) != (
                    statement.target.array,
                    statement.target.index,
                ):
                    raise Mismatch(part.param, f"{access.array} is more than summed up")
                if not _is_fixed(access.index, part):
                    raise Mismatch(part.param, f"several elements of {access.array} are summed up")
                reduction = statement.reduction
                if reduction is None or reduction.op is not sums[access.array]:
                    raise Mismatch(part.param, f"{access.array} is summed in another way")

    def _all_cells(self, name: str) -> isl.Set:
        array = self.program.array(name)
        space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(array.shape))
        return isl.Set.universe(space.set_tuple_name(isl.dim_type.set, name))


def _is_fixed(index: tuple[Expr, ...], loop: Repeat) -> bool:
    """Tell whether subscripts are invariant in `loop`, and in the loops inside it."""
    inner = {loop.param, *bound_inside(loop)}
    parts = [part for expr in index for part in walk(expr)]
    varies = any(isinstance(part, Iter | Load | Symbol) for part in parts)
    return not varies and not any(p.name in inner for p in parts if isinstance(p, Param))


def _add(store: dict[str, isl.Set], name: str, cells: isl.Set) -> None:
    store[name] = store[name].union(cells) if name in store else cells


def _tags(node: Node) -> frozenset[str]:
    return frozenset(
        inner.statement
        for inner in all_nodes((node,))
        if isinstance(inner, Assign | Declare | SetLocal | Fail) and inner.statement
    )


def _is_move(node: Node) -> bool:
    """Tell whether a node has only loops, conditions and assignments without instances."""
    return not _tags(node) and _is_plain(node)


def _is_plain(node: Node) -> bool:
    kinds = For | If | Assign | DeclareArray
    return all(isinstance(inner, kinds) for inner in all_nodes((node,)))


def _read(node: Node) -> frozenset[str]:
    exprs = (expr for inner in all_nodes((node,)) for expr in own_expressions(inner))
    return frozenset(name for expr in exprs for name in reads(expr))


def _is_storage(node: Node, scop: Scop) -> bool:
    """Tell whether a node only declares or allocates storage of `scop`, or copies into it."""
    match node:
        case DeclareArray():
            return True
        case AllocateArray():
            return any(array.name == node.array.name for array in scop.arrays)
        case For() | If():
            return _is_plain(node)
        case _:
            return False
