"""Identifiers of the emitted C text.

In: names of a kernel's arrays, sizes, iterators and locals.  Out: names no header or keyword owns.
The prefix `po_` belongs to the emitter.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from polyopt.ir.expr import MathFunc

# fmt: off
_KEYWORDS = (
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict",
    "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union",
    "unsigned", "void", "volatile", "while", "asm", "typeof", "bool", "true", "false", "alignas",
    "alignof", "noreturn", "static_assert", "thread_local", "class", "delete", "friend", "mutable",
    "namespace", "new", "operator", "private", "protected", "public", "template", "this", "throw",
    "try", "catch", "using", "virtual", "and", "or", "not", "xor", "bitand", "bitor", "compl",
    "nullptr", "constexpr", "decltype", "explicit", "export", "typename", "typeid", "wchar_t",
)
_MACROS = (
    "NULL", "EOF", "HUGE_VAL", "HUGE_VALF", "FP_NAN", "FP_INFINITE", "FP_ZERO", "FP_SUBNORMAL",
    "FP_NORMAL", "MATH_ERRNO", "MATH_ERREXCEPT", "math_errhandling", "RAND_MAX", "EXIT_SUCCESS",
    "EXIT_FAILURE", "MB_CUR_MAX", "INT8_MIN", "INT16_MIN", "INT32_MIN", "INT64_MIN", "INT64_MAX",
    "SIZE_MAX", "UINT64_C", "INT64_C", "linux", "unix", "i386", "imaginary", "isnormal",
    "fpclassify", "isgreater", "isgreaterequal", "isless", "islessequal", "islessgreater",
    "isunordered", "main", "free", "malloc", "calloc", "realloc", "aligned_alloc", "abort", "exit",
    "abs", "labs", "llabs", "div", "ldiv", "lldiv", "memcpy", "memset", "size_t", "int8_t",
    "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
)
_COMPLEX = (
    "exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh",
)
_FUNCTIONS = (
    "alloca", "arc4random", "at_quick_exit", "atexit", "atof", "atoi", "atol", "atoll", "basename",
    "bcmp", "bcopy", "bsearch", "bzero", "clearenv", "clog10", "cproj", "drem", "exp10", "exp10f",
    "fadd", "fdim", "fdimf", "fdiv", "ffma", "ffs", "finite", "finitef", "fmax", "fmaxf", "fmin",
    "fminf", "fmul", "frexp", "frexpf", "fsqrt", "fsub", "gamma", "gammaf", "gcvt", "getenv",
    "getloadavg", "getsubopt", "grantpt", "ilogb", "ilogbf", "index", "initstate", "j0", "j0f",
    "j1", "j1f", "jn", "jnf", "llrint", "llround", "lrint", "lrintf", "lround", "lroundf",
    "madvise", "mblen", "mbstowcs", "mbtowc", "memccpy", "memchr", "memcmp", "memmem", "memmove",
    "mempcpy", "memrchr", "mkdtemp", "mkstemp", "mktemp", "mlock", "mmap", "modf", "modff",
    "mprotect", "mremap", "msync", "munlock", "munmap", "nan", "nanf", "nearbyint", "nearbyintf",
    "nexttoward", "on_exit", "posix_memalign", "pselect", "ptsname", "putenv", "qsort",
    "quick_exit", "rand", "random", "realpath", "reallocarray", "remquo", "remquof", "rindex",
    "round", "roundf", "scalb", "scalbf", "scalbln", "scalbn", "scalbnf", "secure_getenv", "select",
    "setenv", "setstate", "significand", "sincos", "sincosf", "srand", "srandom", "stpcpy",
    "strcasecmp", "strcat", "strchr", "strcmp", "strcoll", "strcpy", "strcspn", "strdup",
    "strerror", "strfry", "strlen", "strncat", "strncmp", "strncpy", "strndup", "strnlen",
    "strpbrk", "strrchr", "strsep", "strsignal", "strspn", "strstr", "strtod", "strtof", "strtok",
    "strtol", "strtold", "strtoll", "strtoul", "strtoull", "strxfrm", "system", "unsetenv",
    "valloc", "wcstombs", "wctomb", "y0", "y0f", "y1", "y1f", "yn", "ynf",
)
# fmt: on

COMPLEX_NAMES = frozenset(
    [
        *("complex", "CMPLX", "CMPLXF", "I", "carg", "cpow", "cpowf", "cabs", "cabsf"),
        *(f"{name}{suffix}" for name in ("creal", "cimag", "conj") for suffix in ("", "f")),
        *(f"c{name}{suffix}" for name in _COMPLEX for suffix in ("", "f")),
    ]
)
"""Names of `complex.h`."""

MATH_NAMES = (
    frozenset(f"{f.value}{suffix}" for f in MathFunc for suffix in ("", "f"))
    | {"NAN", "INFINITY", "pow", "powf", "fabs", "fabsf"}
) - COMPLEX_NAMES
"""Names of `math.h`."""

LIBRARY_FUNCTIONS = frozenset(_FUNCTIONS)
"""What else the included headers declare: locals may hide it, functions may not be called so."""

RESERVED = frozenset([*_KEYWORDS, *_MACROS]) | COMPLEX_NAMES | MATH_NAMES


def c_identifier(name: str, taken: Collection[str] = ()) -> str:
    """Return `name` as an identifier that is not reserved and not in `taken`.

    >>> c_identifier("A"), c_identifier("exp"), c_identifier("größe"), c_identifier("A", {"A"})
    ('A', 'exp_', 'gr_xc3_xb6_xc3_x9fe', 'A_')
    """
    plain = re.sub(r"[^A-Za-z0-9_]", _escape, name)
    if not plain or plain[0].isdigit() or plain.startswith(("_", "po_")):
        plain = f"v_{plain}"
    while plain in RESERVED or plain in taken:
        plain += "_"
    return plain


def _escape(match: re.Match[str]) -> str:
    return "".join(f"_x{byte:02x}" for byte in match.group().encode())
