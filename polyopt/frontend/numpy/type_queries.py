"""Questions about element types: result_type, promote_types, issubdtype, finfo, iinfo, can_cast.

In: arguments known while compiling; of an array only its type counts.  Out: NumPy's own answer.
"""

from __future__ import annotations

import numpy as np

from polyopt.frontend.arithmetic.operators import describe
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Known, Number, Tensor, Value
from polyopt.ir.types import Kind

_PYTHON = {Kind.SIGNED: 0, Kind.FLOAT: 0.0, Kind.COMPLEX: 0j, Kind.BOOL: False}


def _rule(name: str) -> Rule:
    """Return the rule of the function: NumPy is asked while compiling."""

    def answer(b: Builder, args: Arguments) -> Value:
        values = [_type_of(value, args) for value in args.values]
        keywords = {key: _type_of(value, args) for key, value in args.keywords.items()}
        try:
            return Known(getattr(np, name)(*values, **keywords))
        except (TypeError, ValueError) as error:
            refuse("PO0151", f"`{args.name}`: {error}", args.loc)

    return answer


def _type_of(value: Value, args: Arguments) -> object:
    match value:
        case Known(value=known):
            return known
        case Tensor(dtype=dtype, weak=False) | Number(dtype=dtype, weak=False):
            return dtype.numpy
        case Number(dtype=dtype):
            return _PYTHON.get(dtype.kind, dtype.numpy)
        case _:
            refuse("PO0151", f"`{args.name}` of {describe(value)}", args.loc, "give a dtype")


_NAMES = "result_type promote_types issubdtype isdtype can_cast finfo iinfo dtype min_scalar_type"
FUNCTIONS = {name: _rule(name) for name in _NAMES.split()}
