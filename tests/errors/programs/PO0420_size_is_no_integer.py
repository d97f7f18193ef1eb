from polyopt.emit.wrapper import size_text
from polyopt.ir.expr import Symbol
from polyopt.ir.types import DType


def act():
    size_text(Symbol("x", DType.FLOAT64), {})
