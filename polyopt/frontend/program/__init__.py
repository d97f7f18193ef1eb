"""Statements, arrays and conditions that are collected become the parts of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.program import conflicts as conflicts
    from polyopt.frontend.program import shared_sums as shared_sums
else:
    __getattr__ = names_of(__name__)
