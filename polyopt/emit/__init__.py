"""From proven schedules to C text.

In: schedules, loop ASTs.  Out: loop ASTs, `Source`.
"""

from polyopt.emit.c import emit_c
from polyopt.emit.passes import optimize_loops

__all__ = ["emit_c", "optimize_loops"]
