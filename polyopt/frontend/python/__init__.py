"""Python's own functions: builtins, `math`, `in`, `sorted`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.python import builtin_functions as builtin_functions
    from polyopt.frontend.python import math_functions as math_functions
    from polyopt.frontend.python import membership as membership
else:
    __getattr__ = names_of(__name__)
