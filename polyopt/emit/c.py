"""Print the loop AST as one self-contained C11 file with OpenMP.

In: a `LoopFunction`.  Out: `Source` with an entry `int name(sizes, scalars, arrays)`.
Refuses: what the expression printer refuses.
"""

from __future__ import annotations

from polyopt import emit
from polyopt.dataclass import replace
from polyopt.emit.banner import BUILT, SNIPPET, Edition, banner, signed_banner
from polyopt.emit.c_statements import Block, Branch, Code, Compound, Function, Line, identifiers
from polyopt.emit.c_statements import words as words_of
from polyopt.emit.cbody import BodyEmitter
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.dialect import literal
from polyopt.emit.early_exits import (
    END,
    FIRST_FAULT,
    LEFT,
    STATUS,
    STOPPED,
    STOPS,
    Exit,
    ExitKind,
    fails_in_parallel,
    leaves_early,
)
from polyopt.emit.frame import COMPLEX_NAMES, MATH_NAMES, allocation, make_frame
from polyopt.emit.header import header
from polyopt.emit.helpers import Helper, HelperKind, definition, in_one_line
from polyopt.emit.helpers.intrinsics import intrinsics
from polyopt.emit.openmp import any_asks
from polyopt.emit.outlining import outline_sections
from polyopt.emit.pieces import PIECES, UPTO
from polyopt.emit.regions import region_arrays
from polyopt.emit.views import View
from polyopt.emit.wrapping import wrapped
from polyopt.ir.expr import integer, sub
from polyopt.ir.loops import LoopFunction, LoopKind
from polyopt.ir.nodes import has_loop
from polyopt.ir.source import Source


def emit_c(fn: LoopFunction, edition: Edition = BUILT) -> Source:
    """Return the C text of `fn`."""
    frame = make_frame(fn, edition)
    used: dict[Helper, None] = {}
    printer = ExprPrinter(frame.views, frame.names, frame.ranges, used)
    cleans = bool(frame.heap or frame.late or frame.faults)
    asked = not edition.is_handed_over and any_asks(fn.body)
    leaves = leaves_early(fn.body) or asked
    jumps = cleans and (leaves or bool(region_arrays(fn.body)))
    emitter = BodyEmitter(frame, printer, Exit(ExitKind.GOTO if jumps else ExitKind.RETURN))
    if edition.is_handed_over:
        emitter = replace(emitter, shared=emit.sharing.shared_nests(fn.body))
    lines = _entry_body(fn, emitter, jumps=jumps)
    entry = Function(f"int {frame.entry}", frame.declarations(), lines)
    functions = [*emitter.regions, entry]
    code = "\n\n".join(str(f) for f in functions)
    openmp = has_loop(fn.body, LoopKind.PARALLEL)
    return Source(
        language="c",
        entry=frame.entry,
        text=_file(fn, used, code, edition),
        header=header(fn, frame),
        params=frame.params,
        signature=fn.signature,
        openmp=openmp,
        contract=fn.contract,
    )


def _entry_body(fn: LoopFunction, emitter: BodyEmitter, *, jumps: bool) -> list[Code]:
    """Return the statements of the entry; with `jumps`, all ways out lead to one end."""
    frame = emitter.frame
    body = outline_sections(emitter, fn.body)
    has_status = bool(jumps or frame.faults or fails_in_parallel(fn.body))
    lines: list[Code] = [Line(f"int {STATUS} = 0;")] if has_status else []
    temporaries = [frame.views[name] for name in frame.heap]
    for view in temporaries:
        guests = _guests(fn, view.array.name)
        arrays = (view.array, *(frame.views[name].array for name in guests))
        lines.append(Line(f"{view.parameter()} = {allocation(emitter.printer, *arrays)};"))
    release = [Line(f"free({view.pointer});") for view in temporaries]
    if temporaries:
        failed = " || ".join(f"!{view.pointer}" for view in temporaries)
        undo = release if len(release) > 1 else []
        lines.append(Branch(failed, [*undo, Line("return 1;")], []))
    late = [frame.views[name] for name in frame.late]
    lines += [Line(f"{view.parameter()} = NULL;") for view in late]
    release += [Line(f"free({view.pointer});") for view in late]
    plain = [frame.views[name] for name in frame.plain]
    lines += [
        Line(f"{v.parameter()} = {literal(emit.storage_scope.zero(v.array))};") for v in plain
    ]
    faults = [frame.views[name] for name in frame.faults]
    lines += [_fault_array(view, emitter.printer) for view in faults]
    inside = (*frame.late, *(array.name for array in region_arrays(fn.body)))
    whole = [*frame.row_declarations(body, emitter.printer, inside), *body]
    if jumps:
        quiet = "" if frame.edition.is_handed_over else " __attribute__((unused));"
        whole = [Block(whole), Line(f"{END}:{quiet}")]
    seen = identifiers([*lines, *whole])
    unused = [Line(f"(void){p.text};") for p in frame.params if p.text not in seen]
    told = [line for view in faults for line in _told(view, emitter.printer)]
    back = Line(f"return {STATUS if has_status else 0};")
    streamed = emitter.streamed(fn.body)
    return [*unused, *lines, *whole, *streamed, *release, *told, back]


def _guests(fn: LoopFunction, name: str) -> tuple[str, ...]:
    """Return the arrays that take turns in the memory of an array."""
    return next((group[1:] for group in fn.turns if group[0] == name), ())


def _fault_array(view: View, printer: ExprPrinter) -> Code:
    extents = "".join(f"[{printer.text(extent)}]" for extent in view.array.shape)
    return Line(f"{view.array.dtype.ctype} {view.name}{extents} = {{0}};")


def _told(view: View, printer: ExprPrinter) -> list[Code]:
    """Return the statements that make the lowest noted fault the status, whatever else happened."""
    (extent,) = view.array.shape
    last = printer.text(sub(extent, integer(1)))
    head = f"for (int po_k = {last}; po_k >= 0; po_k--)"
    noted = Branch(f"{view.name}[po_k]", [Line(f"{STATUS} = {FIRST_FAULT} + po_k;")], [])
    return [Compound(head, [noted])]


def _file(fn: LoopFunction, used: dict[Helper, None], code: str, edition: Edition) -> str:
    helpers = _named(sorted(used, key=lambda h: h.order), code)
    support = _support(helpers, edition)
    words = words_of(f"{support}\n{code}")
    includes = [f"#include <{name}>" for name in _needed_headers(words)]
    if "complex.h" in "".join(includes):
        includes += ["#undef I", *_MADE_COMPLEX]
    if any(h.kind is HelperKind.ALLOC for h in helpers):
        includes += ["#ifdef __linux__", "#include <sys/mman.h>", "#endif"]
    includes += intrinsics(words, by_header=edition.is_handed_over)
    quiet = ["psabi"] if any(h.lanes > 1 for h in helpers) or "_ZGV" in support else []
    if edition.is_handed_over and "#pragma omp" in code:
        quiet.append("unknown-pragmas")  # of builds without OpenMP
    if quiet:
        includes += ["", *(f'#pragma GCC diagnostic ignored "-W{one}"' for one in quiet)]
    stops = STOPS if words & {STOPPED, LEFT} else ""
    stops = f"{stops}\n{PIECES}" if UPTO in words else stops
    unrolls = edition.is_handed_over and emit.rerolling.UNROLL in words
    head = banner(fn)
    if edition.is_handed_over:
        head = signed_banner(fn, edition.version, edition.origin)
        support, code = emit.tidying.with_short_names(helpers, support, code)
        code = emit.tidying.without_braces(code)
        support = "\n".join((SNIPPET[0], wrapped(support), SNIPPET[1])) if support else ""
    modes = _modes(_for_clang(code) if edition.is_handed_over else [], unrolls=unrolls)
    parts = [head, "\n".join(includes), modes, stops, support, wrapped(code)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _named(helpers: list[Helper], code: str) -> list[Helper]:
    """Return the helpers that the code names, or one that it names does."""
    words = set(words_of(code))
    named = []
    for helper in reversed(helpers):
        if helper.name in words:
            words |= words_of("\n".join(definition(helper)))
            named.append(helper)
    return named[::-1]


def _support(helpers: list[Helper], edition: Edition) -> str:
    """Return the definitions of helpers; for readers, short ones in a line each."""
    if not edition.is_handed_over:
        return "\n\n".join("\n".join(definition(h)) for h in helpers)
    text = ""
    before = 0
    for lines in (in_one_line(definition(h)) for h in helpers):
        text += ("\n" if before == len(lines) == 1 else "\n\n") + "\n".join(lines)
        before = len(lines)
    return text.lstrip("\n")


def _for_clang(code: str) -> list[str]:
    """Return what clang is told not to warn of: it knows less of calls and loops than gcc."""
    quiet = []
    if "#pragma omp" in code:  # loops it does not vectorize, helpers of builds with OpenMP
        quiet += ["pass-failed", "unused-function"]
    if " & " in code or " | " in code:  # of conditions with calls, which both may be made
        quiet += ["unknown-warning-option", "bitwise-instead-of-logical"]
    return [f'#pragma clang diagnostic ignored "-W{one}"' for one in quiet]


def _modes(clang: list[str], *, unrolls: bool) -> str:
    """Return what makes the floating-point mode hold under other flags than polyopt's.

    `clang`: what else is for clang, `unrolls`: and how loops are unrolled.
    """
    unrolled, others = emit.rerolling.UNROLLING if unrolls else ((), ())
    lines = [
        "#ifdef __FAST_MATH__",
        '#error "every rounding of this file was proven: build it without -ffast-math"',
        "#elif defined(__clang__)",
        "#pragma STDC FP_CONTRACT OFF",
        *clang,
        *unrolled,
        "#else",
        '#pragma GCC optimize("fp-contract=off", "wrapv")',
        *others,
        "#endif",
    ]
    return "\n".join(lines)


# glibc's header has these for gcc only
_MADE_COMPLEX = (
    "#ifndef CMPLX",
    "#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))",
    "#define CMPLXF(re, im) __builtin_complex((float)(re), (float)(im))",
    "#endif",
)
_STDLIB = frozenset({"aligned_alloc", "free", "NULL"})
_BOOL = frozenset({"bool", "true", "false"})


def _needed_headers(words: frozenset[str]) -> list[str]:
    names = []
    if words & COMPLEX_NAMES:
        names.append("complex.h")
    if words & MATH_NAMES:
        names.append("math.h")
    if words & _BOOL:
        names.append("stdbool.h")
    names.append("stdint.h")
    if words & _STDLIB:
        names.append("stdlib.h")
    return names
