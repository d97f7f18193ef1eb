"""A translated region as proven C.

In: a `Translated` region, options, a machine.  Out: `Compiled`: the text of a function, the call
that stands for the region.
Refuses: what the front end refuses in the region's loops, at their place in the C file.
Conditions on the sizes of a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from polyopt.capture.text import function_of_text
from polyopt.cregion.declarations import Region
from polyopt.cregion.function import UNKNOWN, Translated
from polyopt.cregion.syntax import Unit
from polyopt.dataclass import dataclass, replace
from polyopt.digest import hex_digest
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.frame import c_identifier
from polyopt.emit.helpers import Helper, definition
from polyopt.emit.ranges import Ranges
from polyopt.errors import FrontendError, Loc, PolyoptError
from polyopt.frontend import build
from polyopt.frontend.python.c_math import FUNCTIONS
from polyopt.frontend.syntax.annotations import Annotation, ArgType, ArrayType, ScalarType
from polyopt.ir.affine import NotAffine, condition_set, param_space
from polyopt.ir.expr import Compare, CompareOp, Expr, Param, Symbol, integer, walk
from polyopt.ir.isl_ast import condition_expr
from polyopt.ir.program import Program
from polyopt.ir.scop import Statement
from polyopt.ir.source import ArrayArg, CParam, CParamKind, Layout, ScalarArg, SizeOf, Source
from polyopt.machine import Machine
from polyopt.pipeline import Compilation, compile_program
from polyopt.schedule.reductions import changed_statements
from polyopt.targets import Options


@dataclass(frozen=True, eq=False)
class Compiled:
    """A region's compilation, and the C expression that runs it.

    `fits` calls a function, which is among `helpers`, and is false where only the region as it is
    written may run; empty where that is nowhere.  `fixed`: what the C compiler has to confirm.
    `unused`: variables that nothing else uses.
    """

    region: Region
    program: Program
    compilation: Compilation
    call: str
    fits: str
    helpers: tuple[str, ...]
    fixed: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def source(self) -> Source:
        """The emitted text."""
        source = self.compilation.source
        assert isinstance(source, Source)
        return source


def compile_region(
    unit: Unit, region: Region, translated: Translated, options: Options, machine: Machine
) -> Compiled:
    """Return the region compiled; errors of the front end stand at their place in the C file."""
    try:
        program = build(_function(translated), _types(translated), counts_from_end=False)
    except PolyoptError as error:
        raise _placed(unit, translated, error) from None
    program = _with_places(unit, translated, program)
    compilation = compile_program(program, options, machine)
    source = compilation.source
    assert isinstance(source, Source)
    used: dict[Helper, None] = {}
    names = _sizes(translated, program)
    printer = ExprPrinter({}, dict(names), Ranges(), used)
    for computed in program.signature.computed:
        names[computed.param] = f"({printer.text(computed.value)})"
    given = ", ".join(_passed(unit, region, translated, program, names, p) for p in source.params)
    fits, test = _fits(translated, program, names, f"{source.entry}_fits", used)
    helpers = tuple("\n".join(definition(helper)) for helper in used)
    return Compiled(
        region,
        program,
        compilation,
        f"{source.entry}({given})",
        test,
        (*helpers, *([fits] if fits else [])),
        translated.fixed,
        translated.unused,
    )


def _fits(
    translated: Translated,
    program: Program,
    names: Mapping[str, str],
    entry: str,
    used: dict[Helper, None],
) -> tuple[str, str]:
    """Return a function that tells whether the sizes are among those that the code is for.

    And its call; both empty where all are.
    """
    conditions = list(needed_conditions(translated, program))
    mentioned = dict.fromkeys(
        part.name for c in conditions for part in walk(c) if isinstance(part, Param | Symbol)
    )
    if not conditions:
        return "", ""
    taken: set[str] = set()
    own: dict[str, str] = {}
    for name in mentioned:
        own[name] = c_identifier(name, taken)
        taken.add(own[name])
    printer = ExprPrinter({}, own, Ranges(), used)
    tests = "\n        && ".join(f"({printer.text(condition)})" for condition in conditions)
    parameters = ", ".join(f"int64_t {name}" for name in own.values())
    text = f"static inline int {entry}({parameters})\n{{\n    return {tests};\n}}"
    given = ", ".join(names[name].removeprefix("(int64_t)") for name in mentioned)
    return text, f"{entry}({given})"


def _function(translated: Translated) -> Any:  # noqa: ANN401 - a function made from text
    file = _file(translated)
    function = function_of_text(translated.text, translated.name, file, {"np": np, **FUNCTIONS})
    function.__annotations__ = {
        argument.name: Annotation(argument.number.dtype)[argument.extents]
        for argument in translated.arguments
        if argument.extents
    }
    return function


def _file(translated: Translated) -> str:
    return f"<polyopt region {translated.name} {hex_digest(translated.text.encode(), 8)}>"


def _types(translated: Translated) -> tuple[ArgType, ...]:
    found: list[ArgType] = []
    for argument in translated.arguments:
        dtype = argument.number.dtype
        if argument.extents:
            ones = tuple(argument.is_result for _ in argument.extents)
            found.append(ArrayType(dtype, len(ones), Layout.C, ones))
        else:
            found.append(ScalarType(dtype, weak=argument.number.is_index))
    return tuple(found)


# -- places -----------------------------------------------------------------------------------


def _at(unit: Unit, translated: Translated, loc: Loc) -> Loc:
    """Return the place in the C file of one in the function's text."""
    if not 0 < loc.line <= len(translated.nodes):
        return unit.loc(translated.nodes[0])
    node, line = translated.nodes[loc.line - 1], translated.lines[loc.line - 1]
    words = re.findall(r"[A-Za-z_]\w*", line[loc.col - 1 :])
    whole = unit.loc(node)
    written = unit.written(node)
    for word in words[:1]:
        for found in re.finditer(rf"\b{re.escape(word)}\b", written):
            if found.start() + 1 >= whole.col:
                return Loc(whole.file, whole.line, found.start() + 1, whole.line, found.end() + 1)
    return whole


def _placed(unit: Unit, translated: Translated, error: PolyoptError) -> PolyoptError:
    if error.loc is not None and error.loc.file == _file(translated):
        error.loc = _at(unit, translated, error.loc)
    return error


def _with_places(unit: Unit, translated: Translated, program: Program) -> Program:
    """Return `program` with its statements at their places in the C file."""
    file = _file(translated)

    def moved(loc: Loc | None) -> Loc | None:
        return loc if loc is None or loc.file != file else _at(unit, translated, loc)

    def placed(statement: Statement) -> Statement:
        loc = statement.loc
        if loc is None or loc.file != file:
            return statement
        node = translated.nodes[min(loc.line, len(translated.nodes)) - 1]
        text = unit.written(node).strip()
        loops = tuple(map(moved, statement.loops))
        return replace(statement, loc=unit.loc(node), text=text, loops=loops)

    return replace(program, parts=changed_statements(program.parts, placed))


# -- the call ---------------------------------------------------------------------------------


def _sizes(translated: Translated, program: Program) -> dict[str, str]:
    """Return what C has for each size and number."""
    signature, found = program.signature, {}
    for argument, mine in zip(signature.arguments, translated.arguments, strict=True):
        if isinstance(argument, ScalarArg):
            cast = "(int64_t)" if mine.number.is_index else ""
            found[argument.symbol] = f"{cast}{mine.passed}"
    for size in signature.sizes:
        own = translated.arguments[size.argument]
        text = own.sizes[size.dim] if isinstance(size, SizeOf) else own.passed
        found[size.param] = f"(int64_t){text}"
    return found


def _passed(
    unit: Unit,
    region: Region,
    translated: Translated,
    program: Program,
    names: dict[str, str],
    param: CParam,
) -> str:
    """Return what the call passes for a parameter."""
    signature = program.signature
    arguments = dict(zip((a.name for a in signature.arguments), translated.arguments, strict=True))
    if param.kind in (CParamKind.SIZE, CParamKind.SCALAR) and param.name in names:
        return names[param.name].removeprefix("(int64_t)")
    if param.kind is CParamKind.ARRAY:
        for argument in signature.arguments:
            if isinstance(argument, ArrayArg) and argument.array == param.name:
                return arguments[argument.name].passed
    raise FrontendError(
        "PO0190",
        f"the region needs `{param.text}`, which nothing in the file computes",
        loc=unit.loc(region.begin),
        hint="simplify the loop bounds or subscripts",
    )


_UNKNOWN = 1 << 40
_INT = 1 << 31


def needed_conditions(translated: Translated, program: Program) -> Iterator[Expr]:
    """Yield the conditions under which the program is what the region is."""
    signature = program.signature
    params = tuple(size.param for size in signature.sizes)
    space = param_space(params)
    known = condition_set(_equal(integer(0), integer(0)), space)
    for fact in _known(translated, program):
        known = known.intersect(condition_set(fact, space))
    for condition in (*_extents(translated, program), *(c.condition for c in signature.checks)):
        try:
            wanted = condition_set(condition, space)
        except NotAffine:
            yield condition
            continue
        if not known.is_subset(wanted):
            yield condition_expr(wanted.gist(known).coalesce(), frozenset(params))
            known = known.intersect(wanted)
    yield from (limit.condition for limit in signature.limits)


def _known(translated: Translated, program: Program) -> Iterator[Expr]:
    """Yield what C's types say of the sizes, and the extents that nothing declares."""
    for size in program.signature.sizes:
        own, param = translated.arguments[size.argument], Param(size.param)
        text = own.sizes[size.dim] if isinstance(size, SizeOf) else own.passed
        if text == UNKNOWN:
            yield _equal(param, integer(_UNKNOWN))
        elif text in translated.narrow:
            yield Compare(CompareOp.LT, param, integer(_INT))
            yield Compare(CompareOp.GE, param, integer(-_INT))


def _extents(translated: Translated, program: Program) -> Iterator[Expr]:
    """Yield that extents are not negative."""
    for size in program.signature.sizes:
        if isinstance(size, SizeOf):
            text = translated.arguments[size.argument].sizes[size.dim]
            if text != UNKNOWN and "sizeof" not in text:
                yield Compare(CompareOp.GE, Param(size.param), integer(0))


def _equal(left: Expr, right: Expr) -> Expr:
    return Compare(CompareOp.EQ, left, right)
