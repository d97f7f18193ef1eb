"""Races of a block's threads, by running the block: independent of isl and of the proof.

In: the code of a block without sizes.  Out: pairs of accesses in any order to one element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, product

from polyopt.ir.expr import Load, walk
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import Assign, Barrier, Body, DeclareArray, For, If, LoopKind, Node, Scope


@dataclass(frozen=True)
class Event:
    """An access: `blocks` and `warps` count the barriers before it; `nest` is what ran it."""

    array: str
    index: tuple[int, ...]
    is_written: bool
    thread: int
    blocks: int
    warps: int
    nest: int


@dataclass
class Run:
    """One run of a block by `threads` threads."""

    threads: int
    events: list[Event] = field(default_factory=list)
    blocks: int = 0
    warps: int = 0
    nest: int = 0

    def body(self, body: Body, env: dict[str, int]) -> None:
        for node in body:
            self.node(node, env)

    def node(self, node: Node, env: dict[str, int]) -> None:
        match node:
            case Barrier(scope=scope):
                if scope is Scope.BLOCK:
                    self.blocks += 1
                else:
                    self.warps += 1
            case For(kind=LoopKind.THREAD):
                self.nest += 1
                self.threads_of(node, env)
            case For():
                for value in range(evaluate(node.lower, env), evaluate(node.upper, env), node.step):
                    self.body(node.body, {**env, node.iter: value})
            case Assign():
                self.nest += 1
                self.assign(node, env, 0)
            case DeclareArray():
                pass
            case _:
                raise AssertionError(node)

    def threads_of(self, outermost: For, env: dict[str, int]) -> None:
        """Run nested loops over threads whose bounds are numbers."""
        loops = [outermost]
        while isinstance(loops[-1].body[0], For) and loops[-1].body[0].kind is LoopKind.THREAD:
            loops.append(loops[-1].body[0])
        ranges = [range(evaluate(f.lower, env), evaluate(f.upper, env), f.step) for f in loops]
        for number, point in enumerate(product(*ranges)):
            values = dict(zip((f.iter for f in loops), point, strict=True))
            self.inside(loops[-1].body, {**env, **values}, number % self.threads)

    def inside(self, body: Body, env: dict[str, int], thread: int) -> None:
        for node in body:
            match node:
                case Assign():
                    self.assign(node, env, thread)
                case If():
                    self.inside(node.then if evaluate(node.condition, env) else (), env, thread)
                case _:
                    raise AssertionError(node)

    def assign(self, node: Assign, env: dict[str, int], thread: int) -> None:
        for part in walk(node.value):
            if isinstance(part, Load):
                self.access(part, env, thread, is_written=False)
        assert isinstance(node.target, Load)
        self.access(node.target, env, thread, is_written=True)

    def access(self, part: Load, env: dict[str, int], thread: int, *, is_written: bool) -> None:
        index = tuple(evaluate(i, env) for i in part.index)
        self.events.append(
            Event(part.array, index, is_written, thread, self.blocks, self.warps, self.nest)
        )


def races(body: Body, threads: int) -> Iterator[tuple[Event, Event]]:
    """Yield accesses of different threads and nests that nothing orders."""
    run = Run(threads)
    run.body(body, {})
    cells: dict[tuple[str, tuple[int, ...]], list[Event]] = {}
    for event in dict.fromkeys(run.events):
        cells.setdefault((event.array, event.index), []).append(event)
    for events in cells.values():
        for one, two in combinations(events, 2):
            if one.nest == two.nest or one.thread == two.thread:
                continue
            if not (one.is_written or two.is_written) or one.blocks != two.blocks:
                continue
            if one.thread // 32 == two.thread // 32 and one.warps != two.warps:
                continue
            yield one, two
