"""Mutants of random numbers: Philox's constants, rows of words, quantiles.

In: nothing.  Out: `MUTANTS`.
"""

# ruff: noqa: F821, UP037 - sizes are named by strings
from __future__ import annotations

from typing import Any

import polyopt as po
from polyopt.emit.helpers import HelperKind, random_numbers
from polyopt.ir import random_words
from tests.mutants.case import Case
from tests.mutants.layers import Layer
from tests.mutants.mutant import Mutant
from tests.mutants.planting import Entry

TEXT = (Layer.TEXT, Layer.RUN)


def words(w: po.u64["N"]):
    w[:] = po.random.bits(7, w.shape, stream=3)


def later_words(w: po.u64["N"]):
    w[:] = po.random.bits(7, w.shape, offset=5)


def normals(x: po.f64["N"]):
    x[:] = po.random.normal(7, x.shape)


def _helper(kind: HelperKind, old: str, new: str) -> tuple[Entry, ...]:
    """Replace a piece of a helper's text."""
    before = random_numbers.DEFINITIONS[kind.value]

    def after(helper: Any) -> list[str]:
        lines = before(helper)
        changed = [line.replace(old, new) for line in lines]
        assert changed != lines
        return changed

    return (Entry(random_numbers.DEFINITIONS, kind.value, after),)


def _number(old: int) -> tuple[Entry, ...]:
    return _helper(HelperKind.PHILOX_BLOCK, f"({old})", f"({old ^ 2})")


_SIZES = ({"N": 9}, {"N": 0}, {"N": 1}, {"N": 8})
WORDS = Case(function=words, sizes=_SIZES)
LATER = Case(function=later_words, sizes=_SIZES)
MUTANTS: tuple[Mutant, ...] = (
    Mutant(41, "Philox multiplies by another number",
           _number(random_words.MULTIPLIERS[1]), TEXT, WORDS),
    Mutant(42, "Philox's key grows by another number", _number(random_words.STEPS[0]), TEXT, WORDS),
    Mutant(43, "Philox has a round less",
           _helper(HelperKind.PHILOX_BLOCK, "< 10", "< 9"), TEXT, WORDS),
    Mutant(44, "a row begins with its first counter's first word",
           _helper(HelperKind.PHILOX_ROW, "return first;", "return 0;"), TEXT, LATER),
    Mutant(45, "all words of a row come of one counter",
           _helper(HelperKind.PHILOX_ROW, ")) + 1;", "));"),
           TEXT, LATER),
    Mutant(46, "quantiles have the sign of the other side",
           _helper(HelperKind.NORMAL, "? result : -result", "? -result : result"),
           TEXT, Case(function=normals, sizes=_SIZES)),
)  # fmt: skip
