"""When the block of work that runs must end; what long loops ask.

In: nothing.  Out: `BudgetError` PO0703 when the time of the innermost block is over.
Nothing here knows isl: `budget` opens the blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from polyopt.errors import BudgetError

NEVER = float("inf")


@dataclass(slots=True)
class Block:
    """Work that must end by `deadline` of the monotonic clock.

    `total` is what the whole compilation may take.  `renew` is called where a loop asks.
    """

    name: str
    total: float
    deadline: float
    renew: Callable[[], None] | None = None


BLOCK: ContextVar[Block | None] = ContextVar("polyopt_block", default=None)
"""The innermost block."""


def checkpoint() -> None:
    """Raise `BudgetError` if the time of the innermost block is over; for loops over many parts."""
    block = BLOCK.get()
    if block is None:
        return
    if time.monotonic() > block.deadline:
        raise out_of_time(block)
    if block.renew is not None:
        block.renew()


def out_of_time(block: Block) -> BudgetError:
    """Return the error that ends `block`."""
    return BudgetError(
        "PO0703",
        f"no time is left for {block.name}, of {block.total:g} s to compile",
        hint="allow more with the option `budget`, or split the function",
    )
