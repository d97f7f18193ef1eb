"""What a kernel does and has: its statements, tiles, shared memory, registers and barriers.

In: loops with kernels, and their schedules.  Out: `Launch`es, for people and as plain data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import islpy as isl

from polyopt.dataclass import dataclass, plain_record
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import (
    Assign,
    AwaitCopies,
    Barrier,
    Body,
    Declare,
    DeclareArray,
    Fail,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Scope,
    SetLocal,
    Space,
    While,
)
from polyopt.ir.nodes import all_nodes, bodies, nodes_in_loops
from polyopt.ir.showing import show
from polyopt.report.explain import explain_loop
from polyopt.schedule import Schedule
from polyopt.schedule.tree import BandMember, bands, names_at, show_member

_WORD = 4  # bytes of a register
_LONGEST = 60  # characters of a loop's rule that is shown


@dataclass(frozen=True, slots=True)
class Storage:
    """An array of a block or of each of its threads: `shape` and `nbytes` of one of them."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int

    def __str__(self) -> str:
        return f"{self.name} {' x '.join(map(str, self.shape))} {self.dtype}"


@dataclass(frozen=True, slots=True)
class Wait:
    """A barrier, and between what; `inside` are the loops of the kernel around it."""

    scope: str
    note: str
    inside: tuple[str, ...]

    def __str__(self) -> str:
        place = f" in every iteration of {', '.join(self.inside)}" if self.inside else ""
        return f"the {self.scope} waits{place}: {self.note}"


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel; `host` are the loops that launch it, `grid` those whose iterations are blocks.

    `threads` says what the threads of a block share out, `alone` why one thread runs all of it,
    `last` what the last block does after all others, `gathered` which updates blocks gather.
    """

    name: str
    statements: tuple[str, ...]
    host: tuple[str, ...]
    grid: tuple[str, ...]
    threads: tuple[str, ...]
    shared: tuple[Storage, ...]
    registers: tuple[Storage, ...]
    barriers: tuple[Wait, ...]
    copies: int
    alone: tuple[str, ...]
    last: tuple[str, ...] = ()
    gathered: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        """Registers that the arrays of a thread take."""
        return sum(-(-array.nbytes // _WORD) for array in self.registers)

    def lines(self) -> tuple[str, ...]:
        """Return all but the name, a fact a line."""
        found = [f"runs {', '.join(self.statements)}"] if self.statements else []
        found += [f"launched for each {', '.join(self.host)}"] if self.host else []
        found += [f"a block for each {', '.join(self.grid)}"] if self.grid else []
        found += [f"threads for {nest}" for nest in self.threads]
        found += [f"the last block runs {', '.join(self.last)}"] if self.last else []
        for array in self.shared:
            found.append(f"shared: {array}, {array.nbytes} bytes")
        if self.registers:
            arrays = ", ".join(map(str, self.registers))
            found.append(f"registers: {arrays}: {self.words} of a thread's at least")
        found += self.gathered
        found += map(str, self.barriers)
        if self.copies:
            found.append(f"waits for copies in the background: {self.copies}")
        if not (self.barriers or self.gathered) and self.grid:
            found.append("no barriers: no two threads of a block share an element")
        return (*found, *self.alone)

    def to_record(self) -> dict[str, object]:
        """Return the same as plain data."""
        return {
            "kernel": self.name,
            "statements": list(self.statements),
            "launched_for_each": list(self.host),
            "blocks": list(self.grid),
            "threads": list(self.threads),
            "shared": [_record(array) for array in self.shared],
            "registers": [_record(array) for array in self.registers],
            "barriers": plain_record(self.barriers),
            "waits_for_copies": self.copies,
            "one_thread": list(self.alone),
            "last_block": list(self.last),
        }


def _record(array: Storage) -> dict[str, object]:
    return {
        "array": array.name,
        "shape": list(array.shape),
        "type": array.dtype,
        "bytes": array.nbytes,
    }


def launches(fn: LoopFunction, schedules: Sequence[Schedule]) -> tuple[Launch, ...]:
    """Return the kernels of `fn`, in the order of their places."""
    rules = _rules(schedules)
    return tuple(_launch(kernel, host, rules, schedules) for kernel, host in _kernels(fn.body, ()))


def _kernels(body: Body, host: tuple[str, ...]) -> Iterator[tuple[Kernel, tuple[str, ...]]]:
    for node in body:
        match node:
            case Kernel():
                yield node, host
            case For():
                yield from _kernels(node.body, (*host, node.iter))
            case While():
                yield from _kernels(node.body, (*host, "round"))
            case If():
                yield from _kernels((*node.then, *node.otherwise), host)
            case _:
                pass


def _rules(schedules: Sequence[Schedule]) -> dict[str, str]:
    """Return what the loops of bands run over, `floor(i/128)`, by the labels of the loops.

    Of several statements the first one tells it that has more to tell than the loop's name.
    """
    found: dict[str, str] = {}
    for schedule in schedules:
        for band in bands(schedule.tree):
            names = names_at(schedule.tree, schedule.scop, band.label)
            for position, member in enumerate(band.members):
                shown = (_rule(schedule, member, name) for name in names)
                rule = next((rule for rule in shown if rule != member.name), member.name)
                found.setdefault(f"{band.label}[{position}]", rule)
    return found


def _rule(schedule: Schedule, member: BandMember, name: str) -> str:
    own = isl.UnionSet.from_set(schedule.scop.statement(name).domain)
    return show_member(member, schedule.scop, own)


def _launch(
    kernel: Kernel, host: tuple[str, ...], rules: Mapping[str, str], schedules: Sequence[Schedule]
) -> Launch:
    statements: list[str] = []
    grid: list[str] = []
    shared: list[Storage] = []
    own: list[Storage] = []
    copies = 0
    for node in all_nodes((*kernel.body, *kernel.finish)):
        match node:
            case Assign() | Declare() | SetLocal() | Fail() if node.statement:
                statements.append(node.statement)
            case For(kind=LoopKind.BLOCK):
                grid.append(_loop(node, rules))
            case DeclareArray(space=Space.SHARED):
                shared.append(_storage(node, 0))
            case DeclareArray(space=Space.REGISTER):
                own.append(_storage(node, 1))
            case AwaitCopies():
                copies += 1
            case _:
                pass
    ends = (n.statement or f"copies of {n.target.array}" for n in _assigns(kernel.finish))
    threads = tuple(dict.fromkeys(_nests((*kernel.body, *kernel.finish), rules)))
    return Launch(
        kernel.name,
        tuple(dict.fromkeys(statements)),
        host,
        tuple(grid),
        threads,
        tuple(shared),
        tuple(own),
        tuple(_waits((*kernel.body, *kernel.finish))),
        copies,
        tuple(_reasons(kernel, schedules)) if not grid and not threads else (),
        tuple(dict.fromkeys(ends)),
        tuple(
            f"each block gathers updates of {by.array} in shared memory, and waits before and after"
            f" them, where it has at most {by.most} elements"
            for by in kernel.gathered
        ),
    )


def _assigns(body: Body) -> Iterator[Assign]:
    return (node for node in all_nodes(body) if isinstance(node, Assign))


def _nests(body: Body, rules: Mapping[str, str]) -> Iterator[str]:
    """Yield what the threads of a block do together, and over which loops."""
    for node in body:
        if isinstance(node, For) and node.kind is LoopKind.THREAD:
            inside = list(all_nodes((node,)))
            loops = [n for n in inside if isinstance(n, For) and n.kind is LoopKind.THREAD]
            done = [n for n in inside if isinstance(n, Assign)]
            what = dict.fromkeys(n.statement or f"copies of {n.target.array}" for n in done)
            yield f"{', '.join(what)}: {', '.join(_loop(loop, rules) for loop in loops)}"
        else:
            for part in bodies(node):
                yield from _nests(part, rules)


def _loop(loop: For, rules: Mapping[str, str]) -> str:
    rule = rules.get(loop.label, loop.iter)
    plain = rule == loop.iter or len(rule) > _LONGEST
    return loop.iter if plain else f"{loop.iter} = {rule}"


def _storage(node: DeclareArray, skipped: int) -> Storage:
    extents = node.array.shape[skipped:]
    numbers = tuple(int(evaluate(extent, {})) for extent in extents)
    size = node.array.dtype.size * prod(numbers)
    return Storage(node.array.name, numbers, str(node.array.dtype), size)


def _waits(body: Body) -> Iterator[Wait]:
    for loops, node in nodes_in_loops(body):
        if isinstance(node, Barrier):
            scope = "warp" if node.scope is Scope.WARP else "block"
            inside = tuple(loop.iter for loop in loops if loop.kind is not LoopKind.BLOCK)
            yield Wait(scope, node.note, inside)


def _reasons(kernel: Kernel, schedules: Sequence[Schedule]) -> Iterator[str]:
    """Yield why one thread runs a kernel: what its outermost loops carry."""
    loops = [node for node in kernel.body if isinstance(node, For)]
    if not loops:
        yield "one thread: there is no loop"
        return
    for loop in loops:
        told = next(
            (
                lines
                for schedule in schedules
                for band in bands(schedule.tree)
                for position, member in enumerate(band.members)
                if f"{band.label}[{position}]" == loop.label and member.name == loop.iter
                for lines in [list(explain_loop(schedule, band, position, member))]
            ),
            [f"{loop.iter}, from {show(loop.lower)} to {show(loop.upper)}"],
        )
        yield f"one thread: {told[0].partition(' ')[2] or told[0]}"
        yield from (line.strip() for line in told[1:])
