"""How long one compilation may take, and what that leaves to isl.

In: seconds of a processor, and blocks of work with their shares of them.  Out: blocks that end in
time, or raise `BudgetError`: PO0701 for a query of too many operations, PO0703 for a stage out of
time.
A stopwatch aborts isl at the end of a block's time.  Where there is none, isl may use the
operations that the remaining seconds should suffice for: it counts them and fails beyond a limit.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import islpy as isl

from polyopt.dataclass import dataclass, field
from polyopt.errors import BudgetError, InternalError, PolyoptError
from polyopt.ir.clock import BLOCK, NEVER, Block, checkpoint, now, out_of_time
from polyopt.ir.interruption import Stopwatch, deliver, make_stopwatch, stopping

SLOWEST = 500_000
"""isl operations a second without a stopwatch: hard inputs take longer, most ten times less."""

SLACK = 0.25
"""Seconds that a query may run past its block's end: a limit of no operations is no limit."""

ALONE = 60.0
"""Seconds for a question that no compilation asks: a step that somebody tries."""

DEPTH = 8_000
"""Calls of Python that may be open at once while a function is compiled."""

SHARES = {
    "frontend": 0.6,
    "regions": 0.25,
    "schedule": 0.5,
    "lower": 0.4,
    "optimize": 0.3,
    "certificate": 0.85,
}
"""How much of what is left a stage may use; the others may use it all."""

__all__ = [
    "SHARES", "Budget", "Cost", "Dropped", "bounded", "checkpoint", "current", "exceeds_limit",
    "failure", "note_dropped", "optional", "query",
]  # fmt: skip

_LOCK = threading.RLock()  # isl's limits belong to its one context: one compilation at a time


class _Meter:
    """Each thread's stopwatch, made when first needed, and what isl has counted so far."""

    def __init__(self) -> None:
        self.counted = 0
        self._own = threading.local()

    @property
    def watch(self) -> Stopwatch | None:
        """The stopwatch of the thread that asks, if there is one."""
        if not hasattr(self._own, "watch"):
            self._own.watch = make_stopwatch()
        found: Stopwatch | None = self._own.watch
        return found

    @property
    def operations(self) -> int:
        """How many operations isl has counted since the process began."""
        watch = self.watch
        return self.counted + (0 if watch is None else watch.operations)

    def limit(self, operations: int) -> None:
        """Let isl use so many operations from now on; 0 means any number."""
        self.counted = self.operations
        isl.DEFAULT_CONTEXT.set_max_operations(operations)
        isl.DEFAULT_CONTEXT.reset_operations()

    def forget(self) -> None:
        """Make new stopwatches: a forked process does not inherit timers."""
        self._own = threading.local()


_METER = _Meter()
os.register_at_fork(after_in_child=_METER.forget)


@dataclass(slots=True)
class Cost:
    """What the blocks of one name took."""

    calls: int = 0
    seconds: float = 0.0
    operations: int = 0  # of isl; 0 where they cannot be counted
    exceeded: int = 0  # blocks that ended because their budget did


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something that was left out, and why: its budget ended, or isl failed."""

    what: str
    reason: str
    code: str


@dataclass(eq=False)
class Budget:
    """The meter of one compilation: `seconds` of a processor from the start of `running`.

    `kept` is the part of them that is left to what comes after: the C compiler.  `operations`, if
    given, is the most that isl may use between two checkpoints, whatever the time.
    """

    seconds: float
    operations: int | None = None
    kept: float = 0.0
    costs: dict[str, Cost] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[Budget]:
        """Meter the block; an isl error that nobody expected becomes `InternalError` PO0905."""
        before = sys.getrecursionlimit()
        try:
            with _LOCK, _entered("compiling", self, self.seconds * (1.0 - self.kept), None):
                sys.setrecursionlimit(max(before, DEPTH))
                yield self
        except isl.Error as error:
            raise failure(error) from None
        except RecursionError:
            raise BudgetError(
                "PO0704",
                f"an expression or a loop nest is more than some {DEPTH // 8} levels deep",
                hint="write long sums as loops, and name parts of deep expressions",
            ) from None
        finally:
            sys.setrecursionlimit(before)

    @contextmanager
    def share(self, stage: str) -> Iterator[None]:
        """Give the block its stage's share of the time that is left."""
        checkpoint()
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
        block = _innermost()
        return self.seconds if block is None else block.deadline - now()

    def drop(self, what: str, error: Exception) -> None:
        """Note that `what` was left out because of `error`."""
        if isinstance(error, PolyoptError):
            self.dropped.append(Dropped(what, error.message, error.code))
        else:
            self.dropped.append(Dropped(what, str(error).partition("\n")[0], "PO0704"))


@dataclass(slots=True)
class _Block(Block):
    """A block that limits isl; `operations` is its own limit, besides its time."""

    budget: Budget | None = None
    operations: int | None = None
    timed: bool = False  # ends before the block around it does
    hurried: bool = False  # the time left allows isl fewer operations than `operations` do


def _innermost() -> _Block | None:
    block = BLOCK.get()
    assert block is None or isinstance(block, _Block)
    return block


def current() -> Budget | None:
    """Return the budget of the compilation that runs, if one does."""
    block = _innermost()
    return None if block is None else block.budget


@contextmanager
def query(name: str, operations: int | None = None, part: float = 1.0) -> Iterator[None]:
    """Limit isl to `operations` in the block, and to a part of the time left, if time is measured.

    More of either raise `BudgetError`.  Blocks nest; the operations of an inner block are not
    counted by the outer.
    """
    block = _innermost()
    if block is not None and block.is_over():
        raise out_of_time(block)
    with _query(block, name, operations, part):
        yield


@contextmanager
def _query(block: _Block | None, name: str, operations: int | None, part: float) -> Iterator[None]:
    seconds = None
    if block is not None and block.deadline < NEVER and part < 1.0:
        seconds = (block.deadline - now()) * part
    with _LOCK, _entered(name, None if block is None else block.budget, seconds, operations):
        yield


@contextmanager
def bounded(name: str) -> Iterator[None]:
    """Run the block in the budget that runs, or else in one of its own, of `ALONE` seconds."""
    if current() is not None:
        with query(name):
            yield
    else:
        with Budget(ALONE).running(), query(name):
            yield


@contextmanager
def optional(what: str, operations: int | None = None, part: float = 1.0) -> Iterator[None]:
    """Run a `query` whose result can be done without: where it ends early, that is noted.

    A block that starts too late ends where it asks isl or the clock.
    """
    try:
        with _query(_innermost(), what, operations, part):
            yield
    except (BudgetError, RecursionError) as error:
        note_dropped(what, error)
    except isl.Error as error:
        note_dropped(what, failure(error))


def note_dropped(what: str, error: Exception) -> None:
    """Note in the budget that runs, if any, that `what` was left out because of `error`."""
    budget = current()
    if budget is not None:
        budget.drop(what, error)


def exceeds_limit(error: Exception) -> bool:
    """Tell whether an error came about because the time or operations allowed to isl are used up.

    Some functions of isl report what went wrong after that instead; the next one then fails too.
    """
    return _says_limit(error) or bool(isl.DEFAULT_CONTEXT.aborted()) or _is_used_up()


def _says_limit(error: Exception) -> bool:
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
    is_compilation = budget is not None and _innermost() is None
    with (
        stopping() if is_compilation else nullcontext(),
        _limited(name, budget, seconds, operations),
    ):
        yield


@contextmanager
def _limited(
    name: str, budget: Budget | None, seconds: float | None, operations: int | None
) -> Iterator[None]:
    outer = _innermost()
    start, counted = now(), _METER.operations
    limit = NEVER if outer is None else outer.deadline
    deadline = limit if seconds is None else min(limit, start + seconds)
    total = 0.0 if budget is None else budget.seconds
    block = _Block(
        name, total, deadline, budget=budget, operations=operations, timed=deadline < limit
    )
    if operations is None and deadline < NEVER and _METER.watch is None:
        block.renew = lambda: _arm(block)
    token = BLOCK.set(block)
    cost = Cost() if budget is None else budget.costs.setdefault(name, Cost())
    try:
        _start(block)
        yield
    except (PolyoptError, RecursionError):
        raise
    except Exception as error:  # islpy answers None to some questions beyond the limit
        if not exceeds_limit(error):
            raise
        cost.exceeded += 1
        raise _too_many(block) from None
    finally:
        BLOCK.reset(token)
        _stop(block, outer)
        cost.calls += 1
        cost.seconds += now() - start
        cost.operations += _METER.operations - counted
        deliver()


def _start(block: _Block) -> None:
    _arm(block)
    if block.timed and _METER.watch is not None:
        _METER.watch.start(block.deadline)


def _stop(block: _Block, outer: _Block | None) -> None:
    if block.timed and _METER.watch is not None:
        _METER.watch.stop()
        if outer is not None and outer.deadline < NEVER:
            _METER.watch.start(outer.deadline)
    _arm(outer)


def _arm(block: _Block | None) -> None:
    """Let isl use the operations that `block` may use, counted from now."""
    _METER.limit(0 if block is None else _limit(block))


def _limit(block: _Block) -> int:
    """Return how many operations `block` may use from now; 0 means any number."""
    given = [block.operations, None if block.budget is None else block.budget.operations]
    limit = min((number for number in given if number is not None), default=0)
    if block.deadline == NEVER or _METER.watch is not None:
        return limit
    left = int((max(block.deadline - now(), 0.0) + SLACK) * SLOWEST)
    block.hurried = limit == 0 or left < limit
    return left if block.hurried else limit


def _too_many(block: _Block) -> BudgetError:
    if block.hurried or isl.DEFAULT_CONTEXT.aborted():
        return out_of_time(block)
    return BudgetError(
        "PO0701",
        f"{block.name} needed over {_limit(block)} operations of isl",
        hint='schedule="source" keeps the source\'s order, which is the least to prove',
    )
