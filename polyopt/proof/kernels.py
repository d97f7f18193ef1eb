"""Check the form of a device's kernels, and convert them to sequential loops.

In: loops without shadowed names.  Out: one claim; the loops without kernels, to be run in order.
Refuses: loops over blocks that are not a box, barriers that some threads may miss, locals and
arrays that belong neither to a thread nor to a block.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt import proof
from polyopt.dataclass import dataclass, replace
from polyopt.ir.array import Array
from polyopt.ir.expr import (
    BinaryOp,
    Expr,
    Iter,
    Load,
    Symbol,
    VectorLoad,
    integer,
    loads,
    walk,
)
from polyopt.ir.extremum import update_by
from polyopt.ir.identity import NoUpdate, update_of
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    AwaitCopies,
    Barrier,
    Body,
    Break,
    CallLibrary,
    CommitCopies,
    Declare,
    DeclareArray,
    Fail,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
    Space,
    While,
)
from polyopt.ir.names import iterators
from polyopt.ir.nodes import all_nodes, bodies, map_bodies, own_expressions
from polyopt.ir.scan import NoScan, scan_of
from polyopt.ir.types import Kind
from polyopt.proof.certificate import Claim, ClaimKind, Unclaimable, Verdict
from polyopt.proof.nodes import written

GRID = 6
"""Loops over blocks that a grid has room for."""
THREADS = 1024
"""Threads that a block may have."""
WARP = 32
"""Neighbouring threads that pass values on to one another."""
SCANNING = (32, 64, 128, 256, 512, 1024)
"""Threads of a block that can scan together."""
COMBINING = (
    BinaryOp.ADD,
    BinaryOp.MUL,
    BinaryOp.MIN,
    BinaryOp.MAX,
    BinaryOp.AND,
    BinaryOp.OR,
    BinaryOp.XOR,
)
"""Operations by which threads combine what they have."""


class _Malformed(Unclaimable):
    """A node does not belong into a kernel, or into the host's code; `subject` is the kernel."""


def has_kernels(body: Body) -> bool:
    """Tell whether some of `body` runs on a device."""
    return any(isinstance(node, Kernel) for node in all_nodes(body))


def without_kernels(body: Body) -> Body:
    """Return the loops of the kernels, in which only concurrent loops run at the same time.

    Copies happen when they are started.
    """
    found: list[Node] = []
    for node in body:
        match node:
            case Kernel():
                found += without_kernels((*node.body, *node.finish))
            case Barrier() | CommitCopies() | AwaitCopies():
                pass
            case Assign():
                found.append(replace(node, is_async=False))
            case DeclareArray():
                found.append(DeclareArray(node.array))
            case _:
                found.append(map_bodies(node, without_kernels))
    return tuple(found)


def check_kernels(function: LoopFunction) -> Claim:
    """Return whether every kernel of `function` is well formed, with all device code in kernels."""
    try:
        _host(function.body, {array.name: array for array in function.arrays})
    except _Malformed as error:
        return Claim(ClaimKind.CONTROL, error.subject, Verdict.REFUTED, "", error.reason)
    return Claim(ClaimKind.CONTROL, "well-formed kernels", Verdict.PROVEN, "")


def _host(body: Body, arrays: Mapping[str, Array]) -> None:
    for node in body:
        match node:
            case Kernel():
                _kernel(node)
                try:
                    proof.block_privatization.check_privatized(node, arrays)
                except proof.block_privatization.NotPrivatizable as error:
                    raise _Malformed(node.name, str(error)) from None
            case Barrier() | CommitCopies() | AwaitCopies() | Assign(is_async=True):
                raise _Malformed("the host", "it waits for threads of a block")
            case Assign(is_atomic=True):
                raise _Malformed("the host", "it updates by an atomic operation")
            case For(kind=LoopKind.BLOCK | LoopKind.THREAD):
                raise _Malformed(f"loop {node.iter}", "it stands in no kernel")
            case DeclareArray(space=Space.SHARED | Space.REGISTER):
                raise _Malformed(node.array.name, "it is declared in no kernel")
            case _:
                for part in bodies(node):
                    _host(part, arrays)


def _kernel(kernel: Kernel) -> None:
    if not 1 <= kernel.threads <= THREADS:
        raise _Malformed(kernel.name, f"it has {kernel.threads} threads in a block")
    if not (kernel.name.isascii() and kernel.name.isidentifier()):
        raise _Malformed(kernel.name, "a kernel is called so")
    iters: list[str] = []
    body = kernel.body
    while len(body) == 1:
        node = body[0]
        if not isinstance(node, For) or node.kind is not LoopKind.BLOCK:
            break
        if any(_is_inside(part, iters) for e in (node.lower, node.upper) for part in walk(e)):
            raise _Malformed(kernel.name, f"its blocks are no box: {node.iter}")
        iters.append(node.iter)
        body = node.body
    if len(iters) > GRID:
        raise _Malformed(kernel.name, f"its grid has {len(iters)} dimensions")
    declared = frozenset(n.name for n in all_nodes((kernel,)) if isinstance(n, Declare))
    code = (*kernel.body, *kernel.finish)
    arrays = [n for n in all_nodes(code) if isinstance(n, DeclareArray)]
    shared = frozenset(n.array.name for n in arrays if n.space is Space.SHARED)
    changed = written(code) | frozenset(n.array.name for n in arrays)
    block = _BlockCheck(kernel, declared, shared, changed, frozenset(n.array.name for n in arrays))
    block.body(body)
    if kernel.finish:
        _finish(kernel, iters, body)
        block.body(kernel.finish)


def _finish(kernel: Kernel, iters: list[str], body: Body) -> None:
    """Check that the code of the last block uses nothing of other blocks' own."""
    own = {n.name for n in all_nodes(body) if isinstance(n, Declare)}
    own |= {n.array.name for n in all_nodes(body) if isinstance(n, DeclareArray)}
    inside = {n.iter for n in all_nodes(kernel.finish) if isinstance(n, For)}
    if not iters or kernel.threads == 1:
        raise _Malformed(kernel.name, "there are no blocks of which one is the last")
    for node in all_nodes(kernel.finish):
        if isinstance(node, For) and node.kind in (LoopKind.BLOCK, LoopKind.MATRIX):
            raise _Malformed(kernel.name, f"the last block alone runs a {node.kind.value} loop")
        for part in (p for e in own_expressions(node) for p in walk(e)):
            name = _name(part)
            if name in own or (name in iters and name not in inside):
                raise _Malformed(kernel.name, f"the last block uses {name} of every block")
        if isinstance(node, Assign) and node.target.array in own:
            raise _Malformed(kernel.name, f"the last block sets {node.target.array} of every block")


def _name(part: Expr) -> str:
    match part:
        case Load() | VectorLoad():
            return part.array
        case Iter() | Symbol():
            return part.name
        case _:
            return ""


def _is_inside(part: Expr, iters: list[str]) -> bool:
    """Tell whether the host, which launches the blocks, cannot evaluate `part`."""
    return isinstance(part, Load | VectorLoad) or (isinstance(part, Iter) and part.name in iters)


@dataclass(frozen=True, slots=True)
class _BlockCheck:
    """Walks the code that all threads of a block run; `declared` are the kernel's locals.

    Asynchronous copies are into the arrays in `shared`, from any but those in `changed`.
    """

    kernel: Kernel
    declared: frozenset[str]
    shared: frozenset[str]
    changed: frozenset[str]
    own: frozenset[str]

    def body(self, body: Body) -> None:
        for node in body:
            match node:
                case For(kind=LoopKind.THREAD):
                    self.nest(node)
                    continue
                case For(kind=LoopKind.SCAN):
                    self.scan(node)
                    continue
                case For():
                    self.loop(node)
                case DeclareArray():
                    self.storage(node)
                case SetLocal(name=name) if name not in self.declared:
                    raise self.wrong(name, "a local of the host is set")
                case While() | Break() if self.kernel.threads > 1:
                    raise self.wrong(type(node).__name__, "its iterations are not counted")
                case Assign():
                    self.assign(node)
                case _:
                    self.host_only(node)
            for part in bodies(node):
                self.body(part)

    def storage(self, node: DeclareArray) -> None:
        """Check that an array of a block is shared by its threads, or private to each."""
        match node.space:
            case Space.LOCAL if self.kernel.threads > 1:
                raise self.wrong(node.array.name, "it is neither a thread's nor the block's")
            case Space.REGISTER:
                if node.array.shape[:1] != (integer(self.kernel.threads),):
                    raise self.wrong(node.array.name, "not every thread has its own part")
            case Space.SHARED if (reason := proof.swizzles.swizzle_fault(node.array)) is not None:
                raise self.wrong(node.array.name, reason)
            case _:
                pass

    def host_only(self, node: Node) -> None:
        if isinstance(node, Fail | AllocateArray | CallLibrary | Kernel):
            raise self.wrong(type(node).__name__, "it is for the host to do")

    def loop(self, loop: For) -> None:
        kinds = (LoopKind.SEQUENTIAL, LoopKind.UNROLL, LoopKind.MATRIX)
        if loop.kind not in kinds:
            raise self.wrong(f"loop {loop.iter}", f"a {loop.kind.value} loop inside a block")

    def scan(self, loop: For) -> None:
        """Check that the threads of whole warps compute a recurrence, and nothing else."""
        try:
            scan_of(loop)
        except NoScan as error:
            raise self.wrong(f"loop {loop.iter}", str(error)) from None
        if self.kernel.threads not in SCANNING:
            raise self.wrong(f"loop {loop.iter}", "threads that scan are no whole warps")

    def nest(self, outermost: For) -> None:
        try:
            nest = proof.threads.thread_nest(outermost)
        except proof.threads.NoBox as error:
            raise self.wrong(f"loop {error.loop.iter}", "its extent is no constant") from error
        for loop in nest.loops[:-1]:
            if loop.reductions:
                raise self.wrong(f"loop {loop.iter}", "threads combine nothing")
        if nest.loops[-1].reductions:
            self.combination(nest)
        own = frozenset(n.name for n in all_nodes((outermost,)) if isinstance(n, Declare))
        for inner in nest.inside:
            for node in all_nodes((inner,)):
                self.thread(node, own)
        if _leaves(nest.inside):
            raise self.wrong("break", "a thread may leave the block's loop")

    def combination(self, nest: proof.threads.ThreadNest) -> None:
        """Check that the threads of whole warps combine a value each into one element."""
        loop, extent = nest.loops[-1], nest.extents[-1]
        subject = f"loop {loop.iter}"
        if self.kernel.threads % WARP or nest.size > self.kernel.threads:
            raise self.wrong(subject, "threads that combine are not all there")
        if loop.step != 1 or extent not in (2, 4, 8, 16, 32):
            raise self.wrong(subject, "threads that combine are no part of a warp")
        body = nest.inside
        while len(body) == 1 and isinstance(body[0], If) and not body[0].otherwise:
            if loads(body[0].condition):
                raise self.wrong(subject, "data tells which threads combine")
            body = body[0].then
        match body:
            case (
                Assign(
                    target=Load() as target,
                    value=value,
                    is_async=False,
                ),
            ) if (update := update_by(value, target)) is not None:
                names = iterators(*target.index)
                is_update = target.dtype is value.dtype is update.fresh.dtype
                own = [part.array for part in loads(update.fresh)]
                combined = loop.reductions == ((update.op, Symbol(target.array, target.dtype)),)
                if not (is_update and combined) or loop.iter in names or target.array in own:
                    raise self.wrong(subject, "threads do more than combine into one element")
                if update.op not in COMBINING or target.dtype.size not in (4, 8):
                    raise self.wrong(subject, "threads cannot pass such values on")
                if target.dtype.kind is Kind.COMPLEX or any(loads(part) for part in target.index):
                    raise self.wrong(subject, "threads cannot pass such values on")
            case _:
                raise self.wrong(subject, "threads do more than combine into one element")

    def thread(self, node: Node, own: frozenset[str]) -> None:
        """Check a node that one thread runs; `own` are its private locals."""
        match node:
            case For():
                self.loop(node)
            case SetLocal(name=name) if name not in own:
                raise self.wrong(name, "threads set a local of the block")
            case DeclareArray(space=Space.SHARED | Space.REGISTER):
                raise self.wrong(node.array.name, "a thread declares what the block has")
            case Barrier() | CommitCopies() | AwaitCopies():
                raise self.wrong("barrier", "a thread waits that others may not reach")
            case Assign():
                self.assign(node)
            case _:
                self.host_only(node)

    def assign(self, node: Assign) -> None:
        if node.is_async:
            self.copy(node)
        if node.is_atomic:
            self.update(node)

    def update(self, node: Assign) -> None:
        """Check that an atomic operation exists on devices, and is on the device's memory."""
        try:
            update_of(node.target, node.value)
        except NoUpdate as error:
            raise self.wrong(node.target.array, str(error)) from None
        if node.target.array in self.own:
            raise self.wrong(node.target.array, "an atomic operation on what a block has alone")

    def copy(self, node: Assign) -> None:
        """Check that an asynchronous copy is from constant memory to shared memory."""
        name = node.target.array
        match node:
            case Assign(target=Load() as target, value=Load() as source):
                lanes = True
            case Assign(target=VectorLoad() as target, value=VectorLoad() as source):
                lanes = (target.lanes, target.step) == (source.lanes, source.step)
            case _:
                raise self.wrong(name, "an asynchronous copy computes something")
        if target.dtype is not source.dtype or not lanes:
            raise self.wrong(name, "an asynchronous copy converts what it copies")
        if name not in self.shared or source.array in self.changed:
            raise self.wrong(name, "an asynchronous copy is not from constant to shared memory")

    def wrong(self, subject: str, reason: str) -> _Malformed:
        return _Malformed(f"{subject} of {self.kernel.name}", reason)


def _leaves(body: Body) -> bool:
    """Tell whether a `Break` in `body` leaves the loop around it."""
    for node in body:
        match node:
            case Break():
                return True
            case If():
                if _leaves(node.then) or _leaves(node.otherwise):
                    return True
            case _:
                pass
    return False


def locals_of(body: Body) -> dict[str, Expr]:
    """Return the INT64 locals that are set once, to values without elements."""
    again = {node.name for node in all_nodes(body) if isinstance(node, SetLocal)}
    found: dict[str, Expr] = {}
    for node in all_nodes(body):
        if isinstance(node, Declare) and node.name not in again and node.dtype.is_integer:
            found[node.name] = node.value
    return {n: v for n, v in found.items() if not any(_is_stored(p, again) for p in walk(v))}


def _is_stored(part: Expr, again: set[str]) -> bool:
    return isinstance(part, Load | VectorLoad) or (isinstance(part, Symbol) and part.name in again)
