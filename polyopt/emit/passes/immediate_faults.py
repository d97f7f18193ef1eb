"""Leave at once where a subscript is found outside, and use it as it is afterwards.

In: bodies that run in order, with faults noted under conditions such as `min(max(i, 0), n - 1) !=
i`, and accesses that keep `i` inside by the same minimum, or stand under `0 <= i < n`.  Out: the
subscript in a local, one test before its first use that leaves the kernel, plain accesses.
Leaves: bodies of vector loops, loops that call functions in independent iterations, which compilers
run in lanes, faults whose subscripts change between the access and the test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyopt.dataclass import dataclass, replace
from polyopt.emit.passes.faults import noted_fault
from polyopt.emit.passes.rewriting import Names, substituted
from polyopt.emit.passes.subscript_limits import (
    TRUE,
    Known,
    changes_of,
    limits_left,
    limits_without,
    names_of,
    normal,
    simple,
)
from polyopt.emit.regions import runs_in_order
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Symbol,
    integer,
    is_function,
    substitute,
    walk,
)
from polyopt.ir.linear import normalize, slope_of
from polyopt.ir.loops import (
    Assign,
    Body,
    Declare,
    Fail,
    For,
    If,
    LoopFunction,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.names import has_iterator, reads, symbols
from polyopt.ir.nodes import all_nodes, kernels_of, map_bodies, own_changed, own_expressions
from polyopt.ir.scop import Role
from polyopt.ir.types import DType


def leave_at_faults(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with faults of subscripts as exits before the accesses that they guard."""
    faults = frozenset(a.name for a in fn.arrays if a.role is Role.FAULT)
    if not faults or next(kernels_of(fn.body), None) is not None:
        return fn
    return replace(fn, body=_Exits(faults, Names(fn)).body(fn.body, Known(), in_order=True))


@dataclass(frozen=True, slots=True)
class _Exits:
    """Makes exits of the faults that are noted in the arrays `faults`."""

    faults: frozenset[str]
    names: Names

    def body(self, body: Body, known: Known, *, in_order: bool) -> Body:
        """Return a body at which `known` holds; `in_order`: no loop around it runs in lanes."""
        body = self._fused(body) if in_order else body
        moved = self._moved(body) if in_order else None
        leaves = moved is not None
        found: list[Node] = []
        for node in moved or body:
            test = self._test(node) if leaves else None
            if test is None:
                node = self._node(node, known, in_order=in_order)
                known = Known(chooses=known.chooses) if _is_border(node) else known.after(node)
                found += node.then if isinstance(node, If) and node.condition == TRUE else (node,)
                continue
            condition, fail = test
            limits = tuple(limits_without(condition))
            for index in dict.fromkeys(limit.index for limit in limits):
                if isinstance(index, Symbol) or index in known.locals:
                    continue
                local = Symbol(self.names.fresh(_wish(index)), DType.INT64)
                value = simple(index, known)
                found.append(Declare(local.name, DType.INT64, 1, value))
                known = replace(known, locals={**known.locals, index: local})
            found.append(If(_shorter(simple(condition, replace(known, limits=()))), (fail,)))
            known = replace(known, limits=(*known.limits, *limits))
        return tuple(found)

    def _node(self, node: Node, known: Known, *, in_order: bool) -> Node:
        """Return a node that is no test."""
        match node:
            case If():
                condition = simple(node.condition, known)
                then = self.body(node.then, known.where(node.condition), in_order=in_order)
                return If(condition, then, self.body(node.otherwise, known, in_order=in_order))
            case For() as loop:
                runs = in_order and runs_in_order(node) and not _has_functions_in_lanes(node)
                node = own_changed(node, lambda expr: simple(expr, known))
                inner = Known() if _is_border(node) else known.after(node)
                inner = replace(inner.inside(loop), chooses=runs)
                return map_bodies(node, self.body, inner, in_order=runs)
            case While():  # its condition is tested again
                known = known.after(node)
                node = own_changed(node, lambda expr: simple(expr, known))
                return map_bodies(node, self.body, Known(), in_order=in_order)
            case Assign(target=target):  # what it sets is no local with the value before
                index = tuple(simple(part, known) for part in target.index)
                return replace(
                    node, target=replace(target, index=index), value=simple(node.value, known)
                )
            case _:
                return own_changed(node, lambda expr: simple(expr, known))

    def _test(self, node: Node) -> tuple[Expr, Fail] | None:
        """Return the condition of a fault, and the exit in place of the note."""
        found = noted_fault(node, self.faults)
        if found is None:
            return None
        condition, assign = found
        (number,) = assign.target.index
        assert isinstance(number, Const)
        return condition, Fail(int(number.value.real), assign.statement, assign.instance)

    def _fused(self, body: Body) -> Body:
        """Return a body with loops of nothing but tests joined with loops of the same iterations.

        A test changes nothing that others read, so that it runs anywhere its operands are the same.
        """
        found = list(body)
        for node in body:
            if not isinstance(node, For) or not self._has_tests_only(node.body):
                continue
            position = next(n for n, other in enumerate(found) if other is node)
            host = self._host(node, position, found)
            if host is not None:
                found[host] = _joined(found[host], node)
                del found[position]
        return tuple(found)

    def _has_tests_only(self, body: Body) -> bool:
        return all(
            self._has_tests_only(node.body)
            if isinstance(node, For)
            else self._test(node) is not None
            for node in body
        )

    def _host(self, loop: For, position: int, body: Sequence[Node]) -> int | None:
        """Return the position of the next loop that a loop of tests may join, None without one."""
        for places in (range(position - 1, -1, -1), range(position + 1, len(body))):
            for place in places:
                other = body[place]
                passed = _is_passed(other, _free_names(loop))
                if isinstance(other, For) and _is_along(loop, other):
                    has_more = not self._has_tests_only(other.body)
                    if has_more and (passed or (place < position and _is_in_step(loop, other))):
                        return place
                if not passed:
                    break
        return None

    def _moved(self, body: Body) -> Body | None:
        """Return a body with its tests before the accesses they guard, None if they guard none."""
        found: list[Node] = []
        guards = False
        for node in body:
            test = self._test(node)
            if test is None:
                found.append(node)
                continue
            indices = {limit.index for limit in limits_without(test[0])}
            names = names_of(test[0])
            place = position = len(found)
            while position and _is_passed(found[position - 1], names):
                position -= 1
                if _uses(found[position], indices) and self._test(found[position]) is None:
                    place = position
            guards = guards or place < len(found)
            found.insert(place, node)
        if not guards:
            tests = [(n, t) for n, node in enumerate(found) if (t := self._test(node)) is not None]
            guards = any(
                _uses(later, {limit.index for limit in limits_without(condition)})
                for n, (condition, _) in tests
                for later in found[n + 1 :]
                if self._test(later) is None
            )
        return tuple(found) if guards else None


def _expressions(loop: For) -> Iterator[Expr]:
    return (expr for node in all_nodes((loop,)) for expr in own_expressions(node))


def _free_names(loop: For) -> frozenset[str]:
    own = {node.iter for node in all_nodes((loop,)) if isinstance(node, For)}
    return frozenset().union(*map(names_of, _expressions(loop))) - own


def _is_along(loop: For, other: For) -> bool:
    """Tell whether loops have the same iterations, those of `other` in order."""
    return (
        runs_in_order(other)
        and loop.lanes == 1
        and loop.step == other.step
        and normalize(loop.lower) == normalize(other.lower)
        and normalize(loop.upper) == normalize(other.upper)
    )


def _is_in_step(loop: For, other: For) -> bool:
    """Tell whether an iteration of tests reads nothing that other iterations of `other` change."""
    names = _free_names(loop)
    changed = names & changes_of(other)
    parts = {part for expr in _expressions(loop) for part in walk(expr)}
    cells = {part.array: part.index for part in parts if isinstance(part, Load)}
    own = {replace(part, index=cells[part.array]) for part in parts if isinstance(part, Load)}
    own |= {part for part in parts if isinstance(part, Load) and part.array not in changed}
    if not changed <= cells.keys() or any(
        isinstance(part, Load) and part not in own for part in parts
    ):
        return False
    values = {loop.iter: Iter(other.iter)}
    return _is_passed(other, names - changed) and all(
        node.target.index == tuple(substitute(i, values) for i in cells[node.target.array])
        and any(has_iterator(i, {other.iter}) for i in node.target.index)
        for node in all_nodes(other.body)
        if isinstance(node, Assign) and node.target.array in changed
    )


def _joined(host: Node, loop: For) -> For:
    """Return `host` with the tests in a loop behind its own body."""
    assert isinstance(host, For)
    return replace(host, body=(*host.body, *substituted(loop.body, {loop.iter: Iter(host.iter)})))


def _has_functions_in_lanes(loop: For) -> bool:
    """Tell whether iterations call functions and write elements of their own, which none reads."""
    nodes = list(all_nodes(loop.body))
    if any(isinstance(node, For | While | SetLocal) for node in nodes):
        return False
    exprs = [expr for node in nodes for expr in own_expressions(node)]
    if not any(is_function(part) for expr in exprs for part in walk(expr)):
        return False
    targets = [n.target for n in nodes if isinstance(n, Assign) and any(n.target.index)]
    own = [t for t in targets if not all(isinstance(i, Const) for i in t.index)]
    is_own = all(any(slope_of(i, loop.iter) for i in target.index) for target in own)
    return bool(own) and is_own and {t.array for t in own}.isdisjoint(reads(*exprs))


def _is_passed(node: Node, names: frozenset[str]) -> bool:
    """Tell whether a test of `names` may move before a node: one of the same static part."""
    return not any(map(_is_border, all_nodes((node,)))) and changes_of(node).isdisjoint(names)


def _is_border(node: Node) -> bool:
    """Tell whether a static part ends at a node; each part is proven by what is in it."""
    match node:
        case For():
            return bool(reads(node.lower, node.upper) or symbols(node.lower, node.upper))
        case Declare():
            return not (node.statement or isinstance(node.value, Const))
        case Assign() | SetLocal() | If():
            return False
        case _:
            return True


def _uses(node: Node, indices: set[Expr]) -> bool:
    """Tell whether a node keeps one of the subscripts inside, or does something if it is there."""
    for inner in all_nodes((node,)):
        values = (*own_expressions(inner), *([inner.target] if isinstance(inner, Assign) else []))
        for part in (part for value in values for part in walk(value)):
            match part:
                case Binary(op=BinaryOp.MIN | BinaryOp.MAX, left=index):
                    pass
                case Compare(op=CompareOp.GE | CompareOp.LT, left=index):
                    pass
                case _:
                    continue
            if normal(index) in indices:
                return True
    return False


def _wish(index: Expr) -> str:
    """Return a name for a local with a subscript."""
    named = [
        part.name if isinstance(part, Symbol) else part.array
        for part in walk(index)
        if isinstance(part, Symbol | Load)
    ]
    return f"{named[0].strip('_')}_at" if len(set(named)) == 1 else "at"


def _shorter(condition: Expr) -> Expr:
    """Return a test with two comparisons in place of a minimum and a maximum."""
    match condition:
        case Binary(op=BinaryOp.AND | BinaryOp.OR):
            left, right = _shorter(condition.left), _shorter(condition.right)
            return replace(condition, left=left, right=right)
        case Compare(op=CompareOp.NE) if len(limits_left(condition)) == 2:
            (index, _), (_, extent) = limits_left(condition)
            assert extent is not None
            low = Compare(CompareOp.LT, index, integer(0))
            high = Compare(CompareOp.GE, index, normalize(extent))
            return Binary(BinaryOp.OR, low, high, DType.BOOL)
        case _:
            return condition
