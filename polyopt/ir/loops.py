"""The loop AST: the last form before text, in which the certificate and the emitters read a kernel.

In: the lowered schedule.  Out: immutable nodes.  Bounds and subscripts are INT64 `Expr` over
`Iter` (enclosing loops), `Param` and integers; `FLOORDIV` and `MOD` floor, as in Python.
"""

from __future__ import annotations

from enum import Enum, unique
from operator import is_
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from polyopt.dataclass import dataclass, replace
from polyopt.ir.annotations import (
    Annotation,
    Finishes,
    Grouped,
    Lanes,
    Pipeline,
    Reductions,
    SimdLength,
    Streams,
    merged,
)
from polyopt.ir.array import Array
from polyopt.ir.expr import BinaryOp, Expr, Load, Symbol, VectorLoad
from polyopt.ir.showing import show
from polyopt.ir.source import Signature
from polyopt.ir.types import DType
from polyopt.never import assert_never

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from polyopt.ir.annotations import Values
    from polyopt.ir.program import Program


@unique
class LoopKind(Enum):
    """How a loop's iterations may run; anything but SEQUENTIAL was proven."""

    SEQUENTIAL = "sequential"
    PARALLEL = "parallel"  # across threads, a barrier at the end
    VECTOR = "vector"  # across SIMD lanes
    UNROLL = "unroll"  # sequential, body repeated
    BLOCK = "block"  # across the blocks of a device's grid
    THREAD = "thread"  # across the threads of a block; what follows waits only at a `Barrier`
    MATRIX = "matrix"  # of a tile of products that warps compute by matrix instructions; in order
    LANE = "lane"  # a reduction that neighbouring threads make together; in order on a CPU
    SCAN = "scan"  # `a[i] = a[i - 1] op x` that a device's threads make together; in order on a CPU
    LIBRARY = "library"  # of a product that a library may make, `ir/blas.py`; in order elsewhere
    EXTREMUM = "extremum"  # `m = x if x > m else m` that lanes make together, equal to in order


CONCURRENT = frozenset((LoopKind.PARALLEL, LoopKind.VECTOR, LoopKind.BLOCK, LoopKind.THREAD))
"""Kinds whose iterations may run at the same time."""


@dataclass(frozen=True, slots=True)
class For:
    """`for iter in range(lower, upper, step)`; `step` > 0, `upper` is exclusive.

    `label` names the schedule band member it came from.  What few loops have is in `annotations`,
    to be read by the properties and changed by `annotated`.

    `reductions` are locals that each thread or lane accumulates on its own and combines by the
    operator at the end.  `lanes` > 1 asks for a VECTOR loop as explicit vectors of that many
    elements.  `pipeline` is what a step asks for, or how the copies in the loop were arranged.

    A THREAD loop with a reduction is the innermost of its nest, and all that it does is `target =
    target op value` of one element for all of its iterations: neighbouring threads of a warp have a
    value each, combine these pairwise, and the first one's thread updates the target.  `lanes` of a
    THREAD loop are places for at least that many iterations: threads without one do nothing.

    `group` > 1, of a BLOCK loop around another one: blocks are numbered so that as many of its
    iterations start side by side, for one iteration of the loop inside after the other.

    `finishes` asks that the kernel that the loop is in be run by the last block of the one before.

    `streams` are arrays of which a VECTOR loop's stores may go past the caches, and locals that
    tell whether they do.
    """

    iter: str
    lower: Expr
    upper: Expr
    step: int
    kind: LoopKind
    body: Body
    label: str = ""
    annotations: tuple[Annotation, ...] = ()

    @property
    def reductions(self) -> tuple[tuple[BinaryOp, Symbol], ...]:
        """Operators and the locals, or arrays, that they combine at the end."""
        for one in self.annotations:
            if isinstance(one, Reductions):
                return one.combined
        return ()

    @property
    def lanes(self) -> int:
        """Elements of explicit vectors, or places for iterations."""
        for one in self.annotations:
            if isinstance(one, Lanes):
                return one.count
        return 1

    @property
    def pipeline(self) -> Pipeline | None:
        """How the copies in the loop run ahead."""
        return next((one for one in self.annotations if isinstance(one, Pipeline)), None)

    @property
    def group(self) -> int:
        """Iterations of a BLOCK loop that start side by side."""
        return next((one.size for one in self.annotations if isinstance(one, Grouped)), 1)

    @property
    def finishes(self) -> bool:
        """Whether the last block of the kernel before runs the one that the loop is in."""
        return any(isinstance(one, Finishes) for one in self.annotations)

    @property
    def streams(self) -> tuple[tuple[str, Symbol], ...]:
        """Arrays whose stores may go past the caches, and locals that tell whether they do."""
        for one in self.annotations:
            if isinstance(one, Streams):
                return one.stores
        return ()

    @property
    def simd_length(self) -> int:
        """Iterations in a vector that the C compiler is asked for, 0 for any number."""
        return next((one.count for one in self.annotations if isinstance(one, SimdLength)), 0)

    def annotated(self, **values: Unpack[Values]) -> For:
        """Return the loop with other values of some annotations; defaults take them away."""
        annotations = merged(self.annotations, values)
        return self if annotations == self.annotations else replace(self, annotations=annotations)


def vectors_of_sums(loop: For) -> int:
    """Return how many vectors each sum of a loop on explicit vectors has.

    An addition takes as long as four others take to begin.
    """
    if loop.lanes == 1 or not loop.reductions:
        return 1
    return {1: 4, 2: 2, 3: 2}.get(len(loop.reductions), 1)


@dataclass(frozen=True, slots=True)
class If:
    """`if condition: then else: otherwise`."""

    condition: Expr
    then: Body
    otherwise: Body = ()


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value`: instance `instance` of statement `statement` of the Scop.

    Statements without a Scop counterpart (copies, spills of accumulators) have `statement` "".
    A `VectorLoad` as target stores all lanes; lane `l` is instance `instance + l * steps`.
    `is_async`: an element of a shared array gets one of the device's memory, at any time until the
    thread has passed the `AwaitCopies` that covers it; nobody may touch either before.
    `is_atomic`: `target = target op term` as one, whoever else updates the element meanwhile.
    """

    target: Load | VectorLoad
    value: Expr
    statement: str = ""
    instance: tuple[Expr, ...] = ()
    steps: tuple[int, ...] = ()
    is_async: bool = False
    is_atomic: bool = False


@dataclass(frozen=True, slots=True)
class Declare:
    """Declare the local `name` (a `Symbol` in expressions) and set it to `value`.

    `statement`, `instance` and `steps` as in `Assign`.
    """

    name: str
    dtype: DType
    lanes: int
    value: Expr
    statement: str = ""
    instance: tuple[Expr, ...] = ()
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SetLocal:
    """`name = value` for a local declared before; what it runs as in `Assign`."""

    name: str
    dtype: DType
    lanes: int
    value: Expr
    statement: str = ""
    instance: tuple[Expr, ...] = ()
    steps: tuple[int, ...] = ()


@unique
class Space(Enum):
    """Where an array that is declared in the loops lives."""

    LOCAL = "local"  # of the thread that runs the declaration
    SHARED = "shared"  # of a block: its threads see one array
    REGISTER = "register"  # of a thread: the first subscript is the thread's number in its block
    THREAD = "thread"  # of the thread that runs the iterations of a loop: one for all of them


@dataclass(frozen=True, slots=True)
class DeclareArray:
    """Declare a temporary array, undefined, visible in the rest of the body.

    Its shape is constant, unless it is in THREAD space: then it is over the sizes of the function.
    """

    array: Array
    space: Space = Space.LOCAL


@dataclass(frozen=True, slots=True)
class Place:
    """Elements of an array: `[p]` is `steps[d] * p[d]` behind `first`, the last along its row."""

    first: Load
    steps: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class DeclareView:
    """Name elements at `then` or `otherwise` for the rest of the body, as `condition` says here."""

    array: Array
    condition: Expr
    then: Place
    otherwise: Place


@dataclass(frozen=True, slots=True)
class While:
    """`while condition: body`; sequential."""

    condition: Expr
    body: Body


@dataclass(frozen=True, slots=True)
class Break:
    """Leave the innermost enclosing SEQUENTIAL `For` or `While`."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Stop the kernel with fault number `fault` of the signature.

    Inside a PARALLEL loop it ends the iteration; the kernel stops when the loop is done.
    `statement` and `instance` name the instance that notes the fault, if there is one.
    """

    fault: int
    statement: str = ""
    instance: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class AllocateArray:
    """Give memory to the TEMP array `array` of the function, whose shape is over names in scope.

    Memory it has from an earlier execution is given back first; what is left at the end is freed.
    """

    array: Array


@dataclass(frozen=True, slots=True)
class CallLibrary:
    """Call library function number `site` of the signature on whole arrays of the function."""

    site: int
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Updates of `array` by `op`, its only accesses, that a block may make where it likes.

    It has elements of its own for them if the array, of `extent` elements, has `most` or fewer, and
    adds these to those of the device at its end.
    """

    array: str
    op: BinaryOp
    extent: Expr
    most: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """Code that runs on a device: `body` in blocks of `threads` threads.

    BLOCK loops come first, each directly inside the one before, six at most.  What is in them is
    run by all threads of a block, but for the iterations of nested THREAD loops, which are counted
    row by row and dealt out: thread `t` runs those whose number modulo `threads` is `t`.  An
    assignment outside THREAD loops is run by thread 0.

    `finish` is run once all of `body` is, by the block that comes to its end last, or by the only
    one where `body` has no iterations: its threads share it out in the same way.
    """

    name: str
    threads: int
    body: Body
    finish: Body = ()
    gathered: tuple[Gathered, ...] = ()


@unique
class Scope(Enum):
    """Which threads wait for one another."""

    WARP = "warp"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class Barrier:
    """No thread of the scope goes on before all have come here; `note` names what it protects."""

    scope: Scope
    note: str = ""


@dataclass(frozen=True, slots=True)
class CommitCopies:
    """The asynchronous copies that a thread began since its last commit are its next group."""


@dataclass(frozen=True, slots=True)
class AwaitCopies:
    """A thread waits for all groups of its copies but the last `pending` ones."""

    pending: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A line for the reader of the emitted text: ASCII without comment delimiters."""

    text: str


Node: TypeAlias = (
    For
    | While
    | If
    | Break
    | Fail
    | Assign
    | Declare
    | SetLocal
    | DeclareArray
    | DeclareView
    | AllocateArray
    | CallLibrary
    | Kernel
    | Barrier
    | CommitCopies
    | AwaitCopies
    | Comment
)
Body: TypeAlias = tuple[Node, ...]


_N = TypeVar("_N", bound=Node)


def updated(node: _N, **fields: Any) -> _N:  # noqa: ANN401 - as `replace` has it
    """Return `node` with other `fields`, or itself where they hold the same objects as before."""
    for name, value in fields.items():
        before = getattr(node, name)
        if before is value:
            continue
        if not (isinstance(value, tuple) and len(value) == len(before)):
            return replace(node, **fields)
        if not all(map(is_, value, before)):
            return replace(node, **fields)
    return node


@dataclass(frozen=True, slots=True)
class LoopFunction:
    """A kernel as loops.

    `arrays` are all arrays of the body except those declared in it: arguments and outputs, TEMP
    arrays, which get heap storage at the start (those of an `AllocateArray` there), and the FAULT
    array.  A name declared by `Declare` with dtype INT64 and one lane may be used in bounds and
    subscripts as `Symbol`.  `trace` is the schedule's steps, one a line.  `reassociable`
    names the statements whose reduction may be split, vectorized and contracted to FMA, `fusible`
    those in whose values sums of products may be regrouped, each product and its sum rounded once.
    `turns`: groups of TEMP arrays of one element type that lie in one memory, one after another; it
    has the size of the largest.
    `laws`: the programs that steps made of the source's by a law of arithmetic, each of the one
    before it; the loops run the last one.
    """

    name: str
    arrays: tuple[Array, ...]
    params: tuple[str, ...]
    signature: Signature
    body: Body
    trace: tuple[str, ...] = ()
    contract: bool = False
    reassociable: frozenset[str] = frozenset()
    fusible: frozenset[str] = frozenset()
    turns: tuple[tuple[str, ...], ...] = ()
    laws: tuple[Program, ...] = ()


def show_body(body: Body, depth: int = 0) -> list[str]:  # noqa: C901 - one case per node
    """Return the nodes in Python's notation, one a line, indented by depth."""
    pad = "    " * depth
    lines: list[str] = []
    for node in body:
        match node:
            case For():
                kind = "" if node.kind is LoopKind.SEQUENTIAL else f"  # {node.kind.value}"
                if node.pipeline is not None:
                    kind += f"  # {node.pipeline.stages} stages"
                if node.group > 1:
                    kind += f"  # groups of {node.group}"
                step = "" if node.step == 1 else f", {node.step}"
                bounds = f"{show(node.lower)}, {show(node.upper)}{step}"
                lines.append(f"{pad}for {node.iter} in range({bounds}):{kind}")
                lines += show_body(node.body, depth + 1)
            case If():
                lines.append(f"{pad}if {show(node.condition)}:")
                lines += show_body(node.then, depth + 1)
                if node.otherwise:
                    lines.append(f"{pad}else:")
                    lines += show_body(node.otherwise, depth + 1)
            case Assign():
                sign = "<-" if node.is_async else "="
                note = "  # atomic" if node.is_atomic else ""
                lines.append(f"{pad}{show(node.target)} {sign} {show(node.value)}{note}")
            case Declare() | SetLocal():
                lines.append(f"{pad}{node.name} = {show(node.value)}")
            case DeclareArray():
                shape = ", ".join(show(s) for s in node.array.shape)
                where = node.space.value
                lines.append(f"{pad}{node.array.name} = {where} {node.array.dtype}[{shape}]")
            case DeclareView():
                then, other = show(node.then.first), show(node.otherwise.first)
                chosen = f"{then} if {show(node.condition)} else {other}"
                lines.append(f"{pad}{node.array.name} = view from {chosen}")
            case While():
                lines.append(f"{pad}while {show(node.condition)}:")
                lines += show_body(node.body, depth + 1)
            case Break():
                lines.append(f"{pad}break")
            case Fail():
                lines.append(f"{pad}fail {node.fault}")
            case AllocateArray():
                shape = ", ".join(show(s) for s in node.array.shape)
                lines.append(f"{pad}{node.array.name} = allocate {node.array.dtype}[{shape}]")
            case CallLibrary():
                given = ", ".join(array.name for array in node.inputs)
                made = ", ".join(array.name for array in node.outputs)
                lines.append(f"{pad}{made} = library {node.site}({given})")
            case Kernel():
                lines.append(f"{pad}kernel {node.name} in blocks of {node.threads} threads:")
                lines += [f"{pad}    gathers {by.array} of up to {by.most}" for by in node.gathered]
                lines += show_body(node.body, depth + 1)
                if node.finish:
                    lines.append(f"{pad}and by the last block:")
                    lines += show_body(node.finish, depth + 1)
            case Barrier():
                lines.append(f"{pad}barrier({node.scope.value})  # {node.note}")
            case CommitCopies():
                lines.append(f"{pad}commit copies")
            case AwaitCopies():
                lines.append(f"{pad}await copies but {node.pending}")
            case Comment():
                lines.append(f"{pad}# {node.text}")
            case _:
                assert_never(node)
    return lines
