"""Numerics: what a kernel's results may differ by, and why.

In: the loop AST of a kernel, its Program, a call's arrays.  Out: the contract of each output, and a
bound on the rounding error of each element.
"""

from __future__ import annotations

from polyopt.numerics.classify import numerics_contract
from polyopt.numerics.contract import Exactness, NumericsContract, OutputContract

__all__ = ["Exactness", "NumericsContract", "OutputContract", "numerics_contract"]
