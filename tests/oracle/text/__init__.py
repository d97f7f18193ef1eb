"""Emitted C read back and run, with nothing of the emitters: no compiler, no loop AST.

In: C text, arguments.  Out: `Outcome`: the arrays afterwards, or the first thing that is wrong.
"""

from tests.oracle.text.machine import Outcome, run_text
from tests.oracle.text.reading import Unit, read_unit

__all__ = ["Outcome", "Unit", "read_unit", "run_text"]
