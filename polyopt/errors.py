"""Every error a user can meet: a code, a place, a reason and a hint.

In: facts known where the error is raised.  Out: an exception that renders itself as text.
Codes: PO01xx front end, PO02xx calls, PO03xx schedule, PO04xx emission, PO05xx toolchain,
PO06xx command line and files, PO07xx budgets, PO08xx lazy arrays, PO09xx internal.
"""

from __future__ import annotations

import functools
import linecache
import os
from collections.abc import Callable
from typing import Any, TypeVar

from polyopt.dataclass import dataclass
from polyopt.files import is_readable

LONGEST = 1000  # characters of a line of an error
MOST_SHOWN = 1 << 26  # bytes of a file of which a line is shown


@dataclass(frozen=True, slots=True)
class Loc:
    """A span of source text; `line` counts from 1, `col` from 1 (Python's columns plus one)."""

    file: str
    line: int
    col: int
    end_line: int
    end_col: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}"


class PolyoptError(Exception):
    """Base of all errors polyopt raises on purpose.

    `code` is stable (`PO0101`), `message` says what was asked and why it cannot be had, `loc` is
    the place in the user's source, `notes` add facts one a line, `hint` names something that works.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        loc: Loc | None = None,
        notes: tuple[str, ...] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.loc = loc
        self.notes = notes
        self.hint = hint

    def __str__(self) -> str:
        return render(self)

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.args, dict(self.__dict__))


def _again(
    kind: type[PolyoptError], args: tuple[object, ...], facts: dict[str, Any]
) -> PolyoptError:
    """Return an error that came from another process."""
    error = kind.__new__(kind, *args)
    error.__setstate__(facts)
    return error


class FrontendError(PolyoptError):
    """The program is outside what polyopt accepts."""


class ArgumentError(PolyoptError, ValueError):
    """A call's arguments do not fit the kernel (dtype, rank, shape, writability, overlap)."""


class KernelFault(PolyoptError):
    """A kernel stopped at what its program does not allow; results so far stay in its arguments."""


class ValueFault(KernelFault, ValueError):
    """Values found while a kernel ran do not fit together."""


class IndexFault(KernelFault, IndexError):
    """A subscript found while a kernel ran is outside its array."""


class DivisionFault(KernelFault, ZeroDivisionError):
    """A divisor found while a kernel ran is zero."""


class OverflowFault(KernelFault, OverflowError):
    """A number found while a kernel ran is too large for what it is used for."""


class AssertionFault(KernelFault, AssertionError):
    """An `assert` did not hold while a kernel ran."""


_FAULTS: dict[str, type[KernelFault]] = {
    "PO0170": IndexFault,
    "PO0231": IndexFault,
    "PO0232": ValueFault,
    "PO0233": DivisionFault,
    "PO0234": OverflowFault,
    "PO0235": AssertionFault,
}


def kernel_fault(
    code: str, message: str, *, loc: Loc | None = None, hint: str | None = None
) -> KernelFault:
    """Return the error of a fault: the Python exception that its code stands for, too."""
    return _FAULTS.get(code, ValueFault)(code, message, loc=loc, hint=hint)


class ScheduleError(PolyoptError):
    """A schedule step does not apply: unknown label, wrong member count, malformed text."""


class IllegalSchedule(ScheduleError):
    """A schedule step would change the program's result; carries the witness.

    `repair` is a `polyopt.schedule.Repair`: steps that are legal instead, or None.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        witness: object,
        repair: object = None,
        loc: Loc | None = None,
        notes: tuple[str, ...] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(code, message, loc=loc, notes=notes, hint=hint)
        self.witness = witness
        self.repair = repair


class EmitError(PolyoptError):
    """Code for a proven schedule cannot be printed."""


class ToolchainError(PolyoptError):
    """A compiler or library is missing or failed."""


class UsageError(PolyoptError):
    """A command line, file name or option is wrong."""


class BudgetError(PolyoptError):
    """A time or operation budget ran out."""


class InternalError(PolyoptError):
    """polyopt itself is wrong; the message says what was found."""


class MisreadError(InternalError):
    """A program as polyopt read it is not the Python function: results differ for some call."""


def is_debugging() -> bool:
    """Whether all frames of errors are wanted: POLYOPT_DEBUG=1."""
    return os.environ.get("POLYOPT_DEBUG", "0") not in ("", "0")


def without_frames(error: PolyoptError) -> PolyoptError:
    """Return an error that is raised anew at the boundary, without the frames below it.

    What is wrong is at a place of the user's program, which the error names.  All frames stay where
    POLYOPT_DEBUG=1 asks for them, and in defects of polyopt.
    """
    if is_debugging() or isinstance(error, InternalError):
        return error
    error.__cause__ = None
    error.__suppress_context__ = True
    return error.with_traceback(None)


_C = TypeVar("_C", bound=Callable[..., Any])


def boundary(call: _C) -> _C:
    """Decorate a function of the public interface: its errors show the line that called it."""

    @functools.wraps(call)
    def called(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        __tracebackhide__ = True
        try:
            return call(*args, **kwargs)
        except PolyoptError as error:
            raise without_frames(error)  # noqa: B904 - the same error

    return called  # type: ignore[return-value]


def render(error: PolyoptError) -> str:
    """Return the error as text: headline, place, source line with a caret line, notes, hint."""
    lines = [f"error[{error.code}]: {error.message}"]
    if error.loc is not None:
        lines += render_place(error.loc)
    lines += [f"   = note: {note}" for note in error.notes]
    if error.hint is not None:
        lines.append(f"   = help: {error.hint}")
    return "\n".join(shortened(printable(line)) for line in lines)


def shortened(line: str) -> str:
    """Return `line` without its middle where it is longer than anybody reads."""
    half = LONGEST // 2
    return line if len(line) <= LONGEST else f"{line[:half]} … {line[-half:]}"


def render_place(loc: Loc) -> list[str]:
    """Return the lines that point at `loc`: file:line:col, the source line, carets below it."""
    lines = [f"  --> {loc}"]
    linecache.checkcache(loc.file)  # a file of that name may have been another one before
    unread = loc.file not in linecache.cache and os.path.exists(loc.file)
    if unread and not is_readable(loc.file, MOST_SHOWN):
        return lines
    text = linecache.getline(loc.file, loc.line).rstrip("\n")
    if not text:
        return lines
    number = str(loc.line)
    pad = " " * len(number)
    end = loc.end_col if loc.end_line == loc.line else len(text) + 1
    col = min(loc.col, len(text) + 1)  # places of a file that was edited may be outside of it
    width = max(1, min(end, len(text) + 2) - col)
    lines.append(f" {pad} |")
    lines.append(f" {number} | {text}")
    lines.append(f" {pad} | {' ' * (col - 1)}{'^' * width}")
    return lines


def printable(text: str) -> str:
    """Return `text` with control characters escaped: a source line must not drive a terminal."""
    return "".join(c if c.isprintable() or c in "\t\n" else repr(c)[1:-1] for c in text)
