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


def readable_identifier(name: str, taken: Collection[str] = ()) -> str:
    """Return an identifier as `c_identifier`, without the underscore where no header has the name.

    >>> readable_identifier("i_tile"), readable_identifier("alpha"), readable_identifier("NI")
    ('i_tile', 'alpha', 'NI')
    >>> readable_identifier("exp"), readable_identifier("register"), readable_identifier("M_PI")
    ('exp_', 'register_', 'M_PI_')
    >>> readable_identifier("i_tile", {"i_tile"}), readable_identifier("_x")
    ('i_tile_2', 'v_x')
    """
    plain = c_identifier(name).rstrip("_")
    if _may_be_taken(plain):
        return c_identifier(name, taken)
    found, number = plain, 1
    while found in taken:
        number += 1
        found = f"{plain}_{number}"
    return found


def _may_be_taken(name: str) -> bool:
    """Tell whether C, C++ or a header that texts include may have a name: macros are capitals."""
    is_macro = name.isupper() and (len(name) > 2 or "_" in name)
    is_type = name.endswith("_t") or (name.startswith(("int", "uint")) and name[-1].isdigit())
    return is_macro or is_type or name in _WORDS or name in MATH_NAMES or name in COMPLEX_NAMES


_LISTED = """
alignas alignof alloca and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor
bool break case catch char char16_t char32_t char8_t class co_await co_return co_yield compl complex
concept const const_cast consteval constexpr constinit continue decltype default delete do double
dynamic_cast else enum errno explicit export extern false far final float for fortran fpclassify
friend goto huge if imaginary import inline int interface iscanonical iseqsig isfinite isgreater
isgreaterequal isinf isless islessequal islessgreater isnan isnormal issignaling issubnormal
isunordered iszero linux long main
math_errhandling module mutable namespace near new noexcept not not_eq nullptr
operator or or_eq override pascal private protected public reflexpr register reinterpret_cast
requires restrict return short signbit signed sizeof small static static_assert static_cast stderr
stdin stdout struct switch synchronized template this thread_local throw true try typedef typeid
typename typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor
xor_eq
abort abs aligned_alloc calloc exit fmod free frexp labs ldexp llabs madvise malloc memcpy memmove
memset mmap munmap omp_get_thread_num omp_in omp_out omp_priv realloc size_t
"""
_WORDS = frozenset(_LISTED.split())
"""Words of C and C++, macros in small letters of headers, functions that texts call."""


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
