"""Kernels of a device: a form that host, printer and proof understand alike, and what they compute.

In: loops with no name hidden.  Out: one claim; the loops without kernels, to be run in order.
Refuses: loops over blocks that are no box, barriers that some threads may miss, locals and arrays
that are neither of a thread nor of a block.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyopt.ir.expr import Expr, Iter, Load, Symbol, VectorLoad, integer, walk
from polyopt.ir.loops import (
    AllocateArray,
    Barrier,
    Body,
    Break,
    CallLibrary,
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
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.nodes import all_nodes, bodies, with_bodies
from polyopt.proof.threads import NoBox, thread_nest

GRID = 3
"""Loops over blocks that a grid has room for."""
THREADS = 1024
"""Threads that a block may have."""


class _Malformed(Exception):
    """A node is no part of a kernel, or of the host's code; `subject` is the kernel."""

    def __init__(self, subject: str, reason: str) -> None:
        super().__init__(f"{subject}: {reason}")
        self.subject = subject
        self.reason = reason


def has_kernels(body: Body) -> bool:
    """Tell whether some of `body` runs on a device."""
    return any(isinstance(node, Kernel) for node in all_nodes(body))


def without_kernels(body: Body) -> Body:
    """Return what the kernels compute if nothing in them runs at the same time but loops' runs."""
    found: list[Node] = []
    for node in body:
        match node:
            case Kernel():
                found += without_kernels(node.body)
            case Barrier():
                pass
            case DeclareArray():
                found.append(DeclareArray(node.array))
            case _:
                inner = tuple(without_kernels(part) for part in bodies(node))
                found.append(with_bodies(node, inner))
    return tuple(found)


def check_kernels(function: LoopFunction) -> Claim:
    """Return whether every kernel of `function` is well formed, and nothing else is on a device."""
    try:
        _host(function.body)
    except _Malformed as error:
        return Claim(ClaimKind.CONTROL, error.subject, Verdict.REFUTED, "", error.reason)
    return Claim(ClaimKind.CONTROL, "well-formed kernels", Verdict.PROVEN, "")


def _host(body: Body) -> None:
    for node in body:
        match node:
            case Kernel():
                _kernel(node)
            case Barrier():
                raise _Malformed("the host", "it waits for threads of a block")
            case For(kind=LoopKind.BLOCK | LoopKind.THREAD):
                raise _Malformed(f"loop {node.iter}", "it stands in no kernel")
            case DeclareArray(space=Space.SHARED | Space.REGISTER):
                raise _Malformed(node.array.name, "it is declared in no kernel")
            case _:
                for part in bodies(node):
                    _host(part)


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
    declared = frozenset(n.name for n in all_nodes(kernel.body) if isinstance(n, Declare))
    _Block(kernel, declared).body(body)


def _is_inside(part: Expr, iters: list[str]) -> bool:
    """Tell whether the host, which launches the blocks, does not know `part`."""
    return isinstance(part, Load | VectorLoad) or (isinstance(part, Iter) and part.name in iters)


@dataclass(frozen=True, slots=True)
class _Block:
    """The walk over what all threads of a block run; `declared` are the kernel's locals."""

    kernel: Kernel
    declared: frozenset[str]

    def body(self, body: Body) -> None:
        for node in body:
            match node:
                case For(kind=LoopKind.THREAD):
                    self.nest(node)
                    continue
                case For():
                    self.loop(node)
                case DeclareArray():
                    self.storage(node)
                case SetLocal(name=name) if name not in self.declared:
                    raise self.wrong(name, "a local of the host is set")
                case While() | Break() if self.kernel.threads > 1:
                    raise self.wrong(type(node).__name__, "its iterations are not counted")
                case _:
                    self.host_only(node)
            for part in bodies(node):
                self.body(part)

    def storage(self, node: DeclareArray) -> None:
        """Check that an array of a block is what all threads see as one, or each as its own."""
        match node.space:
            case Space.LOCAL if self.kernel.threads > 1:
                raise self.wrong(node.array.name, "it is neither a thread's nor the block's")
            case Space.REGISTER:
                if node.array.shape[:1] != (integer(self.kernel.threads),):
                    raise self.wrong(node.array.name, "not every thread has its own part")
            case _:
                pass

    def host_only(self, node: Node) -> None:
        if isinstance(node, Fail | AllocateArray | CallLibrary | Kernel):
            raise self.wrong(type(node).__name__, "it is for the host to do")

    def loop(self, loop: For) -> None:
        if loop.kind not in (LoopKind.SEQUENTIAL, LoopKind.UNROLL):
            raise self.wrong(f"loop {loop.iter}", f"a {loop.kind.value} loop inside a block")

    def nest(self, outermost: For) -> None:
        try:
            nest = thread_nest(outermost)
        except NoBox as error:
            raise self.wrong(f"loop {error.loop.iter}", "its extent is no constant") from error
        for loop in nest.loops:
            if loop.reductions:
                raise self.wrong(f"loop {loop.iter}", "threads combine nothing")
        own = frozenset(n.name for n in all_nodes((outermost,)) if isinstance(n, Declare))
        for inner in nest.inside:
            for node in all_nodes((inner,)):
                self.thread(node, own)
        if _leaves(nest.inside):
            raise self.wrong("break", "a thread may leave the block's loop")

    def thread(self, node: Node, own: frozenset[str]) -> None:
        """Check a node that one thread runs; `own` are locals that it alone has."""
        match node:
            case For():
                self.loop(node)
            case SetLocal(name=name) if name not in own:
                raise self.wrong(name, "threads set a local of the block")
            case DeclareArray(space=Space.SHARED | Space.REGISTER):
                raise self.wrong(node.array.name, "a thread declares what the block has")
            case Barrier():
                raise self.wrong("barrier", "a thread waits that others may not reach")
            case _:
                self.host_only(node)

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
    """Return the INT64 locals that are set once, to no element of an array, with their values."""
    again = {node.name for node in all_nodes(body) if isinstance(node, SetLocal)}
    found: dict[str, Expr] = {}
    for node in all_nodes(body):
        if isinstance(node, Declare) and node.name not in again and node.dtype.is_integer:
            found[node.name] = node.value
    return {n: v for n, v in found.items() if not any(_is_stored(p, again) for p in walk(v))}


def _is_stored(part: Expr, again: set[str]) -> bool:
    return isinstance(part, Load | VectorLoad) or (isinstance(part, Symbol) and part.name in again)
