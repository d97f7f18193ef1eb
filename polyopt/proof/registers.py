"""Undo scalar replacement: substitute locals by the elements or expressions they stand for.

In: a loop AST.  Out: the same computation without locals that are copies; a local is substituted
only where nothing in between can write its source; others stay.
`For.reductions` then name arrays: the one element of each that the iterations accumulate into.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import islpy as isl

from polyopt.dataclass import replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Symbol,
    VectorLoad,
    rewrite,
    walk,
)
from polyopt.ir.loops import CONCURRENT, Assign, Body, Declare, For, If, Node, SetLocal
from polyopt.ir.names import depends_on_data, reads, symbols
from polyopt.ir.nodes import bodies, changed, map_inner, own_changed
from polyopt.proof.nodes import (
    Access,
    is_stable,
    own_accesses,
    own_written,
    set_locals,
    uses,
    written,
)
from polyopt.proof.paths import Path, map_paths, with_paths


def without_registers(body: Body, path: Path, keep: frozenset[str]) -> Body:
    """Return `body`, reached by `path`, with registers replaced by the elements they stand for.

    The locals in `keep` are not registers: they name sizes computed at run time.
    """
    body = tuple(map_paths(node, path, partial(without_registers, keep=keep)) for node in body)
    set_again = set_locals(body)
    registers = [
        (position, node)
        for position, node in enumerate(body)
        if isinstance(node, Declare) and not node.statement and node.name not in keep
    ]
    if not registers:
        return body
    sums = [r for r in registers if r[1].name in set_again]
    body, gone = _in_place(sums, body, path)
    body = _inlined([r for r in registers if r[1].name not in set_again], body, path, gone)
    return _all_scattered(body, path, keep)


def _all_scattered(body: Body, path: Path, keep: frozenset[str]) -> Body:
    """Return `body` with flags that collect conditions as assignments under these conditions."""
    done: list[Node] = []
    rest = list(body)
    while rest:
        node = rest.pop(0)
        if isinstance(node, Declare) and not node.statement and node.name not in keep:
            is_flag = isinstance(node.value, Const) and not node.value.value
            after = _scattered(node, tuple(rest), path) if is_flag else None
            if after is not None:
                rest = list(after)
                continue
        done.append(node)
    return tuple(done)


# -- a value used several times ----------------------------------------------------------------


def _inlined(
    registers: list[tuple[int, Declare]], body: Body, path: Path, gone: frozenset[int]
) -> Body:
    """Return `body` with uses of `registers`, which are set once, replaced by their values.

    The positions in `gone` are empty.
    """
    values: dict[str, Expr] = {}
    changes = written(body)
    sets = set_locals(body)

    def rule(part: Expr) -> Expr | None:
        return values.get(part.name) if isinstance(part, Symbol) else None

    for position, local in registers:
        value = rewrite(local.value, rule)
        if reads(value) & changes or symbols(value) & sets:
            later = body[position + 1 :]
            if not _is_lasting(value, local.name, later, path):
                continue
        values[local.name] = value
    kept = [
        node
        for position, node in enumerate(body)
        if position not in gone and not (isinstance(node, Declare) and node.name in values)
    ]
    return tuple(changed(node, rule) for node in kept) if values else tuple(kept)


def _is_lasting(value: Expr, name: str, body: Body, path: Path) -> bool:
    """Tell whether nothing changes the operands of a local's value before its last use in `body`.

    A node reads before it changes anything, as does what tests a condition.
    """
    last = max((n for n, node in enumerate(body) if uses(node, name)), default=-1)
    if last < 0:
        return True
    if not is_stable(value, body[:last], path):
        return False
    node = body[last]
    match node:
        case Assign() | Declare() | SetLocal():
            return True
        case If():
            parts = enumerate(bodies(node))
            return all(_is_lasting(value, name, part, path.into(node, n)) for n, part in parts)
        case _:
            return is_stable(value, (node,), path)


# -- an accumulator ----------------------------------------------------------------------------


def _in_place(
    registers: list[tuple[int, Declare]], body: Body, path: Path
) -> tuple[Body, frozenset[int]]:
    """Return `body` with updates of accumulators applied to the elements they were loaded from.

    And the positions of the loads and stores.
    """
    spans: list[tuple[int, int, str, Load | VectorLoad]] = []
    for position, local in registers:
        cell = local.value
        if not isinstance(cell, Load | VectorLoad):
            continue
        end = _end(local.name, cell, body, position)
        if end is not None:
            spans.append((position, end, local.name, cell))
    if not spans:
        return body, frozenset()
    checker = _Spans(body, path, frozenset(cell.array for *_, cell in spans))
    good = [span for span in spans if checker.is_private(*span)]
    cells = {name: cell for _, _, name, cell in good}
    gone = frozenset(n for start, end, *_ in good for n in (start, end))
    return tuple(_on_elements(node, cells) for node in body), gone


def _end(name: str, cell: Load | VectorLoad, body: Body, position: int) -> int | None:
    """Return the position of the local's store, if nothing uses it after that."""
    for number in range(len(body) - 1, position, -1):
        if _is_store(body[number], cell, name):
            return number
        if uses(body[number], name):
            return None
    return None


def _is_store(node: Node, cell: Load | VectorLoad, name: str) -> bool:
    match node:
        case Assign(statement="", target=target, value=Symbol() as value):
            return value.name == name and target == cell
        case _:
            return False


class _Spans:
    """The accesses of the nodes of one body, each with its place and path."""

    def __init__(self, body: Body, path: Path, arrays: frozenset[str]) -> None:
        self.body = body
        self.path = path
        self.accesses: dict[str, list[tuple[int, Access, Path]]] = {}
        self.setters: dict[str, list[Path]] = {}
        for position, top in enumerate(body):
            for node, inner in with_paths((top,), path):
                for access in own_accesses(node):
                    if access.array in arrays:
                        entry = (position, Access.of(access), inner)
                        self.accesses.setdefault(access.array, []).append(entry)
                if isinstance(node, SetLocal):
                    self.setters.setdefault(node.name, []).append(inner)
        self.always: dict[int, bool] = {}

    def is_private(self, start: int, end: int, name: str, cell: Load | VectorLoad) -> bool:
        """Tell whether only the local accesses the element between `start` and `end`."""
        span = self.body[start + 1 : end]
        if any(depends_on_data(index) for index in cell.index):
            changes, sets = written(span), set_locals(span)
            if any(reads(i) & changes or symbols(i) & sets for i in cell.index):
                return False
        own = Access.of(cell)
        for position, other, inner in self.accesses[cell.array]:
            if start < position < end and not own.is_apart(other, inner):
                return False
        return not self.path.is_concurrent or self.is_always_set(name)

    def is_always_set(self, name: str) -> bool:
        """Tell whether every execution sets the local, so that its element is written anyway."""
        setters = self.setters.get(name, [])
        key = id(setters[0]) if len(setters) == 1 else -1
        if key in self.always:
            return self.always[key]
        outer = len(self.path.frame.dims)
        covered: isl.Set | None = None
        for inner in setters:
            if inner.data != self.path.data:
                continue
            count = len(inner.frame.dims) - outer
            here = inner.domain.project_out(isl.dim_type.set, outer, count)
            covered = here if covered is None else covered.union(here)
        found = covered is not None and bool(self.path.domain.is_subset(covered))
        if key >= 0:
            self.always[key] = found
        return found


def _on_elements(node: Node, cells: Mapping[str, Load | VectorLoad]) -> Node:
    """Return `node` with elements in place of the locals in `cells`."""

    def rule(part: Expr) -> Expr | None:
        return cells.get(part.name) if isinstance(part, Symbol) else None

    match node:
        case SetLocal() if node.name in cells:
            renewed = changed(node, rule)
            assert isinstance(renewed, SetLocal)
            return Assign(
                cells[node.name],
                renewed.value,
                renewed.statement,
                renewed.instance,
                renewed.steps,
            )
        case For():
            node = own_changed(node.annotated(reductions=_combined(node, cells)), rule)
        case _:
            node = own_changed(node, rule)
    return map_inner(node, _on_elements, cells)


def _combined(
    loop: For, cells: Mapping[str, Load | VectorLoad]
) -> tuple[tuple[BinaryOp, Symbol], ...]:
    """Return the reductions of `loop` on elements instead of locals.

    An array is named only if all of its elements that the loop accumulates into are combined.
    """
    already = written(loop.body)
    own = {symbol.name for _, symbol in loop.reductions}
    alone = {cells[name].array for name in set_locals(loop.body) & cells.keys() - own}
    found: dict[tuple[BinaryOp, Symbol], None] = {}
    for op, symbol in loop.reductions:
        if symbol.name in cells:
            symbol = Symbol(cells[symbol.name].array, symbol.dtype)
            if symbol.name in already and (op, symbol) not in loop.reductions:
                continue
        if symbol.name not in alone:
            found[op, symbol] = None
    return tuple(found)


# -- collected conditions ----------------------------------------------------------------------


def _scattered(local: Declare, rest: Body, path: Path) -> Body | None:
    """Return `rest` with each `flag |= condition` as the assignment that the flag guards."""
    end = next((n for n, node in enumerate(rest) if _tests(node, local.name)), None)
    if end is None or any(uses(node, local.name) for node in rest[end + 1 :]):
        return None
    noted = rest[end]
    assert isinstance(noted, If)
    (assign,) = noted.then
    if not isinstance(assign, Assign) or not isinstance(assign.value, Const):
        return None
    if not all(_is_combined(node, local.name) for node in rest[:end]):
        return None
    if not _is_free(assign, rest[:end], path):
        return None
    found = tuple(_noting(node, local.name, assign) for node in rest[:end])
    if any(uses(node, local.name) for node in found):
        return None
    return (*found, *rest[end + 1 :])


def _is_free(assign: Assign, span: Body, path: Path) -> bool:
    """Tell whether `assign` may move within `span`: nothing in it uses its element."""
    if any(isinstance(p, Iter | Load | Symbol) for i in assign.target.index for p in walk(i)):
        return False
    own = Access.of(assign.target)
    name = own.place.array
    for node, inner in with_paths(span, path):
        if isinstance(node, Assign) and (node.target, node.value) == (assign.target, assign.value):
            continue
        if not isinstance(node, Assign) and name in own_written(node):
            return False
        places = [p for p in own_accesses(node) if p.array == name]
        if not all(own.is_apart(Access.of(p), inner) for p in places):
            return False
    return True


def _tests(node: Node, name: str) -> bool:
    match node:
        case If(condition=Compare(op=CompareOp.NE, left=Symbol() as flag, right=Const() as zero)):
            one = len(node.then) == 1 and not node.otherwise
            return flag.name == name and not zero.value and one
        case _:
            return False


def _is_combined(node: Node, name: str) -> bool:
    """Tell whether concurrent loops combine all their assignments to the local."""
    inside = all(_is_combined(inner, name) for part in bodies(node) for inner in part)
    if not isinstance(node, For) or node.kind not in CONCURRENT:
        return inside
    combined = any(op is BinaryOp.OR and s.name == name for op, s in node.reductions)
    return inside and (combined or name not in set_locals(node.body))


def _noting(node: Node, name: str, assign: Assign) -> Node:
    match node:
        case SetLocal(
            value=Binary(op=BinaryOp.OR, left=Symbol() as flag, right=Cast() as cast)
        ) if node.name == name == flag.name:
            noted = replace(assign, statement=node.statement, instance=node.instance)
            return If(cast.operand, (noted,))
        case For():
            own = tuple((op, s) for op, s in node.reductions if s.name != name)
            node = node.annotated(reductions=own)
        case _:
            pass
    return map_inner(node, _noting, name, assign)
