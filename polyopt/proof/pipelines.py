"""Undo pipelining: move copies that run ahead back to the start of their own iteration.

In: a loop AST.  Out: the same with such loops as they were.  Arrays with a part for each stage are
declared in each iteration again, with its own part only.
Copies are moved only if they are the same in all places, each iteration's once, and if no code in
between writes their operands, or accesses the part that they fill.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    VectorLoad,
    add,
    children,
    integer,
    rewrite,
    sub,
    with_children,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Assign, Body, Break, Comment, DeclareArray, For, If, LoopKind, Node
from polyopt.ir.names import reads, symbols
from polyopt.ir.nodes import all_nodes, changed, map_bodies, own_expressions
from polyopt.ir.types import DType
from polyopt.proof.nodes import set_locals, written


def without_pipelines(body: Body) -> Body:
    """Return `body` with its pipelines undone."""
    nodes = [map_bodies(n, without_pipelines) for n in body]
    nodes = [node for node in nodes if not isinstance(node, Comment)]
    for position, node in enumerate(nodes):
        if isinstance(node, For) and node.pipeline is not None and position:
            undone = _without_pipeline(nodes, position, node)
            if undone is not None:
                return without_pipelines(undone)
    return tuple(nodes)


@dataclass(frozen=True, slots=True)
class _Stages:
    """The arrays of a pipeline over `loop`, with a part for each of `count` stages."""

    loop: For
    count: int
    arrays: frozenset[str]

    def part(self, value: Expr) -> Expr:
        """Return the part for iteration `value`."""
        if isinstance(value, Const):
            return integer(int(value.value.real) % self.count)
        return Binary(BinaryOp.MOD, normalize(value), integer(self.count), DType.INT64)

    def own(self, body: Body, value: Expr) -> Body | None:
        """Return `body` with the part for iteration `value` alone; None if it uses others.

        Other uses of the arrays than accesses of elements stay, and are found later.
        """
        wanted = self.part(value)
        wrong = False

        def rule(part: Expr) -> Expr | None:
            nonlocal wrong
            if not isinstance(part, Load | VectorLoad) or part.array not in self.arrays:
                return None
            first, *rest = part.index
            wrong = wrong or not rest or _tidy(first) != wanted
            return replace(part, index=tuple(rewrite(i, rule) for i in rest))

        found = tuple(changed(node, rule) for node in body)
        return None if wrong else found


def _without_pipeline(nodes: list[Node], position: int, loop: For) -> Body | None:
    """Return the nodes around a pipeline without it, or None for other nodes."""
    declared = {n.array.name: n for n in nodes[:position] if isinstance(n, DeclareArray)}
    if loop.step != 1 or loop.kind is not LoopKind.SEQUENTIAL or not loop.body:
        return None
    ahead, rest = loop.body[0], loop.body[1:]
    if not isinstance(ahead, If) or ahead.otherwise:
        return None
    arrays = written((ahead,)) & set(declared)
    counts = {_count(declared[name]) for name in arrays}
    count = counts.pop() if len(counts) == 1 else None
    if count is None or count < 2:
        return None
    stages = _Stages(loop, count, arrays)
    copies = _own_copies(ahead, stages)
    used = stages.own(rest, Iter(loop.iter))
    if copies is None or used is None or not _may_move(copies, used, nodes[position - 1], stages):
        return None
    first = nodes[position - 1]
    if not _is_first(first, copies, stages):
        return None
    if sum(_declares(node, arrays) for node in nodes) != len(arrays):
        return None
    others = [*nodes[: position - 1], *nodes[position + 1 :]]
    if any(_mentions(node, arrays) for node in others if not _declares(node, arrays)):
        return None
    inner = tuple(
        replace(n, array=replace(n.array, shape=n.array.shape[1:]))
        for name, n in declared.items()
        if name in arrays
    )
    whole = replace(loop, body=(*inner, *copies, *used)).annotated(pipeline=None)
    before = (n for n in nodes[: position - 1] if not _declares(n, arrays))
    return (*before, whole, *nodes[position + 1 :])


def _count(node: DeclareArray) -> int | None:
    match node.array.shape:
        case (Const(value=int(count)), *_):
            return count
        case _:
            return None


def _own_copies(ahead: If, stages: _Stages) -> Body | None:
    """Return the copies of iteration `iter`, if `ahead` are those of `count - 1` later."""
    loop = stages.loop
    later = add(Iter(loop.iter), integer(stages.count - 1))
    if not _tests(ahead.condition, later, loop.upper):
        return None
    earlier = sub(Iter(loop.iter), integer(stages.count - 1))
    found = stages.own(_at(ahead.then, loop.iter, earlier), Iter(loop.iter))
    return None if found is None else tuple(changed(node, _collected) for node in found)


def _collected(part: Expr) -> Expr | None:
    match part:
        case Binary(dtype=DType.INT64, op=BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MUL):
            return None if reads(part) else normalize(part)
        case _:
            return None


def _tests(condition: Expr, value: Expr, end: Expr) -> bool:
    """Tell whether a condition compares iteration `value` with the end."""
    match condition:
        case Compare(op=CompareOp.LT, left=left, right=right):
            return _is_same(sub(right, left), sub(end, value))
        case _:
            return False


def _is_first(node: Node, copies: Body, stages: _Stages) -> bool:
    """Tell whether `node` runs the copies of the first iterations, before the loop."""
    loop = stages.loop
    match node:
        case For(body=(If() as inner,), step=1) if _is_in_turn(node):
            end = add(loop.lower, integer(stages.count - 1))
            if not (_is_same(node.lower, loop.lower) and _is_same(node.upper, end)):
                return False
            value: Expr = Iter(node.iter)
        case If() if stages.count == 2:
            inner, value = node, loop.lower
        case _:
            return False
    if inner.otherwise or not _tests(inner.condition, value, loop.upper):
        return False
    if value in [Iter(n.iter) for n in all_nodes(copies) if isinstance(n, For)]:
        return False
    found = stages.own(inner.then, value)
    wanted = _at(copies, loop.iter, value)
    return found is not None and _same(found, wanted, {})


def _is_in_turn(loop: For) -> bool:
    return loop.kind in (LoopKind.SEQUENTIAL, LoopKind.UNROLL) and not loop.reductions


def _may_move(copies: Body, used: Body, first: Node, stages: _Stages) -> bool:
    """Tell whether copies compute the same at the start of their own iteration."""
    loop = stages.loop
    change = (written(copies) | written(used) | written((first,))) - stages.arrays
    if change & written(copies):
        return False  # they fill something else
    again = set_locals((loop, first))
    for node in all_nodes(copies):
        if not isinstance(node, For | If | Assign):
            return False
        if isinstance(node, Assign) and node.statement:
            return False
        if any(reads(e) & (change | stages.arrays) for e in own_expressions(node)):
            return False
        if any(symbols(e) & again for e in own_expressions(node)):
            return False
    if any(isinstance(node, Break) for node in all_nodes(loop.body)):
        return False
    bounds = (loop.lower, loop.upper)
    if any(reads(e) or symbols(e) & again for e in bounds):
        return False
    return not written(used) & stages.arrays


def _declares(node: Node, arrays: frozenset[str]) -> bool:
    return isinstance(node, DeclareArray) and node.array.name in arrays


def _mentions(node: Node, arrays: frozenset[str]) -> bool:
    for inner in all_nodes((node,)):
        if arrays & written((inner,)) or any(reads(e) & arrays for e in own_expressions(inner)):
            return True
    return False


def _at(body: Body, name: str, value: Expr) -> Body:
    """Return `body` with `value` for an iterator."""

    def rule(part: Expr) -> Expr | None:
        return value if part == Iter(name) else None

    return tuple(changed(node, rule) for node in body)


def _tidy(expr: Expr) -> Expr:
    """Return a subscript or bound in normal form: sums collected, also inside of others."""

    def rule(part: Expr) -> Expr | None:
        match part:
            case Binary(op=BinaryOp.MOD, left=left, right=Const(value=int(count))):
                left = normalize(rewrite(left, rule))
                if isinstance(left, Const) and count:
                    return integer(int(left.value.real) % count)
                return replace(part, left=left)
            case _:
                return None

    return normalize(rewrite(expr, rule))


# -- equal code


def _same(ones: Body, twos: Body, names: dict[str, str]) -> bool:
    """Tell whether two bodies are the same up to the names of their loops' iterators."""
    pairs = zip(ones, twos, strict=False)
    return len(ones) == len(twos) and all(_same_node(a, b, names) for a, b in pairs)


def _same_node(one: Node, two: Node, names: dict[str, str]) -> bool:
    match one, two:
        case For(), For():
            alike = (one.step, one.kind, one.lanes) == (two.step, two.kind, two.lanes)
            bounds = ((one.lower, two.lower), (one.upper, two.upper))
            inner = {**names, one.iter: two.iter}
            return (
                alike
                and not (one.reductions or two.reductions)
                and all(_equal(a, b, names) for a, b in bounds)
                and _same(one.body, two.body, inner)
            )
        case If(), If():
            return (
                _equal(one.condition, two.condition, names)
                and _same(one.then, two.then, names)
                and _same(one.otherwise, two.otherwise, names)
            )
        case Assign(), Assign():
            return (
                one.statement == two.statement == ""
                and _equal(one.target, two.target, names)
                and _equal(one.value, two.value, names)
            )
        case _:
            return False


def _equal(one: Expr, two: Expr, names: dict[str, str]) -> bool:
    """Tell whether two expressions are the same, `names` mapping the second's iterators."""

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Iter) and part.name in names:
            return Iter(names[part.name])
        return None

    return _alike(rewrite(one, rule), two)


def _alike(one: Expr, two: Expr) -> bool:
    match one, two:
        case Compare(), Compare() if one.left.dtype is two.left.dtype is DType.INT64:
            gaps = [sub(side.left, side.right) for side in (one, two)]
            return one.op is two.op and _is_same(*gaps)
        case _:
            pass
    if _is_index(one) and _is_index(two):
        return _is_same(_tidy(one), _tidy(two))
    parts = children(one)
    if type(one) is not type(two) or len(parts) != len(children(two)):
        return False
    if with_children(two, parts) != one:
        return False
    return all(_alike(a, b) for a, b in zip(parts, children(two), strict=True))


def _is_same(one: Expr, two: Expr) -> bool:
    """Tell whether two numbers are equal sums."""
    return not any((gap := linear(sub(one, two))).terms) and gap.constant == 0


def _is_index(expr: Expr) -> bool:
    return expr.dtype is DType.INT64 and not reads(expr)
