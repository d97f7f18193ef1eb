"""How long one compilation may take, and what that leaves to isl.

In: seconds, and blocks of work with their shares of them.  Out: blocks that end in time, or raise
`BudgetError`: PO0701 for a query of too many operations, PO0703 for a stage out of time.
An isl call cannot be interrupted, but isl counts its operations and fails beyond a limit: whatever
runs in a block may use the operations that its remaining seconds surely suffice for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import islpy as isl

from polyopt.errors import BudgetError, InternalError

SLOWEST = 500_000
"""isl operations a second on inputs that are hard on it; ten times as many are usual."""

SLACK = 0.25
"""Seconds that a query may run past its block's end: a limit of no operations is no limit."""

SHARES = {"frontend": 0.6, "regions": 0.25, "schedule": 0.5, "lower": 0.4, "certificate": 0.4}
"""How much of what is left a stage may use; the others may use it all."""

_LOCK = threading.RLock()  # isl's limit belongs to its one context: one compilation at a time


@dataclass(slots=True)
class Cost:
    """What the blocks of one name took."""

    calls: int = 0
    seconds: float = 0.0
    exceeded: int = 0  # blocks that ended because their budget did


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something that was left out, and why: its budget ended, or isl failed."""

    what: str
    reason: str


@dataclass(eq=False)
class Budget:
    """The meter of one compilation: `seconds` of wall time from the start of `running`.

    `operations`, if given, is the most that isl may use between two checkpoints, whatever the time.
    """

    seconds: float
    operations: int | None = None
    costs: dict[str, Cost] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[Budget]:
        """Meter the block; an isl error that nobody expected becomes `InternalError` PO0905."""
        try:
            with _LOCK, _entered("compilation", self, self.seconds, None):
                yield self
        except isl.Error as error:
            raise failure(error) from None

    @contextmanager
    def share(self, stage: str) -> Iterator[None]:
        """Give the block its stage's share of the time that is left."""
        with self.part(stage, SHARES.get(stage, 1.0)):
            yield

    @contextmanager
    def part(self, name: str, fraction: float) -> Iterator[None]:
        """Give the block a part of the time that is left to the innermost block."""
        with _entered(name, self, self.remaining * fraction, None):
            yield

    @property
    def remaining(self) -> float:
        """The seconds that are left to the innermost block."""
        block = _BLOCK.get()
        return self.seconds if block is None else block.deadline - time.monotonic()

    def drop(self, what: str, error: Exception) -> None:
        """Note that `what` was left out because of `error`."""
        reason = getattr(error, "message", None) or str(error).partition("\n")[0]
        self.dropped.append(Dropped(what, reason))


@dataclass(slots=True)
class _Block:
    name: str
    budget: Budget | None
    deadline: float
    operations: int | None
    hurried: bool = False  # the time left allows isl fewer operations than `operations` do


_BLOCK: ContextVar[_Block | None] = ContextVar("polyopt_budget_block", default=None)


def current() -> Budget | None:
    """Return the budget of the compilation that runs, if one does."""
    block = _BLOCK.get()
    return None if block is None else block.budget


@contextmanager
def query(name: str, operations: int | None = None) -> Iterator[None]:
    """Limit isl to `operations` in the block, and to the time left; more raise `BudgetError`.

    Blocks nest; the operations of an inner block are not counted by the outer.
    """
    block = _BLOCK.get()
    with _LOCK, _entered(name, None if block is None else block.budget, None, operations):
        yield


def checkpoint() -> None:
    """Raise `BudgetError` if the time of the innermost block is over; for loops over many parts.

    Blocks without a number of operations of their own may then use as many as the time allows.
    """
    block = _BLOCK.get()
    if block is None:
        return
    if time.monotonic() > block.deadline:
        raise _out_of_time(block)
    if block.operations is None:
        _arm(block)


def note_dropped(what: str, error: Exception) -> None:
    """Note in the budget that runs, if any, that `what` was left out because of `error`."""
    budget = current()
    if budget is not None:
        budget.drop(what, error)


def exceeds_limit(error: isl.Error) -> bool:
    """Tell whether an isl error came about because the operations allowed are used up.

    Some functions of isl report what went wrong after that instead; the next one then fails too.
    """
    return _says_limit(error) or _is_used_up()


def _says_limit(error: isl.Error) -> bool:
    return "maximal number of operations" in str(error)


def _is_used_up() -> bool:
    """Tell whether isl refuses its smallest operation."""
    try:
        isl.Val(1)
    except isl.Error as error:
        return _says_limit(error)
    return False


def failure(error: isl.Error) -> InternalError:
    """Return the error that says which isl operation failed, and why."""
    text = str(error)
    operation = text.partition(":")[0].removeprefix("call to ").partition(" failed")[0]
    reason = text.partition(" in /")[0].rpartition(": ")[2] or text
    return InternalError(
        "PO0905",
        f"isl failed in {operation}: {reason}",
        hint='schedule="source" asks the fewest questions',
    )


@contextmanager
def _entered(
    name: str, budget: Budget | None, seconds: float | None, operations: int | None
) -> Iterator[None]:
    outer = _BLOCK.get()
    start = time.monotonic()
    deadline = float("inf") if outer is None else outer.deadline
    if seconds is not None:
        deadline = min(deadline, start + seconds)
    block = _Block(name, budget, deadline, operations)
    token = _BLOCK.set(block)
    cost = Cost() if budget is None else budget.costs.setdefault(name, Cost())
    cost.calls += 1
    try:
        if outer is not None and start > outer.deadline:
            raise _out_of_time(outer)
        _arm(block)
        yield
    except isl.Error as error:
        if not exceeds_limit(error):
            raise
        cost.exceeded += 1
        raise _too_many(block) from None
    finally:
        cost.seconds += time.monotonic() - start
        _BLOCK.reset(token)
        _arm(outer)


def _arm(block: _Block | None) -> None:
    """Let isl use what `block` may use, counted from now."""
    context = isl.DEFAULT_CONTEXT
    context.set_max_operations(0 if block is None else _limit(block))
    context.reset_operations()


def _limit(block: _Block) -> int:
    """Return how many operations `block` may use from now; 0 means any number."""
    given = [block.operations, None if block.budget is None else block.budget.operations]
    limit = min((number for number in given if number is not None), default=0)
    if block.deadline == float("inf"):
        return limit
    left = int((max(block.deadline - time.monotonic(), 0.0) + SLACK) * SLOWEST)
    block.hurried = limit == 0 or left < limit
    return left if block.hurried else limit


def _too_many(block: _Block) -> BudgetError:
    if block.hurried:
        return _out_of_time(block)
    return BudgetError(
        "PO0701",
        f"{block.name} needed over {_limit(block)} operations of isl",
        hint='schedule="source" keeps the source\'s order, which is the least to prove',
    )


def _out_of_time(block: _Block) -> BudgetError:
    total = block.deadline if block.budget is None else block.budget.seconds
    return BudgetError(
        "PO0703",
        f"no time is left for {block.name}: a compilation has {total:g} s",
        hint="allow more with the option `budget`, or split the function",
    )
