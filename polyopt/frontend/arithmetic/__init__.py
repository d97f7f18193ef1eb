"""Python's operators on values, with Python's and NumPy's rules for numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.arithmetic import modular_sums as modular_sums
    from polyopt.frontend.arithmetic import periodic as periodic
else:
    __getattr__ = names_of(__name__)
