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
    from polyopt.frontend import (
        arithmetic,
        library,
        numpy,
        program,
        python,
        reader,
        subscripts,
        syntax,
        variables,
    )
    from polyopt.frontend.reader.pyfunc import build
    from polyopt.frontend.syntax.type_inference import infer_types
else:
    __getattr__ = names_of(
        __name__,
        {
            "arithmetic": "",
            "library": "",
            "numpy": "",
            "program": "",
            "python": "",
            "reader": "",
            "subscripts": "",
            "syntax": "",
            "variables": "",
            "reader.pyfunc": "build",
            "syntax.type_inference": "infer_types",
        },
    )

__all__ = [
    "arithmetic",
    "build",
    "infer_types",
    "library",
    "numpy",
    "program",
    "python",
    "reader",
    "subscripts",
    "syntax",
    "variables",
]
