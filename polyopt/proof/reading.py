"""Read loops as a tree of runs: the instances of statements that each node executes.

In: a read-back body (no registers, no vectors) of one static control part.  Out: `Loop`s over
`Run`s, every run with its iterations, its instances and the conditions on data around it.
Refuses (`Unreadable`): other nodes than counted loops, conditions and assignments.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import Expr, Iter, Load, Symbol, conjunction, integer, walk
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    Comment,
    Declare,
    DeclareArray,
    For,
    If,
    Node,
    SetLocal,
)
from polyopt.ir.showing import show
from polyopt.proof.nodes import is_stable
from polyopt.proof.paths import Path


class Unreadable(Exception):
    """The proof does not understand a node."""


@dataclass(frozen=True, eq=False)
class Run:
    """An assignment and the iterations that reach it.

    `target` is an array element or a local.  `statement` "" is not an instance of the source.
    """

    target: Load | Symbol
    value: Expr
    statement: str
    instance: tuple[Expr, ...]
    path: Path
    number: int
    is_declaration: bool = False
    is_atomic: bool = False

    @cached_property
    def instances(self) -> isl.Map:
        """`{ [iterators] -> statement[instance] }`; raises `NotAffine`."""
        name = self.statement or f"copy{self.number}"
        return self.path.frame.map_to(name, self.instance).intersect_domain(self.path.domain)

    @cached_property
    def back(self) -> isl.Map:
        """`{ statement[instance] -> [iterators] }`."""
        return self.instances.reverse()

    @cached_property
    def executed(self) -> isl.Set:
        """A superset of the instances that run: conditions on data are left out."""
        return coalesced(self.instances.range())


@dataclass(frozen=True, eq=False)
class Loop:
    """A counted loop; `reads` are its own node's, `body` its parts in order."""

    loop: For
    depth: int
    body: tuple[Piece, ...]


Piece: TypeAlias = "Run | Loop"


@dataclass(frozen=True)
class RunTree:
    """A part's loops, and the number of loops around each declaration of its own storage."""

    body: tuple[Piece, ...]
    homes: dict[str, int]

    def runs(self) -> tuple[Run, ...]:
        """Return the runs in textual order."""
        return tuple(all_runs(self.body))


def all_runs(body: tuple[Piece, ...]) -> Iterator[Run]:
    """Yield the runs of a tree in textual order."""
    for piece in body:
        match piece:
            case Run():
                yield piece
            case Loop():
                yield from all_runs(piece.body)


class _Reader:
    def __init__(self, faults: frozenset[str]) -> None:
        self.faults = faults
        self.homes: dict[str, int] = {}
        self.scopes: dict[str, tuple[Path, int]] = {}
        self.count = 0

    def body(self, body: Body, path: Path) -> tuple[Piece, ...]:
        found: list[Piece] = []
        excluded: list[Expr] = []
        start = path
        for node in body:
            path = start.without(c for c in excluded if _is_lasting(c, (node,), start))
            excluded = [c for c in excluded if is_stable(c, (node,), start)]
            excluded += (c for c in self.noted(node) if is_stable(c, (node,), start))
            match node:
                case For():
                    inner = path.into(node, 0)
                    if not _is_counted(node, inner):
                        raise Unreadable(f"the bounds of loop {node.iter} are no function of sizes")
                    depth = len(path.loops)
                    found.append(Loop(node, depth, self.body(node.body, inner)))
                case If():
                    found += self.branch(node.then, path.into(node, 0), path)
                    found += self.branch(node.otherwise, path.into(node, 1), path)
                case Assign(target=Load() as target):
                    found.append(self.run(target, node, path))
                case Declare() | SetLocal():
                    if isinstance(node, Declare):
                        self.home(node.name, start)
                    found.append(self.run(Symbol(node.name, node.dtype, node.lanes), node, path))
                case DeclareArray() | AllocateArray():
                    self.home(node.array.name, start)
                case Comment():
                    pass
                case _:
                    raise Unreadable(type(node).__name__)
        return tuple(found)

    def noted(self, node: Node) -> Iterator[Expr]:
        """Yield the conditions at which a node, or choices in it, note faults."""
        match node:
            case If(then=(Assign(target=target),)) if target.array in self.faults:
                yield node.condition
            case If():
                for condition in (c for inner in node.then for c in self.noted(inner)):
                    yield conjunction((node.condition, condition))
            case _:
                pass

    def branch(self, body: Body, path: Path, outer: Path) -> tuple[Piece, ...]:
        """Return a branch, whose conditions on data must hold until each run in it starts."""
        for condition in path.data[len(outer.data) :]:
            if not _is_lasting(condition, body, path):
                raise Unreadable(f"{show(condition)} is tested, then changes before it counts")
        return self.body(body, path)

    def home(self, name: str, path: Path) -> None:
        if name in self.homes:
            raise Unreadable(f"{name} is declared twice")
        self.homes[name] = len(path.loops)
        self.scopes[name] = path, self.count

    def check_scope(self, run: Run) -> None:
        """Check that a run uses the loops' own storage only after its declaration."""
        outer: set[int] = set()
        path: Path | None = run.path
        while path is not None:
            outer.add(id(path))
            path = path.outer
        for name in _used_storage(run) & set(self.scopes):
            scope, start = self.scopes[name]
            if id(scope) not in outer or run.number <= start:
                raise Unreadable(f"{name} is used outside the body that declares it")

    def run(self, target: Load | Symbol, node: Assign | Declare | SetLocal, path: Path) -> Run:
        self.count += 1
        frame = path.frame
        if len(set(frame.dims)) != len(frame.dims):
            raise Unreadable(f"two loops around one statement have one name: {frame.dims}")
        if isinstance(target, Symbol) and target.lanes > 1:
            raise Unreadable(f"the vector {target.name} is kept over statements")
        declares = isinstance(node, Declare)
        at_once = isinstance(node, Assign) and node.is_atomic
        return Run(
            target, node.value, node.statement, node.instance, path, self.count, declares, at_once
        )


def _is_lasting(condition: Expr, body: Body, path: Path) -> bool:
    if not body or is_stable(condition, body, path):
        return True
    last = body[-1]
    if not is_stable(condition, body[:-1], path):
        return False
    match last:
        case Assign() | Declare() | SetLocal():
            return True  # it computes its value before it changes anything
        case If():
            parts = enumerate((last.then, last.otherwise))
            return all(_is_lasting(condition, part, path.into(last, n)) for n, part in parts)
        case _:
            return False


def _is_counted(loop: For, inside: Path) -> bool:
    data = inside.data
    return loop.lower not in data and loop.upper not in data


def read(body: Body, path: Path, faults: frozenset[str] = frozenset()) -> RunTree:
    """Return the tree of a part's loops, which note `faults`; raises `Unreadable`.

    Where a fault is noted nothing else counts, so its condition is false at what follows.
    """
    reader = _Reader(faults)
    nest = RunTree(reader.body(body, path), reader.homes)
    for run in nest.runs():
        reader.check_scope(run)
    return nest


def _used_storage(run: Run) -> set[str]:
    """Return the storage that a run and the conditions around it use."""
    parts = (p for e in (run.target, run.value, *run.path.data) for p in walk(e))
    places = (p for p in parts if isinstance(p, Load | Symbol))
    return {p.array if isinstance(p, Load) else p.name for p in places}


def runs_with_times(
    body: tuple[Piece, ...], above: tuple[Expr, ...] = ()
) -> Iterator[tuple[Run, tuple[Expr, ...]]]:
    """Yield every run with its time; even numbers are left for events just before a piece."""
    for position, piece in enumerate(body):
        here = (*above, integer(2 * position + 1))
        match piece:
            case Run():
                yield piece, here
            case _:
                yield from runs_with_times(piece.body, (*here, Iter(piece.loop.iter)))
