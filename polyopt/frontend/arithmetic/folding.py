"""What Python computes of constants, while its results stay small.

In: an operator or a function of `math`, Python objects.  Out: the object that Python computes.
Refuses: integers, texts and sequences beyond the limits below (PO0180), before they are computed:
compiling must not take the memory or the time that a constant asks for; what has no value (PO0147).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import NoReturn

from polyopt.errors import Loc
from polyopt.frontend.values.codes import refuse, refuse_raising

MAX_BITS = 8192
MAX_ITEMS = 10_000
MAX_CHARACTERS = 1_000_000

OPERATORS: dict[str, Callable[..., object]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
    "power": operator.pow, "bitwise_and": operator.and_, "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor, "left_shift": operator.lshift, "right_shift": operator.rshift,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne,
    "negative": operator.neg, "positive": operator.pos, "invert": operator.invert,
}  # fmt: skip
_WIDE = re.compile(r"\d{4}|\*")


def fold(name: str, objects: list[object], loc: Loc | None) -> object:
    """Return the result of the operator `name`."""
    _check_operator(name, objects, loc)
    try:
        return OPERATORS[name](*objects)
    except ZeroDivisionError:
        refuse_raising("PO0147", "division by zero", loc)
    except TypeError:
        kinds = " and ".join(type(o).__name__ for o in objects)
        refuse_raising("PO0147", f"`{name}` of {kinds} has no numeric meaning", loc)
    except (ValueError, OverflowError) as error:
        refuse_raising("PO0147", f"`{name}` of these constants: {error}", loc)


def check_items(count: int, loc: Loc | None) -> None:
    """Refuse a sequence of so many items."""
    if count > MAX_ITEMS:
        hint = "use an array, such as np.full(n, value)"
        refuse("PO0180", f"a sequence of {integer_text(count)} items", loc, hint)


def check_function(name: str, values: tuple[object, ...], loc: Loc | None) -> None:
    """Refuse functions of `math` whose integers grow."""
    match name, values:
        case "factorial", [int(n)] if n > MAX_BITS // 8:
            _too_long(loc)
        case (("comb" | "perm"), [int(n), int(k)]) if n > 0:
            smaller = min(k, n - k) if name == "comb" else k
            _check_bits(smaller * n.bit_length(), loc)
        case "perm", [int(n)] if n > MAX_BITS // 8:
            _too_long(loc)
        case _:
            pass


def integer_text(value: int) -> str:
    """Return an integer for messages: Python has no text for thousands of digits."""
    bits = value.bit_length()
    return str(value) if bits <= 256 else f"an integer of {bits} bits"


def _check_operator(name: str, objects: list[object], loc: Loc | None) -> None:
    match name, objects:
        case "power", [int(base), int(exponent)] if exponent > 1 and abs(base) > 1:
            _check_bits((abs(base).bit_length() - 1) * exponent, loc)
        case "left_shift", [int(value), int(by)] if value and by > 0:
            _check_bits(value.bit_length() + by, loc)
        case "multiply", [int(left), int(right)]:
            _check_bits(left.bit_length() + right.bit_length(), loc)
        case "multiply", [(str() | bytes() | tuple() | list()) as items, int(count)]:
            _check_length(items, len(items) * count, loc)
        case "multiply", [int(count), (str() | bytes() | tuple() | list()) as items]:
            _check_length(items, len(items) * count, loc)
        case "add", [
            (str() | bytes() | tuple() | list()) as left,
            (str() | bytes() | tuple() | list()) as right,
        ]:
            _check_length(left, len(left) + len(right), loc)
        case "remainder", [(str() | bytes()) as text, _]:
            if isinstance(text, bytes) or _WIDE.search(text):
                refuse("PO0116", "a formatted text of any width", loc, "write the text itself")
        case _:
            pass


def _check_length(items: object, length: int, loc: Loc | None) -> None:
    if not isinstance(items, str | bytes):
        check_items(length, loc)
    elif length > MAX_CHARACTERS:
        refuse("PO0180", f"a text of {integer_text(length)} characters", loc, "use a shorter one")


def _check_bits(bits: int, loc: Loc | None) -> None:
    if bits > MAX_BITS:
        _too_long(loc)


def _too_long(loc: Loc | None) -> NoReturn:
    hint = "integers in arrays have 64 bits; write a base as a float, such as `2.0 ** 100`"
    refuse("PO0180", f"a constant integer of more than {MAX_BITS} bits", loc, hint)
