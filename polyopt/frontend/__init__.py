"""Front ends: Python functions become Programs.

The two entries are loaded when first asked for: types and annotations are used without isl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.infer import infer_types
    from polyopt.frontend.pyfunc import build
else:
    __getattr__ = names_of(
        __name__,
        {"infer": "infer_types", "pyfunc": "build"},
    )

__all__ = ["build", "infer_types"]
