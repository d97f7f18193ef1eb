"""The work of expressions: what counts as floating-point operations, what takes time besides."""

from __future__ import annotations

from polyopt.ir.expr import Call, Const, MathFunc, Symbol
from polyopt.ir.types import DType
from polyopt.model.operations import FUNCTION, work_of


def test_random_words_take_time_but_are_no_operations() -> None:
    number = Const(7, DType.UINT64)
    place = Symbol("place", DType.UINT64)
    word = Call(MathFunc.PHILOX, (number, number, place, number), DType.UINT64)
    assert work_of(word).operations == 0.0
    assert work_of(word).places > FUNCTION
    normal = work_of(Call(MathFunc.NORMAL, (word,), DType.FLOAT64))
    assert normal.operations == 1.0
    assert normal.places > 2 * work_of(word).places
