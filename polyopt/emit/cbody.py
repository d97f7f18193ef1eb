"""Print loop AST nodes as C statements.

In: a body, the frame of names.  Out: pieces of C; functions for the bodies of parallel loops.
A parallel loop's body becomes a function of its own: gcc forgets `restrict` when it outlines a
parallel region, but keeps it for the parameters of a function that it does not inline.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING

from polyopt import emit
from polyopt.dataclass import dataclass, field, replace
from polyopt.emit import c_statements, outlining, pieces
from polyopt.emit.banner import plain
from polyopt.emit.c_statements import Branch, Code, Compound, Function, Line, Pragma, identifiers
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.compiler_guards import mixes_products, needed_registers
from polyopt.emit.dead_locals import unused_locals
from polyopt.emit.dialect import in_place, lanes
from polyopt.emit.early_exits import FIRST_FAULT, STATUS, Exit, ExitKind, leaves_early
from polyopt.emit.extrema import extremum_in_lanes, nan_flags, noting_update
from polyopt.emit.frame import Frame, allocation, array_declaration, array_view, row_declaration
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.lanes import is_contiguous
from polyopt.emit.line_marks import marked
from polyopt.emit.openmp import (
    Named,
    asks_together,
    begins_last,
    enough,
    is_shared,
    parallel_pragmas,
    shared_loops,
    simd_pragma,
)
from polyopt.emit.passes.row_recurrences import row_recurrence
from polyopt.emit.regions import draws_words, free_names, is_settled, thread_arrays
from polyopt.emit.views import View, view_declaration
from polyopt.ir.expr import (
    BinaryOp,
    Broadcast,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Symbol,
    VectorLoad,
    integer,
    sub,
)
from polyopt.ir.extremum import extremum_of
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
from polyopt.ir.nodes import all_nodes
from polyopt.ir.scop import Array
from polyopt.ir.types import DType
from polyopt.never import assert_never

if TYPE_CHECKING:
    from polyopt.emit.sharing import Shared


@dataclass(frozen=True, slots=True)
class BodyEmitter:
    """Emits bodies; `regions` collects the functions made for parts of them, in order.

    `exit` is how a fault leaves; `is_repeated` tells that a loop is around.  `left` is what tells
    threads to end; `in_pieces` asks for a loop in pieces.  Of `unused` locals nothing reads the
    value.  `flags` note for some locals that lanes have met NaN; `shared` are nests that are
    printed as calls.
    """

    frame: Frame
    printer: ExprPrinter
    exit: Exit
    regions: list[Function] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    is_parallel: bool = False
    is_repeated: bool = False
    left: str = ""
    unused: frozenset[str] = frozenset()
    in_pieces: bool = False
    flags: Mapping[str, Symbol] = field(default_factory=dict)
    shared: Shared | None = None

    def body(self, body: Body) -> list[Code]:
        """Return the statements of `body`."""
        free = [Line(f"{self.printer.helper(one)}();") for one in needed_registers(body)]
        return [*free, *self.of(body).statements(body)]

    def of(self, body: Body) -> BodyEmitter:
        """Return what prints statements of `body`."""
        printer = replace(self.printer, keeps_products=mixes_products(body))
        return replace(self, printer=printer, unused=unused_locals(body))

    def statements(self, body: Body) -> list[Code]:
        """Return the statements of `body`, or of a part of what `of` was given."""
        if self.frame.edition.is_handed_over:
            found = emit.rerolling.rerolled(self, body)
            if found is not None:
                return found
        lines: list[Code] = []
        number = 0
        while number < len(body):
            node = body[number]
            if isinstance(node, AllocateArray):
                return [*lines, *self._allocate(node, body[number + 1 :])]
            call = emit.sharing.shared_call(self, body, number) if self.shared else None
            found, count = call or (self.noted(body, number), 1)
            lines += [*self.notes(body, number), *found] if call and count == 1 else found
            number += count
        return lines

    def noted(self, body: Body, number: int) -> list[Code]:
        """Return the statements of a node of a body and the comments before it."""
        return [*self.notes(body, number), *marked(body[number], self.node(body[number]))]

    def notes(self, body: Body, number: int) -> list[Code]:
        """Return the comments before a node."""
        is_for_readers = self.frame.edition.is_handed_over
        return emit.notes.notes(self, body, number) if is_for_readers else []

    def node(self, node: Node) -> list[Code]:  # noqa: C901 - one case per node
        """Return the statements of one node."""
        match node:
            case For(kind=LoopKind.LIBRARY):
                return emit.library_calls.product_call(self, node)
            case For():
                return self.loop(node)
            case If():
                return self._branch(node)
            case Assign():
                return [Line(self._assign(node))]
            case Declare():
                name, value = self.name(node.name), self.initial(node)
                told = " __attribute__((unused))" if node.name in self.unused else ""
                return [Line(f"{self.type_of(node)} {name}{told} = {value};")]
            case SetLocal() if node.name in self.flags:
                return [*noting_update(node, self.flags[node.name], self.printer, self.fresh)]
            case SetLocal():
                target = Symbol(node.name, node.dtype, node.lanes)
                return [Line(self._store(self.name(node.name), target, node.value))]
            case DeclareArray(space=Space.THREAD):
                return []  # the region around gives it memory
            case DeclareArray():
                return [array_declaration(node.array, self.name(node.array.name), self.printer)]
            case DeclareView():
                return view_declaration(node, self.printer)
            case While():
                printer = replace(self.printer, is_repeated=True)
                inner = replace(self, printer=printer, is_repeated=True)
                head = f"while ({self.printer.text(node.condition)})"
                return [Compound(head, [*pieces.question(self, node), *inner.body(node.body)])]
            case Break():
                return [Line("break;")]
            case Fail():
                return self.exit.lines(str(FIRST_FAULT + node.fault), self.printer)
            case AllocateArray():
                return self._allocate(node, ())
            case CallLibrary():
                return [emit.library_calls.library_call(self, node)]
            case Comment():
                return [Line(f"/* {plain(node.text)} */")]
            case Kernel() | Barrier() | CommitCopies() | AwaitCopies():
                raise AssertionError("kernels of a device are no part of C")
            case _:
                assert_never(node)

    def _branch(self, node: If) -> list[Code]:
        condition = self.printer.text(node.condition)
        ranges = self.printer.ranges.where(node.condition)
        inner = replace(self, printer=replace(self.printer, ranges=ranges))
        return [Branch(condition, inner.body(node.then), self.body(node.otherwise))]

    def _allocate(self, node: AllocateArray, rest: Body) -> list[Code]:
        """Give an array memory; its pointer to rows is declared here, for the rest of the body."""
        assert not self.is_parallel, "memory is given by one thread"
        array, base = node.array, self.frame.views[node.array.name]
        if not array.shape:
            return self.statements(rest)
        lines: list[Code] = []
        first = base.name not in self.names
        lines += [Line(f"free({base.pointer});")] if not first or self.is_repeated else []
        lines.append(Line(f"{base.pointer} = {allocation(self.printer, array)};"))
        lines.append(Branch(f"!{base.pointer}", self.exit.lines("1", self.printer), []))
        view = replace(base, array=array)
        if base.is_rows:
            name = base.name if first else self.fresh(base.name)
            made = array_view(array, name, True, [], self.printer)
            view = replace(made, pointer=base.pointer)
        self.names.add(base.name)
        views = {**self.frame.views, array.name: view}
        frame, printer = replace(self.frame, views=views), replace(self.printer, views=views)
        following = replace(self, frame=frame, printer=printer).statements(rest)
        if view.is_rows and view.name in identifiers(following):
            lines.append(row_declaration(view, self.printer))
        return [*lines, *following]

    def name(self, name: str) -> str:
        return self.frame.names.get(name, name)

    def type_of(self, node: Declare) -> str:
        if node.lanes == 1:
            return node.dtype.value_ctype
        return self.printer.helper(Helper(HelperKind.VECTOR, node.dtype, node.lanes))

    def initial(self, node: Declare) -> str:
        return self._widened(node.value, node.dtype, node.lanes)

    def _widened(self, value: Expr, dtype: DType, width: int) -> str:
        if width > 1 and lanes(value) == 1:
            value = Broadcast(value, dtype, width)
        return self.printer.text(value)

    def _assign(self, node: Assign) -> str:
        match node.target:
            case Load() if node.target.array in self.frame.faults:
                place = self.printer.element(node.target.array, node.target.index)
                value = self.printer.text(node.value)
                return f"__atomic_store_n(&{place}, {value}, __ATOMIC_RELAXED);"
            case Load():
                target = self.printer.element(node.target.array, node.target.index)
            case VectorLoad():
                value = self._widened(node.value, node.target.dtype, node.target.lanes)
                return self.printer.store(node.target, value)
            case _:
                assert_never(node.target)
        return self._store(target, node.target, node.value)

    def _store(self, text: str, target: Load | Symbol, value: Expr) -> str:
        if isinstance(target, Load) and target.dtype.is_half:
            return f"{text} = {self.printer.stored(target.dtype, value)};"
        width = 1 if isinstance(target, Load) else target.lanes
        found = in_place(target, value)
        if found is None:
            return f"{text} = {self._widened(value, target.dtype, width)};"
        sign, whole = found
        right = whole.right.operand if isinstance(whole.right, Broadcast) else whole.right
        operand = self.printer.text(right)
        if self.printer.keeps_products and whole.op in (BinaryOp.ADD, BinaryOp.SUB):
            operand = self.printer.kept(right, operand)
        return f"{text} {sign} {operand};"

    def loop(self, loop: For) -> list[Code]:
        """Print a loop."""
        lines: list[Code] = []
        if not is_settled(loop.upper, loop.body):
            name = self.fresh(f"{self.name(loop.iter)}_end")
            lines.append(Line(f"const int64_t {name} = {self.printer.text(loop.upper)};"))
            loop = replace(loop, upper=Symbol(name, DType.INT64))
        rows = emit.random_rows.in_rows(self, loop) if draws_words(loop.body) else None
        if not rows and [type(node) for node in loop.body] == [If]:
            rows = emit.chosen_iterations.chosen_iteration(self, loop)
        return [*lines, *(rows or self.settled_loop(loop))]

    def settled_loop(self, loop: For) -> list[Code]:
        """Print a loop whose upper bound may be read again at every iteration."""
        ranges = self.printer.ranges.inside(loop)
        printer = replace(self.printer, ranges=ranges, is_repeated=True)
        inner = replace(self, printer=printer, is_repeated=True)
        if self.is_for_threads(loop):
            for shared in shared_loops(loop)[1:]:
                ranges = inner.printer.ranges.inside(shared)
                inner = replace(inner, printer=replace(inner.printer, ranges=ranges))
            return self._parallel(loop, replace(inner, is_parallel=True))
        if loop.lanes > 1 and loop.kind is not LoopKind.VECTOR:
            return inner._across_rows(loop)
        if loop.kind is LoopKind.VECTOR:  # OpenMP has no threads inside lanes
            inner = replace(inner, is_parallel=True, left="")
        match loop.kind:
            case LoopKind.VECTOR:
                return self._in_lanes(loop, inner)
            case LoopKind.EXTREMUM:
                return self._extremum(loop, inner)
            case LoopKind.SEQUENTIAL | LoopKind.UNROLL | LoopKind.PARALLEL:
                pass
            case LoopKind.LANE | LoopKind.SCAN | LoopKind.LIBRARY:
                pass
            case LoopKind.BLOCK | LoopKind.THREAD | LoopKind.MATRIX:
                raise AssertionError("loops over blocks and threads stand in kernels of a device")
            case _:
                assert_never(loop.kind)
        return pieces.serial_loop(self, loop, inner)

    def _in_lanes(self, loop: For, inner: BodyEmitter) -> list[Code]:
        """Print a loop on registers, or one that the compiler vectorizes."""
        if loop.lanes > 1 and loop.reductions:
            return emit.vector_sums.vector_sums(self, loop)
        if loop.lanes > 1:
            return emit.vector_loops.vector_loop(self, loop)
        if loop.streams and not loop.reductions:
            return self._in_strips(loop, inner)
        flags = nan_flags(loop, self.fresh)
        inner = replace(inner, flags={**self.flags, **flags.noting})
        pragma = Pragma(f"{simd_pragma(loop, self.printer)}{flags.clauses}")
        nest = Compound(self.head(loop), inner.body(loop.body))
        return flags.around(self.printer, [pragma, nest])

    def _extremum(self, loop: For, inner: BodyEmitter) -> list[Code]:
        """Print a chain of choices in lanes, and in order where the order decides."""
        found = extremum_of(loop)
        assert found is not None, "the proof asks for the form"
        inner = inner.of(loop.body)
        head = self.head(loop)
        in_order = inner.statements(loop.body)
        before = inner.statements(found.before)
        return extremum_in_lanes(found, inner.printer, self.fresh, head, before, in_order)

    def _across_rows(self, loop: For) -> list[Code]:
        """Print a row recurrence, vectorized across the rows."""
        found = row_recurrence(loop, loop.lanes, self.frame.rows)
        if found is None:
            return self.settled_loop(loop.annotated(lanes=1))
        begins: list[str] = []
        upper = self.bound(loop.upper, f"{self.name(loop.iter)}_hi", begins)
        printer = emit.register_transpose.TransposePrinter(
            loop, found, self.printer, self.body_with, self.own
        )
        bounds = self.printer.text(loop.lower), self.printer.text(upper)
        return [printer.loops(self.name(loop.iter), bounds, begins)]

    def body_with(self, body: Body, names: dict[str, str]) -> list[Code]:
        """Return the statements of `body`, in which some names stand for other texts."""
        printer = replace(self.printer, names={**self.printer.names, **names})
        frame = replace(self.frame, names={**self.frame.names, **names})
        return replace(self, printer=printer, frame=frame).body(body)

    def _in_strips(self, loop: For, inner: BodyEmitter) -> list[Code]:
        """Print a loop that the compiler vectorizes, with nontemporal stores."""
        stores = emit.nontemporal_loops.nontemporal_stores(loop, self.frame.rows)
        if not stores:
            return self.settled_loop(loop.annotated(streams=()))
        printing = emit.nontemporal_loops.NontemporalPrinter(
            loop, stores, self.printer, inner._body_seen, self.own, simd_pragma(loop, self.printer)
        )
        return printing.lines(self.name(loop.iter))

    def _body_seen(self, body: Body, views: dict[str, View]) -> list[Code]:
        """Return the statements of `body`, in which further arrays are seen."""
        views = {**self.frame.views, **views}
        printer, frame = replace(self.printer, views=views), replace(self.frame, views=views)
        return replace(self, printer=printer, frame=frame).body(body)

    def streamed(self, body: Body) -> list[Code]:
        """Print the fence after a body with nontemporal stores."""
        if not any(isinstance(node, For) and node.streams for node in all_nodes(body)):
            return []
        return [Line(f"{self.helper(HelperKind.STREAMED)}();")]

    def helper(self, kind: HelperKind) -> str:
        """Return the name of a helper for sizes."""
        return self.printer.helper(Helper(kind))

    def bound(self, bound: Expr, wish: str, begins: list[str]) -> Expr:
        """Return a bound that is a name or a number, declared in `begins` if need be."""
        if isinstance(bound, Const | Param | Iter | Symbol):
            return bound
        name = self.own(wish)
        begins.append(f"{name} = {self.printer.text(bound)}")
        return Iter(name)

    def own(self, wish: str) -> str:
        """Return a name for a block of its own; it hides nothing that the block uses."""
        return self.frame.identifier(wish, self.frame.taken)

    def fresh(self, wish: str) -> str:
        """Return a name that nothing else in the text has."""
        name = self.frame.identifier(wish, self.frame.taken | self.names)
        self.names.add(name)
        return name

    def head(self, loop: For) -> str:
        """Return the head of a loop."""
        name = self.name(loop.iter)
        step = f"{name}++" if loop.step == 1 else f"{name} += {loop.step}"
        lower, upper = self.printer.text(loop.lower), self.printer.text(loop.upper, 9)
        return f"for (int64_t {name} = {lower}; {name} < {upper}; {step})"

    def is_for_threads(self, loop: For) -> bool:
        """Tell whether threads share the iterations of a loop."""
        return is_shared(loop) and not self.is_parallel

    def _falling_head(self, loop: For) -> str:
        """Print a loop of which the last iteration is begun first."""
        name = self.name(loop.iter)
        lower, last = self.printer.text(loop.lower, 9), normalize(sub(loop.upper, integer(1)))
        return f"for (int64_t {name} = {self.printer.text(last)}; {name} >= {lower}; {name}--)"

    def _parallel(self, loop: For, inner: BodyEmitter) -> list[Code]:
        simd = is_contiguous(loop, self.frame.rows)
        shared = shared_loops(loop)
        last = shared[-1]
        free = free_names(last.body)
        fails = leaves_early(last.body)
        given = thread_arrays(last.body)
        stop: list[Code] = []
        is_asked = asks_together(loop) and not self.frame.edition.is_handed_over
        left = self.fresh("left") if is_asked else ""
        if fails or given:
            stop = [Branch(f"{STATUS} != 0", self.exit.lines(STATUS, self.printer), [])]
        has_loops = any(isinstance(node, For) for node in all_nodes(last.body))
        if free.set_locals or loop.reductions or not (has_loops or fails):
            label = self._label() if fails else ""
            inner = replace(inner, exit=Exit(ExitKind.LOOP, label))
            end = [Line(f"{label}:;")] if fails else []
            call = [*inner.body(last.body), *end]
        else:
            own = left if pieces.any_pieces(last.body) else ""
            inner = replace(inner, exit=Exit(ExitKind.REGION), left="*po_left" if own else "")
            call = outlining.outline_region(inner, last, free, fails=fails, left=own)
            fails = False
        declared: list[Code] = []
        if left:
            declared, asked, leave = self.exit.questions(left, self.printer)
            call, stop = [*asked, *call], [*stop, *leave]
        nest = self._heads(shared, self._if_given(given, call))
        return [*declared, *self._shared(loop, nest, given, simd=simd, once=fails), *stop]

    def _if_given(self, given: tuple[Array, ...], call: list[Code]) -> list[Code]:
        """Return the body of a loop for threads that got the memory they need."""
        condition = " && ".join(self.frame.views[array.name].pointer for array in given)
        return [Branch(condition, call, [])] if given else call

    def _shared(
        self, loop: For, nest: Compound, given: tuple[Array, ...], *, simd: bool, once: bool = False
    ) -> list[Code]:
        """Print `nest` for threads, and once more for one thread.

        A region that OpenMP's own condition keeps to one thread costs half a microsecond, each
        time.  `given`: arrays that each thread gets memory for.  `once`: the nest has labels and
        cannot stand twice.
        """
        condition = "" if once or self.frame.edition.is_handed_over else enough(loop, self.printer)
        named = Named(self.fresh, 50 if self.frame.edition.is_handed_over else None)
        found = parallel_pragmas(loop, self.printer, named, simd=simd, always=bool(condition))
        together = [*named.lines, Pragma(found.whole), nest]
        end = self.streamed(loop.body)
        if given or end:
            inside = self._with_memory(given, [Pragma(found.loop), nest, *end])
            together = [*named.lines, Pragma(found.region), c_statements.Block(inside)]
        if not condition:
            return together
        alone = [Pragma(simd_pragma(loop, self.printer))] if simd else []
        return [Branch(condition, together, self._with_memory(given, [*alone, nest]))]

    def _with_memory(self, given: tuple[Array, ...], body: list[Code]) -> list[Code]:
        """Print statements for which a thread gets memory of its own."""
        if not given:
            return body
        views = [self.frame.views[array.name] for array in given]
        lines: list[Code] = [
            Line(f"{view.parameter()} = {allocation(self.printer, view.array)};") for view in views
        ]
        fail = self.printer.helper(Helper(HelperKind.FAIL))
        missing = " || ".join(f"!{view.pointer}" for view in views)
        lines.append(Branch(missing, [Line(f"{fail}(&{STATUS}, 1);")], []))
        used = identifiers(body)
        rows = [view for view in views if view.is_rows and view.name in used]
        lines += [row_declaration(view, self.printer) for view in rows]
        return [*lines, *body, *(Line(f"free({view.pointer});") for view in views)]

    def _heads(self, loops: tuple[For, ...], body: list[Code]) -> Compound:
        *outer, last = loops
        if not outer and begins_last(last, self.printer):
            return Compound(self._falling_head(last), body)
        nest = Compound(self.head(last), body)
        for loop in reversed(outer):
            nest = Compound(self.head(loop), [nest])
        return nest

    def _label(self) -> str:
        label = next(text for n in count() if (text := f"po_next{n}") not in self.names)
        self.names.add(label)
        return label
