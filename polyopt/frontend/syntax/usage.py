"""What a body says about its names: the record, and what NumPy's functions do to ranks."""

from __future__ import annotations

import ast

import numpy as np

from polyopt.dataclass import dataclass, field

CREATE = (np.zeros, np.ones, np.empty, np.full)
LIKE = (np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.copy, np.ascontiguousarray)
REDUCE = (
    np.sum, np.prod, np.max, np.min, np.amax, np.amin, np.mean, np.var, np.std, np.any, np.all,
    np.argmax, np.argmin,
)  # fmt: skip
SCAN = (np.cumsum, np.cumprod, np.flip, np.roll, np.clip, np.sort)
REDUCE_METHODS = {f.__name__ for f in REDUCE}
BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
PRODUCT = (np.dot, np.matmul)


@dataclass
class Usage:
    """What one body says about its names.

    `rank` holds lower bounds (an absent name showed no sign of being an array), `shapes` the ranks
    of `n, m = A.shape`, `integers` names used as sizes, bounds or subscripts, `int_arrays` arrays
    whose elements are subscripts, `factors` names seen only as operands of `@`, `loose` elementwise
    values that must be arrays though no name in them is known to be one.
    """

    rank: dict[str, int] = field(default_factory=dict)
    shapes: dict[str, set[int]] = field(default_factory=dict)
    integers: set[str] = field(default_factory=set)
    int_arrays: set[str] = field(default_factory=set)
    factors: set[str] = field(default_factory=set)
    loose: dict[tuple[str, ...], ast.expr] = field(default_factory=dict)
    returned: int = 0

    def signature(self) -> tuple[object, ...]:
        """A value that changes whenever a pass learned something."""
        shapes = {name: frozenset(ranks) for name, ranks in self.shapes.items()}
        return (
            dict(self.rank), shapes, frozenset(self.integers), frozenset(self.int_arrays),
            frozenset(self.factors), self.returned,
        )  # fmt: skip
