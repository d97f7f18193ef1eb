"""Values in other storage than the source's: windows, shared arrays, copies, partial sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.passes.rewriting import renamed
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    Symbol,
    add,
    integer,
    rewrite,
)
from polyopt.ir.loops import Assign, Body, Declare, DeclareArray, For, If, LoopKind, SetLocal
from polyopt.ir.nodes import all_nodes, changed
from polyopt.ir.scop import Array, Role
from tests.unit.proof.edits import (
    F64,
    I64,
    SIZE,
    I,
    below,
    edited,
    element,
    faults,
    local,
    loops_of,
    marked,
    number,
    only_loop,
    reasons,
    where,
)

# ruff: noqa: F821, UP037 - sizes are named by strings


def two(x: po.f64["N"], out: po.f64["N"]):
    u = np.empty(x.shape[0])
    t = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        u[i] = x[i] * 2.0
    for i in range(x.shape[0]):
        t[i] = x[i] * 3.0
    for i in range(x.shape[0]):
        out[i] = u[i] + t[i]


def one_after_the_other(x: po.f64["N"], out: po.f64["N"]):
    u = np.empty(x.shape[0])
    t = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        u[i] = x[i] * 2.0
    for i in range(x.shape[0]):
        out[i] = u[i]
    for i in range(x.shape[0]):
        t[i] = x[i] * 3.0
    for i in range(x.shape[0]):
        out[i] = out[i] + t[i]


def window(x: po.f64["N"], out: po.f64["N"]):
    t = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        t[i] = x[i] * 2.0
        if i > 0:
            out[i] = t[i] - t[i - 1]


def rows(x: po.f64["N"], out: po.f64["N"]):
    for i in range(x.shape[0]):
        t = x[i] * 2.0
        out[i] = t * t + t


def total(x: po.f64["N"], s: po.i64["2"], k: po.i64["N"]):
    for i in range(x.shape[0]):
        s[0] += k[i]


def halves(s: po.i64["2"], k: po.i64["N"]):
    for i in range(k.shape[0]):
        s[i % 2] += k[i]


def into(body: Body, array: str, index: object, name: str = "") -> Body:
    """Return `body` with the elements of `array` at other subscripts, or in another array."""

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.array == array:
            return Load(name or array, tuple(map(index, part.index)), part.dtype)
        return None

    return tuple(changed(node, rule) for node in body)


def same(part: Expr) -> Expr:
    return part


@pytest.mark.parametrize(("function", "is_right"), [(two, False), (one_after_the_other, True)])
def test_arrays_share_storage_one_after_the_other_only(function: object, is_right: bool) -> None:
    loops = loops_of(function)
    assert not faults(function, loops)
    assert (not reasons(function, into(loops.body, "t", same, "u"))) is is_right


@pytest.mark.parametrize(("cells", "is_right"), [(3, True), (2, True), (1, False)])
def test_a_window_is_wide_enough(cells: int, is_right: bool) -> None:
    loops = loops_of(window)
    assert not faults(window, loops)

    def index(part: Expr) -> Expr:
        return Binary(BinaryOp.MOD, part, integer(cells), I64)

    arrays = tuple(
        replace(a, shape=(integer(cells),)) if a.name == "t" else a for a in loops.arrays
    )
    found = faults(window, replace(loops, body=into(loops.body, "t", index), arrays=arrays))
    assert (not found) is is_right


@pytest.mark.parametrize("offset", [0, 1])
def test_each_operand_has_a_producer_of_its_own(offset: int) -> None:
    loops = loops_of(window)

    def index(part: Expr) -> Expr:
        return Binary(BinaryOp.MOD, add(part, integer(offset)), integer(2), I64)

    def swap(part: Expr) -> Expr | None:
        match part:
            case Binary(op=BinaryOp.SUB, left=Load() as left, right=Load() as right):
                return replace(part, left=right, right=left)
            case _:
                return None

    moved = into(loops.body, "t", index)
    arrays = tuple(replace(a, shape=(integer(2),)) if a.name == "t" else a for a in loops.arrays)
    assert not faults(window, replace(loops, body=moved, arrays=arrays))
    swapped = tuple(changed(node, swap) for node in moved)
    assert swapped != moved
    assert faults(window, replace(loops, body=swapped, arrays=arrays))


def test_a_window_is_not_shared_by_threads() -> None:
    loops = loops_of(window)
    arrays = tuple(replace(a, shape=(integer(2),)) if a.name == "t" else a for a in loops.arrays)
    body = into(loops.body, "t", lambda part: Binary(BinaryOp.MOD, part, integer(2), I64))
    assert faults(window, replace(loops, body=marked(body, "i", LoopKind.PARALLEL), arrays=arrays))


def test_an_array_of_each_iteration_does_not_pass_values_on() -> None:
    """`t` is another array in every iteration of `i` when it is declared there."""
    loops = loops_of(window)
    (nest,) = loops.body
    assert isinstance(nest, If)
    first, loop = nest.then
    assert isinstance(loop, For)
    home = DeclareArray(Array("u", F64, (integer(64),), Role.TEMP))
    inner = renamed(loop.body, {"t": "u"})
    body = (replace(nest, then=(first, replace(loop, body=(home, *inner)))),)
    found = faults(window, replace(loops, body=body))
    assert any(claim.kind.value in ("storage", "order") for claim in found)


ROWS = only_loop(loops_of(rows).body)


def test_what_the_source_does_not_write_is_not_written() -> None:
    for array in ("x", "out"):
        clears = Assign(element(array, integer(0)), number(0.0))
        guarded = where(below(integer(0), SIZE), clears)
        assert "a copy that the source does not have" in reasons(rows, (ROWS, guarded))


def copied(*before: object, inside: tuple = (), name: str = "c", upper: Expr = SIZE) -> Body:
    """Return loops that read `x` from a copy that holds it."""
    home = DeclareArray(Array(name, F64, (integer(2**20),), Role.TEMP))
    fill = For(
        "k", integer(0), upper, 1, LoopKind.SEQUENTIAL,
        (Assign(element(name, Iter("k")), element("x", Iter("k"))),),
    )  # fmt: skip
    reading = replace(ROWS, body=(*into(ROWS.body, "x", same, name), *inside))
    return (home, *(before or (fill,)), reading)


def filling(target: Expr, source: Expr, **changes: object) -> For:
    fill = Assign(element("c", target), element("x", source))
    loop = For("k", integer(0), SIZE, 1, LoopKind.SEQUENTIAL, (fill,))
    return replace(loop, **changes)


K = Iter("k")


@pytest.mark.parametrize(
    "before",
    [
        filling(K, K, upper=add(SIZE, integer(-1))),
        filling(K, K, step=2),
        filling(add(K, integer(1)), K, upper=add(SIZE, integer(-1))),
        where(below(element("x", integer(0)), number(0.0)), filling(K, K)),
        filling(K, K, body=(Assign(element("c", K), number(0.0)),)),
    ],
    ids=["short", "odd", "moved", "conditional", "other"],
)
def test_a_copy_holds_what_is_read(before: object) -> None:
    def kinds(body: Body) -> set[str]:
        found = faults(rows, replace(loops_of(rows), body=body))
        return {claim.kind.value for claim in found} - {"bounds"}

    assert not kinds(copied())  # it fits where N is at most 2**20: that is for the bounds
    assert kinds(copied(before))


def test_a_copy_is_filled_before_it_is_read() -> None:
    home, fill, reading = copied()
    assert "storage" in reasons(rows, (home, reading, fill))


def test_a_local_has_one_value_for_one_thread() -> None:
    """A local declared outside a parallel loop is shared by its iterations."""
    value = ROWS.body[0]
    assert isinstance(value, Assign | Declare | SetLocal)
    body = edited((ROWS,), lambda n: n)
    assert not reasons(rows, marked(body, "i", LoopKind.PARALLEL))
    shared = (
        Declare("w", F64, 1, number(0.0)),
        replace(
            ROWS,
            kind=LoopKind.PARALLEL,
            body=(SetLocal("w", F64, 1, element("x", I)), *into_local(ROWS.body)),
        ),
    )
    assert reasons(rows, shared)


def into_local(body: Body) -> Body:
    def rule(part: Expr) -> Expr | None:
        return local("w") if part == element("x", I) else None

    return tuple(changed(node, lambda e: rewrite(e, rule) if e == element("x", I) else None)
                 for node in body)  # fmt: skip


TOTAL = only_loop(loops_of(total).body)
CELL = element("s", integer(0), dtype=I64)


def summed(op: BinaryOp, *, combined: bool = True, cell: Load = CELL) -> Body:
    """Return threads that add up `k` in a local each."""
    acc = Symbol("acc", I64)
    add_up = edited(TOTAL.body, lambda n: SetLocal(
        "acc", I64, 1, rewrite(n.value, lambda e: acc if e == CELL else None),
        n.statement, n.instance,
    ) if isinstance(n, Assign) else n)  # fmt: skip
    loop = replace(TOTAL, kind=LoopKind.PARALLEL, body=add_up).annotated(
        reductions=((op, acc),) if combined else ()
    )
    return (Declare("acc", I64, 1, cell), loop, Assign(cell, acc))


def test_threads_combine_by_the_operation_of_the_sum() -> None:
    assert not reasons(total, loops_of(total).body)
    assert not reasons(total, summed(BinaryOp.ADD))
    assert "more than combine" in reasons(total, summed(BinaryOp.MAX))
    assert "concurrency" in reasons(total, summed(BinaryOp.ADD, combined=False))
    other = element("s", integer(1), dtype=I64)
    assert reasons(total, summed(BinaryOp.ADD, cell=other))
    start, loop, _ = summed(BinaryOp.ADD)
    assert reasons(total, (start, loop))


def test_what_is_added_on_the_side_is_not_combined() -> None:
    declared, inner, store = summed(BinaryOp.ADD)
    assert isinstance(inner, For)
    half = replace(inner, upper=Binary(BinaryOp.FLOORDIV, SIZE, integer(2), I64))
    aside = replace(TOTAL, lower=half.upper)
    assert not reasons(total, (declared, half, store, aside))
    assert "concurrency" in reasons(
        total, (declared, half, store, replace(aside, kind=LoopKind.PARALLEL))
    )


def test_each_element_needs_a_local_of_its_own() -> None:
    loop = only_loop(loops_of(halves).body)
    assert not reasons(halves, (loop,))
    even = Compare(CompareOp.EQ, Binary(BinaryOp.MOD, I, integer(2), I64), integer(0))
    acc = Symbol("acc", I64)
    (add_up,) = loop.body
    assert isinstance(add_up, Assign)
    first, second = (element("s", integer(n), dtype=I64) for n in (0, 1))

    def of(cell: Expr) -> Expr:
        return rewrite(add_up.value, lambda e: cell if e == add_up.target else None)

    own = SetLocal("acc", I64, 1, of(acc), add_up.statement, add_up.instance)
    direct = replace(add_up, target=second, value=of(second))
    split = replace(
        loop,
        kind=LoopKind.PARALLEL,
        body=(If(even, (own,), (direct,)),),
    ).annotated(reductions=((BinaryOp.ADD, acc),))
    body = (Declare("acc", I64, 1, first), split, Assign(first, acc))
    sequential = replace(split, kind=LoopKind.SEQUENTIAL).annotated(reductions=())
    assert not reasons(halves, (body[0], sequential, body[2]))
    assert "concurrency" in reasons(halves, body)


def apart(x: po.f64["16"], steps: po.i64):
    for _ in range(steps):
        for i in range(8):
            x[i + 8] = x[i + 8] + x[i]


def overlapping(x: po.f64["16"], steps: po.i64):
    for _ in range(steps):
        for i in range(8):
            x[i + 7] = x[i + 7] + x[i]


def half_copied(function: object) -> Body:
    """Return loops that read the first half of `x` from a copy that every step makes."""
    loops = loops_of(function)  # type: ignore[arg-type]
    outer = only_loop(loops.body)
    home = DeclareArray(Array("c", F64, (integer(8),), Role.TEMP))
    fill = replace(filling(Iter("k"), Iter("k")), upper=integer(8))
    inner = only_loop(outer.body)
    (assign,) = inner.body
    assert isinstance(assign, Assign)
    value = rewrite(assign.value, lambda e: element("c", I) if e == element("x", I) else None)
    reading = replace(inner, body=(replace(assign, value=value),))
    return (replace(outer, body=(home, fill, reading)),)


def test_a_copy_of_elements_that_are_written_elsewhere() -> None:
    """What a step writes into the other half of the array does not make the copy old."""
    assert reasons(apart, half_copied(apart)) == ""


def test_a_copy_of_elements_that_are_written_meanwhile() -> None:
    assert "in use" in reasons(overlapping, half_copied(overlapping))


def around_one(x: po.f64["N,3"], out: po.f64["N"]):
    for i in range(x.shape[0]):
        if i != 5:
            d = x[i] - x[5]
            for k in range(3):
                out[i] += d[k] * d[k]


def test_loops_may_have_an_array_of_the_source_each():
    body = loops_of(around_one).body
    assert sum(isinstance(node, DeclareArray) for node in all_nodes(body)) == 2
    assert reasons(around_one, body) == ""


@pytest.mark.parametrize("late", [0, 1])
def test_each_of_several_arrays_must_be_filled_before_it_is_read(late):
    places = (node for node in all_nodes(loops_of(around_one).body) if isinstance(node, For))
    outer = [loop for loop in places if isinstance(loop.body[0], DeclareArray)][late]
    declared, *rest = outer.body
    turned = replace(outer, body=(declared, *reversed(rest)))
    body = edited(loops_of(around_one).body, lambda node: turned if node == outer else node)
    assert "order" in reasons(around_one, body)


def all_pairs(a: po.i64["N"], b: po.i64["N"], s: po.i64["2"]):
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            s[0] += a[i] * b[j]


def test_a_copy_made_before_all_loops_beside_sums_in_another_order() -> None:
    steps = "interchange(i, j); hold(b, L0)"
    copies, loops = loops_of(all_pairs, steps).body
    assert isinstance(copies, For)
    (copy,) = copies.body
    assert isinstance(copy, Assign)
    assert not reasons(all_pairs, (copies, loops), steps)
    other = replace(copy, value=element("a", Iter(copies.iter), dtype=I64))
    again = replace(copy, value=integer(0))
    for body, reason in (
        ((loops, copies), "it is filled after it is read"),
        ((replace(copies, upper=integer(1)), loops), "an element is read that no copy filled"),
        ((replace(copies, body=(other,)), loops), "it holds another element"),
        ((replace(copies, body=(copy, again)), loops), "what is kept in it is no copy"),
        ((replace(copies, body=(again,)), loops), "what is kept in it is no copy"),
        ((loops,), "its elements are seen after the part"),
    ):
        assert reason in reasons(all_pairs, body, steps)
