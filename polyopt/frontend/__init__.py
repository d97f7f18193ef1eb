"""Front ends: Python functions become Programs.

The two entries are loaded when first asked for: types and annotations are used without isl.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyopt.frontend.infer import infer_types
    from polyopt.frontend.pyfunc import build

__all__ = ["build", "infer_types"]

_HOMES = {"build": "polyopt.frontend.pyfunc", "infer_types": "polyopt.frontend.infer"}


def __getattr__(name: str) -> object:
    """Load an entry."""
    if name not in _HOMES:
        raise AttributeError(f"module `polyopt.frontend` has no attribute `{name}`")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
