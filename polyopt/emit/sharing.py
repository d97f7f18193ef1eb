"""Print nests that stand twice in a function once, for readers.

In: a body, a place in it.  Out: the call of a function for the nests there, which is made where
they are printed first.  Nests are the same if they differ in names of their own locals.
Refuses: nests that set locals of the text around, leave early or give memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit import outlining
from polyopt.emit.c_statements import Code, Line, calling
from polyopt.emit.early_exits import leaves_early
from polyopt.emit.regions import declared_names, free_names, thread_arrays
from polyopt.ir.expr import Expr, Symbol
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopKind, Node, SetLocal
from polyopt.ir.nodes import all_nodes, bodies, map_inner, own_changed

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter

LEAST_LOOPS = 3
"""Loops of a nest that is worth a function."""


LEAST_NODES = 4
"""Neighbouring nodes that are worth one with a loop less."""
LONGEST_BODY = 12
"""Nodes of a body of which neighbours are compared together, too."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The nests of a text that stand in it more than once, and the calls of those printed."""

    repeated: frozenset[Body] = frozenset()
    calls: dict[Body, list[Code]] = field(default_factory=dict)


def shared_nests(body: Body) -> Shared:
    """Return the nests, and runs of neighbouring nodes, that stand in `body` more than once."""
    found: Counter[Body] = Counter()
    for inner in (body, *(part for node in all_nodes(body) for part in bodies(node))):
        found.update(canonical(run) for start in range(len(inner)) for run in _runs(inner, start))
    return Shared(frozenset(run for run, times in found.items() if times > 1))


def _runs(body: Body, start: int) -> Iterator[Body]:
    """Yield what may be a function of its own of the nodes from `start` on, the longest first."""
    longest = len(body) if len(body) <= LONGEST_BODY else start + 1
    for end in range(longest, start, -1):
        run = body[start:end]
        if _is_candidate(run) and not declared_names(run) & _used(body[end:]):
            yield run


def _used(body: Body) -> set[str]:
    return {local.name for local in free_names(body).locals}


def shared_call(emitter: BodyEmitter, body: Body, number: int) -> tuple[list[Code], int] | None:
    """Return the call of the function for the nodes from `number` on, and how many these are.

    None where they stand in the text once.
    """
    shared = emitter.shared
    if shared is None or not shared.repeated:
        return None
    for run in _runs(body, number):
        nest = canonical(run)
        if nest in shared.repeated and (call := _call(emitter, shared, nest, run)) is not None:
            return call, len(run)
    return None


def _call(emitter: BodyEmitter, shared: Shared, nest: Body, run: Body) -> list[Code] | None:
    if nest not in shared.calls:
        free = free_names(run)
        if free.set_locals or any("[" in emitter.name(local.name) for local in free.locals):
            return None
        if any(emitter.frame.views[array].is_local for array in free.arrays):
            return None
        parts = tuple(node for one in run for part in bodies(one) for node in part)
        inside = replace(emitter, shared=shared_nests(parts))
        name, arguments = outlining.outlined(inside, run, "part", free)
        shared.calls[nest] = [Line(line) for line in calling(name, arguments, ";")]
    return shared.calls[nest]


def _is_candidate(run: Body) -> bool:
    """Tell whether nodes may be a function of their own, and are large enough."""
    if not all(isinstance(node, For | If | Assign | Declare) for node in run):
        return False
    if leaves_early(run) or thread_arrays(run) or not isinstance(run[-1], For | If):
        return False
    loops = [n for n in all_nodes(run) if isinstance(n, For)]
    count = len(loops) + sum(n.kind is LoopKind.EXTREMUM for n in loops)  # which are two
    is_large = count >= (LEAST_LOOPS if len(run) < LEAST_NODES else LEAST_LOOPS - 1)
    return is_large and all(n.kind is not LoopKind.PARALLEL for n in loops)


def canonical(run: Body) -> Body:
    """Return nodes with their own locals numbered, without the instances that they run."""
    names: dict[str, str] = {}
    for inner in all_nodes(run):
        if isinstance(inner, Declare):
            names.setdefault(inner.name, f"={len(names)}")

    def rule(expr: Expr) -> Expr | None:
        if isinstance(expr, Symbol) and expr.name in names:
            return replace(expr, name=names[expr.name])
        return None

    def renamed(one: Node) -> Node:
        bare = own_changed(one, rule)
        if isinstance(bare, Declare | SetLocal):
            bare = replace(bare, name=names.get(bare.name, bare.name), instance=(), steps=())
        elif isinstance(bare, Assign):
            bare = replace(bare, instance=(), steps=())
        elif isinstance(bare, For):
            bare = replace(bare, label="")
        return map_inner(bare, renamed)

    return tuple(map(renamed, run))
