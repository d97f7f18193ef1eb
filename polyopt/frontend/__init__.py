"""Front ends: Python functions become Programs.

A call enters at `reader/pyfunc.py`: `syntax/` prepares the syntax tree, `reader/` reads it,
`values/` says what expressions stand for, `numpy/`, `python/` and `library/` what functions mean,
and `program/` makes a Program of what was collected.
The two entries are imported when first asked for: types and annotations are used without isl.  So
are modules for functions and statements that few programs have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend import arithmetic as arithmetic
    from polyopt.frontend import library as library
    from polyopt.frontend import numpy as numpy
    from polyopt.frontend import program as program
    from polyopt.frontend import python as python
    from polyopt.frontend import reader as reader
    from polyopt.frontend import subscripts as subscripts
    from polyopt.frontend import syntax as syntax
    from polyopt.frontend import variables as variables
    from polyopt.frontend.reader.pyfunc import build as build
    from polyopt.frontend.syntax.type_inference import infer_types as infer_types
else:
    __getattr__ = names_of(__name__)
