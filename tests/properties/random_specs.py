"""Random loop programs: triangular bounds, steps, both directions, stencils, reductions, guards.

In: a seeded `random.Random`.  Out: a `Spec`.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from polyopt.ir.expr import BinaryOp, Compare, CompareOp, Expr, Iter, Param, add, integer, mul, sub
from tests.properties.spec import Item, Loop, Put, Spec

ITERS = ("i", "j", "k", "l")
N, M = Param("N"), Param("M")


OPERATORS = (
    *(BinaryOp.ADD, BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX),
    *(BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR),
)


def rich_spec(rng: Random) -> Spec:
    """Return a program as `random_spec` does, with reductions by every operator.

    Some are stencils that update an array in place, some sums into a scalar.
    """
    spec = random_spec(rng, plain=rng.random() < 0.15)
    body = _with_operators(rng, spec.body)
    if rng.random() < 0.15:
        rank = rng.choice((1, 2, 2))
        body = (*body, _stencil(rng, rank))
        spec = replace(spec, ranks=(*spec.ranks, ("S", rank)))
    if rng.random() < 0.1:
        array, rank = rng.choice([r for r in spec.ranks if r[0] not in spec.temps])
        put = Put("Z", (), ((array, tuple(Iter(n) for n in ITERS[:rank])),), True)
        body = (*body, *_nest(rng, rank, put))
        spec = replace(spec, ranks=(*spec.ranks, ("Z", 0)))
    return replace(spec, body=body)


def _with_operators(rng: Random, body: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return `body` with another operator in each of its reductions."""
    found: list[Item] = []
    for item in body:
        if isinstance(item, Loop):
            item = replace(item, body=_with_operators(rng, item.body))
        elif item.reduction:
            item = replace(item, op=rng.choice(OPERATORS))
        found.append(item)
    return tuple(found)


def _stencil(rng: Random, rank: int) -> Loop:
    """Return a loop over time around one that updates `S` from its neighbours."""
    names = ITERS[1 : rank + 1]
    index = tuple(add(Iter(n), integer(1)) for n in names)
    offsets = [tuple(rng.choice((0, 1, 2)) for _ in names) for _ in range(rng.choice((1, 2, 3)))]
    reads = [
        tuple(add(Iter(n), integer(o)) for n, o in zip(names, at, strict=True)) for at in offsets
    ]
    body: Item = Put("S", index, tuple(("S", r) for r in reads))
    for name in reversed(names):
        body = Loop(name, integer(0), rng.choice((N, M, N)), 1, (body,))
    return Loop(ITERS[0], integer(0), integer(rng.choice((2, 3))), 1, (body,))


def _nest(rng: Random, rank: int, put: Put) -> tuple[Item, ...]:
    item: Item = put
    for name in reversed(ITERS[:rank]):
        item = Loop(name, integer(0), rng.choice((N, M)), 1, (item,))
    return (item,)


def random_spec(rng: Random, plain: bool = False) -> Spec:
    """Return a program of one to four statements; `plain` leaves out guards and odd steps."""
    ranks = tuple(
        (name, rng.choice((0, 1, 1, 1, 2, 2, 2, 3) if not plain else (1, 2, 2)))
        for name in ("A", "B", "C")[: rng.choice((1, 1, 2, 2, 3))]
    )
    temps = frozenset(("T",) if not plain and rng.random() < 0.35 else ())
    if temps:
        ranks = (*ranks, ("T", rng.choice((0, 0, 0, 1, 2))))
    maker = _Maker(rng, ranks, plain, rng.choice((1, 2, 2, 3, 3, 4)) + 2 * len(temps), temps)
    body = maker.body((), rng.choice((1, 2, 2, 3)), rng.choice((1, 1, 2, 3)))
    return Spec(ranks, body or (maker.put(()),), rng.choice((0, 0, 1, 3)), temps)


class _Maker:
    """Draws parts of a program; counts statements down to a limit."""

    def __init__(
        self,
        rng: Random,
        ranks: tuple[tuple[str, int], ...],
        plain: bool,
        statements: int,
        temps: frozenset[str] = frozenset(),
    ) -> None:
        self.rng, self.ranks, self.plain, self.left = rng, ranks, plain, statements
        self.temps = temps
        self.ready: list[tuple[str, tuple[Expr, ...]]] = []  # elements of temporaries just written

    def body(self, iters: tuple[str, ...], depth: int, width: int) -> tuple[Item, ...]:
        items: list[Item] = []
        known = len(self.ready)
        for _ in range(width + len(self.temps)):
            if self.left <= 0:
                break
            if depth > 0 and (not iters or self.rng.random() < 0.75):
                loop = self.loop(iters, depth)
                if loop is not None:
                    items.append(loop)
            else:
                items.append(self.put(iters))
        del self.ready[known:]
        return tuple(items)

    def loop(self, iters: tuple[str, ...], depth: int) -> Loop | None:
        name = ITERS[len(iters)]
        low, high = self.bounds(iters)
        step = 1 if self.plain else self.rng.choice((1, 1, 1, 1, 2, 3, -1, -1, -2))
        if step < 0:
            low, high = sub(high, integer(1)), sub(low, integer(1))
        body = self.body((*iters, name), depth - 1, self.rng.choice((1, 1, 2, 2)))
        return Loop(name, low, high, step, body) if body else None

    def bounds(self, iters: tuple[str, ...]) -> tuple[Expr, Expr]:
        """Return bounds that keep the iterator in [0, max(N, M))."""
        rng = self.rng
        low: Expr = integer(rng.choice((0, 0, 0, 1, 2)))
        high: Expr = rng.choice((N, N, M, sub(N, integer(1)), sub(M, integer(2))))
        if iters and rng.random() < 0.35:
            outer = Iter(rng.choice(iters))
            if rng.random() < 0.5:
                low = rng.choice((outer, add(outer, integer(1))))
            else:
                high = rng.choice((outer, sub(outer, integer(1))))
        elif rng.random() < 0.08:
            low, high = integer(0), integer(rng.choice((0, 1, 2, 5)))
            high = integer(1) if rng.random() < 0.5 else high
        return low, high

    def put(self, iters: tuple[str, ...]) -> Put:
        self.left -= 1
        rng = self.rng
        array, rank = rng.choice(self.ranks)
        index = self.index(iters, rank)
        reads = [self.read(iters) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
        if rng.random() < 0.5 and array not in self.temps:
            reads[0] = (array, self.near(index))
        if array in self.temps:
            self.ready.append((array, index))
            return Put(array, index, tuple(reads))
        guarded = not self.plain and rng.random() < 0.1
        condition = None
        if iters and not self.plain and rng.random() < 0.12:
            condition = self.condition(iters)
        return Put(array, index, tuple(reads), rng.random() < 0.25, guarded, condition)

    def read(self, iters: tuple[str, ...]) -> tuple[str, tuple[Expr, ...]]:
        if self.ready and self.rng.random() < 0.5:
            return self.rng.choice(self.ready)
        array, rank = self.rng.choice([r for r in self.ranks if r[0] not in self.temps])
        return array, self.index(iters, rank)

    def near(self, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(add(part, integer(self.rng.choice((0, 0, 1, 2)))) for part in index)

    def index(self, iters: tuple[str, ...], rank: int) -> tuple[Expr, ...]:
        order = list(iters)
        if self.rng.random() < 0.25:
            self.rng.shuffle(order)
        return tuple(
            self.subscript(iters, order[d % len(order)] if order else "") for d in range(rank)
        )

    def subscript(self, iters: tuple[str, ...], favourite: str) -> Expr:
        """Return a subscript in [0, 2 * (N + M) + 10)."""
        rng = self.rng
        if not iters or rng.random() < 0.08:
            return rng.choice((integer(0), integer(3), N, sub(add(N, M), integer(0))))
        one, other = Iter(favourite), Iter(rng.choice(iters))
        shift = integer(rng.choice((0, 1, 1, 2, 2, 2, 3, 4)))
        if rng.random() < 0.75:
            return add(one, shift)
        return rng.choice(
            (
                add(add(one, other), shift),
                add(sub(add(N, one), other), add(M, add(shift, integer(5)))),
                add(sub(add(N, M), one), add(shift, integer(5))),
                add(mul(integer(2), one), shift),
            )
        )

    def condition(self, iters: tuple[str, ...]) -> Expr:
        one, other = Iter(self.rng.choice(iters)), Iter(self.rng.choice(iters))
        op = self.rng.choice(tuple(CompareOp))
        right = self.rng.choice((other, integer(2), sub(N, integer(2)), M))
        return Compare(op, one, right)
