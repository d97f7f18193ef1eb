"""A Program around a Scop, so that it can be lowered, emitted and called without a front end.

In: a Scop whose arrays are not TEMP or are.  Out: a Program that takes its arrays, then its sizes.
"""

from __future__ import annotations

from polyopt.ir.program import Program
from polyopt.ir.scop import Role, Scop
from polyopt.ir.source import ArrayArg, IntegerOf, Layout, ScalarArg, Signature
from polyopt.ir.types import DType


def as_program(scop: Scop, name: str = "kernel") -> Program:
    """Return `scop` as a function of its arrays and its sizes."""
    arrays = [array for array in scop.arrays if array.role is not Role.TEMP]
    arguments = [
        *(ArrayArg(a.name, a.name, a.dtype, a.shape, Layout.C, True) for a in arrays),
        *(ScalarArg(p, p, DType.INT64, True) for p in scop.params),
    ]
    sizes = tuple(IntegerOf(p, len(arrays) + n) for n, p in enumerate(scop.params))
    signature = Signature(name, tuple(arguments), sizes, (), (), "N", ())
    return Program(name, (scop,), scop.arrays, signature, "<test>", 1)
