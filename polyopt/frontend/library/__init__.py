"""NumPy functions written with other NumPy functions, in plain Python.

In: what NumPy's function of that name takes.  Out: what it returns.
They are read like functions of the user; run by Python they can be compared with NumPy's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.library import calls as calls
else:
    __getattr__ = names_of(__name__)
