"""Print the code of a block.

In: nodes of a `Kernel`.  Out: pieces of C.
Refuses: loops over threads without a constant box (PO0405).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.banner import plain
from polyopt.emit.c_statements import Block, Branch, Code, Compound, Line, Pragma, identifiers
from polyopt.emit.dialect import in_place
from polyopt.emit.gpu.async_copies import copy_text, group_text
from polyopt.emit.gpu.bound_tests import all_of, ranges_inside, tests_below, without_quotient
from polyopt.emit.gpu.declarations import KernelDeclarations
from polyopt.emit.gpu.expressions import INT_MOST, KernelPrinter, Storage
from polyopt.emit.gpu.fragments import TilePrinter
from polyopt.emit.gpu.loop_work import MOST_WORK, is_constant_from, trips_of, work_of
from polyopt.emit.gpu.nests import Unbounded, thread_nest
from polyopt.emit.gpu.printed import Constant, Printed, declared, joined, with_limits
from polyopt.emit.gpu.privatization import PrivateCopy, atomic_text
from polyopt.emit.gpu.reduction_printer import ReductionPrinter
from polyopt.emit.gpu.scan_printer import ScanPrinter
from polyopt.emit.gpu.thread_iterators import IteratorValue, distribute_nest, iterator_value
from polyopt.emit.gpu.vector_copies import vector_copy
from polyopt.emit.line_marks import marked
from polyopt.emit.regions import expressions, is_settled
from polyopt.emit.storage_scope import zero
from polyopt.emit.wrapping import WIDTH
from polyopt.errors import EmitError
from polyopt.ir.array import Role
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Iter,
    Load,
    Symbol,
    integer,
    operands,
    sub,
    walk,
)
from polyopt.ir.identity import update_of
from polyopt.ir.linear import normalize
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    AwaitCopies,
    Barrier,
    Body,
    Break,
    CallLibrary,
    Comment,
    CommitCopies,
    Declare,
    DeclareArray,
    DeclareView,
    Fail,
    For,
    If,
    Kernel,
    LoopKind,
    Node,
    SetLocal,
    Space,
    While,
)
from polyopt.ir.matrix import has_matrix, matrix_tile
from polyopt.ir.names import depends_on_data, has_iterator
from polyopt.ir.nodes import all_nodes
from polyopt.ir.scan import scan_of
from polyopt.ir.showing import show
from polyopt.ir.types import DType
from polyopt.never import assert_never

FEW = 4
"""Iterations of a thread's loop that is always unrolled."""
MOST_UNROLLED = 64
"""Iterations of a loop that is unrolled for the sake of registers."""


@dataclass(frozen=True, slots=True)
class KernelEmitter:
    """Emits the body of one kernel; `declarations` collects what stands at its head.

    `in_thread`: what is printed is run by one thread alone.  `orders_arrays`: barriers order
    accesses of the device's memory, too.  `scope` are the emitter's own names that are in use.
    `private_copies`: what blocks update in shared memory.
    """

    printer: KernelPrinter
    declarations: KernelDeclarations
    threads: int
    in_thread: bool
    orders_arrays: bool
    scope: frozenset[str] = frozenset()
    private_copies: Mapping[str, PrivateCopy] = field(default_factory=dict)

    def body(self, body: Body) -> list[Code]:
        """Return the statements of `body`."""
        lines: list[Code] = []
        emitter = self
        known = {self._name(n.name): "" for n in body if isinstance(n, Declare)}
        for alone, group in groupby(body, lambda n: isinstance(n, Assign) and not self.in_thread):
            if alone:
                first = f"{self.declarations.thread} == 0"
                lines.append(
                    Branch(first, [one for n in group for one in marked(n, emitter.node(n))], [])
                )
                continue
            for node in group:
                if isinstance(node, DeclareArray):
                    emitter, declared = emitter.with_array(node)
                    lines += declared
                elif isinstance(node, For):
                    lines += joined(emitter.loop(node), known)
                else:
                    lines += marked(node, emitter.node(node))
        return lines

    def node(self, node: Node) -> list[Code]:  # noqa: C901 - one case per node
        """Return the statements of one node."""
        match node:
            case For():
                return joined(self.loop(node), {})
            case If():
                condition = self.printer.text(without_quotient(node.condition))
                return [Branch(condition, self.body(node.then), self.body(node.otherwise))]
            case Assign(target=Load() as target, value=Load() as source) if node.is_async:
                at_once = self._store(self._element(target), target, source)
                later = copy_text(self.printer, self.declarations.dialect, target, source)
                return [Line(later or at_once)]
            case CommitCopies() | AwaitCopies():
                pending = node.pending if isinstance(node, AwaitCopies) else None
                statement = group_text(self.declarations.dialect, pending)
                return [Line(statement)] if statement else []
            case Assign(target=Load() as target) if node.is_atomic:
                return [self.at_once(target, node.value)]
            case Assign(target=Load() as target):
                return [Line(self._store(self._element(target), target, node.value))]
            case Declare():
                kind = self.printer.dialect.type_name(node.dtype)
                value = self.printer.text(node.value)
                return [Line(f"{kind} {self._name(node.name)} = {value};")]
            case SetLocal():
                local = Symbol(node.name, node.dtype, node.lanes)
                return [Line(self._store(self._name(node.name), local, node.value))]
            case While():
                condition = self.printer.text(node.condition)
                return [Compound(f"while ({condition})", self.body(node.body))]
            case Break():
                return [Line("break;")]
            case Barrier():
                return self._barrier(node)
            case Comment():
                return [Line(f"/* {plain(node.text)} */")]
            case DeclareArray():
                return self.with_array(node)[1]
            case Assign():
                raise AssertionError("vectors are no part of kernels")
            case Fail() | AllocateArray() | CallLibrary() | Kernel() | DeclareView():
                raise AssertionError("what the host does is no part of kernels")
            case _:
                assert_never(node)

    def at_once(self, target: Load, value: Expr) -> Code:
        """Return an atomic update, where the block private_copies them or on the device."""
        copy = self.private_copies.get(target.array)
        if copy is None:
            return Line(self.update(target, value, is_atomic=True))
        return copy.update(self.declarations, self.printer, target, update_of(target, value)[1])

    def update(self, target: Load, value: Expr, *, is_atomic: bool = False) -> str:
        """Return the text of an assignment to an element."""
        if is_atomic:
            op, term = update_of(target, value)
            text = self.printer.text(term)
            return atomic_text(
                self.declarations.dialect, op, target.dtype, self._element(target), text
            )
        return self._store(self._element(target), target, value)

    def _name(self, name: str) -> str:
        return self.printer.names.get(name, name)

    def _element(self, target: Load) -> str:
        return self.printer.element(target.array, target.index)

    def _store(self, text: str, target: Load | Symbol, value: Expr) -> str:
        if isinstance(target, Load) and target.dtype.is_half:
            return f"{text} = {self.printer.stored(target.dtype, value)};"
        found = None if self._is_flag(target) else in_place(target, value)
        if found is None or self.printer.wraps(value):
            return f"{text} = {self.printer.text(value)};"
        sign, whole = found
        return f"{text} {sign} {self.printer.text(whole.right)};"

    def _is_flag(self, target: Load | Symbol) -> bool:
        places = self.printer.places
        return isinstance(target, Load) and places[target.array].array.role is Role.FAULT

    def _barrier(self, node: Barrier) -> list[Code]:
        if self.threads == 1:
            return []
        dialect = self.declarations.dialect
        text = dialect.barrier(node.scope, orders_arrays=self.orders_arrays)
        if not plain(node.note):
            return [Line(text)]
        if len(text) + len(plain(node.note)) + 28 <= WIDTH:
            return [Line(f"{text}  /* {plain(plain(node.note))} */")]
        notes = [Line(f"/* {plain(note)} */") for note in plain(node.note).split("; ")]
        return [*notes, Line(text)]

    def with_array(self, node: DeclareArray) -> tuple[KernelEmitter, list[Code]]:
        """Return the emitter of what follows, and the declaration if it stands here."""
        array, name = node.array, self._name(node.array.name)
        lines: list[Code] = []
        if node.space is Space.SHARED:
            name = self.declarations.share(array, name)
        else:
            shape = array.shape[1:] if node.space is Space.REGISTER else array.shape
            extents = "".join(f"[{self.printer.text(extent)}]" for extent in shape)
            start = "" if shape else f" = {self.printer.text(zero(array))}"
            kind = self.declarations.dialect.declared(array.dtype)
            lines.append(Line(f"{kind} {name}{extents}{start};"))
        places = {**self.printer.places, array.name: Storage(array, name, node.space)}
        return replace(self, printer=replace(self.printer, places=places)), lines

    def loop(self, loop: For) -> Printed:
        """Print a loop."""
        if loop.kind is LoopKind.THREAD and self.threads > 1:
            return self._nest(loop)
        if loop.kind is LoopKind.SCAN:
            scan = ScanPrinter(
                scan_of(loop), self.printer, self.declarations, self.threads, self.scope
            )
            return Printed((), [Block(scan.whole())])
        return self._loop(loop)

    def _nest(self, loop: For) -> Printed:
        """Print nested THREAD loops: each thread what is its own."""
        try:
            nest = thread_nest(loop)
        except Unbounded as error:
            raise _no_box(loop) from error
        if nest.size == 0:
            return Printed((), [])
        distributed = distribute_nest(
            nest, self.threads, self.declarations, self.printer, self.scope
        )
        scope = self.scope | distributed.names
        inner = replace(self, printer=distributed.printer, in_thread=True, scope=scope)
        if self.declarations.dialect.matrices and has_matrix((loop,)):
            tile = matrix_tile(loop, self.threads)
            lines = TilePrinter(tile, distributed.printer, self.declarations, scope).lines()
            return inner.guarded(distributed.values, distributed.guards, lines)
        if nest.combined is not None:
            update = partial(inner.update, is_atomic=_is_atomic(nest.body))
            together = ReductionPrinter(
                nest, distributed, self.declarations, self.threads, scope, update
            )
            alone = inner.guarded(distributed.values, (), together.lines())
            return Printed((), [Block([*declared(alone.constants), *alone.lines])])
        printed = inner.guarded(distributed.values, distributed.guards, inner.body(nest.body))
        if distributed.head is None:
            return printed
        return Printed(
            (),
            [*_pragma(distributed.unrolls), Compound(distributed.head, joined(printed, {}))],
        )

    def guarded(
        self, values: Sequence[IteratorValue], guards: Sequence[Expr], lines: list[Code]
    ) -> Printed:
        """Return `lines` under conditions, and those iterators that are used there."""
        if guards:
            lines = [Branch(self.printer.text(all_of(tuple(guards))), lines, [])]
        used = set(identifiers(lines))
        declared: list[Constant] = []
        for value in reversed(values):
            name = self._name(value.name)
            if name in used:
                text = self.printer.text(value.value)
                used |= identifiers([Line(text)])
                kind = "int" if value.is_int else self.declarations.dialect.index
                fixed = not depends_on_data(value.value)
                declared.insert(0, Constant(kind, name, text, fixed))
        return Printed(tuple(declared), lines)

    def _loop(self, loop: For) -> Printed:
        """Print a loop that one thread runs, or all alike."""
        if not is_settled(loop.upper, loop.body):
            name = self.declarations.local(f"{self._name(loop.iter)}_end", self.scope)
            inner = replace(self, scope=self.scope | {name})
            rest = inner._loop(replace(loop, upper=Symbol(name, DType.INT64)))
            end = Constant(
                self.declarations.dialect.index, name, self._text(loop.upper), is_fixed=False
            )
            return replace(rest, constants=(end, *rest.constants))
        if not is_settled(loop.lower, loop.body):
            return self._plain_loop(loop)
        trips = trips_of(loop)
        if trips is not None and self._needs_unrolling(loop, trips):
            return self._counted_loop(loop, trips)
        is_one = len(operands(loop.upper, BinaryOp.MIN)) == 1 and isinstance(loop.lower, Const)
        if trips is None or loop.step != 1 or is_one:
            return self._plain_loop(loop)
        return self._short_loop(loop, trips)

    def _text(self, expr: Expr) -> str:
        """Return the text of a loop's bound."""
        return replace(self.printer, is_index=True).text(expr)

    def _is_narrow(self, loop: For) -> bool:
        least, most = self.printer.ranges.least(loop.lower), self.printer.ranges.most(loop.upper)
        if least is None or most is None or not self.printer.is_int(loop.lower):
            return False
        return most + loop.step <= INT_MOST

    def _plain_loop(self, loop: For) -> Printed:
        printer = replace(self.printer, ranges=ranges_inside(self.printer.ranges, loop))
        kind = self.declarations.dialect.index
        if self._is_narrow(loop):
            kind = "int"
            printer = replace(printer, ints=printer.ints | {loop.iter})
        else:
            printer = replace(printer, ints=printer.ints - {loop.iter})
        offsets = {name: e for name, e in printer.offsets.items() if name != loop.iter}
        name = self._name(loop.iter)
        step = f"{name}++" if loop.step == 1 else f"{name} += {loop.step}"
        inner = replace(self, printer=replace(printer, offsets=offsets))
        tests = tests_below(Iter(loop.iter), loop.upper)
        head = f"for ({kind} {name} = {self._text(loop.lower)}; "
        head += f"{inner._text(all_of(tests))}; {step})"
        printer = inner.printer.knowing(tests)
        if self.in_thread:
            inner = replace(inner, printer=printer)
            return Printed((), [*self._asked(loop), Compound(head, inner.body(loop.body))])
        inner = replace(inner, printer=replace(printer, fixed=printer.fixed | {loop.iter}))
        lines = with_limits(inner.body(loop.body), self.declarations, loop.iter)
        return Printed((), [*self._asked(loop), Compound(head, lines)])

    def _asked(self, loop: For) -> list[Code]:
        """Return what asks for unrolling: the schedule, or a constant number of statements."""
        if loop.kind is LoopKind.UNROLL:
            return _pragma(True)
        trips = trips_of(loop)
        limits = operands(loop.upper, BinaryOp.MIN)
        few = (
            trips is not None
            and 1 < trips <= self.declarations.dialect.unrolled
            and len(limits) == 1
        )
        return _pragma(
            few and self.in_thread and self.threads > 1 and work_of((loop,)) <= MOST_WORK
        )

    def _counted_loop(self, loop: For, trips: int) -> Printed:
        """Print a loop to be unrolled: a constant count, what is too much under a condition."""
        count = self._count(loop)
        printer = self.printer.with_int(count, 0, trips - 1)
        values, tests, printer = iterator_value(loop, Iter(count), printer)
        inner = replace(self, printer=printer, scope=self.scope | {count})
        lines = joined(inner.guarded(values, tests, inner.body(loop.body)), {})
        head = f"for (int {count} = 0; {count} < {trips}; {count}++)"
        nest = [*_pragma(True), Compound(head, lines)]
        name = self.declarations.local("wide", inner.scope)
        wide = vector_copy(loop, trips, count, tests, printer, self.declarations.dialect, name)
        if wide is None:
            return Printed((), nest)
        at_once: list[Code] = [Line(line) for line in wide.lines]
        if wide.condition is not None:
            return Printed((), [Branch(wide.condition, at_once, nest)])
        return Printed((), [Block(at_once)])

    def _short_loop(self, loop: For, trips: int) -> Printed:
        """Print a loop of few iterations, counted from its lower bound."""
        count = self._count(loop)
        goes_on, constants = self._until(loop, count, trips)
        printer = self.printer.with_int(count, 0, trips - 1)
        values, _, printer = iterator_value(loop, Iter(count), printer)
        scope = self.scope | {count, *(constant.name for constant in constants)}
        inner = replace(self, printer=printer, scope=scope)
        head = f"for (int {count} = 0; {goes_on}; {count}++)"
        body = joined(inner.guarded(values, (), inner.body(loop.body)), {})
        return Printed(constants, [*self._asked(loop), Compound(head, body)])

    def _until(self, loop: For, count: str, trips: int) -> tuple[str, tuple[Constant, ...]]:
        """Return the condition under which a short loop goes on, and what it has a name for."""
        ends = (
            limit
            for limit in operands(loop.upper, BinaryOp.MIN)
            if not is_constant_from(loop.lower, limit)
        )
        distances = [sub(limit, loop.lower) for limit in ends]
        if not distances or not self.declarations.dialect.limits:
            limits = [normalize(distance) for distance in distances]
            below = (f"{count} < {self._text(limit)}" for limit in (integer(trips), *limits))
            return " && ".join(below), ()
        least: Expr = integer(trips)
        for distance in distances:
            least = Binary(BinaryOp.MIN, least, normalize(distance), DType.INT64)
        end = self.declarations.local(f"{count}_end", self.scope)
        known = all(
            self.printer.is_positive(self.printer.counted(distance)) for distance in distances
        )
        kind = "int" if known else self.declarations.dialect.index
        text = f"(int){self._text(least)}" if known else self._text(least)
        fixed = not depends_on_data(least)
        return f"{count} < {end}", (Constant(kind, end, text, fixed),)

    def _count(self, loop: For) -> str:
        name = self._name(loop.iter)
        if loop.lower == integer(0) and loop.step == 1:
            return name
        return self.declarations.local(name * 2 if len(name) == 1 else f"{name}_in", self.scope)

    def _needs_unrolling(self, loop: For, trips: int) -> bool:
        """Tell whether registers are subscripted by the iterator, or it is asked for."""
        if trips > MOST_UNROLLED:
            return False
        work = work_of((loop,))
        if loop.kind is LoopKind.UNROLL:
            return True
        if self.in_thread and self.threads > 1 and trips <= FEW and work <= MOST_WORK:
            return True
        spaces = self._subscripted(loop)
        return Space.REGISTER in spaces or (Space.LOCAL in spaces and work <= MOST_WORK)

    def _subscripted(self, loop: For) -> set[Space]:
        """Return where arrays live that the loop's iterator is a subscript of."""
        spaces = {name: place.space for name, place in self.printer.places.items()}
        spaces |= {
            n.array.name: n.space for n in all_nodes(loop.body) if isinstance(n, DeclareArray)
        }
        moving = {loop.iter}
        for node in all_nodes(loop.body):
            if isinstance(node, For) and has_iterator(node.lower, moving):
                moving.add(node.iter)
        found: set[Space] = set()
        for part in (p for n in all_nodes(loop.body) for e in expressions(n) for p in walk(e)):
            space = spaces.get(part.array) if isinstance(part, Load) else None
            if not isinstance(part, Load) or space is None:
                continue
            index = part.index[1:] if space is Space.REGISTER else part.index
            if any(has_iterator(self.printer.counted(i), moving) for i in index):
                found.add(space)
        return found


def _is_atomic(body: Body) -> bool:
    return any(isinstance(node, Assign) and node.is_atomic for node in all_nodes(body))


def _no_box(loop: For) -> EmitError:
    bounds = f"from {show(loop.lower)} to {show(loop.upper)}"
    return EmitError(
        "PO0405",
        f"loop `{loop.iter}` over the threads of a block runs {bounds}: its length is no constant",
        hint="tile the loop first, and put its point loop on the threads",
    )


def _pragma(is_asked: bool) -> list[Code]:
    return [Pragma("unroll")] if is_asked else []
