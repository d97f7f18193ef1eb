"""Print what a kernel's library says of its calls, for the module that makes them.

In: a `Source`.  Out: C text that goes behind `runtime/native/caller/call.h`: the table `po_call`, a
function that judges sizes, a function that calls the entry.
Refuses: nothing; at run time each call that does not fit returns NotImplemented, nothing written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polyopt.dataclass import dataclass
from polyopt.emit.helpers import Helper, HelperKind, definition
from polyopt.errors import EmitError
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    Const,
    Expr,
    Iter,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
)
from polyopt.ir.showing import show
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
from polyopt.never import assert_never

_LAYOUT = {Layout.C: "LAYOUT_C", Layout.ROWS: "LAYOUT_ROWS", Layout.STRIDED: "LAYOUT_STRIDED"}
HALF = Helper(HelperKind.WIDEN, DType.FLOAT16)
"""Numbers of 16 bits are passed as `float`."""

_PLAIN = {
    DType.COMPLEX64: "float _Complex",
    DType.COMPLEX128: "double _Complex",
}


def wrapper_source(source: Source) -> str:
    """Return the C text of the table and the functions around the entry of `source`."""
    plan = _plan(source.signature)
    openmp = ["extern int omp_get_max_threads(void);", "extern void omp_set_num_threads(int);"]
    parts = [
        *(openmp if source.openmp else ()),
        *(definition(HALF) if any(p.dtype is DType.FLOAT16 for p in source.params) else ()),
        _prototype(source),
        "",
        *_judge(source.signature, plan),
        "",
        *_enter(source, plan),
        "",
        *_table(source, plan),
    ]
    return "\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where things are: arrays among buffers, numbers among numbers, extents among cells.

    `numbers`: symbol -> its place.  `sizes`: size parameter -> C identifier.  `extents`: the cell
    of the first extent of each output; `cells`: how many cells there are.
    """

    buffers: Mapping[str, int]
    numbers: Mapping[str, int]
    sizes: Mapping[str, str]
    extents: tuple[int, ...]
    cells: int


def _plan(signature: Signature) -> _Plan:
    arguments = signature.arguments
    scalars = [a.symbol for a in arguments if isinstance(a, ScalarArg)]
    arrays = [a.array for a in arguments if isinstance(a, ArrayArg)]
    arrays += [output.array for output in signature.outputs]
    every = (*signature.sizes, *signature.starts, *signature.computed)
    sizes = {size.param: f"n{k}" for k, size in enumerate(every)}
    first, extents = len(sizes), []
    for output in signature.outputs:
        extents.append(first)
        first += len(output.shape)
    return _Plan(
        buffers={array: number for number, array in enumerate(arrays)},
        numbers={symbol: number for number, symbol in enumerate(scalars)},
        sizes=sizes,
        extents=tuple(extents),
        cells=first,
    )


def plain_ctype(dtype: DType) -> str:
    """Return the name of an element's C type without macros of `complex.h`."""
    return _PLAIN.get(dtype, dtype.ctype)


def plain_value(dtype: DType) -> str:
    """Return the C type of a number that is passed by value, without macros of headers."""
    if dtype is DType.BOOL:
        return "_Bool"
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


def _judge(signature: Signature, plan: _Plan) -> Iterator[str]:
    yield "static int judge(const Buffer *v, const Number *s, int64_t *n, int who,"
    yield "                 const Rare *rare)"
    yield "{"
    yield "    (void)v; (void)s; (void)n; (void)who; (void)rare;"
    yield from _judge_arrays(signature)
    yield from _take_numbers(signature, plan)
    yield from _bind_sizes(signature, plan)
    yield from _locate_parts(signature, plan)
    yield from _compute_sizes(signature, plan)
    yield from _judge_sizes(signature, plan)
    yield from _judge_overlap(signature, plan)
    yield from _find_extents(signature, plan)
    for number, name in enumerate(plan.sizes.values()):
        yield f"    n[{number}] = {name};"
    yield "    return 1;"
    yield "}"


def _judge_arrays(signature: Signature) -> Iterator[str]:
    arrays = [a for a in signature.arguments if isinstance(a, ArrayArg)]
    for buffer, argument in enumerate(arrays):
        dtype = argument.dtype
        choosy = "0" if argument.part or argument.before else "who == DISPATCH"
        facts = (
            f"{len(argument.shape)}, '{dtype.kind.value}', {dtype.size}, {alignment(dtype)}, "
            f"{_LAYOUT[argument.layout]}, {int(argument.written)}, {choosy}, rare"
        )
        yield from _refuse_if(f"!is_fit(&v[{buffer}], {facts})")


def _refuse_if(condition: str) -> Iterator[str]:
    yield f"    if ({condition})"
    yield "        return 0;"


def _take_numbers(signature: Signature, plan: _Plan) -> Iterator[str]:
    """Name the numbers that sizes and conditions are made of."""
    for argument in signature.arguments:
        if isinstance(argument, ScalarArg):
            place = plan.numbers[argument.symbol]
            ctype = plain_ctype(argument.dtype)
            yield f"    const {ctype} s{place} = *(const {ctype} *)s[{place}].bytes;"
            yield f"    (void)s{place};"


def _bind_sizes(signature: Signature, plan: _Plan) -> Iterator[str]:
    for size in signature.sizes:
        name = plan.sizes[size.param]
        match size:
            case SizeOf():
                buffer = _buffer_of(signature, plan, size.argument)
                yield f"    const int64_t {name} = v[{buffer}].shape[{size.dim}];"
            case IntegerOf():
                argument = signature.arguments[size.argument]
                assert isinstance(argument, ScalarArg)
                number = f"s{plan.numbers[argument.symbol]}"
                if argument.dtype.size == 8:
                    signed = argument.dtype.kind is Kind.SIGNED
                    low = f"{number} < -SIZE_LIMIT || " if signed else ""
                    yield from _refuse_if(f"{low}{number} > SIZE_LIMIT")
                yield f"    const int64_t {name} = (int64_t){number};"
            case _:
                assert_never(size)


def _locate_parts(signature: Signature, plan: _Plan) -> Iterator[str]:
    """Find out where arguments that share memory lie in their owners."""
    for number, argument in enumerate(signature.arguments):
        if not isinstance(argument, ArrayArg) or argument.part is None:
            continue
        part, own = argument.part, _buffer_of(signature, plan, number)
        lists = {
            f"Start starts{own}": [
                "{ 0, 0, 0 }" if s.value is None else f"{{ 1, {int(s.from_end)}, {s.value} }}"
                for s in part.starts
            ],
            f"int axes{own}": [str(axis) for axis in part.axes],
            f"int64_t steps{own}": [str(step) for step in part.steps],
        }
        for name, values in lists.items():
            yield f"    static const {name}[] = {{ {', '.join(values) or '{ 0 }'} }};"
        yield f"    int64_t at{own}[{max(1, len(part.starts))}];"
        owner = _buffer_of(signature, plan, part.owner)
        facts = f"&v[{owner}], &v[{own}], starts{own}, axes{own}, steps{own}, at{own}"
        yield from _refuse_if(f"!rare->locate({facts})")
    for start in signature.starts:
        own = _buffer_of(signature, plan, start.argument)
        yield f"    const int64_t {plan.sizes[start.param]} = at{own}[{start.dim}];"


def _compute_sizes(signature: Signature, plan: _Plan) -> Iterator[str]:
    for computed in signature.computed:
        name = plan.sizes[computed.param]
        yield f"    const wide w{name} = {size_text(computed.value, plan.sizes)};"
        yield from _refuse_if(f"w{name} < -SIZE_LIMIT || w{name} > SIZE_LIMIT")
        yield f"    const int64_t {name} = (int64_t)w{name};"


def _buffer_of(signature: Signature, plan: _Plan, argument: int) -> int:
    array = signature.arguments[argument]
    assert isinstance(array, ArrayArg)
    return plan.buffers[array.array]


def _judge_sizes(signature: Signature, plan: _Plan) -> Iterator[str]:
    bound = {(s.argument, s.dim): s.param for s in signature.sizes if isinstance(s, SizeOf)}
    for number, argument in enumerate(signature.arguments):
        if not isinstance(argument, ArrayArg):
            continue
        shape = f"v[{_buffer_of(signature, plan, number)}].shape"
        for dim, extent in enumerate(argument.shape):
            param = bound.get((number, dim))
            if param is None or extent != Param(param):
                text = size_text(extent, plan.sizes)
                yield from _refuse_if(f"(wide){shape}[{dim}] != {text}")
    names = {**{symbol: f"s{k}" for symbol, k in plan.numbers.items()}, **plan.sizes}
    for check in (*signature.checks, *signature.limits):
        yield from _refuse_if(f"!{size_text(check.condition, names)}")
    for number, argument in enumerate(signature.arguments):
        if isinstance(argument, ArrayArg) and argument.before:
            extents = [f"(ptrdiff_t){size_text(e, plan.sizes)}" for e in argument.around]
            buffer = _buffer_of(signature, plan, number)
            yield f"    const ptrdiff_t around{buffer}[] = {{ {', '.join(extents)} }};"
            yield from _refuse_if(f"rare->may_nest_badly(&v[{buffer}], around{buffer})")


FEW_PAIRS = 64
"""So many pairs of arrays are compared one by one, more of them in a loop."""


def _judge_overlap(signature: Signature, plan: _Plan) -> Iterator[str]:
    arrays = [a for a in signature.arguments if isinstance(a, ArrayArg)]
    pairs = [
        (_buffer_of(signature, plan, one), _buffer_of(signature, plan, two))
        for one, two in signature.separate
    ]
    written = [int(array.written) for array in arrays]
    every = ((i, j) for j in range(len(arrays)) for i in range(j) if written[i] or written[j])
    if len(pairs) > FEW_PAIRS and {(min(pair), max(pair)) for pair in pairs} == set(every):
        yield f"    static const char written[] = {{ {', '.join(map(str, written))} }};"
        yield f"    Span span[{len(arrays)}];"
        yield from _refuse_if(f"who != APART && any_overlap({len(arrays)}, v, written, span, rare)")
        return
    for number in sorted({k for pair in pairs for k in pair}):
        yield f"    const Span m{number} = span_of(&v[{number}]);"
    for i, j in pairs:
        yield from _refuse_if(f"who != APART && overlaps(&v[{i}], &v[{j}], m{i}, m{j}, rare)")


def _find_extents(signature: Signature, plan: _Plan) -> Iterator[str]:
    for output, first in zip(signature.outputs, plan.extents, strict=True):
        for cell, extent in enumerate(output.shape, first):
            yield f"    const wide w{cell} = {size_text(extent, plan.sizes)};"
            yield from _refuse_if(f"w{cell} < 0 || w{cell} > SIZE_LIMIT")
            yield f"    n[{cell}] = (int64_t)w{cell};"


def _enter(source: Source, plan: _Plan) -> Iterator[str]:
    values = ", ".join(_pass(param, plan, source.signature) for param in source.params)
    yield "static int enter(const Buffer *v, const Number *s, const int64_t *n, int threads,"
    yield "                 Library *library)"
    yield "{"
    yield "    (void)v; (void)s; (void)n; (void)threads; (void)library;"
    if source.openmp:
        yield "    const int before = omp_get_max_threads();"
        yield "    if (before != threads)"
        yield "        omp_set_num_threads(threads);"
    yield f"    const int status = {source.entry}({values});"
    if source.openmp:
        yield "    if (before != threads)"
        yield "        omp_set_num_threads(before);"
    yield "    return status;"
    yield "}"


def _pass(param: CParam, plan: _Plan, signature: Signature) -> str:
    match param.kind:
        case CParamKind.ARRAY:
            buffer = plan.buffers[param.name]
            shift = _shift(signature, param.name, buffer)
            place = f"((char *)v[{buffer}].buf{shift})" if shift else f"v[{buffer}].buf"
            return f"({plain_ctype(param.dtype)} *){place}"
        case CParamKind.SIZE:
            return f"n[{list(plan.sizes).index(param.name)}]"
        case CParamKind.STRIDE:
            size = _element_size(signature, param.name)
            return f"v[{plan.buffers[param.name]}].strides[{param.dim}] / {size}"
        case CParamKind.SCALAR:
            place = f"s[{plan.numbers[param.name]}].bytes"
            value = f"*(const {plain_ctype(param.dtype)} *){place}"
            return f"{HALF.name}({value})" if param.dtype is DType.FLOAT16 else value
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


def _table(source: Source, plan: _Plan) -> Iterator[str]:
    """Yield the table that `caller.c` goes through at each call."""
    signature = source.signature
    assert not set(signature.nesting) - set(".N()[]"), signature.nesting
    rows = {
        ("int", "constant"): _constants(signature),
        ("NumberArgument", "number"): _numbers(signature),
        ("ArrayArgument", "array"): _arrays(signature),
        ("Output", "output"): _outputs(signature, plan),
        ("Result", "result"): [_result(result, signature) for result in signature.results],
        ("Site", "site"): _sites(signature),
    }
    for (ctype, name), values in rows.items():
        if values:
            yield f"static const {ctype} {name}[] = {{ {', '.join(values)} }};"
    plural = {name: f"{name}s" for _, name in rows}
    yield "static const volatile int never = 0;"
    yield "Stop po_stop = { &never, NULL };"
    yield "const Call po_call = {"
    yield "    .stop = &po_stop,"
    yield f"    .arguments = {len(signature.arguments)},"
    for (_, name), values in rows.items():
        if values:
            yield f"    .{plural[name]} = {len(values)}, .{name} = {name},"
    yield f"    .cells = {plan.cells},"
    yield f'    .nesting = "{signature.nesting}",'
    if source.openmp:
        yield "#ifndef PO_OWN_THREADS"
        yield "    .is_lost_by_forks = 1,"
        yield "#endif"
    yield "    .judge = judge, .enter = enter,"
    yield "};"


def _braces(*values: object) -> str:
    return f"{{ {', '.join(map(str, values))} }}"


def _constants(signature: Signature) -> list[str]:
    return [str(k) for k, a in enumerate(signature.arguments) if isinstance(a, ConstArg)]


def _numbers(signature: Signature) -> list[str]:
    numbered = enumerate(signature.arguments)
    scalars = [(k, a.dtype) for k, a in numbered if isinstance(a, ScalarArg)]
    return [_braces(k, f"'{dtype.kind.value}'", dtype.size) for k, dtype in scalars]


def _arrays(signature: Signature) -> list[str]:
    numbered = enumerate(signature.arguments)
    return [_braces(k, int(a.written)) for k, a in numbered if isinstance(a, ArrayArg)]


def _outputs(signature: Signature, plan: _Plan) -> list[str]:
    rows = []
    for output, first in zip(signature.outputs, plan.extents, strict=True):
        length = -1 if output.length is None else plan.buffers[output.length]
        rows.append(_braces(len(output.shape), first, length, output.axis))
    return rows


def _sites(signature: Signature) -> list[str]:
    rows = []
    for call in signature.library:
        arrays = (*call.inputs, *call.outputs)
        rows.append(_braces(len(arrays), sum(rank for _, rank in arrays)))
    return rows


def _result(result: Result, signature: Signature) -> str:
    match result.kind:
        case ResultKind.OUTPUT | ResultKind.SCALAR:
            kind = "OUTPUT" if result.kind is ResultKind.OUTPUT else "OUTPUT_SCALAR"
            number = [output.array for output in signature.outputs].index(result.array)
            return _braces(kind, number)
        case ResultKind.ARGUMENT:
            for number, argument in enumerate(signature.arguments):
                if isinstance(argument, ArrayArg) and argument.array == result.array:
                    return _braces("ARGUMENT", number)
            raise AssertionError(f"no argument {result.array}")
        case _:
            assert_never(result.kind)


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
        case Param(name=name) | Symbol(name=name) | Iter(name=name) if name in sizes:
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
