"""`build`: a Python function and its argument types -> Program.

In: the function, one `ArgType` per parameter.  Out: `Program`.
The function is read again until nothing new is learned about sizes and variables; then once more
with isl to place temporaries, wrap subscripts and derive the checks.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import suppress

from polyopt.capture.reads import Recording
from polyopt.dataclass import replace
from polyopt.errors import FrontendError
from polyopt.frontend.integers.affine_integers import clipped, floordiv, is_size, minus, plus, times
from polyopt.frontend.integers.variable_ranges import learn_ranges, limit_turns, limits_of
from polyopt.frontend.program.assembly import (
    Alive,
    alive,
    draft_loads,
    finish,
    isl_params,
    written_by,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.decisions import Undecided, assume
from polyopt.frontend.program.drafts import Binding, title_of
from polyopt.frontend.program.facts import Facts
from polyopt.frontend.program.renaming import Renaming
from polyopt.frontend.program.snapshots import refuse_stale, settle_copies, settle_views
from polyopt.frontend.reader.results import Returned, mark_results
from polyopt.frontend.reader.statements import StatementReader
from polyopt.frontend.syntax.annotations import (
    ANY_SIZES,
    Annotation,
    ArgType,
    ArrayType,
    ConstType,
    PartType,
    ScalarType,
    SizeCondition,
)
from polyopt.frontend.syntax.pysource import PyFunction, read_function
from polyopt.frontend.values.array_arguments import (
    array_arguments,
    array_record,
    known_dims,
    start_records,
)
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.computed_sizes import safe
from polyopt.frontend.values.constants import refuse_written
from polyopt.frontend.values.identifiers import size_name
from polyopt.frontend.values.values import Known, Number, Value
from polyopt.frontend.variables.call_frames import Frame
from polyopt.frontend.variables.dynamic_types import learn_tags
from polyopt.ir.expr import Cast, Expr, Param, Symbol, integer, walk
from polyopt.ir.names import params_of
from polyopt.ir.program import Program
from polyopt.ir.scop import Role
from polyopt.ir.source import (
    Argument,
    ArrayArg,
    Computed,
    ConstArg,
    IntegerOf,
    OutputArray,
    ScalarArg,
    Signature,
    SizeOf,
)
from polyopt.ir.types import DType
from polyopt.never import assert_never

MAX_READINGS = 60


def build(
    func: Callable[..., object],
    types: tuple[ArgType, ...],
    recording: Recording | None = None,
    *,
    counts_from_end: bool = True,
) -> Program:
    """Return the Program of `func` for arguments of these types.

    What is read outside of its text is noted in `recording`.  `counts_from_end`: negative
    subscripts count from the end of their dimension, as in Python; or else they are outside of it.
    """
    facts = Facts(recording or Recording(func), counts_from_end, ANY_SIZES in types)
    function, typed = _typed(func, types, facts)
    b, returned = _settled(function, typed, types, facts)
    program = _program(b, function, typed, returned)
    _require_result(function, program.signature)
    return program


def undecided(func: Callable[..., object], types: tuple[ArgType, ...]) -> Undecided:
    """Return what `func` branches on that a call could decide, as far as it can be read.

    Raises `NeedConstant`.
    """
    facts = Facts(Recording(func), any_sizes=ANY_SIZES in types)
    with suppress(FrontendError):
        function, typed = _typed(func, types, facts)
        _settled(function, typed, types, facts)
    return Undecided(tuple(facts.conditions), tuple(facts.flags))


def _typed(
    func: Callable[..., object], types: tuple[ArgType, ...], facts: Facts
) -> tuple[PyFunction, dict[str, ArgType]]:
    """Return the function and the types of its parameters."""
    function = read_function(func, facts.recording)
    names = list(function.signature.parameters)
    loc = function.definition
    types = tuple(kind for kind in types if not isinstance(kind, SizeCondition))
    if len(types) != len(names):
        refuse("PO0103", f"`{function.name}` takes {len(names)} arguments, got {len(types)}", loc)
    for parameter in function.signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            hint = "name each argument"
            refuse("PO0103", f"`*{parameter.name}` takes any number of arguments", loc, hint)
    return function, dict(zip(names, types, strict=True))


def _settled(
    function: PyFunction, typed: dict[str, ArgType], types: Sequence[ArgType], facts: Facts
) -> tuple[Builder, Returned]:
    """Read the function until nothing new is learned; return the last reading."""
    for _ in range(MAX_READINGS):
        before = facts.version
        facts.deferred = False
        try:
            b, returned = _read(function, typed, types, facts, scout=True)
            if facts.version == before and not facts.deferred:
                b, returned = _read(function, typed, types, facts, scout=False)
        except FrontendError:
            if facts.version == before:
                raise
            continue
        if facts.version != before:
            continue
        if not facts.deferred:
            return b, returned
        facts.depth += 1
    message = f"`{function.name}` needs more than {MAX_READINGS} readings"
    refuse("PO0180", message, function.definition)


# -- reading ----------------------------------------------------------------------------------


def _read(
    function: PyFunction,
    types: dict[str, ArgType],
    given: Sequence[ArgType],
    facts: Facts,
    *,
    scout: bool,
) -> tuple[Builder, Returned]:
    """Read the function once."""
    before = facts.version
    b = Builder(facts, scout, _names_in(function))
    b.loc = function.definition
    frame = Frame(function, StatementReader(), callers=(function.origin,))
    b.sizes += [Param(name) for name in facts.computed if is_size(name)]
    _learn_annotations(function, types, facts)
    assume(b, given)
    array_arguments(b, types)
    for name, kind in types.items():
        frame.env[name] = _argument(b, name, kind, facts)
    value = frame.reader.function(b, frame)
    returned = mark_results(b, value, b.loc)
    refuse_written(b)
    refuse_stale(b)
    settle_copies(b)
    settle_views(b)
    facts.set_kinds(b.kinds)
    if scout:
        learn_ranges(b, integers_of(types))
    if b.asks_written:
        names = written_by(b)
        found = (x.argument for x in b.buffers if x.argument and x.name in names)
        facts.set_written(frozenset(found))
    if b.tags and facts.version == before:  # ranges may still show that the types do not matter
        learn_tags(b, frozenset(x.array for draft in alive(b).drafts for x in draft_loads(draft)))
    return b, returned


def _names_in(function: PyFunction) -> frozenset[str]:
    found = {node.id for node in ast.walk(function.tree) if isinstance(node, ast.Name)}
    return frozenset(found | set(function.signature.parameters))


def _argument(b: Builder, name: str, kind: ArgType, facts: Facts) -> Value:
    match kind:
        case ConstType():
            return Known(kind.known)
        case ScalarType(dtype=DType.INT64):
            return Number(facts.resolve(Param(name)), kind.weak)
        case ScalarType(dtype=dtype) if dtype.is_integer and dtype is not DType.UINT64:
            return Number(Cast(facts.resolve(Param(name)), dtype), False)
        case ScalarType(dtype=dtype):
            symbol = Symbol(b.names.unique(name), dtype)
            b.symbols[name] = symbol.name
            return Number(symbol, kind.weak)
        case ArrayType() | PartType():
            return b.given[name][1]
        case SizeCondition():
            raise AssertionError("a condition is no argument")
        case _:
            assert_never(kind)


# -- annotations ------------------------------------------------------------------------------


def _learn_annotations(function: PyFunction, types: dict[str, ArgType], facts: Facts) -> None:
    """Dimensions of the same name are equal; names of integer arguments are these."""
    if facts.annotations_read:
        return
    facts.annotations_read = True
    named: dict[str, Expr] = {name: Param(name) for name in types if _is_size_argument(types[name])}
    late: list[tuple[Expr, ast.expr]] = []
    for name, note in function.annotations.items():
        if not isinstance(note, Annotation) or note.dims is None or name not in types:
            continue
        known = known_dims(types[name])
        for dim, text in enumerate(note.dims[: len(known)]):
            if known[dim]:
                continue
            size = facts.resolve(Param(size_name(name, dim)))
            if text.isidentifier() and text not in named:
                named[text] = size
                facts.titles[size_name(name, dim)] = text
            elif text.isidentifier():
                _make_equal(facts, size, named[text])
            else:
                late += [(size, tree) for tree in _parsed(text)]
    for size, tree in late:
        value = _dimension(tree, named)
        if value is not None:
            _make_equal(facts, facts.resolve(size), facts.resolve(clipped(value)))


def _require_result(function: PyFunction, signature: Signature) -> None:
    """Require the element type and the rank that the result's annotation says (PO0178)."""
    note = function.annotations.get("return")
    if not isinstance(note, Annotation):
        return
    made = {
        array.array: (array.dtype, len(array.shape))
        for array in (*signature.arguments, *signature.outputs)
        if isinstance(array, ArrayArg | OutputArray)
    }
    found = [made[result.array] for result in signature.results]
    asked = (note.dtype, len(note.dims or ()))
    if not signature.returns_tuple and found == [asked]:
        return
    hint = "leave the annotation of the result out"
    if len(found) == 1 and not signature.returns_tuple:
        dtype, rank = found[0]
        dims = note.dims if note.dims and len(note.dims) == rank else (":",) * rank
        fits = Annotation(dtype, dims if rank else None)
        shown, hint = f"`{fits!r}`", f"annotate what it returns: `-> {fits!r}`"
    else:
        shown = f"{len(found)} values" if found else "nothing"
    message = f"`{function.name}` returns {shown}, its annotation says `{note!r}`"
    refuse("PO0178", message, function.definition, hint)


def _is_size_argument(kind: ArgType) -> bool:
    return isinstance(kind, ScalarType) and kind.dtype.is_integer and kind.dtype is not DType.UINT64


def _make_equal(facts: Facts, size: Expr, value: Expr) -> None:
    """A dimension that is already another expression is left to the shape check of the call."""
    value = facts.resolve(value)
    if not isinstance(size, Param) or size.name in facts.computed:
        return
    if is_size(size.name) and size not in walk(facts.expanded(value)):
        facts.set_equal(size.name, value)


def _parsed(text: str) -> list[ast.expr]:
    try:
        return [ast.parse(text, mode="eval").body]
    except SyntaxError:
        return []


def _dimension(node: ast.expr, named: dict[str, Expr]) -> Expr | None:
    """Return `N + 1`, `2*N` and the like over known names; None for anything else."""
    match node:
        case ast.Constant(value=int(value)):
            return integer(value)
        case ast.Name(id=name):
            return named.get(name)
        case ast.BinOp(left=left, op=op, right=right):
            a, c = _dimension(left, named), _dimension(right, named)
            rule = _ARITHMETIC.get(type(op))
            return None if a is None or c is None or rule is None else rule(a, c)
        case _:
            return None


_ARITHMETIC: dict[type[ast.operator], Callable[[Expr, Expr], Expr]] = {
    ast.Add: plus,
    ast.Sub: minus,
    ast.Mult: times,
    ast.FloorDiv: floordiv,
}


# -- the program ------------------------------------------------------------------------------


def _program(
    b: Builder, function: PyFunction, types: dict[str, ArgType], returned: Returned
) -> Program:
    found = alive(b)
    used = isl_params(b, found) | b.facts.sized
    for item in found.items:
        for iterator in item.scope.iters:
            b.names.take(iterator)
    starts, start_names = start_records(b, types, used)
    made_of = {name: value for name, value in b.facts.computed.items() if name in used}
    sizes, params, symbols = _parameters(b, types, used | params_of(made_of.values()))
    params |= start_names
    params |= {name: b.names.unique(b.titles.get(name, "size")) for name in made_of}
    b.sizes = [size for size in b.sizes if params_of((size,)) <= params.keys()]
    rename = Renaming({**params, **_dynamic(b, found)}, symbols, b.facts.computed)
    made = finish(b, rename, found, tuple(params.values()))
    written = {array.name for array in made.arrays if array.role is Role.INOUT}
    arguments = tuple(
        _signature_argument(b, function, name, kind, rename, written)
        for name, kind in types.items()
    )
    limit_turns(b)
    limits = limits_of(b, rename, used & integers_of(types))
    lengths = {buffer.name: (buffer.length, buffer.counted) for buffer in b.buffers}
    outputs = tuple(
        OutputArray(a.name, a.dtype, a.shape, *lengths[a.name])
        for a in made.arrays
        if a.role is Role.OUTPUT
    )
    signature = Signature(
        function.name,
        arguments,
        sizes,
        outputs,
        returned.results,
        returned.nesting,
        made.checks,
        made.faults,
        tuple(b.library),
        tuple(Computed(params[name], rename.expr(safe(e))) for name, e in made_of.items()),
        starts,
        limits,
        returned.made,
    )
    return Program(
        function.name, made.parts, made.arrays, signature, function.file, function.first_line
    )


def integers_of(types: dict[str, ArgType]) -> frozenset[str]:
    """Return the integer arguments, which may be sizes."""
    return frozenset(name for name, kind in types.items() if _is_size_argument(kind))


def _dynamic(b: Builder, found: Alive) -> dict[str, str]:
    """Return the names of dynamic sizes in the program."""
    marks = [mark.what for mark in found.marks]
    names = [what.param for what in marks if isinstance(what, Binding)]
    return {name: b.names.unique(title_of(name)) for name in names}


def _parameters(
    b: Builder, types: dict[str, ArgType], used: frozenset[str]
) -> tuple[tuple[SizeOf | IntegerOf, ...], dict[str, str], dict[str, Symbol]]:
    """Return where sizes come from, their names, and the integer arguments that are no sizes."""
    sizes: list[SizeOf | IntegerOf] = []
    params: dict[str, str] = {}
    symbols: dict[str, Symbol] = {}
    for position, (name, kind) in enumerate(types.items()):
        if not isinstance(kind, ScalarType) or not _is_size_argument(kind):
            continue
        if name in used:
            params[name] = b.names.unique(name)
            sizes.append(IntegerOf(params[name], position))
        else:
            symbols[name] = Symbol(b.names.unique(name), kind.dtype)
    for position, (name, kind) in enumerate(types.items()):
        if not isinstance(kind, ArrayType | PartType):
            continue
        for dim in range(len(kind.ones)):
            working = size_name(name, dim)
            if working in used:
                title = b.facts.titles.get(working) or b.titles.get(working) or f"{name}_{dim}"
                params[working] = b.names.unique(title)
                sizes.append(SizeOf(params[working], position, dim))
    return tuple(sizes), params, symbols


def _signature_argument(
    b: Builder,
    function: PyFunction,
    name: str,
    kind: ArgType,
    rename: Renaming,
    written: set[str],
) -> Argument:
    match kind:
        case ConstType(value=value, dtype=found):
            return ConstArg(name, value, found)
        case ScalarType(dtype=dtype) if _is_size_argument(kind):
            if name in rename.params:
                return ScalarArg(name, rename.params[name], dtype, True)
            return ScalarArg(name, rename.symbols[name].name, dtype, False)
        case ScalarType(dtype=dtype):
            return ScalarArg(name, b.symbols[name], dtype, False)
        case ArrayType() | PartType():
            record = array_record(b, name, kind, rename, b.given[name][0] in written)
            return replace(record, loc=function.argument_loc(name))
        case SizeCondition():
            raise AssertionError("a condition is no argument")
        case _:
            assert_never(kind)
