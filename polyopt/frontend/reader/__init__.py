"""Python's statements, expressions and calls become statements of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.reader import batching as batching
    from polyopt.frontend.reader import branches as branches
    from polyopt.frontend.reader import derivatives as derivatives
    from polyopt.frontend.reader import filtered_comprehensions as filtered_comprehensions
    from polyopt.frontend.reader import optional_operands as optional_operands
    from polyopt.frontend.reader import reshaped_names as reshaped_names
else:
    __getattr__ = names_of(__name__)
