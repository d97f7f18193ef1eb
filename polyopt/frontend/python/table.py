"""The table of Python's own functions: builtins on numbers and arrays.

In: a builtin or math function.  Out: the rule that turns a call into a value, or None.
"""

from __future__ import annotations

import builtins
from types import BuiltinMethodType
from typing import cast

from polyopt import frontend
from polyopt.frontend.numpy.table_rules import AnyRule, Rule
from polyopt.frontend.syntax.parallel_markers import is_prange, parallel
from polyopt.late import Table

_RULES: Table[Rule] = Table(
    "polyopt.frontend",
    "BUILTINS",
    {
        "python.counting": "len range slice prange parallel",
        "reader.comprehensions": "enumerate zip reversed",
        "python.builtin_functions": """
            min max abs int float bool sum pow tuple list complex round divmod any all isinstance
            callable hasattr
        """,
        "python.sorting": "sorted",
    },
)
_NAMES = {id(getattr(builtins, name)): name for name in _RULES if hasattr(builtins, name)}
_NUMBERS = (int, float, complex)


def rule_of(function: object) -> AnyRule | None:
    """Return the rule of a builtin, a function of `math` or one of a C region."""
    if is_prange(function):
        return _RULES["prange"]
    if function is parallel:
        return _RULES["parallel"]
    if isinstance(function, BuiltinMethodType) and isinstance(function.__self__, _NUMBERS):
        return frontend.python.builtin_functions.method_of_number(function)
    if getattr(function, "__module__", None) == "math":
        return frontend.python.math_functions.RULES.get(id(function))
    if type(function).__module__ == "polyopt.frontend.python.c_math":
        return cast(Rule, function)
    name = _NAMES.get(id(function))
    return None if name is None else _RULES[name]
