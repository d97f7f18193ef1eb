"""Python's own functions: builtins, `math`, `in`, `sorted`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.python import builtin_functions, math_functions, membership
else:
    __getattr__ = names_of(
        __name__, {"builtin_functions": "", "math_functions": "", "membership": ""}
    )

__all__ = ["builtin_functions", "math_functions", "membership"]
