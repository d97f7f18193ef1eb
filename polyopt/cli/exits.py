"""Exit codes of the command, and the errors that only a command line can have.

In: an error.  Out: its exit code.
"""

from __future__ import annotations

from enum import IntEnum, unique

from polyopt.errors import (
    BudgetError,
    InternalError,
    MisreadError,
    PolyoptError,
    ToolchainError,
    UsageError,
)


@unique
class Exit(IntEnum):
    """What a process's exit code says."""

    OK = 0
    REJECTED = 1  # the user's program or schedule is refused
    USAGE = 2
    TOOLCHAIN = 3  # a compiler is missing or failed
    MISMATCH = 4  # results differ from NumPy's
    BUDGET = 5
    INTERNAL = 70
    INTERRUPT = 130


class MismatchError(PolyoptError):
    """A compiled kernel's results differ from the reference by more than rounding explains."""


def exit_code(error: PolyoptError) -> Exit:
    """Return the exit code that belongs to an error."""
    match error:
        case UsageError():
            return Exit.USAGE
        case ToolchainError():
            return Exit.TOOLCHAIN
        case MismatchError() | MisreadError():
            return Exit.MISMATCH
        case BudgetError():
            return Exit.BUDGET
        case InternalError():
            return Exit.INTERNAL
        case _:
            return Exit.REJECTED
