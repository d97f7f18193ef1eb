"""Small kernels drawn at random: nests over threads, loops around them, shared arrays.

In: a generator of numbers.  Out: a `LoopFunction` with one kernel, no sizes, no barriers.
"""

from __future__ import annotations

from random import Random

from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Expr, Iter, Load, add, integer, mul
from polyopt.ir.linear import normalize
from polyopt.ir.loops import (
    Assign,
    Body,
    DeclareArray,
    For,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    Space,
)
from polyopt.ir.source import Signature
from polyopt.ir.types import DType

F64 = DType.FLOAT64
SHARED = Array("S", F64, (integer(400),), Role.TEMP)
OTHER = Array("G", F64, (integer(400),), Role.INOUT)


def drawn(random: Random) -> LoopFunction:
    """Return a function with one kernel."""
    threads = random.choice((3, 4, 8, 33, 64))
    body = _body(random, 0, [], [0])
    kernel = Kernel("kernel", threads, (DeclareArray(SHARED, Space.SHARED), *body))
    return LoopFunction("drawn", (OTHER,), (), signature(), (kernel,))


def signature() -> Signature:
    """Return a signature without arguments."""
    return Signature("drawn", (), (), (), (), "N", ())


def _body(random: Random, depth: int, around: list[str], count: list[int]) -> Body:
    return tuple(_node(random, depth, around, count) for _ in range(random.randint(1, 3)))


def _node(random: Random, depth: int, around: list[str], count: list[int]) -> Node:
    count[0] += 1
    kind = random.random()
    if depth < 2 and kind < 0.3:
        name = f"k{count[0]}"
        body = _body(random, depth + 1, [*around, name], count)
        upper = integer(random.randint(1, 3))
        return For(name, integer(0), upper, 1, LoopKind.SEQUENTIAL, body)
    if kind < 0.4:
        return _assign(random, around)
    names = [f"t{count[0]}", f"u{count[0]}"][: random.randint(1, 2)]
    body = (_assign(random, [*around, *names]),)
    for name in reversed(names):
        extent = random.choice((1, 2, 3, 4, 9, 40))
        body = (For(name, integer(0), integer(extent), 1, LoopKind.THREAD, body),)
    return body[0]


def _assign(random: Random, names: list[str]) -> Assign:
    arrays = [random.choice("SSG") for _ in range(2)]
    target, value = (Load(a, (_index(random, names),), F64) for a in arrays)
    return Assign(target, value)


def _index(random: Random, names: list[str]) -> Expr:
    total: Expr = integer(random.choice((0, 0, 0, 1, 2, 8, 32)))
    for name in names[-3:]:
        total = add(total, mul(integer(random.choice((0, 1, 1, 1, 2, 4))), Iter(name)))
    return normalize(total)
