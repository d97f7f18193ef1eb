"""Names: bound to values or kept in memory, possibly unbound, of changing type or length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.variables import unbound as unbound
else:
    __getattr__ = names_of(__name__)
