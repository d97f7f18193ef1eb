"""Polynomials that bound the memory of arrays, and the arrays that outgrow others."""

from __future__ import annotations

from fractions import Fraction

import pytest

from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Binary, BinaryOp, Expr, Param, add, integer, mul, sub
from polyopt.ir.growth import growth, memory, outgrown
from polyopt.ir.types import DType

N, M, T = Param("N"), Param("M"), Param("T")


def binary(op: BinaryOp, left: Expr, right: Expr) -> Expr:
    return Binary(op, left, right, DType.INT64)


def array(name: str, *shape: Expr, role: Role = Role.TEMP) -> Array:
    return Array(name, DType.FLOAT64, shape, role)


@pytest.mark.parametrize(
    ("extent", "terms"),
    [
        (integer(8), {(): 8}),
        (add(N, integer(2)), {("N",): 1, (): 2}),
        (sub(N, N), {}),
        (mul(N, add(M, N)), {("M", "N"): 1, ("N", "N"): 1}),
        (binary(BinaryOp.FLOORDIV, N, integer(4)), {("N",): Fraction(1, 4)}),
        (binary(BinaryOp.MIN, N, integer(32)), {(): 32}),
        (binary(BinaryOp.MAX, sub(N, integer(2)), integer(0)), {("N",): 1}),
        (binary(BinaryOp.MOD, N, integer(3)), {(): 3}),
    ],
)
def test_growth(extent: Expr, terms: dict[tuple[str, ...], Fraction]) -> None:
    assert growth(extent).terms == terms


def test_memory_counts_bytes() -> None:
    assert memory(array("a", N, integer(3))).terms == {("N",): 24}
    assert memory(array("a")).terms == {(): 8}


MATRIX = array("A", N, M, role=Role.INPUT)
ROW = array("x", N, role=Role.INPUT)


@pytest.mark.parametrize(
    ("temporaries", "own", "large"),
    [
        ([array("s", T)], [ROW], {"s"}),
        ([array("s", T, N)], [MATRIX], {"s"}),
        ([array("f", N, N)], [ROW], {"f"}),
        ([array("f", N, N)], [MATRIX], {"f"}),
        ([array("s", N), array("r", integer(8), N)], [ROW], set()),
        ([array("s", T)], [MATRIX, array("out", T, role=Role.OUTPUT)], set()),
        ([array(name, N, M) for name in "fgh"], [MATRIX], set()),
        ([array(name, N, M) for name in "fghk"], [MATRIX], {"f", "g", "h", "k"}),
        ([array("s", integer(64))], [], set()),
    ],
)
def test_outgrown(temporaries: list[Array], own: list[Array], large: set[str]) -> None:
    assert outgrown(temporaries, own) == large
