"""NumPy's functions: tables, shapes, dtypes and what they compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.numpy import callbacks as callbacks
    from polyopt.frontend.numpy import creation as creation
    from polyopt.frontend.numpy import grids as grids
    from polyopt.frontend.numpy import indexing as indexing
    from polyopt.frontend.numpy import joining as joining
    from polyopt.frontend.numpy import regrouping as regrouping
    from polyopt.frontend.numpy import reshaping as reshaping
    from polyopt.frontend.numpy import selection as selection
    from polyopt.frontend.numpy import ufunc_calls as ufunc_calls
    from polyopt.frontend.numpy import ufuncs as ufuncs
else:
    __getattr__ = names_of(__name__)
