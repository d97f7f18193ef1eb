"""Subscripts: basic ones, by arrays, by masks, and those found while the kernel runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.subscripts import flat_arrays as flat_arrays
    from polyopt.frontend.subscripts import strides as strides
else:
    __getattr__ = names_of(__name__)
