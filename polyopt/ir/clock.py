"""When the block of work that runs must end; what long loops ask.

In: nothing.  Out: `BudgetError` PO0703 when the time of the innermost block is over.
Time is the processor's, spent on the thread that compiles: on a busy machine a compilation takes
longer, and gives the same code.
Nothing here knows isl: `budget` opens the blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar

from polyopt.dataclass import dataclass
from polyopt.errors import BudgetError

NEVER = float("inf")


@dataclass(slots=True)
class Block:
    """Work that must end by `deadline`, a moment of `now`.

    `total` is what the whole compilation may take.  `renew` is called where a loop asks.  Before
    `soonest` of the clock on the wall, which is the quicker one to ask, the deadline cannot come.
    """

    name: str
    total: float
    deadline: float
    renew: Callable[[], None] | None = None
    soonest: float = 0.0

    def is_over(self) -> bool:
        """Tell whether the deadline has come."""
        moment = time.monotonic()
        if moment < self.soonest:
            return False
        left = self.deadline - now()
        self.soonest = moment + left
        return left < 0.0


BLOCK: ContextVar[Block | None] = ContextVar("polyopt_block", default=None)
"""The innermost block."""


def now() -> float:
    """Return the seconds that the calling thread has had of a processor."""
    return time.thread_time()


def checkpoint() -> None:
    """Raise `BudgetError` if the time of the innermost block is over; for loops over many parts."""
    block = BLOCK.get()
    if block is None:
        return
    if block.is_over():
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
