"""What x86's intrinsics are in gcc, so that a text need not read the compiler's header.

In: the words of a text.  Out: lines that define the intrinsics among them, or include
`immintrin.h`.
The header has thousands of functions: gcc takes 0.3 s to read it, more than for most kernels.
Where gcc says that it has the builtin functions behind the few that a text uses, macros name these;
other compilers, and intrinsics that are not in the list, get the header.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, unique

from polyopt.dataclass import dataclass

_NAME = re.compile(r"_mm(256|512|)_([a-z]\w*)")
_TYPE = re.compile(r"__m(128|256|512)(d|i|)(_u)?|__mmask(8|16|32|64)")
_ELEMENTS = {"d": "double", "i": "long long", "": "float"}


@unique
class _Feature(Enum):
    """Macros that say what the compiler may use; intrinsics are used only where one is defined."""

    FMA = "__FMA__"
    HALVES = "__F16C__"
    MASKED_MOVES = "__AVX2__"
    WIDE = "__AVX512F__"
    MASKS = "__AVX512VL__"
    SMALL_MASKS = "__AVX512BW__"


@dataclass(frozen=True, slots=True)
class _Macro:
    """An intrinsic as a macro of a builtin function, or of plain C (`builtin` "")."""

    parameters: str
    value: str
    builtin: str = ""
    feature: _Feature = _Feature.FMA


def intrinsics(words: Iterable[str], *, by_header: bool = False) -> list[str]:
    """Return the lines that make the intrinsics among `words` known; none where there are none.

    `by_header`: by the compiler's header alone.
    """
    found = sorted(word for word in set(words) if word.startswith(("_mm", "__m")))
    names = [word for word in found if _NAME.fullmatch(word)]
    if not names:
        return []
    macros = [_macro(name) for name in names]
    header = "#include <immintrin.h>"
    known = [macro for macro in macros if macro is not None]
    if by_header or len(known) < len(macros):
        return [*_GUARD, header, "#endif"]
    return [
        *_GUARD,
        "#if defined(__has_builtin) && !defined(__clang__)",
        *_test(known),
        "#define PO_BUILTINS",
        "#endif",
        "#endif",
        "#ifdef PO_BUILTINS",
        *_types(found, known),
        *(
            f"#define {name}({m.parameters}) {m.value}"
            for name, m in zip(names, known, strict=True)
        ),
        "#else",
        header,
        "#endif",
        "#endif",
    ]


_GUARD = ("#if defined(__FMA__) || defined(__AVX2__) || defined(__AVX512F__)",)


def _test(macros: Iterable[_Macro]) -> list[str]:
    """Return the condition that the compiler has each builtin function that it may use."""
    tests = [f"(!defined({m.feature.value}) || __has_builtin({m.builtin}))"
             for m in macros if m.builtin]  # fmt: skip
    if not tests:
        return ["#if 1"]
    first, *others = dict.fromkeys(tests)
    lines = [f"#if {first}", *(f"    && {test}" for test in others)]
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def _types(found: list[str], macros: list[_Macro]) -> list[str]:
    """Return the types that the text, or a macro, names."""
    inside = (word for m in macros for word in re.findall(r"__m\w+", m.value))
    lines = []
    for name in sorted({*found, *inside}):
        kind = _TYPE.fullmatch(name)
        if kind is None:
            continue
        if kind[4]:
            integer = {"8": "char", "16": "short", "32": "int", "64": "long long"}[kind[4]]
            lines.append(f"typedef unsigned {integer} {name};")
        else:
            unaligned = ", aligned(1)" if kind[3] else ""
            form = f"vector_size({int(kind[1]) // 8}), may_alias{unaligned}"
            lines.append(f"typedef {_ELEMENTS[kind[2]]} {name} __attribute__(({form}));")
    return lines


def _macro(name: str) -> _Macro | None:
    """Return what an intrinsic is; None: it is not in the list."""
    parts = _NAME.fullmatch(name)
    assert parts is not None
    bits, operation = int(parts[1] or 128), parts[2]
    if operation == "sfence":
        return _Macro("", "__builtin_ia32_sfence()", "__builtin_ia32_sfence")
    function, _, element = operation.rpartition("_")
    if element.startswith("si") or function in _OF_INTEGERS:
        return _of_integers(function, element, bits)
    if element not in _VECTORS:
        return None
    match function:
        case "fmadd" | "max" | "min" if element in ("pd", "ps"):
            return _arithmetic(function, element, bits)
        case "maskz_loadu" | "mask_storeu":
            return _masked(function, element, bits)
        case "maskload" | "maskstore" if bits < 512 and _VECTORS[element][1] >= 4:
            return _masked_move(function, element, bits)
        case "loadu":
            register = _register(element, bits)
            return _Macro("p", f"(({register})*(const {register}_u *)(p))")
        case "permutex2var" | "fixupimm" if bits == 512:
            return _of_512_bits(function, element)
        case _:
            return None


_VECTORS = {
    "pd": ("double", 8), "ps": ("float", 4),
    "epi64": ("long long", 8), "epi32": ("int", 4), "epi16": ("short", 2), "epi8": ("char", 1),
}  # fmt: skip


def _vector(element: str, bits: int) -> str:
    """Return the C type of a vector of `element`s."""
    return f"{_VECTORS[element][0]} __attribute__((vector_size({bits // 8})))"


def _register(element: str, bits: int) -> str:
    """Return the type that intrinsics have for a vector of `element`s."""
    return f"__m{bits}" + {"pd": "d", "ps": ""}.get(element, "i")


def _as(element: str, bits: int, value: str) -> str:
    """Return the operand `value` as the vector that a builtin function takes."""
    same = element in ("pd", "ps", "epi64")  # what the register's own type holds
    return value if same else f"({_vector(element, bits)})({value})"


def _zero(element: str, bits: int) -> str:
    return _as(element, bits, f"({_register(element, bits)}){{0}}")


def _all(element: str) -> str:
    """Return the mask of all lanes of 512 bits; then the direction of rounding that is set."""
    return f"(__mmask{max(8, 64 // _VECTORS[element][1])})-1, 4"


def _arithmetic(function: str, element: str, bits: int) -> _Macro:
    names = ("a", "b", "c") if function == "fmadd" else ("a", "b")
    stem = f"vfmadd{element}" if function == "fmadd" else f"{function}{element}"
    stem += {128: "", 256: "256", 512: "512_mask"}[bits]
    given = ", ".join(names)
    if bits == 512:  # of lanes that are masked out, of which there are none, `a` is taken
        other = "" if function == "fmadd" else "a, "
        given = f"{given}, {other}{_all(element)}"
    value = f"(({_register(element, bits)})__builtin_ia32_{stem}({given}))"
    feature = _Feature.WIDE if bits == 512 else _Feature.FMA
    return _Macro(", ".join(names), value, f"__builtin_ia32_{stem}", feature)


_MASKED = {"pd": "upd", "ps": "ups", "epi64": "dqudi", "epi32": "dqusi",
           "epi16": "dquhi", "epi8": "dquqi"}  # fmt: skip


def _masked(function: str, element: str, bits: int) -> _Macro:
    verb = "load" if function == "maskz_loadu" else "store"
    builtin = f"__builtin_ia32_{verb}{_MASKED[element]}{bits}_mask"
    scalar, size = _VECTORS[element]
    mask = f"(__mmask{max(8, bits // 8 // size)})(m)"
    feature = _Feature.WIDE if bits == 512 else _Feature.MASKS
    if size < 4:
        feature = _Feature.SMALL_MASKS
    if verb == "load":
        call = f"{builtin}((const {scalar} *)(p), {_zero(element, bits)}, {mask})"
        return _Macro("m, p", f"(({_register(element, bits)}){call})", builtin, feature)
    value = f"{builtin}(({scalar} *)(p), {_as(element, bits, 'x')}, {mask})"
    return _Macro("p, m, x", value, builtin, feature)


def _masked_move(function: str, element: str, bits: int) -> _Macro:
    """Return AVX2's load or store of the lanes for which the highest bit of a mask is set."""
    suffix = {"epi64": "q", "epi32": "d"}.get(element, element) + ("256" if bits == 256 else "")
    builtin = f"__builtin_ia32_{function}{suffix}"
    vector = _vector(element, bits)
    whole = "epi64" if _VECTORS[element][1] == 8 else "epi32"
    mask = _as(whole, bits, "m")
    if function == "maskload":
        call = f"{builtin}((const {vector} *)(p), {mask})"
        value = f"(({_register(element, bits)}){call})"
        return _Macro("p, m", value, builtin, _Feature.MASKED_MOVES)
    value = f"{builtin}(({vector} *)(p), {mask}, {_as(element, bits, 'x')})"
    return _Macro("p, m, x", value, builtin, _Feature.MASKED_MOVES)


def _of_512_bits(function: str, element: str) -> _Macro | None:
    if _VECTORS[element][1] < 4:
        return None
    first, second = _as(element, 512, "a"), _as(element, 512, "b")
    whole, register = "epi64" if _VECTORS[element][1] == 8 else "epi32", _register(element, 512)
    if function == "fixupimm":
        builtin = f"__builtin_ia32_fixupimm{element}512_mask"
        given = f"{first}, {second}, {_as(whole, 512, 'table')}, number, {_all(element)}"
        parameters = "a, b, table, number"
    else:
        suffix = {"epi64": "q", "epi32": "d"}.get(element, element)
        builtin = f"__builtin_ia32_vpermt2var{suffix}512_mask"
        given = f"{_as(whole, 512, 'places')}, {first}, {second}, {_all(element)[:-3]}"
        parameters = "a, places, b"
    return _Macro(parameters, f"(({register}){builtin}({given}))", builtin, _Feature.WIDE)


_OF_INTEGERS = ("add", "set", "set1", "cvtph", "slli", "cvtepu16", "castsi256", "castsi512")


def _of_integers(function: str, element: str, bits: int) -> _Macro | None:
    """Return what works on whole registers of integers, or makes them."""
    wide = bits == 512
    feature, register = _Feature.WIDE if wide else _Feature.FMA, f"__m{bits}"
    lanes = 0 if element not in _VECTORS else bits // 8 // _VECTORS[element][1]
    match function, element:
        case "stream", _:
            stem = {128: "movntdq", 256: "movntdq256", 512: "movntdq512"}[bits]
            builtin = f"__builtin_ia32_{stem}"
            return _Macro("p, x", f"{builtin}((void *)(p), x)", builtin, feature)
        case "load", _:
            return _Macro("p", f"(*(const {register}i *)(p))")
        case "loadu", _:
            return _Macro("p", f"(({register}i)*(const {register}i_u *)(p))")
        case "add", "epi64" | "epi32":
            vector = _VECTORS[element][0]
            unsigned = f"unsigned {vector} __attribute__((vector_size({bits // 8})))"
            return _Macro("a, b", f"(({register}i)(({unsigned})(a) + ({unsigned})(b)))")
        case "set1", "epi64" | "epi32" | "epi16":
            every = ", ".join(["x"] * lanes)
            return _Macro("x", f"(({register}i)({_vector(element, bits)}){{{every}}})")
        case "set", "epi64" | "epi32":
            names = [f"x{lane}" for lane in reversed(range(lanes))]
            cells = ", ".join(reversed(names))
            value = f"(({register}i)({_vector(element, bits)}){{{cells}}})"
            return _Macro(", ".join(names), value)
        case _:
            return _conversion(function, element, bits)


def _conversion(function: str, element: str, bits: int) -> _Macro | None:
    """Return what makes vectors of 32 bits in each lane of what fills half of the register."""
    wide = bits == 512
    half = _vector("epi16", bits // 2)
    match function, element:
        case "cvtph", "ps":
            builtin = f"__builtin_ia32_vcvtph2ps{'512_mask' if wide else bits}"
            rest = f", {_zero('ps', bits)}, {_all('ps')}" if wide else ""
            feature = _Feature.WIDE if wide else _Feature.HALVES
            return _Macro("x", f"((__m{bits}){builtin}(({half})(x){rest}))", builtin, feature)
        case "cvtepu16", "epi32":
            builtin = f"__builtin_ia32_pmovzxwd{'512_mask' if wide else bits}"
            rest = f", {_zero('epi32', bits)}, {_all('epi32')[:-3]}" if wide else ""
            value = f"((__m{bits}i){builtin}(({half})(x){rest}))"
        case "slli", "epi32":
            builtin = f"__builtin_ia32_pslldi{'512_mask' if wide else bits}"
            rest = f", {_zero('epi32', bits)}, {_all('epi32')[:-3]}" if wide else ""
            value = f"((__m{bits}i){builtin}({_as('epi32', bits, 'x')}, n{rest}))"
            feature = _Feature.WIDE if wide else _Feature.FMA
            return _Macro("x, n", value, builtin, feature)
        case "castsi256" | "castsi512", "ps":
            return _Macro("x", f"((__m{bits})(x))")
        case _:
            return None
    return _Macro("x", value, builtin, _Feature.WIDE if wide else _Feature.FMA)
