"""Pipeline copies into shared arrays some iterations ahead of their uses.

In: kernels; loops that a step asks a `Pipeline` for.  Out: such arrays with a part for each stage;
the copies of the first iterations before the loop, those of a later one in each iteration.
Refuses (PO0408, PO0409): loops that do not begin with copies, stages without room.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from polyopt.dataclass import dataclass, replace
from polyopt.emit.gpu.async_copies import SIZES
from polyopt.emit.gpu.each_block import in_each_block
from polyopt.emit.gpu.nests import spans
from polyopt.emit.regions import declared_names, leaves_itself, written_arrays
from polyopt.errors import EmitError
from polyopt.ir.annotations import Pipeline
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    add,
    integer,
    loads,
    rewrite,
    sub,
    substitute,
)
from polyopt.ir.integers import evaluate
from polyopt.ir.linear import normalize
from polyopt.ir.loops import (
    Assign,
    AwaitCopies,
    Body,
    CommitCopies,
    DeclareArray,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    Space,
)
from polyopt.ir.nodes import all_nodes, changed_body, map_bodies, map_inner
from polyopt.ir.types import DType

MOST_SHARED = 227 * 1024
"""Bytes of shared memory that a launch may ask for, on any device; fewer have so much."""


def pipeline_copies(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the pipelines in its kernels; raises `EmitError` PO0408, PO0409."""
    return in_each_block(fn, _in_block)


def has_pipelines(fn: LoopFunction) -> bool:
    """Tell whether some loop is asked to be a pipeline."""
    return any(isinstance(node, For) and node.pipeline is not None for node in all_nodes(fn.body))


def without_pipelines(fn: LoopFunction) -> LoopFunction:
    """Return lowered loops that ask for no pipeline."""
    return replace(fn, body=tuple(map(_plain, fn.body)))


def _plain(node: Node) -> Node:
    node = map_inner(node, _plain)
    return node.annotated(pipeline=None) if isinstance(node, For) else node


def _in_block(kernel: Kernel, body: Body, fn: LoopFunction, around: tuple[For, ...]) -> Body:
    asked = [n for n in all_nodes(body) if isinstance(n, For) and n.pipeline is not None]
    if not asked:
        return body
    if kernel.threads == 1:
        raise _refused(asked[0], "one thread runs all of its block")
    taken = declared_names(fn.body) | set(fn.params) | {array.name for array in fn.arrays}
    written = written_arrays(body)
    staged = _Stages(written, set(taken)).body(body)
    _check_room(kernel, staged)
    return staged


def _check_room(kernel: Kernel, body: Body) -> None:
    arrays = [
        (n.array, prod(int(evaluate(e, {})) for e in n.array.shape) * n.array.dtype.size)
        for n in all_nodes(body)
        if isinstance(n, DeclareArray) and n.space is Space.SHARED
    ]
    total = sum(size for _, size in arrays)
    if total > MOST_SHARED:
        raise EmitError(
            "PO0409",
            f"the stages of `{kernel.name}` take {total} bytes of shared memory, "
            f"no device gives a block more than {MOST_SHARED}",
            hint="ask for fewer stages, or tile the loop smaller",
        )


def _refused(loop: For, reason: str) -> EmitError:
    return EmitError(
        "PO0408",
        f"loop `{loop.label}` cannot be a pipeline: {reason}",
        hint="pack what it reads at this loop, deal copies and points out to threads, and leave "
        "out arrays that the loop writes",
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """A loop's body: its shared arrays that are copied into, the copies, what uses them."""

    arrays: tuple[DeclareArray, ...]
    copies: Body
    rest: Body


@dataclass(frozen=True, slots=True)
class _Stages:
    """Arranges the pipelines of a block; `written` are the arrays that it changes."""

    written: frozenset[str]
    taken: set[str]

    def body(self, body: Body) -> Body:
        """Return code that all threads of a block run."""
        return tuple(part for node in body for part in self.node(node))

    def node(self, node: Node) -> Body:
        if isinstance(node, For) and node.kind is LoopKind.THREAD:
            return (node,)
        inner = map_bodies(node, self.body)
        if isinstance(inner, For) and inner.pipeline is not None:
            return self.loop(inner, inner.pipeline)
        return (inner,)

    def loop(self, loop: For, pipeline: Pipeline) -> Body:
        parts = self.parts(loop)
        stages = pipeline.stages
        names = frozenset(node.array.name for node in parts.arrays)
        copies = parts.copies
        if pipeline.is_async:
            copies = tuple(map(_async, copies))
        is_async = any(isinstance(n, Assign) and n.is_async for n in all_nodes(copies))
        commit: Body = (CommitCopies(),) if is_async else ()
        place = Iter(loop.iter)
        ahead = add(place, integer(stages - 1))
        arrays = tuple(_staged(node, stages) for node in parts.arrays)
        return (
            *arrays,
            *self.first(loop, stages, names, copies, commit),
            replace(
                loop,
                body=(
                    *((AwaitCopies(stages - 2),) if is_async else ()),
                    If(
                        Compare(CompareOp.LT, ahead, loop.upper),
                        _at(copies, loop.iter, ahead, stages, names),
                    ),
                    *commit,
                    *_at(parts.rest, loop.iter, place, stages, names),
                ),
            ).annotated(pipeline=replace(pipeline, is_async=is_async)),
        )

    def first(
        self, loop: For, stages: int, names: frozenset[str], copies: Body, commit: Body
    ) -> Body:
        """Return the copies of the iterations that no other is ahead of."""

        def of(value: Expr) -> Body:
            exists = Compare(CompareOp.LT, value, loop.upper)
            return (If(exists, _at(copies, loop.iter, value, stages, names)), *commit)

        if stages == 2:
            return of(loop.lower)
        name = _fresh(loop.iter, self.taken)
        end = normalize(add(loop.lower, integer(stages - 1)))
        return (For(name, loop.lower, end, 1, LoopKind.UNROLL, of(Iter(name)), loop.label),)

    def parts(self, loop: For) -> _Parts:
        """Return the parts of a loop; raises `EmitError` PO0408."""
        declared = {
            n.array.name: n
            for n in loop.body
            if isinstance(n, DeclareArray) and n.space is Space.SHARED
        }
        copies: list[Node] = []
        kept: list[Node] = []
        rest = list(loop.body)
        while rest:
            if isinstance(rest[0], DeclareArray):
                kept.append(rest.pop(0))
            elif self.is_copy(rest[0], frozenset(declared)):
                copies.append(rest.pop(0))
            else:
                break
        filled = written_arrays(tuple(copies))
        again = filled & written_arrays(tuple(n for n in rest if not isinstance(n, DeclareArray)))
        reason = None
        if loop.kind is not LoopKind.SEQUENTIAL or loop.step != 1:
            reason = "its iterations are not counted one by one"
        elif loads(loop.lower) or loads(loop.upper) or leaves_itself(loop.body):
            reason = "data decides how long it runs"
        elif not copies:
            reason = "it does not begin with copies into shared arrays of a block"
        elif again:
            reason = f"{min(again)} is changed after it was copied"
        if reason is not None:
            raise _refused(loop, reason)
        arrays = tuple(declared[name] for name in declared if name in filled)
        others = (n for n in kept if n not in arrays)
        return _Parts(arrays, tuple(copies), (*others, *rest))

    def is_copy(self, node: Node, arrays: frozenset[str]) -> bool:
        """Tell whether a node only fills some of `arrays` from what the block does not change."""
        read: tuple[Expr, ...]
        for part in all_nodes((node,)):
            match part:
                case For():
                    read = (part.lower, part.upper)
                case If():
                    read = (part.condition,)
                case Assign(target=Load() as target) if target.array in arrays:
                    if part.statement:
                        return False
                    read = (part.value, *target.index)
                case _:
                    return False
            if any(load.array in self.written for expr in read for load in loads(expr)):
                return False
        return any(isinstance(part, Assign) for part in all_nodes((node,)))


def _async(node: Node, neighbours: frozenset[int] = frozenset((1,))) -> Node:
    """Return an asynchronous copy, where the node is only a copy of a supported size.

    `neighbours` are how many elements a loop may copy at once.
    """
    match node:
        case Assign(target=Load() as target, value=Load() as source):
            can = any(count * source.dtype.size in SIZES for count in neighbours)
            return replace(node, is_async=can and target.dtype is source.dtype)
        case For():
            neighbours = frozenset((1, *(length for _, length in spans(node))))
        case _:
            pass
    return map_inner(node, _async, neighbours)


def _staged(node: DeclareArray, stages: int) -> DeclareArray:
    array = node.array
    return replace(node, array=replace(array, shape=(integer(stages), *array.shape)))


def _at(body: Body, name: str, value: Expr, stages: int, arrays: frozenset[str]) -> Body:
    """Return `body` in iteration `value`, with its arrays' part for that iteration."""

    def rule(part: Expr) -> Expr | None:
        match part:
            case Load() if part.array in arrays:
                index = tuple(rewrite(i, moved) for i in part.index)
                return replace(part, index=(_stage(value, stages), *index))
            case _:
                return moved(part)

    def moved(part: Expr) -> Expr | None:
        if isinstance(part, Iter) and part.name == name:
            return value
        return _tidy(part, name, value)

    return changed_body(body, rule)


def _tidy(part: Expr, name: str, value: Expr) -> Expr | None:
    """Return a sum over `name` with `value` in its place, its terms collected."""
    if value == Iter(name) or not isinstance(part, Binary) or part.dtype is not DType.INT64:
        return None
    if part.op not in (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL) or loads(part):
        return None
    return normalize(substitute(part, {name: value}))


def _stage(value: Expr, stages: int) -> Expr:
    if isinstance(value, Const):
        return integer(int(value.value.real) % stages)
    return Binary(BinaryOp.MOD, value, integer(stages), DType.INT64)


def _fresh(wish: str, taken: set[str]) -> str:
    number = 2
    while f"{wish}{number}" in taken:
        number += 1
    taken.add(f"{wish}{number}")
    return f"{wish}{number}"


def completed_copies(loop: For) -> Iterator[tuple[int, Node]]:
    """Yield the copies that complete where an iteration of a pipeline waits, and that point."""
    match loop:
        case For(pipeline=Pipeline(stages=stages), body=(AwaitCopies(), If() as copies, *_)):
            value = sub(Iter(loop.iter), integer(stages - 1))
            (copies_,) = changed_body((copies,), lambda e: value if e == Iter(loop.iter) else None)
            yield 0, copies_
        case _:
            pass
