"""Compare calls of a compiled function with the Python function's.

In: the function, a way to call it compiled, the text of a call.  Out: a `Verdict`.
Where Python raises, a coded error, or one of Python's, has to come; nothing may be returned.
"""

from __future__ import annotations

import ast
import copy
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from polyopt.errors import ArgumentError, InternalError, PolyoptError
from polyopt.verifying.verify import is_of_floats
from tests.hostile.compare import Allowed, Difference, compare_calls, is_within
from tests.hostile.program import arguments
from tests.hostile.reference import Ended, Raised, Returned, TooLong, run_bounded
from tests.hostile.verdicts import Outcome, Verdict

RELATIVE = 1e-11
"""Of the largest magnitude: thousands of roundings, far less than any error of meaning."""
_INEXACT = re.compile(r"\b(sum|mean|prod|dot|cumsum)\(|@|\*\*")
"""Functions whose order of operations, or last bits, the numerics contract leaves open."""
_COMPLEX = re.compile(r"complex|\dj\b")
"""NumPy's products of complex arrays round once less on some processors."""
_MIXING = re.compile(
    r"\S if | and | or |\bmin\(|\bmax\(|\bsorted\(|(?<!\.)\bsum\(|\b(items|stack)\d+\["
)
"""Expressions whose type depends on values: the sum of no floats is an integer, lists have items of
several types.
"""
_TOO_LARGE = re.compile("out of bounds for|too large to convert to C long")
"""What NumPy says of Python's integers beside narrow ones."""
Call = Callable[..., Any]


def text_of(function: Call) -> str:
    """Return the text of the module that a function is in."""
    return Path(function.__code__.co_filename).read_text(encoding="utf-8")


def judge(function: Call, call: Call, text: str, number: int, *, exact: bool) -> Verdict:
    """Run one call both ways and compare."""
    theirs = arguments(text)
    want = run_bounded(function, theirs)
    if isinstance(want, TooLong):
        return Verdict(Outcome.OK, call=number)
    mine = arguments(text)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            got = call(*mine)
    except Exception as error:
        return _of_error(error, want, text, mine, number)
    if isinstance(want, Raised):
        if _is_left_open(want, text_of(function)):
            return Verdict(Outcome.OK, call=number)
        kind = type(want.error).__name__
        what = f"{want.error!r}, got {got!r}"
        return Verdict(Outcome.WRONG, f"returned for {kind}", what, number)
    written = text_of(function)
    exact = exact and not (_INEXACT.search(written) or _COMPLEX.search(written + text))
    wider = want.mixed or bool(_MIXING.search(written))
    allowed = Allowed(wider=wider) if exact else Allowed(RELATIVE, want.largest, wider)
    found = compare_calls(want.value, theirs, got, mine, allowed)
    if found is None:
        return Verdict(Outcome.OK, call=number)
    if not exact and _is_sensitive(function, text, want, theirs, found, got, mine):
        return Verdict(Outcome.UNSTABLE, call=number)
    if wider and _is_as_documented(function, text, want, got, mine, allowed):
        return Verdict(Outcome.OK, call=number)
    code = "big integer" if want.big else found.kind
    return Verdict(Outcome.WRONG, code, found.text, number)


def _is_left_open(raised: Raised, text: str) -> bool:
    """Tell whether kernels may go on where Python raises: functions of floats, types that vary.

    An integer of Python's that is a float on other paths does not have to fit an array's type.
    """
    if isinstance(raised.error, OverflowError) and _TOO_LARGE.search(str(raised.error)):
        return raised.mixed
    if isinstance(raised.error, ZeroDivisionError) and "negative power" not in str(raised.error):
        return is_of_floats(raised.error) and (raised.mixed or bool(_MIXING.search(text)))
    return is_of_floats(raised.error)


def _of_error(
    error: Exception, want: Ended, text: str, mine: tuple[Any, ...], number: int
) -> Verdict:
    """Return the verdict on a call that ended with an error of ours."""
    if isinstance(error, InternalError):
        return Verdict(Outcome.CRASH, error.code, str(error), number)
    if not isinstance(error, PolyoptError):
        if isinstance(want, Returned) or _is_ours(error):
            return _uncoded(error, number)
        return Verdict(Outcome.RAISES, type(error).__name__, "", number)
    if isinstance(error, ArgumentError) and not _untouched(text, mine):
        return Verdict(Outcome.WRONG, "changed by a refused call", str(error), number)
    if isinstance(want, Raised):
        return Verdict(Outcome.RAISES, error.code, "", number)
    return Verdict(Outcome.REFUSED, error.code, str(error), number)


def _uncoded(error: Exception, number: int) -> Verdict:
    frames = traceback.extract_tb(error.__traceback__)
    place = next((f for f in reversed(frames) if "/polyopt/" in f.filename), None)
    where = f"{place.filename.rsplit('/', 1)[-1]}:{place.name}" if place else ""
    name = f"{type(error).__name__} in {where}"
    return Verdict(Outcome.CRASH, name, "".join(traceback.format_exception(error)[-4:]), number)


def _is_ours(error: Exception) -> bool:
    """Tell whether an error of Python's comes out of the compiler itself."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = ("/polyopt/frontend/", "/polyopt/schedule/", "/polyopt/emit/", "/polyopt/proof/")
    return any(part in frame.filename for frame in frames for part in ours)


def _untouched(text: str, mine: tuple[Any, ...]) -> bool:
    return all(
        not isinstance(one, np.ndarray) or one.tobytes() == two.tobytes()
        for one, two in zip(arguments(text), mine, strict=True)
    )


def _is_sensitive(
    function: Call,
    text: str,
    want: Returned,
    theirs: tuple[Any, ...],
    found: Difference,
    got: Any,
    mine: tuple[Any, ...],
) -> bool:
    """Tell whether Python's own results differ as much when its inputs move by some roundings.

    Results of single precision differ by its roundings, whatever type they end in; numbers below
    the normal ones are zero in some runs, as they are for a product in another order.
    """
    if found.kind not in ("value", "effect"):
        return False
    rng = np.random.default_rng(7)
    others = []
    for number in range(8):
        moved = tuple(_nudged(copy.copy(value), rng) for value in arguments(text))
        with _summing_backwards(function, wanted=number % 2 == 1):
            other = run_bounded(function, moved)
        if not isinstance(other, Returned):
            return True
        if compare_calls(other.value, moved, got, mine, Allowed(RELATIVE, want.largest)) is None:
            return True
        others.append((other.value, moved))
    return is_within((want.value, theirs), others, (got, mine))


def _is_as_documented(
    function: Call, text: str, want: Returned, got: Any, mine: tuple[Any, ...], exact: Allowed
) -> bool:
    """Tell whether Python gives the same where numbers of several types are as documented.

    A name with NumPy's floats on other paths has their type if it is a constant, or else float64
    (docs/numerics.md): it has other digits than a narrow type.
    """
    values = [value for value in arguments(text) if isinstance(value, np.ndarray)]
    narrow = sorted({value.dtype.name for value in values} & _DIGITS.keys())
    for kind in narrow:
        theirs = arguments(text)
        other = run_bounded(_with_constants(function, kind), theirs)
        if not isinstance(other, Returned):
            continue
        if compare_calls(other.value, theirs, got, mine, exact) is None:
            return True
    if not narrow:
        return False
    theirs = arguments(text)
    same = run_bounded(function, theirs)
    digits = Allowed(max(_DIGITS[kind] for kind in narrow), want.largest, wider=True)
    assert isinstance(same, Returned)
    return compare_calls(same.value, theirs, got, mine, digits) is None


_DIGITS = {"float16": 1e-2, "float32": 1e-6, "complex64": 1e-6}
"""Of the largest magnitude: some roundings of a narrow type."""


def _with_constants(function: Call, kind: str) -> Call:
    """Return the function with `np.float32(0.5)` for 0.5, where that is of `kind` float32.

    In `name = 0.5`, and `0.5 if … else …`.
    """

    def converted(value: ast.expr) -> ast.expr:
        if not isinstance(value, ast.Constant) or not isinstance(value.value, float):
            return value
        return ast.Call(ast.parse(f"np.{kind}", mode="eval").body, [value], [])

    class Converted(ast.NodeTransformer):
        def visit_Assign(self, node: ast.Assign) -> ast.AST:
            node.value = converted(node.value)
            return self.generic_visit(node)

        def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
            node.body, node.orelse = converted(node.body), converted(node.orelse)
            return self.generic_visit(node)

    tree = ast.fix_missing_locations(Converted().visit(ast.parse(text_of(function))))
    module = sys.modules[function.__module__]
    space = {"__name__": module.__name__, "__package__": module.__package__}
    exec(compile(tree, function.__code__.co_filename, "exec"), space)
    changed: Call = space[function.__name__]  # type: ignore[assignment]
    return changed


@contextmanager
def _summing_backwards(function: Call, *, wanted: bool) -> Iterator[None]:
    """Let `np.sum` and its kin start at the other end, where they take a whole array."""

    class Backwards:
        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

    def backwards(original: Call) -> Call:
        def reduced(a: Any, *rest: Any, **options: Any) -> Any:
            whole = not rest and not options.keys() & {"axis", "where"}
            return original(np.flip(a) if whole else a, *rest, **options)

        return reduced

    names = function.__globals__
    if not wanted or names.get("np") is not np:
        yield
        return
    names["np"] = Backwards()
    for name in ("sum", "prod", "mean"):
        setattr(names["np"], name, backwards(getattr(np, name)))
    try:
        yield
    finally:
        names["np"] = np


def _nudged(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, float):
        return value * (1 + 2.0**-52 * int(rng.integers(-4, 5)))
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        eps = np.finfo(value.dtype).eps
        with np.errstate(all="ignore"):
            value[...] = value * (1 + eps * rng.integers(-4, 5, value.shape)).astype(value.dtype)
        value[np.abs(value) < np.finfo(value.dtype).tiny * rng.integers(2)] = 0
    return value
