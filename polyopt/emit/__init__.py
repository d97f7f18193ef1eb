"""From proven schedules to C text.

In: schedules, loop ASTs.  Out: loop ASTs, `Source`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.emit import gpu, nontemporal_loops, register_transpose, vector_loops
    from polyopt.emit.c import emit_c
    from polyopt.emit.gpu import device_loops
    from polyopt.emit.passes import optimize_loops
else:
    __getattr__ = names_of(
        __name__,
        {
            "c": "emit_c",
            "register_transpose": "",
            "gpu": "device_loops",
            "passes": "optimize_loops",
            "nontemporal_loops": "",
            "vector_loops": "",
        },
    )

__all__ = [
    "device_loops",
    "emit_c",
    "gpu",
    "nontemporal_loops",
    "optimize_loops",
    "register_transpose",
    "vector_loops",
]
