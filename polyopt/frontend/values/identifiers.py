"""Identifiers for emitted text that clash with nothing in C, C++, CUDA, OpenCL, libc or each other.

In: a name from the user's source.  Out: an ASCII identifier, unique within one `Names`.
"""

from __future__ import annotations

import re
import unicodedata

_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while alignas alignof bool complex imaginary noreturn static_assert thread_local typeof
typeof_unqual nullptr true false constexpr asm fortran atomic generic
and and_eq bitand bitor catch char8_t char16_t char32_t class compl concept consteval constinit
const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export friend mutable
namespace new noexcept not not_eq operator or or_eq private protected public reinterpret_cast
requires static_cast template this throw try typeid typename using virtual wchar_t xor xor_eq
final override import module
global local constant private kernel half uchar ushort uint ulong size_t ptrdiff_t intptr_t
uintptr_t event_t sampler_t image2d_t image3d_t read_only write_only read_write uniform pipe
device host shared managed threadIdx blockIdx blockDim gridDim warpSize dim3
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intmax_t uintmax_t
barrier get_global_id get_local_id get_group_id mad clamp mix step smoothstep sign dot cross
distance length normalize select vload4 vstore4 printf isequal
"""
_LIBRARY = """
abs labs llabs div ldiv exit abort malloc calloc realloc free atexit atoi atof strtol strtod rand
srand qsort bsearch system getenv memcpy memmove memset memcmp strlen strcpy strcat strcmp index
rindex read write open close link unlink pipe dup fork exec wait kill signal raise pause sleep alarm
time clock ctime mktime difftime stime select stat main errno stdin stdout stderr environ daylight
timezone tzname puts gets putc getc fopen fclose fread fwrite remove rename printf scanf sprintf
sqrt cbrt pow exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh
asinh acosh atanh erf erfc tgamma lgamma gamma floor ceil trunc rint round nearbyint lrint lround
fabs fmod fma fmin fmax fdim frexp ldexp modf hypot copysign nan nextafter remainder remquo scalb
logb ilogb significand drem pow10 exp10 j0 j1 jn y0 y1 yn signgam isnan isinf isfinite isnormal
signbit fpclassify isgreater isless finite creal cimag cabs carg conj cproj cexp clog csqrt cpow
csin ccos ctan casin cacos catan csinh ccosh ctanh assert offsetof setjmp longjmp va_list va_start
va_end va_arg bcmp bcopy bzero ffs swab y0f y1f j0f j1f ynf jnf step
"""
_MACROS = """
I linux unix i386 NULL EOF NAN INFINITY HUGE_VAL BUFSIZ RAND_MAX CHAR_BIT INT_MAX INT_MIN LONG_MAX
LONG_MIN DBL_MAX DBL_MIN FLT_MAX FLT_MIN DBL_EPSILON FLT_EPSILON INT64_MAX INT64_MIN SIZE_MAX
M_PI M_E M_LN2 M_SQRT2 PI CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE MAXFLOAT min max TRUE FALSE
FP_NAN FP_INFINITE FP_ZERO DOMAIN SING OVERFLOW UNDERFLOW EDOM ERANGE SIGINT SIGSEGV unix vax sun
mips sparc arm PIC OPENMP omp noinline forceinline
"""
RESERVED = frozenset((_KEYWORDS + _LIBRARY + _MACROS).split())
_LONGEST = 40


def ascii_identifier(text: str) -> str:
    """Return an ASCII identifier near `text`: no leading underscore or digit, no `po_` prefix."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", plain).strip("_")[:_LONGEST].rstrip("_")
    if plain.startswith("po_"):
        plain = plain[3:].lstrip("_")
    if not plain:
        return "v"
    return plain if plain[0].isalpha() else f"v{plain}"


class Names:
    """Hands out identifiers, none twice, none reserved."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def unique(self, text: str) -> str:
        """Return an unused identifier near `text` and take it."""
        base = ascii_identifier(text)
        name, number = base, 0
        while name in RESERVED or name in self._taken or _is_statement(name):
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def is_free(self, text: str) -> bool:
        """Whether `text` is an identifier that `unique` would return unchanged."""
        return (
            ascii_identifier(text) == text
            and text not in RESERVED
            and text not in self._taken
            and not _is_statement(text)
        )

    def take(self, name: str) -> None:
        """Mark `name` as used."""
        self._taken.add(name)


def size_name(argument: str, dim: int) -> str:
    """Return the working name of a dimension; `is_size` knows it by the bracket."""
    return f"{argument}.shape[{dim}]"


def _is_statement(name: str) -> bool:
    """Statements are called S0, S1, …; e0, e1, … name unknown subscripts in isl."""
    return re.fullmatch(r"[Se]\d+", name) is not None
