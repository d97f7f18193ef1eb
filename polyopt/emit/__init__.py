"""From proven schedules to C text.

In: schedules, loop ASTs.  Out: loop ASTs, `Source`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.emit import crossing, gpu, streaming
    from polyopt.emit.c import emit_c
    from polyopt.emit.gpu import device_loops
    from polyopt.emit.passes import optimize_loops
else:
    __getattr__ = names_of(
        __name__,
        {
            "c": "emit_c",
            "crossing": "",
            "gpu": "device_loops",
            "passes": "optimize_loops",
            "streaming": "",
        },
    )

__all__ = ["crossing", "device_loops", "emit_c", "gpu", "optimize_loops", "streaming"]
