"""NumPy's functions: tables, shapes, dtypes and what they compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.numpy import (
        callbacks,
        creation,
        grids,
        indexing,
        joining,
        regrouping,
        reshaping,
        rows_and_columns,
        selection,
        ufunc_calls,
        ufuncs,
    )
else:
    __getattr__ = names_of(
        __name__,
        {
            "callbacks": "",
            "creation": "",
            "grids": "",
            "indexing": "",
            "joining": "",
            "regrouping": "",
            "reshaping": "",
            "rows_and_columns": "",
            "selection": "",
            "ufunc_calls": "",
            "ufuncs": "",
        },
    )

__all__ = [
    "callbacks",
    "creation",
    "grids",
    "indexing",
    "joining",
    "regrouping",
    "reshaping",
    "rows_and_columns",
    "selection",
    "ufunc_calls",
    "ufuncs",
]
