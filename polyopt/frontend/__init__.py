"""Front ends: Python functions become Programs.

The two entries are imported when first asked for: types and annotations are used without isl.  So
are modules for functions and statements that few programs have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend import (
        advice,
        assertions,
        branches,
        conflicts,
        creation,
        filtering,
        grids,
        indexing,
        invoke,
        iterating,
        joining,
        library,
        math_table,
        membership,
        modular,
        perhaps,
        periodic,
        python_rules,
        regrouping,
        reshaped_names,
        reshaping,
        rows_and_columns,
        selection,
        strides,
        totals,
        ufunc_calls,
        ufuncs,
    )
    from polyopt.frontend.infer import infer_types
    from polyopt.frontend.pyfunc import build
else:
    __getattr__ = names_of(
        __name__,
        {
            "advice": "",
            "assertions": "",
            "branches": "",
            "conflicts": "",
            "creation": "",
            "filtering": "",
            "grids": "",
            "indexing": "",
            "infer": "infer_types",
            "invoke": "",
            "iterating": "",
            "joining": "",
            "library": "",
            "math_table": "",
            "membership": "",
            "modular": "",
            "perhaps": "",
            "periodic": "",
            "pyfunc": "build",
            "python_rules": "",
            "regrouping": "",
            "reshaped_names": "",
            "reshaping": "",
            "rows_and_columns": "",
            "selection": "",
            "strides": "",
            "totals": "",
            "ufunc_calls": "",
            "ufuncs": "",
        },
    )

__all__ = [
    "advice",
    "assertions",
    "branches",
    "build",
    "conflicts",
    "creation",
    "filtering",
    "grids",
    "indexing",
    "infer_types",
    "invoke",
    "iterating",
    "joining",
    "library",
    "math_table",
    "membership",
    "modular",
    "perhaps",
    "periodic",
    "python_rules",
    "regrouping",
    "reshaped_names",
    "reshaping",
    "rows_and_columns",
    "selection",
    "strides",
    "totals",
    "ufunc_calls",
    "ufuncs",
]
