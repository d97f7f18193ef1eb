"""Print the C program around exported kernels: it reads arrays of files and calls them by name.

In: `Source`s, names.  Out: the text of `NAME_main.c`, and the files that it is built with.
Refuses: kernels that call NumPy (PO0641), and arguments that are parts of one memory (PO0642).
Each size, shape and condition is checked there as a call from Python checks it.
What a kernel takes and gives, in words and as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polyopt.dataclass import dataclass
from polyopt.emit.banner import OWNER, comment, plain
from polyopt.emit.early_exits import FIRST_FAULT
from polyopt.emit.wrapper import plain_ctype, plain_value, size_text
from polyopt.emit.wrapping import wrapped
from polyopt.errors import UsageError
from polyopt.ir.expr import Const, Expr, Param, Symbol, walk
from polyopt.ir.showing import show
from polyopt.ir.source import (
    ArrayArg,
    ConstArg,
    CParam,
    CParamKind,
    IntegerOf,
    Result,
    ResultKind,
    ScalarArg,
    Signature,
    SizeOf,
    Source,
)
from polyopt.ir.types import DType, Kind
from polyopt.never import assert_never

NATIVE = Path(__file__).with_name("native")
RUNNER = ("po_run.c", "po_files.c")
"""The sources that every program is built with; they include `po_run.h`."""


def runner_files() -> dict[str, str]:
    """Return the texts of the files that every program shares."""
    return {name: (NATIVE / name).read_text(encoding="utf-8") for name in ("po_run.h", *RUNNER)}


def main_text(
    name: str, kernels: Mapping[str, Source], about: str, general: Mapping[str, General]
) -> str:
    """Return the text of the program `name` that calls `kernels`, by stem of their files.

    `general`, by the same stems, run calls whose arrays end before loops that do not reach so far.
    """
    prefixes = result_prefixes(kernels)
    for source in kernels.values():
        _require_alone(source)
    parts = [
        comment([f"{plain(name)}: runs kernels on arrays of files.", *OWNER]),
        "",
        *(f'#include "{stem}.h"' for stem in kernels),
        *(f'#include "{one.stem}.h"' for one in general.values() if one.stem not in kernels),
        '#include "po_run.h"',
        "",
    ]
    for number, (stem, source) in enumerate(kernels.items()):
        shown, other = _Shown(source.signature.name, prefixes[stem]), "NULL"
        if stem in general:
            label, other = f"{number}_any", f"&any_{number}"
            parts += [*_kernel(general[stem].source, label, shown, "NULL"), ""]
            parts += [f"static const po_kernel any_{number} = KERNEL_{label};", ""]
        parts += [*_kernel(source, str(number), shown, other), ""]
    rows = ", ".join(f"KERNEL_{number}" for number in range(len(kernels)))
    parts += [
        f"static const po_kernel kernels[] = {{ {rows} }};",
        "",
        "int main(int argc, char **argv)",
        "{",
        f"    const po_program program = {{ {c_string(name)}, {c_string(about)}, "
        f"{len(kernels)}, kernels }};",
        "    return po_main(&program, argc, argv);",
        "}",
    ]
    return wrapped("\n".join(parts)) + "\n"


@dataclass(frozen=True, slots=True)
class General:
    """Code for any sizes; `stem` is that of its files, or of a kernel whose text is the same."""

    stem: str
    source: Source


def result_prefixes(kernels: Mapping[str, Source]) -> dict[str, str]:
    """Return the name of each kernel's result: of several kernels, the kernel's own."""
    if len(kernels) == 1:
        return dict.fromkeys(kernels, "result")
    return {stem: source.signature.name for stem, source in kernels.items()}


def c_string(text: str) -> str:
    """Return `text` as a C string.

    >>> c_string('a "b" %'), c_string("größe")
    ('"a \\\\"b\\\\" %"', '"gr\\\\303\\\\266\\\\303\\\\237e"')
    """
    found = []
    for byte in text.encode("utf-8", "replace"):
        letter = chr(byte)
        if letter in '"\\?':
            found.append(f"\\{letter}")
        else:
            found.append(letter if " " <= letter <= "~" else f"\\{byte:03o}")
    return f'"{"".join(found)}"'


def _require_alone(source: Source) -> None:
    """Refuse kernels that need Python, or a caller that knows how its arrays share memory."""
    signature = source.signature
    if signature.library:
        call = signature.library[0]
        raise UsageError(
            "PO0641",
            f"`{signature.name}` calls `{call.function}`, which Python would have to run",
            loc=call.loc,
            hint=f"export a function without `{call.function}`, or save the kernel: "
            "kernel.save(path)",
        )
    for argument in signature.arguments:
        if isinstance(argument, ArrayArg) and (argument.part is not None or argument.before):
            raise UsageError(
                "PO0642",
                f"`{argument.name}` of `{signature.name}` shares memory with another argument",
                hint="export the kernel for arrays that are apart: pass types, not such arrays",
            )


@dataclass(frozen=True, slots=True)
class _Shown:
    """What people see: the name of a kernel, and of its result."""

    name: str
    prefix: str


@dataclass(frozen=True, slots=True)
class _Names:
    """C texts: of arguments by position, of sizes and symbols by name; cells of extents."""

    places: Mapping[str, int]
    sizes: Mapping[str, str]
    symbols: Mapping[str, str]


def _kernel(source: Source, label: str, shown: _Shown, other: str) -> Iterator[str]:
    signature = source.signature
    given = [a for a in signature.arguments if isinstance(a, ArrayArg | ScalarArg)]
    every = (*signature.sizes, *signature.computed)
    arrays = {a.array: k for k, a in enumerate(given) if isinstance(a, ArrayArg)}
    outputs = {output.array: len(given) + k for k, output in enumerate(signature.outputs)}
    symbols = {a.symbol: _number(a, k) for k, a in enumerate(given) if isinstance(a, ScalarArg)}
    sizes = {size.param: f"n{k}" for k, size in enumerate(every)}
    names = _Names({**arrays, **outputs}, sizes, symbols)
    yield f"/* {plain(signature.name)} */"
    yield from _judge(signature, names, label)
    yield ""
    yield from _enter(source, names, label)
    yield ""
    yield from _tables(signature, names, label, shown, other)


def _number(argument: ScalarArg, place: int) -> str:
    is_unsigned = argument.dtype.kind in (Kind.UNSIGNED, Kind.BOOL)
    return f"s[{place}].{'u' if is_unsigned else 'i' if argument.dtype.is_integer else 're'}"


def _judge(signature: Signature, names: _Names, label: str) -> Iterator[str]:
    meanings = size_meanings(signature)
    yield f"static int judge_{label}(po_array *const *a, const po_number *s, int64_t *n,"
    yield "                   int64_t *e)"
    yield "{"
    yield "    (void)a; (void)s; (void)n; (void)e;"
    yield from _bind_sizes(signature, names)
    yield from _judge_shapes(signature, names, meanings)
    known = {**names.symbols, **names.sizes}
    for check in (*signature.checks, *signature.limits):
        yield f"    if (!{size_text(check.condition, known)}) {{"
        yield f'        po_error("%s", {c_string(check.message)});'
        yield from _where(check.condition, known, meanings)
        yield "        return 0;"
        yield "    }"
    cell = 0
    for output in signature.outputs:
        for extent in output.shape:
            yield f"    const wide e{cell} = {size_text(extent, names.sizes)};"
            yield f"    if (e{cell} < 0 || e{cell} > PO_LIMIT) {{"
            message = f"a result would have the extent `{show(extent)}`"
            yield f'        po_error("%s", {c_string(message)});'
            yield from _where(extent, known, meanings)
            yield "        return 0;"
            yield "    }"
            yield f"    e[{cell}] = (int64_t)e{cell};"
            cell += 1
    for place, name in enumerate(names.sizes.values()):
        yield f"    n[{place}] = {name};"
    yield "    return 1;"
    yield "}"


def _bind_sizes(signature: Signature, names: _Names) -> Iterator[str]:
    for size in signature.sizes:
        argument = signature.arguments[size.argument]
        name = names.sizes[size.param]
        match size:
            case SizeOf():
                assert isinstance(argument, ArrayArg)
                array = names.places[argument.array]
                yield f"    const int64_t {name} = a[{array}]->shape[{size.dim}];"
            case IntegerOf():
                assert isinstance(argument, ScalarArg)
                value = names.symbols[argument.symbol]
                yield from _within_limit(f"(wide){value}", argument.name)
                yield f"    const int64_t {name} = (int64_t){value};"
            case _:
                assert_never(size)
    for made in signature.computed:
        name = names.sizes[made.param]
        yield f"    const wide w{name} = {size_text(made.value, names.sizes)};"
        yield from _within_limit(f"w{name}", show(made.value))
        yield f"    const int64_t {name} = (int64_t)w{name};"


def _within_limit(value: str, text: str) -> Iterator[str]:
    yield f"    if ({value} < -PO_LIMIT || {value} > PO_LIMIT)"
    yield (
        f'        return po_error("%s goes to 2**48, as sizes, bounds and subscripts do", '
        f"{c_string(f'`{text}`')});"
    )


def _judge_shapes(
    signature: Signature, names: _Names, meanings: Mapping[str, str]
) -> Iterator[str]:
    bound = {(s.argument, s.dim): s.param for s in signature.sizes if isinstance(s, SizeOf)}
    for number, argument in enumerate(signature.arguments):
        if not isinstance(argument, ArrayArg):
            continue
        place = names.places[argument.array]
        for dim, extent in enumerate(argument.shape):
            param = bound.get((number, dim))
            if param is not None and extent == Param(param):
                continue
            shape, wanted = f"a[{place}]->shape[{dim}]", size_text(extent, names.sizes)
            text = "" if isinstance(extent, Param | Const) else f"`{show(extent)}`"
            yield f"    if ((wide){shape} != {wanted}) {{"
            yield (
                f"        po_wrong_extent({c_string(argument.name)}, {dim}, {shape}, {wanted}, "
                f"{c_string(text)});"
            )
            yield from _where(extent, names.sizes, meanings)
            yield "        return 0;"
            yield "    }"


def _where(expr: Expr, known: Mapping[str, str], meanings: Mapping[str, str]) -> Iterator[str]:
    """Yield calls that say what the sizes in a condition are."""
    used = dict.fromkeys(p.name for p in walk(expr) if isinstance(p, Param | Symbol))
    for name in used:
        meaning = meanings.get(name, f"the argument `{name}`")
        yield f"        po_where({c_string(name)}, {known[name]}, {c_string(meaning)});"


def _enter(source: Source, names: _Names, label: str) -> Iterator[str]:
    values = ", ".join(_pass(param, names) for param in source.params)
    yield f"static int enter_{label}(po_array *const *a, const po_number *s, const int64_t *n)"
    yield "{"
    yield "    (void)a; (void)s; (void)n;"
    yield f"    return {source.entry}({values});"
    yield "}"


def _pass(param: CParam, names: _Names) -> str:
    match param.kind:
        case CParamKind.ARRAY:
            const = "" if param.written else "const "
            pointer = f"({const}{plain_ctype(param.dtype)} *)"
            return f"{pointer}a[{names.places[param.name]}]->data"
        case CParamKind.SIZE:
            return f"n[{list(names.sizes).index(param.name)}]"
        case CParamKind.STRIDE:
            return f"po_stride(a[{names.places[param.name]}], {param.dim})"
        case CParamKind.SCALAR:
            return _pass_number(param.dtype, names.symbols[param.name])
        case CParamKind.LIBRARY:
            raise AssertionError("refused before")
        case _:
            assert_never(param.kind)


def _pass_number(dtype: DType, value: str) -> str:
    if dtype.is_complex:
        part = "float" if dtype is DType.COMPLEX64 else "double"
        im = value.removesuffix(".re") + ".im"
        return f"__builtin_complex(({part}){value}, ({part}){im})"
    return f"({plain_value(dtype)}){value}"


def _tables(
    signature: Signature, names: _Names, label: str, shown: _Shown, other: str
) -> Iterator[str]:
    """Yield the tables that `po_run.c` goes through."""
    rows = {
        ("po_argument", "argument"): _argument_rows(signature),
        ("po_output", "output"): _output_rows(signature),
        ("po_result", "result"): _result_rows(signature, names, shown.prefix),
        ("char *const", "fault"): [c_string(fault.message) for fault in signature.faults],
    }
    counts = {}
    for (ctype, name), values in rows.items():
        counts[name] = len(values)
        if values:
            yield f"static const {ctype} {name}_{label}[] = {{"
            yield from (f"    {value}," for value in values)
            yield "};"
    extents = sum(len(output.shape) for output in signature.outputs)
    tables = ", ".join(f"{name}_{label}" if counts[name] else "NULL" for name in counts)
    yield (
        f"#define KERNEL_{label} {{ {c_string(shown.name)}, "
        f"{', '.join(map(str, counts.values()))}, {len(names.sizes)}, {extents}, \\"
    )
    yield f"    {tables}, judge_{label}, enter_{label}, {other} }}"


def type_code(dtype: DType) -> str:
    """Return a type as .npy files name it, without the byte order."""
    return "V2" if dtype is DType.BFLOAT16 else f"{dtype.kind.value}{dtype.size}"


def _argument_rows(signature: Signature) -> list[str]:
    rows = []
    for argument in signature.arguments:
        match argument:
            case ArrayArg():
                shape = ", ".join(show(extent) for extent in argument.shape)
                use = "read and written" if argument.written else "read"
                facts = f"{argument.dtype.value}[{shape}], {use}", len(argument.shape)
            case ScalarArg():
                facts = f"a number of type {argument.dtype.value}", -1
            case _:
                continue
        written = int(isinstance(argument, ArrayArg) and argument.written)
        code = c_string(type_code(argument.dtype))
        texts = f"{c_string(argument.name)}, {code}, {c_string(facts[0])}"
        rows.append(f"{{ {texts}, {facts[1]}, {written} }}")
    return rows


def _output_rows(signature: Signature) -> list[str]:
    places = {output.array: k for k, output in enumerate(signature.outputs)}
    rows, first = [], 0
    for output in signature.outputs:
        length = -1 if output.length is None else places[output.length]
        code = c_string(type_code(output.dtype))
        rows.append(f"{{ {code}, {len(output.shape)}, {first}, {length}, {output.axis} }}")
        first += len(output.shape)
    return rows


def _result_rows(signature: Signature, names: _Names, prefix: str) -> list[str]:
    rows = []
    given = sum(isinstance(a, ArrayArg | ScalarArg) for a in signature.arguments)
    named: Sequence[str] = result_names(signature, prefix)
    for name, result in zip(named, signature.results, strict=True):
        is_argument = result.kind is ResultKind.ARGUMENT
        place = names.places[result.array] - (0 if is_argument else given)
        rows.append(f"{{ {c_string(name)}, {int(is_argument)}, {place} }}")
    return rows


def size_meanings(signature: Signature) -> dict[str, str]:
    """Return what each size parameter is: an extent, an integer, or a value of others."""
    found = {}
    for size in signature.sizes:
        argument = signature.arguments[size.argument].name
        match size:
            case SizeOf():
                found[size.param] = f"the extent of dimension {size.dim} of `{argument}`"
            case IntegerOf():
                found[size.param] = f"the integer `{argument}`"
            case _:
                assert_never(size)
    for made in signature.computed:
        found[made.param] = f"the value of `{show(made.value)}`"
    return found


def result_names(signature: Signature, prefix: str) -> list[str]:
    """Return a name for each result: `prefix`, or numbered where there are several."""
    if len(signature.results) == 1:
        return [prefix]
    return [f"{prefix}{number}" for number in range(len(signature.results))]


def described(source: Source, prefix: str) -> dict[str, Any]:
    """Return what a program that calls the kernel has to know, as values of JSON."""
    signature = source.signature
    names = result_names(signature, prefix)
    return {
        "arguments": [_argument(argument) for argument in signature.arguments],
        "sizes": [
            {"name": name, "is": meaning} for name, meaning in size_meanings(signature).items()
        ],
        "results": [
            {"name": name, **_result(signature, result)}
            for name, result in zip(names, signature.results, strict=True)
        ],
        "parameters": [
            {"name": param.text, "kind": param.kind.value, "dtype": param.dtype.value,
             "written": param.written}
            for param in source.params
        ],
        "requires": [
            {"condition": show(check.condition), "otherwise": check.message}
            for check in (*signature.checks, *signature.limits)
        ],
        "status": {
            str(FIRST_FAULT + number): fault.message
            for number, fault in enumerate(signature.faults)
        },
    }  # fmt: skip


def _argument(argument: object) -> dict[str, Any]:
    match argument:
        case ArrayArg():
            return {
                "name": argument.name,
                "kind": "array",
                "dtype": argument.dtype.value,
                "rank": len(argument.shape),
                "shape": [show(extent) for extent in argument.shape],
                "layout": argument.layout.value,
                "mode": "inout" if argument.written else "in",
            }
        case ScalarArg():
            return {"name": argument.name, "kind": "number", "dtype": argument.dtype.value,
                    "mode": "in"}  # fmt: skip
        case ConstArg():
            return {"name": argument.name, "kind": "constant", "value": repr(argument.value)}
    raise TypeError(f"{argument!r} is no argument")


def _result(signature: Signature, result: Result) -> dict[str, Any]:
    if result.kind is ResultKind.ARGUMENT:
        names = {a.array: a.name for a in signature.arguments if isinstance(a, ArrayArg)}
        return {"is": names[result.array]}
    output = next(one for one in signature.outputs if one.array == result.array)
    return {
        "dtype": output.dtype.value,
        "rank": len(output.shape),
        "shape": [show(extent) for extent in output.shape],
        **({"at_most_along": output.axis} if output.length is not None else {}),
    }
