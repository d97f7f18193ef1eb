"""Print the header of an emitted file: the entry's declaration and what its caller has to keep to.

In: a `LoopFunction`, the names of its parameters.  Out: a header for C and C++.
The contract is what a call from Python checks; the entry itself checks nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from polyopt.emit.banner import plain
from polyopt.emit.c_statements import prototype
from polyopt.emit.early_exits import FIRST_FAULT
from polyopt.emit.frame import Frame
from polyopt.emit.regions import region_arrays
from polyopt.ir.expr import Expr, Iter, Param, Symbol, rewrite
from polyopt.ir.loops import LoopFunction
from polyopt.ir.scop import Array, Role
from polyopt.ir.showing import show
from polyopt.ir.source import ArrayArg, CParam, CParamKind, IntegerOf, SizeOf
from polyopt.never import assert_never

_WIDTH = 96
_SIZES = "  no size is larger than 2**48, no integer below -2**48"
RESTRICT = "POLYOPT_RESTRICT"
_RESTRICT = f"""\
#ifndef {RESTRICT}
#ifdef __cplusplus
#define {RESTRICT} __restrict
#else
#define {RESTRICT} restrict
#endif
#endif"""


def header(fn: LoopFunction, frame: Frame, flags: str = "") -> str:
    """Return the text of the header; `flags` says how to build a file of another language."""
    guard = f"{frame.entry.upper()}_H"
    has_bool = any(p.dtype.value_ctype == "bool" for p in frame.params)
    lines = [
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        *(["#include <stdbool.h>"] if has_bool else []),
        "#include <stdint.h>",
        "",
        _RESTRICT,
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *_contract(fn, frame, [flags] if flags else _FLAGS),
        *prototype(f"int {frame.entry}", frame.header_declarations(RESTRICT), ";"),
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
    ]
    return "\n".join(lines) + "\n"


def _contract(fn: LoopFunction, frame: Frame, flags: list[str]) -> list[str]:
    """Return the comment on what a caller has to keep to, and what comes back."""
    has_memory = bool(frame.heap or frame.late or region_arrays(fn.body))
    parts = [
        [f"{plain(fn.name)}: what the Python function of this name computes."],
        _parameters(fn, frame),
        _conditions(fn, frame),
        [*_overlap(frame), *_returns(fn, has_memory=has_memory), *_threads(fn), *flags],
    ]
    lines: list[str] = []
    for part in parts:
        if part:
            lines += [*([""] if lines else []), *(one for text in part for one in _folded(text))]
    return ["/*", *(f" * {line}".rstrip() for line in lines), " */"]


def _folded(text: str) -> list[str]:
    """Return a line in several where it is long, the later ones indented further."""
    indent = len(text) - len(text.lstrip())
    return textwrap.wrap(
        text,
        _WIDTH,
        subsequent_indent=" " * (indent + 4 if indent else 0),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _parameters(fn: LoopFunction, frame: Frame) -> list[str]:
    arrays = {array.name: array for array in fn.arrays}
    lines = [f"  {_name(p, frame)}: {_meaning(fn, frame, p, arrays)}" for p in frame.params]
    return ["Parameters:", *lines] if lines else []


def _name(param: CParam, frame: Frame) -> str:
    if param.kind is CParamKind.ARRAY:
        return frame.names[param.name]
    return "library" if param.kind is CParamKind.LIBRARY else param.text


def _meaning(fn: LoopFunction, frame: Frame, param: CParam, arrays: Mapping[str, Array]) -> str:
    match param.kind:
        case CParamKind.SIZE:
            return _size(fn, frame, param.name)
        case CParamKind.SCALAR:
            return f"a number, the argument `{plain(param.name)}`"
        case CParamKind.STRIDE:
            name = frame.names[param.name]
            return f"elements from one index of dimension {param.dim} of {name} to the next"
        case CParamKind.ARRAY:
            return _array(frame, param, arrays[param.name])
        case CParamKind.LIBRARY:
            return "called for functions that polyopt leaves to NumPy; 0 where it succeeds"
        case _:
            assert_never(param.kind)


def _size(fn: LoopFunction, frame: Frame, name: str) -> str:
    """Return what a size is: an extent, an argument, or a value made of others."""
    signature = fn.signature
    for size in signature.sizes:
        if size.param == name and size.argument < len(signature.arguments):
            argument = signature.arguments[size.argument]
            match size:
                case SizeOf():
                    return f"the extent of dimension {size.dim} of `{plain(argument.name)}`"
                case IntegerOf():
                    return f"the integer `{plain(argument.name)}`"
    for made in signature.computed:
        if made.param == name:
            return f"has to be {_text(made.value, frame)}"
    for start in signature.starts:
        if start.param == name:
            part = plain(signature.arguments[start.argument].name)
            return f"where `{part}` begins in dimension {start.dim} of the array that it is of"
    return "a size"


def _array(frame: Frame, param: CParam, array: Array) -> str:
    """Return the type, the shape, the layout and the use of an array."""
    extents = " * ".join(_factor(extent, frame) for extent in array.shape) or "1"
    strides = [p for p in frame.params if p.kind is CParamKind.STRIDE and p.name == param.name]
    layout = "row-major, contiguous"
    if strides:
        layout = "its elements apart as the strides say"
    use = "read only"
    if array.role is Role.OUTPUT:
        use = "the result: written, need not be set before"
    elif param.written:
        use = "read and written"
    count = "element" if extents == "1" else "elements"
    return f"{extents} {count} of {param.dtype.value_ctype}, {layout}; {use}"


def _factor(extent: Expr, frame: Frame) -> str:
    text = _text(extent, frame)
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _text(expr: Expr, frame: Frame) -> str:
    """Return an expression in the names of the declaration, in Python's notation."""

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Param | Iter):
            return Param(frame.names.get(part.name, part.name))
        if isinstance(part, Symbol):
            return Symbol(frame.names.get(part.name, part.name), part.dtype, part.lanes)
        return None

    return plain(show(rewrite(expr, rule)))


def _conditions(fn: LoopFunction, frame: Frame) -> list[str]:
    """Return the conditions that a call from Python checks and one from C has to keep."""
    signature = fn.signature
    lines = [_SIZES] if signature.sizes else []
    for check in (*signature.checks, *signature.limits):
        lines.append(f"  {_text(check.condition, frame)}: or else {plain(check.message)}")
    alike = [
        f"  {plain(argument.name)} lies in `{plain(signature.arguments[argument.part.owner].name)}`"
        for argument in signature.arguments
        if isinstance(argument, ArrayArg) and argument.part is not None
    ]
    lines += alike
    if not lines:
        return []
    if lines == [_SIZES]:
        return [f"Required, and not checked here: {_SIZES.strip()}."]
    return ["Required, and not checked here (// floors, % is not negative, as in Python):", *lines]


def _overlap(frame: Frame) -> list[str]:
    """Return which arrays may share memory."""
    arrays = [p for p in frame.params if p.kind is CParamKind.ARRAY]
    written = [frame.names[p.name] for p in arrays if p.written]
    if not arrays:
        return []
    if len(arrays) == 1:
        return []
    if not written:
        return ["Nothing is written; arrays may overlap."]
    only = " and ".join((", ".join(written[:-1]), written[-1])) if len(written) > 1 else written[0]
    verb = "are" if len(written) > 1 else "is"
    others = "; those only read may overlap" if len(arrays) - len(written) > 1 else ""
    return [f"{only} {verb} written and must not overlap with another array{others}."]


def _returns(fn: LoopFunction, *, has_memory: bool) -> list[str]:
    lines = ["Returns", "  0: all is done"]
    if has_memory:
        lines.append("  1: there is no memory for temporaries")
    if fn.signature.library:
        lines.append("  -1: `library` gave anything but 0")
    for number, fault in enumerate(fn.signature.faults):
        lines.append(f"  {FIRST_FAULT + number}: {plain(fault.message)}")
    if len(lines) == 2:
        return ["Returns 0, always."]
    if fn.signature.library or fn.signature.faults:
        lines.append("After any but 0, arrays that are written hold what had been computed so far.")
    return lines


def _threads(fn: LoopFunction) -> list[str]:
    text = "Thread-safe: no state is kept; calls at the same time write to arrays of their own."
    if fn.signature.library:
        text += "  `library` is called from the calling thread."
    return [text]


_FLAGS = [
    "Build as C11 with -O3 -march=..., -fopenmp for threads or -fopenmp-simd without them, never "
    "-ffast-math; link with -lm.  "
    "Compilers other than gcc need -fwrapv, with which integers wrap as NumPy's do."
]
