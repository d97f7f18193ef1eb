"""Choose the names of a kernel: its parameters, its arrays' storage, its own identifiers.

In: a `Kernel`, the arrays where it stands, a dialect.  Out: `KernelFrame`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from polyopt.dataclass import dataclass
from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.emit.gpu.expressions import Storage
from polyopt.emit.gpu.scan_printer import BLOCKS, lone_scan
from polyopt.emit.names import c_identifier
from polyopt.emit.regions import Free, free_names, written_arrays
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Expr, Iter, Param, Symbol, integer
from polyopt.ir.loops import Declare, DeclareArray, For, Kernel, SetLocal
from polyopt.ir.nodes import all_nodes
from polyopt.ir.source import KernelParam, KernelParamKind, Layout
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class KernelFrame:
    """Identifiers of one kernel; `taken` are all.

    `names` gives those of iterators, sizes and locals.  An array that is declared in several places
    has one place for each.
    """

    entry: str
    params: tuple[KernelParam, ...]
    names: Mapping[str, str]
    places: Mapping[str, Storage]
    taken: frozenset[str]

    def declarations(self, dialect: DeviceDialect) -> list[str]:
        """Return the parameters as text."""
        return [_declaration(param, dialect) for param in self.params]


def _declaration(param: KernelParam, dialect: DeviceDialect) -> str:
    match param.kind:
        case KernelParamKind.ARRAY:
            return dialect.parameter(param.dtype, param.text, written=param.written)
        case KernelParamKind.FAULTS:
            return dialect.flags_parameter(param.text)
        case KernelParamKind.COUNTER | KernelParamKind.SCRATCH:
            return f"{dialect.pointer}{dialect.type_name(param.dtype)} *{param.text}"
        case KernelParamKind.STRIDE | KernelParamKind.VALUE:
            return f"{dialect.passed(param.dtype)} {param.text}"


def make_frame(
    kernel: Kernel, arrays: Mapping[str, Array], late: Collection[str], dialect: DeviceDialect
) -> KernelFrame:
    """Choose the identifiers of `kernel`; the shapes of the arrays `late` are known to the host."""
    taken: set[str] = set()
    names: dict[str, str] = {}

    def named(name: str) -> str:
        if name not in names:
            names[name] = c_identifier(name, taken)
            taken.add(names[name])
        return names[name]

    code = (*kernel.body, *kernel.finish)
    free = free_names(code)
    entry = c_identifier(kernel.name, taken)
    taken.add(entry)
    written = written_arrays(code)
    used = [arrays[name] for name in free.arrays]
    pointers = [_pointer(array, named(array.name), array.name in written) for array in used]
    extents = free_names(tuple(Declare("", DType.INT64, 1, g.extent) for g in kernel.gathered))
    values = _values(free, extents, [array for array in used if _is_plain(array, late)])
    for value in values:
        named(value.name)
    strides: list[KernelParam] = []
    places = {}
    for array in used:
        own = [] if _is_plain(array, late) else _strides(array, names[array.name], late, taken)
        strides += own
        places[array.name] = _place(array, names[array.name], own)
    passed = [
        KernelParam(KernelParamKind.VALUE, v.name, v.dtype, names[v.name], value=v) for v in values
    ]
    for node in all_nodes(code):
        match node:
            case For():
                named(node.iter)
            case Declare() | SetLocal():
                named(node.name)
            case DeclareArray():
                place = Storage(node.array, named(node.array.name), node.space)
                places.setdefault(node.array.name, place)
            case _:
                pass
    counters = _counters(kernel, taken)
    integers = [p for p in (*strides, *passed) if p.dtype is DType.INT64]
    others = [p for p in passed if p.dtype is not DType.INT64]
    return KernelFrame(
        entry, (*pointers, *counters, *integers, *others), names, places, frozenset(taken)
    )


def _counters(kernel: Kernel, taken: set[str]) -> list[KernelParam]:
    """Return the parameter in which blocks count themselves, or leave what they have summed up."""
    scan = lone_scan(kernel)
    if not kernel.finish and scan is None:
        return []
    text = c_identifier("ended" if scan is None else "sums", taken)
    taken.add(text)
    if scan is not None:
        kind, size = KernelParamKind.SCRATCH, integer(BLOCKS)
        return [KernelParam(kind, kernel.name, scan.dtype, text, written=True, value=size)]
    return [KernelParam(KernelParamKind.COUNTER, kernel.name, DType.UINT32, text, written=True)]


def _pointer(array: Array, text: str, written: bool) -> KernelParam:
    kind = KernelParamKind.FAULTS if array.role is Role.FAULT else KernelParamKind.ARRAY
    return KernelParam(kind, array.name, array.dtype, text, written)


def _is_plain(array: Array, late: Collection[str]) -> bool:
    """Tell whether the strides of `array` are products of its shape, as the kernel knows it."""
    return array.layout is Layout.C and array.name not in late


def _values(free: Free, more: Free, arrays: list[Array]) -> list[Iter | Param | Symbol]:
    """Return what the host passes by value; the extents of `arrays` are needed, too."""
    extents = (Declare("", DType.INT64, 1, e) for array in arrays for e in array.shape[1:])
    sizes = free_names(tuple(extents))
    found: dict[str, Iter | Param | Symbol] = {}
    for names in (free, more, sizes):
        for param in names.params:
            found.setdefault(param, Param(param))
        for iterator in names.iters:
            found.setdefault(iterator, Iter(iterator))
        for local in names.locals:
            found.setdefault(local.name, Symbol(local.name, local.dtype, local.lanes))
    return list(found.values())


def _strides(array: Array, text: str, late: Collection[str], taken: set[str]) -> list[KernelParam]:
    """Return the parameters for the strides of `array`; a last one of 1 is not passed."""
    found = []
    every = array.layout is Layout.STRIDED and array.name not in late
    for dim in range(len(array.shape) if every else len(array.shape) - 1):
        name = c_identifier(f"{text}_s{dim}", taken)
        taken.add(name)
        found.append(KernelParam(KernelParamKind.STRIDE, array.name, DType.INT64, name, dim=dim))
    return found


def _place(array: Array, text: str, strides: list[KernelParam]) -> Storage:
    factors: list[Expr] = [Iter(param.text) for param in strides]
    if strides and len(strides) < len(array.shape):
        factors.append(integer(1))
    return Storage(array, text, None, tuple(factors))
