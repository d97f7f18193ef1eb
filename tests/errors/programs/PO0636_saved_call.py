from polyopt.ir.source import ScalarArg, Signature
from polyopt.ir.types import DType
from polyopt.loading import _bound


def act():
    arguments = tuple(ScalarArg(name, name, DType.FLOAT64, False) for name in ("x", "y"))
    _bound(Signature("scaled", arguments, (), (), (), "N", ()), (1.0,), {})
