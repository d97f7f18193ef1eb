"""Python's syntax tree, before anything is read: source, jumps, names, types of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.syntax import advice as advice
else:
    __getattr__ = names_of(__name__)
