"""Elementary functions as plain arithmetic, which compilers vectorize: one body for each.

In: a function, a dtype.  Out: lines of C for the arguments `x`, or `y` and `x`.
The bodies stand on fused multiply-add; `guarded` gives machines without it the C library's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.emit.functions import powers as powers
    from polyopt.emit.functions import trigonometry as trigonometry
    from polyopt.emit.functions import vectors as vectors
else:
    __getattr__ = names_of(__name__)
