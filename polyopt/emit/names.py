"""Choose identifiers that cannot be keywords, macros or names of headers.

In: names of a kernel's arrays, sizes, iterators and locals.  Out: single letters but `I`, or ASCII
names that end in a single underscore: no language, compiler or header has such names.  Those of the
emitter itself begin with `po_`.  The entry, which is called from outside, is `polyopt_NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from polyopt.digest import hex_digest
from polyopt.ir.expr import MathFunc

ENTRY_PREFIX = "polyopt_"
LONGEST = 48
"""Characters of a name before a digest stands for the rest: C tells names apart by 63."""

_COMPLEX = (
    "exp",
    "log",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
)

COMPLEX_NAMES = frozenset(
    [
        *("complex", "CMPLX", "CMPLXF", "I", "carg", "cpow", "cpowf", "cabs", "cabsf"),
        *(f"{name}{suffix}" for name in ("creal", "cimag", "conj") for suffix in ("", "f")),
        *(f"c{name}{suffix}" for name in _COMPLEX for suffix in ("", "f")),
    ]
)
"""Names of `complex.h` that the emitter uses."""

MATH_NAMES = (
    frozenset(f"{f.value}{suffix}" for f in MathFunc for suffix in ("", "f"))
    | {"NAN", "INFINITY", "pow", "powf", "fabs", "fabsf"}
) - COMPLEX_NAMES
"""Names of `math.h` that the emitter uses."""


def c_identifier(name: str, taken: Collection[str] = ()) -> str:
    """Return an identifier for `name` that is not in `taken`.

    >>> c_identifier("A"), c_identifier("exp"), c_identifier("größe"), c_identifier("__LINE__")
    ('A', 'exp_', 'gr_xc3_xb6_xc3_x9fe_', 'v_LINE_')
    >>> c_identifier("I"), c_identifier("i_", {"i"}), c_identifier("i", {"i", "i_2_"})
    ('I_', 'i_2_', 'i_3_')
    """
    plain = _plain(name)
    if not plain[:1].isalpha() or plain.startswith("po_"):
        plain = f"v_{plain.lstrip('_')}".rstrip("_")
    is_letter = len(plain) == 1 and plain != "I"
    found, number = plain if is_letter else f"{plain}_", 1
    while found in taken:
        number += 1
        found = f"{plain}_{number}_"
    return found


def entry_identifier(name: str) -> str:
    """Return the name of the function that is called from outside, also from C.

    >>> entry_identifier("jacobi"), entry_identifier("_main")
    ('polyopt_jacobi', 'polyopt_main')
    """
    return ENTRY_PREFIX + (_plain(name).lstrip("_") or "v")


def _plain(name: str) -> str:
    """Return `name` in ASCII, without underscores at its end or one after another."""
    escaped = re.sub(r"[^A-Za-z0-9_]", _escape, name)
    if len(escaped) > LONGEST:
        mark = hex_digest(name.encode(), 6)
        escaped = f"{escaped[: LONGEST - len(mark) - 1]}_{mark}"
    return re.sub(r"__+", "_", escaped).rstrip("_")


def _escape(match: re.Match[str]) -> str:
    return "".join(f"_x{byte:02x}" for byte in match.group().encode())
