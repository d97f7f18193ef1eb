"""Print the CPython extension module that checks a call's arguments and runs an emitted kernel.

In: a `Source`.  Out: C text of module `polyopt_call` with `call`, `dispatch`, `configure`.
Refuses: nothing; at run time each call that does not fit returns NotImplemented, nothing written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from typing_extensions import assert_never

from polyopt.emit.helpers import Helper, HelperKind, definition
from polyopt.emit.wrapper_library import library_text
from polyopt.emit.wrapper_support import HEAD, OPENMP, REGISTER, SERIAL, STATE, SUPPORT, TAIL
from polyopt.emit.wrapper_watch import WATCH
from polyopt.errors import EmitError
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    Const,
    Expr,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    show,
)
from polyopt.ir.source import (
    ArrayArg,
    ConstArg,
    CParam,
    CParamKind,
    IntegerOf,
    Layout,
    Result,
    ResultKind,
    ScalarArg,
    Signature,
    SizeOf,
    Source,
)
from polyopt.ir.types import DType, Kind

_LAYOUT = {Layout.C: "LAYOUT_C", Layout.ROWS: "LAYOUT_ROWS", Layout.STRIDED: "LAYOUT_STRIDED"}
HALF = Helper(HelperKind.WIDEN, DType.FLOAT16)
"""Numbers of 16 bits are passed as `float`."""

_PLAIN = {
    DType.BOOL: "_Bool",
    DType.COMPLEX64: "float _Complex",
    DType.COMPLEX128: "double _Complex",
}


def wrapper_source(source: Source) -> str:
    """Return the C text of the extension module around the entry of `source`."""
    plan = _plan(source)
    signature = source.signature
    constants = sum(isinstance(a, ConstArg) for a in signature.arguments)
    numbers = sum(isinstance(a, ScalarArg) for a in signature.arguments)
    parts = [
        HEAD,
        OPENMP if source.openmp else SERIAL,
        SUPPORT,
        f"enum {{ DTYPES = {len(signature.outputs)}, CONSTANTS = {constants} }};",
        f"enum {{ NUMBERS = {numbers} }};",
        STATE,
        WATCH,
        *(definition(HALF) if any(p.dtype is DType.FLOAT16 for p in source.params) else ()),
        *([library_text(signature)] if signature.library else []),
        _prototype(source),
        "",
        "\n".join(_run(source, plan)),
        TAIL.replace("REGISTER", REGISTER if source.openmp else ""),
    ]
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where things are: array name -> buffer number, size parameter -> C identifier."""

    buffers: Mapping[str, int]
    sizes: Mapping[str, str]
    symbols: Mapping[str, str]


def _plan(source: Source) -> _Plan:
    buffers: dict[str, int] = {}
    symbols: dict[str, str] = {}
    for number, argument in enumerate(source.signature.arguments):
        match argument:
            case ArrayArg():
                buffers[argument.array] = len(buffers)
            case ScalarArg():
                symbols[argument.symbol] = f"s{number}"
            case ConstArg():
                pass
            case _:
                assert_never(argument)
    for output in source.signature.outputs:
        buffers[output.array] = len(buffers)
    signature = source.signature
    every = (*signature.sizes, *signature.starts, *signature.computed)
    sizes = {size.param: f"n{k}" for k, size in enumerate(every)}
    return _Plan(buffers, sizes, symbols)


def plain_ctype(dtype: DType) -> str:
    """Return the C type's name without macros of `complex.h` or `stdbool.h`."""
    return _PLAIN.get(dtype, dtype.ctype)


def plain_value(dtype: DType) -> str:
    """Return the C type of a number that is passed by value."""
    return _PLAIN.get(dtype, dtype.value_ctype)


def alignment(dtype: DType) -> int:
    """Return the alignment of the C type: a complex number is aligned as its parts are."""
    return dtype.size // 2 if dtype.is_complex else dtype.size


def _prototype(source: Source) -> str:
    declared = [_declare(param) for param in source.params]
    return f"extern int {source.entry}({', '.join(declared) or 'void'});"


def _declare(param: CParam) -> str:
    match param.kind:
        case CParamKind.ARRAY:
            const = "" if param.written else "const "
            return f"{const}{plain_ctype(param.dtype)} *"
        case CParamKind.SIZE | CParamKind.STRIDE:
            return "int64_t"
        case CParamKind.SCALAR:
            return plain_value(param.dtype)
        case CParamKind.LIBRARY:
            return "int (*)(int, void *const *, const int64_t *)"
        case _:
            assert_never(param.kind)


def _run(source: Source, plan: _Plan) -> Iterator[str]:
    signature = source.signature
    yield "static PyObject *run(State *state, PyObject *const *args, Py_ssize_t nargs, int choosy)"
    yield "{"
    yield f"    Py_buffer v[{max(1, len(plan.buffers))}];"
    yield f"    PyObject *made[{max(1, len(signature.outputs))}] = {{ NULL }};"
    yield "    PyObject *result = NULL;"
    yield "    int held = 0, status;"
    yield "    (void)v; (void)made; (void)args; (void)choosy;"
    yield f"    if (nargs != {len(signature.arguments)} || state->forks != forks"
    yield "        || (choosy != APART && !is_current(state)))"
    yield "        return Py_NewRef(Py_NotImplemented);"
    yield from _take_arguments(signature)
    yield from _bind_sizes(signature)
    yield from _locate_parts(signature, plan)
    yield from _compute_sizes(signature, plan)
    yield from _judge_sizes(signature, plan)
    yield from _judge_overlap(signature)
    yield from _make_outputs(signature, plan)
    yield from _invoke(source, plan)
    yield from _give_results(signature, plan)
    yield "refuse:"
    yield "    result = Py_NewRef(Py_NotImplemented);"
    yield "done:"
    yield "    while (held > 0)"
    yield "        PyBuffer_Release(&v[--held]);"
    for number in range(len(signature.outputs)):
        yield f"    Py_XDECREF(made[{number}]);"
    yield "    return result;"
    yield "}"


def _take_arguments(signature: Signature) -> Iterator[str]:
    constants = numbers = 0
    for number, argument in enumerate(signature.arguments):
        match argument:
            case ScalarArg():
                kind, size = argument.dtype.kind.value, argument.dtype.size
                yield f"    {plain_ctype(argument.dtype)} s{number};"
                facts = f"'{kind}', {size}, &s{number}, state->weak[{numbers}], choosy == DISPATCH"
                yield f"    if (!take_number(args[{number}], {facts}))"
                yield "        goto refuse;"
                numbers += 1
                yield f"    (void)s{number};"
            case ConstArg():
                constant = f"PyTuple_GET_ITEM(state->constants, {constants})"
                yield f"    if (!is_constant(args[{number}], {constant}))"
                yield "        goto refuse;"
                constants += 1
            case ArrayArg():
                pass
            case _:
                assert_never(argument)
    buffer = 0
    for number, argument in enumerate(signature.arguments):
        if isinstance(argument, ArrayArg):
            dtype = argument.dtype
            choosy = "0" if argument.part or argument.before else "choosy == DISPATCH"
            facts = (
                f"{len(argument.shape)}, '{dtype.kind.value}', {dtype.size}, {alignment(dtype)}, "
                f"{_LAYOUT[argument.layout]}, {int(argument.written)}, {choosy}"
            )
            yield f"    if (!take_array(args[{number}], state->ndarray, &v[{buffer}], {facts}))"
            yield "        goto refuse;"
            yield f"    held = {buffer + 1};"
            buffer += 1


def _bind_sizes(signature: Signature) -> Iterator[str]:
    for number, size in enumerate(signature.sizes):
        match size:
            case SizeOf():
                buffer = _buffer_of(signature, size.argument)
                yield f"    const int64_t n{number} = v[{buffer}].shape[{size.dim}];"
            case IntegerOf():
                argument = signature.arguments[size.argument]
                assert isinstance(argument, ScalarArg)
                name = f"s{size.argument}"
                if argument.dtype.size == 8:
                    signed = argument.dtype.kind is Kind.SIGNED
                    low = f"{name} < -SIZE_LIMIT || " if signed else ""
                    yield f"    if ({low}{name} > SIZE_LIMIT)"
                    yield "        goto refuse;"
                yield f"    const int64_t n{number} = (int64_t){name};"
            case _:
                assert_never(size)
        yield f"    (void)n{number};"


def _locate_parts(signature: Signature, plan: _Plan) -> Iterator[str]:
    """Find out where arguments that share memory lie in their owners."""
    bound = {(s.argument, s.dim): plan.sizes[s.param] for s in signature.starts}
    for number, argument in enumerate(signature.arguments):
        if not isinstance(argument, ArrayArg) or argument.part is None:
            continue
        part, own = argument.part, _buffer_of(signature, number)
        buffer = _buffer_of(signature, part.owner)
        starts = [
            "{ 0, 0, 0 }" if s.value is None else f"{{ 1, {int(s.from_end)}, {s.value} }}"
            for s in part.starts
        ]
        yield f"    int64_t at{own}[{max(1, len(starts))}];"
        yield "    {"
        axes, steps = (", ".join(map(str, listed)) or "0" for listed in (part.axes, part.steps))
        yield f"        static const Start starts[] = {{ {', '.join(starts) or '{ 0, 0, 0 }'} }};"
        yield f"        static const int axes[] = {{ {axes} }};"
        yield f"        static const int64_t steps[] = {{ {steps} }};"
        yield f"        if (!locate(&v[{buffer}], &v[{own}], starts, axes, steps, at{own}))"
        yield "            goto refuse;"
        yield "    }"
        for dim in range(len(starts)):
            if (number, dim) in bound:
                name = bound[number, dim]
                yield f"    const int64_t {name} = at{own}[{dim}];"
                yield f"    (void){name};"


def _compute_sizes(signature: Signature, plan: _Plan) -> Iterator[str]:
    for computed in signature.computed:
        name = plan.sizes[computed.param]
        yield f"    const wide w{name} = {size_text(computed.value, plan.sizes)};"
        yield f"    if (w{name} < -SIZE_LIMIT || w{name} > SIZE_LIMIT)"
        yield "        goto refuse;"
        yield f"    const int64_t {name} = (int64_t)w{name};"
        yield f"    (void){name};"


def _buffer_of(signature: Signature, argument: int) -> int:
    return sum(isinstance(a, ArrayArg) for a in signature.arguments[:argument])


def _judge_sizes(signature: Signature, plan: _Plan) -> Iterator[str]:
    bound = {(s.argument, s.dim): s.param for s in signature.sizes if isinstance(s, SizeOf)}
    buffer = 0
    for number, argument in enumerate(signature.arguments):
        if not isinstance(argument, ArrayArg):
            continue
        for dim, extent in enumerate(argument.shape):
            param = bound.get((number, dim))
            if param is None or extent != Param(param):
                yield f"    if ((wide)v[{buffer}].shape[{dim}] != {size_text(extent, plan.sizes)})"
                yield "        goto refuse;"
        buffer += 1
    names = {**plan.symbols, **plan.sizes}
    for check in (*signature.checks, *signature.limits):
        yield f"    if (!{size_text(check.condition, names)})"
        yield "        goto refuse;"
    for number, argument in enumerate(signature.arguments):
        if isinstance(argument, ArrayArg) and argument.before:
            shape = ", ".join(
                f"(Py_ssize_t){size_text(extent, plan.sizes)}" for extent in argument.around
            )
            buffer = _buffer_of(signature, number)
            yield f"    const Py_ssize_t around{buffer}[] = {{ {shape} }};"
            yield f"    if (may_nest_badly(&v[{buffer}], around{buffer}))"
            yield "        goto refuse;"


def _judge_overlap(signature: Signature) -> Iterator[str]:
    buffers = {number: _buffer_of(signature, number) for number in range(len(signature.arguments))}
    pairs = [(buffers[i], buffers[j]) for i, j in signature.separate]
    if not pairs:
        return
    for number in sorted({k for pair in pairs for k in pair}):
        yield f"    const Span m{number} = span_of(&v[{number}]);"
    for i, j in pairs:
        yield f"    if (choosy != APART && overlaps(&v[{i}], &v[{j}], m{i}, m{j}))"
        yield "        goto refuse;"


def _make_outputs(signature: Signature, plan: _Plan) -> Iterator[str]:
    for number, output in enumerate(signature.outputs):
        buffer = plan.buffers[output.array]
        rank = len(output.shape)
        yield f"    int64_t shape{number}[{max(1, rank)}] = {{ 0 }};"
        for dim, extent in enumerate(output.shape):
            wide = f"w{number}_{dim}"
            yield f"    const wide {wide} = {size_text(extent, plan.sizes)};"
            yield f"    if ({wide} < 0 || {wide} > SIZE_LIMIT)"
            yield "        goto refuse;"
            yield f"    shape{number}[{dim}] = (int64_t){wide};"
        dtype = f"PyTuple_GET_ITEM(state->dtypes, {number})"
        large = "large" if output.length is None else "empty"  # a part of it may be cut off
        empties = f"state->empty, state->{large}"
        yield f"    made[{number}] = make_array({empties}, {dtype}, {rank}, shape{number});"
        yield f"    if (made[{number}] == NULL"
        yield f"        || PyObject_GetBuffer(made[{number}], &v[{buffer}], PyBUF_RECORDS) < 0) {{"
        yield "        fail(state, NO_MEMORY);"
        yield "        goto done;"
        yield "    }"
        yield f"    held = {buffer + 1};"


def _invoke(source: Source, plan: _Plan) -> Iterator[str]:
    values = ", ".join(_pass(param, plan, source.signature) for param in source.params)
    library = bool(source.signature.library)
    if library:
        yield "    Running running = { state, PyEval_SaveThread(), current };"
        yield "    current = &running;"
    else:
        yield "    Py_BEGIN_ALLOW_THREADS"
    if source.openmp:
        yield "    const int before = omp_get_max_threads();"
        yield "    if (before != state->threads)"
        yield "        omp_set_num_threads(state->threads);"
    yield f"    status = {source.entry}({values});"
    if source.openmp:
        yield "    if (before != state->threads)"
        yield "        omp_set_num_threads(before);"
    if library:
        yield "    current = running.outer;"
        yield "    PyEval_RestoreThread(running.thread);"
    else:
        yield "    Py_END_ALLOW_THREADS"
    yield "    if (status != 0) {"
    yield "        if (status > 0 || !PyErr_Occurred())"
    yield "            fail(state, status);"
    yield "        goto done;"
    yield "    }"
    yield from _cut_outputs(source.signature, plan)


def _cut_outputs(signature: Signature, plan: _Plan) -> Iterator[str]:
    for number, output in enumerate(signature.outputs):
        if output.length is not None:
            length = f"*(int64_t *)v[{plan.buffers[output.length]}].buf"
            yield f"    if (!trim(state, &made[{number}], {length}, {output.axis}))"
            yield "        goto done;"


def _pass(param: CParam, plan: _Plan, signature: Signature) -> str:
    match param.kind:
        case CParamKind.ARRAY:
            buffer = plan.buffers[param.name]
            shift = _shift(signature, param.name, buffer)
            place = f"((char *)v[{buffer}].buf{shift})" if shift else f"v[{buffer}].buf"
            return f"({plain_ctype(param.dtype)} *){place}"
        case CParamKind.SIZE:
            return plan.sizes[param.name]
        case CParamKind.STRIDE:
            size = _element_size(signature, param.name)
            return f"v[{plan.buffers[param.name]}].strides[{param.dim}] / {size}"
        case CParamKind.SCALAR:
            symbol = plan.symbols[param.name]
            return f"{HALF.name}({symbol})" if param.dtype is DType.FLOAT16 else symbol
        case CParamKind.LIBRARY:
            return "library"
        case _:
            assert_never(param.kind)


def _shift(signature: Signature, array: str, buffer: int) -> str:
    """Return the way from an argument to where its array in the Scop begins, in bytes."""
    found = (a for a in signature.arguments if isinstance(a, ArrayArg) and a.array == array)
    before = next((argument.before for argument in found), ())
    steps = ((d, count) for d, count in enumerate(before) if count)
    return "".join(f" - {count} * v[{buffer}].strides[{d}]" for d, count in steps)


def _element_size(signature: Signature, array: str) -> int:
    dtypes = {a.array: a.dtype for a in signature.arguments if isinstance(a, ArrayArg)}
    return dtypes[array].size


def _give_results(signature: Signature, plan: _Plan) -> Iterator[str]:
    results = signature.results
    if not results and not signature.returns_tuple:
        yield "    result = Py_NewRef(Py_None);"
        yield "    goto done;"
        return
    if len(results) == 1 and not signature.returns_tuple:
        yield f"    result = {_give(results[0], signature)};"
        yield "    goto done;"
        return
    yield f"    result = PyTuple_New({len(results)});"
    yield "    if (result == NULL)"
    yield "        goto done;"
    for number, value in enumerate(results):
        yield f"    PyObject *r{number} = {_give(value, signature)};"
        yield f"    if (r{number} == NULL) {{"
        yield "        Py_CLEAR(result);"
        yield "        goto done;"
        yield "    }"
        yield f"    PyTuple_SET_ITEM(result, {number}, r{number});"
    yield "    goto done;"


def _give(result: Result, signature: Signature) -> str:
    match result.kind:
        case ResultKind.OUTPUT:
            return f"Py_NewRef(made[{_output_of(signature, result.array)}])"
        case ResultKind.SCALAR:
            made = f"made[{_output_of(signature, result.array)}]"
            return f"scalar_of({made})"
        case ResultKind.ARGUMENT:
            for number, argument in enumerate(signature.arguments):
                if isinstance(argument, ArrayArg) and argument.array == result.array:
                    return f"Py_NewRef(args[{number}])"
            raise AssertionError(f"no argument {result.array}")
        case _:
            assert_never(result.kind)


def _output_of(signature: Signature, array: str) -> int:
    return [output.array for output in signature.outputs].index(array)


_OPERATORS = {
    BinaryOp.ADD: "+", BinaryOp.SUB: "-", BinaryOp.MUL: "*",
    BinaryOp.AND: "&", BinaryOp.OR: "|", BinaryOp.XOR: "^",
}  # fmt: skip
_FUNCTIONS = {
    BinaryOp.FLOORDIV: "floor_div", BinaryOp.MOD: "floor_mod",
    BinaryOp.MIN: "wide_min", BinaryOp.MAX: "wide_max",
}  # fmt: skip


def size_text(expr: Expr, sizes: Mapping[str, str]) -> str:
    """Return `expr` (INT64 or BOOL over parameters) as one C operand of type `wide`."""
    match expr:
        case Const(value=bool(value)):
            return str(int(value))
        case Const(value=int(value)) if abs(value) < 2**63:
            return f"(wide){value}LL" if value >= 0 else f"(wide)({value}LL)"
        case Const(value=int(value)) if value == -(2**63):
            return "(wide)INT64_MIN"
        case Param(name=name) | Symbol(name=name) if name in sizes:
            return f"(wide){sizes[name]}"
        case Unary():
            return _unary_text(expr, sizes)
        case Binary(op=op) if op in _OPERATORS:
            left, right = size_text(expr.left, sizes), size_text(expr.right, sizes)
            return f"({left} {_OPERATORS[op]} {right})"
        case Binary(op=op) if op in _FUNCTIONS:
            left, right = size_text(expr.left, sizes), size_text(expr.right, sizes)
            return f"{_FUNCTIONS[op]}({left}, {right})"
        case Compare():
            left, right = size_text(expr.left, sizes), size_text(expr.right, sizes)
            return f"({left} {expr.op.value} {right})"
        case Select():
            parts = (expr.condition, expr.then, expr.otherwise)
            condition, then, otherwise = (size_text(part, sizes) for part in parts)
            return f"({condition} ? {then} : {otherwise})"
        case _:
            raise EmitError("PO0420", f"`{show(expr)}` is not an integer expression over sizes")


def _unary_text(expr: Unary, sizes: Mapping[str, str]) -> str:
    operand = size_text(expr.operand, sizes)
    match expr.op:
        case UnaryOp.NEG:
            return f"(-{operand})"
        case UnaryOp.ABS:
            return f"wide_max({operand}, -{operand})"
        case UnaryOp.INVERT:
            return f"(!{operand})" if expr.dtype is DType.BOOL else f"(~{operand})"
        case _:
            assert_never(expr.op)
