"""From a call's values to the argument types a kernel is compiled for.

In: a function's parameters, values or type records.  Out: one `ArgType` per parameter.
Refuses: arguments that do not bind (PO0201), values that are no array or number, or are not what
an annotation of polyopt's says (PO02xx).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ArgumentError
from polyopt.frontend.arithmetic.folding import integer_text
from polyopt.frontend.syntax.annotations import (
    ANY_SIZES,
    Annotation,
    ArgType,
    ArrayType,
    ConstType,
    NeedConstant,
    PartType,
    ScalarType,
    SizeCondition,
    declared,
    fitting,
    require,
)
from polyopt.ir.arranging import replaced
from polyopt.ir.showing import show
from polyopt.ir.source import ArrayArg, ConstArg, Layout, ScalarArg, Signature
from polyopt.ir.types import DType
from polyopt.runtime.check import check_call, conversion, converted, integer_range, layouts_of
from polyopt.runtime.values import array_of, dtype_known, native_array, type_name

_WEAK = {bool: DType.BOOL, int: DType.INT64, float: DType.FLOAT64, complex: DType.COMPLEX128}


@dataclass(frozen=True, slots=True)
class Parameters:
    """A function's parameters; `defaults` by name.

    `fixed_sizes`: types of arrays tell their extents.  `by_position`: each takes one argument, and
    none is by name only.  `is_open`: some take any number of arguments.
    """

    name: str
    names: tuple[str, ...]
    defaults: Mapping[str, object]
    signature: inspect.Signature
    fixed_sizes: bool = False
    by_position: bool = True
    is_open: bool = False

    @staticmethod
    def of(function: Callable[..., object], fixed_sizes: bool = False) -> Parameters:
        """Return the parameters of `function`."""
        signature = inspect.signature(function, follow_wrapped=False)
        listed = signature.parameters.values()
        defaults = {p.name: p.default for p in listed if p.default is not p.empty}
        name = getattr(function, "__name__", "kernel")
        names = tuple(p.name for p in listed)
        is_open = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in listed)
        by_position = not is_open and not any(p.kind is p.KEYWORD_ONLY for p in listed)
        return Parameters(name, names, defaults, signature, fixed_sizes, by_position, is_open)

    def bind_call(
        self, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[object, ...]:
        """Return one value per parameter, those given by name only that Python takes so."""
        return self.bind(args, kwargs) if self.by_position else self._bound(args, kwargs)

    def bind(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[object, ...]:
        """Return one value per parameter; raises `ArgumentError` PO0201."""
        if not kwargs and len(args) == len(self.names) and not self.is_open:
            return args
        return self._bound(args, kwargs)

    def _bound(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[object, ...]:
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            unknown = [name for name in kwargs if name not in self.names]
            reason = f"there is no parameter `{unknown[0]}`" if unknown else str(error)
            lower = {name.lower(): name for name in reversed(self.names)}
            from difflib import get_close_matches

            near = get_close_matches(unknown[0].lower(), lower, n=1) if unknown else []
            meant = f"did you mean `{lower[near[0]]}`? " if near else ""
            raise ArgumentError(
                "PO0201",
                f"`{self.name}`: {reason}",
                hint=f"{meant}the parameters are ({', '.join(map(str, self._shown()))})",
            ) from None
        bound.apply_defaults()
        return tuple(bound.arguments[name] for name in self.names)

    def _shown(self) -> list[str]:
        shown: list[str] = []
        for name, parameter in self.signature.parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
                shown.append("*")
            shown.append(f"{name}={self.defaults[name]!r}" if name in self.defaults else name)
        return shown


def plain_values(values: tuple[object, ...], on_device: bool = False) -> tuple[object, ...]:
    """Return `values` with buffer exporters and array subclasses replaced by plain arrays.

    Kernels of devices take arrays that are `on_device`: those become `DeviceView`s.
    """
    if on_device:
        from polyopt.runtime.device.views import array_on_device, viewed

        values = tuple(viewed(f"argument {n}", value) for n, value in enumerate(values))
        return tuple(v if array_on_device(v) is not None else _plain(v) for v in values)
    return tuple(_plain(value) for value in values)


def _plain(value: object) -> object:
    if type(value) is np.ndarray or isinstance(value, bool | int | float | complex | np.generic):
        return value
    array = array_of(value)
    return value if array is None else array


def restore(result: Any, plain: tuple[object, ...], given: tuple[object, ...]) -> Any:  # noqa: ANN401
    """Return `result` with arguments that were converted for the call replaced by the caller's."""
    owners = {id(p): g for p, g in zip(plain, given, strict=True) if p is not g}
    if not owners:
        return result
    return replaced(result, lambda part: owners.get(id(part), part))


def exact_values(
    signature: Signature, values: tuple[object, ...], symbols: Mapping[str, object]
) -> tuple[object, ...]:
    """Return `values` with each number in the exact type the wrapper takes."""
    exact: list[object] = []
    for argument, value in zip(signature.arguments, values, strict=True):
        match argument:
            case ArrayArg():
                exact.append(value)
            case ScalarArg():
                exact.append(symbols[argument.symbol])
            case ConstArg():
                exact.append(argument.known)
    return tuple(exact)


def as_declared(
    func: Callable[..., object], parameters: Parameters, values: tuple[object, ...]
) -> tuple[object, ...]:
    """Return `values` with numbers converted to the types that polyopt's annotations say.

    Only without loss, but Python's floats are rounded to narrower ones.  Arrays are not converted:
    what a kernel writes into a copy would be lost.  None fits where it is the default.  Raises
    `ArgumentError`: PO0207 for another element type, PO0208 for another rank, PO0206 and PO0215
    for something else.
    """
    notes = declared(func)
    if not notes:
        return values
    given = dict(zip(parameters.names, values, strict=True))
    for name in given:
        is_default = given[name] is None and parameters.defaults.get(name, 0) is None
        if name in notes and not is_default and not is_type(given[name]):
            try:
                given[name] = _converted(name, given[name], notes[name])
            except ArgumentError as error:
                from polyopt.frontend.syntax.type_inference import argument_loc

                error.loc = error.loc or argument_loc(func, name)
                raise
    return tuple(given.values())


def _converted(name: str, value: object, note: Annotation) -> object:
    if note.dims is None:
        number = converted(name, note.dtype, value, f"its annotation `{note!r}` says")
        plain = _PYTHON.get(note.dtype) if type(value) in _WEAK else None
        return number if plain is None else plain(number)
    kind = array_type(name, value)
    if kind.dtype is note.dtype and kind.rank == len(note.dims):
        return value
    if kind.rank != len(note.dims):
        change = f"pass an array of rank {len(note.dims)}"
    else:
        change = conversion(name, kind.dtype, note.dtype)
    hint = f"{change}, or annotate it so: `{name}: {fitting(kind, note)!r}`"
    require(f"`{name}` is of type", kind, note, hint)
    return value


_PYTHON: dict[DType, Callable[[Any], object]] = {dtype: kind for kind, dtype in _WEAK.items()}


def types_of(
    parameters: Parameters, values: tuple[object, ...], constants: frozenset[str]
) -> tuple[ArgType, ...]:
    """Return the types of `values`; integers named in `constants` are compiled in."""
    found = tuple(
        type_of(name, value, name in constants, parameters.defaults)
        for name, value in zip(parameters.names, values, strict=True)
    )
    if not parameters.fixed_sizes:
        return found
    return tuple(
        replace(kind, extents=native_array(name, value, None).shape)
        if isinstance(kind, ArrayType)
        else kind
        for name, kind, value in zip(parameters.names, found, values, strict=True)
    )


def type_of(name: str, value: object, constant: bool, defaults: Mapping[str, object]) -> ArgType:
    """Return the type of one argument; raises `ArgumentError`.

    A flag (a bool where the default is one), a text, and None or a tuple of integers where there is
    a default are compiled in.
    """
    if type(value) in _WEAK:
        if constant or (type(value) is bool and type(defaults.get(name)) is bool):
            return ConstType(value)
        _check_integer(name, value)
        return ScalarType(_WEAK[type(value)])
    if isinstance(value, np.generic):
        dtype = dtype_known(name, value.dtype, None)
        return ConstType(value.item(), dtype) if constant else ScalarType(dtype, weak=False)
    if isinstance(value, str) or (name in defaults and _is_choice(value)):
        return ConstType(value)
    return array_type(name, value)


def _is_choice(value: object) -> bool:
    """Tell whether `value` can be an axis or a flag: None or a tuple of integers."""
    return value is None or (isinstance(value, tuple) and all(type(v) is int for v in value))


def _check_integer(name: str, value: object) -> None:
    low, high = integer_range(DType.INT64)
    if isinstance(value, int) and not low <= value <= high:
        raise ArgumentError(
            "PO0210",
            f"`{name}` is {integer_text(value)}, which does not fit 64 bits",
            hint="pass a smaller integer, or a float",
        )


def array_type(name: str, value: object) -> ArrayType:
    """Return the type of an array argument; raises `ArgumentError`."""
    array = native_array(name, value, None)
    dtype = dtype_known(name, array.dtype, None)
    layout = layouts_of(array)[0] if array.ndim else Layout.C
    return ArrayType(dtype, array.ndim, layout, (False,) * array.ndim)


def with_ones(
    types: tuple[ArgType, ...], places: tuple[tuple[int, int], ...]
) -> tuple[ArgType, ...]:
    """Return `types` with the dimensions at `places` (argument, dimension) known to be 1."""
    renewed = list(types)
    for argument, dim in places:
        kind = renewed[argument]
        assert isinstance(kind, ArrayType | PartType)
        ones = tuple(one or d == dim for d, one in enumerate(kind.ones))
        renewed[argument] = replace(kind, ones=ones)
    return tuple(renewed)


def with_constant(
    parameters: Parameters,
    types: tuple[ArgType, ...],
    values: tuple[object, ...] | None,
    name: str,
) -> tuple[ArgType, ...]:
    """Return `types` with the value of argument `name` compiled in."""
    position = parameters.names.index(name)
    value = None if values is None else values[position]
    dtype = None
    if isinstance(value, np.generic):
        value, dtype = value.item(), dtype_known(name, value.dtype, None)
    if not isinstance(value, bool | int | float | str):
        found = "not given" if value is None else type_name(value)
        raise ArgumentError(
            "PO0225",
            f"`{parameters.name}` can be compiled only for a known value of `{name}`, "
            f"which is {found}",
            hint=f"pass an example value of `{name}`, or `po.ConstType(value)`",
        )
    renewed = list(types)
    renewed[position] = ConstType(value, dtype)
    return tuple(renewed)


def with_decisions(
    function: Callable[..., object],
    parameters: Parameters,
    types: tuple[ArgType, ...],
    values: tuple[object, ...] | None,
    code: str,
) -> tuple[ArgType, ...]:
    """Return `types` with what the function branches on decided as `values` decide it.

    These are conditions on sizes, and arguments that are truth values.  If there is none: for all
    sizes, where `code` says that a subscript would be outside, which need not matter.
    """
    renewed = types if values is None else _decided(function, parameters, types, values)
    if renewed == types and code == "PO0170" and ANY_SIZES not in types:
        return (*types, ANY_SIZES)
    return renewed


def _decided(
    function: Callable[..., object],
    parameters: Parameters,
    types: tuple[ArgType, ...],
    values: tuple[object, ...],
) -> tuple[ArgType, ...]:
    from polyopt.frontend.program.decisions import with_conditions
    from polyopt.frontend.reader.pyfunc import undecided

    renewed = types
    while True:
        try:
            found = undecided(function, renewed)
            break
        except NeedConstant as need:
            renewed = with_constant(parameters, renewed, values, need.argument)
    for name in found.flags:
        renewed = with_constant(parameters, renewed, values, name)
    return with_conditions(parameters.names, renewed, values, found)


def generality(types: tuple[ArgType, ...]) -> tuple[int, ...]:
    """Return a key that sorts code for more regular layouts first."""
    order = (Layout.C, Layout.ROWS, Layout.STRIDED)
    return tuple(order.index(t.layout) if isinstance(t, ArrayType) else 0 for t in types)


def weak_flags(types: tuple[ArgType, ...]) -> tuple[bool, ...]:
    """Return for each number among `types` whether it is one of Python's own types."""
    return tuple(t.weak for t in types if isinstance(t, ScalarType))


def number_flags(func: Callable[..., object], types: tuple[ArgType, ...]) -> bytes:
    """Return for each number what the module that calls kernels takes for it.

    `WEAK`: one of Python's own types; `DECLARED`: what `as_declared` makes this type of.
    """
    weak, notes = weak_flags(types), declared(func)
    if not weak or all(note.dims is not None for note in notes.values()):
        return bytes(weak)
    named = zip(Parameters.of(func).names, types, strict=True)
    numbers = ((name, kind) for name, kind in named if isinstance(kind, ScalarType))
    return bytes(
        kind.weak | (name in notes and kind.weak == (kind.dtype in _PYTHON)) << 1
        for name, kind in numbers
    )


def show_types(names: tuple[str, ...], types: tuple[ArgType, ...]) -> str:
    """Return the types on one line, for people."""
    shown = [f"{name}: {_show(kind)}" for name, kind in zip(names, types, strict=False)]
    return ", ".join([*shown, *map(_show, types[len(names) :])])


def _show(kind: ArgType) -> str:
    match kind:
        case ArrayType():
            dims = kind.shown
            layout = "" if kind.layout is Layout.C else f" {kind.layout.value}"
            return f"{kind.dtype}[{dims}]{layout}"
        case ScalarType():
            return str(kind.dtype)
        case PartType():
            dims = ",".join("1" if one else ":" for one in kind.ones)
            return f"[{dims}] in the memory of argument {kind.part.owner}"
        case SizeCondition(condition=condition, holds=holds):
            return show(condition) if holds else f"not ({show(condition)})"
        case ConstType():
            return f"={kind.value!r}"


def is_type(value: object) -> bool:
    """Tell whether an argument of `compile` is a type."""
    return isinstance(value, ArrayType | ScalarType | ConstType | Annotation | type)


def as_type(name: str, value: object, defaults: Mapping[str, object]) -> ArgType:
    """Return the type that an argument of `compile` is or has; a default fills what is open."""
    if isinstance(value, ArrayType | ScalarType | ConstType):
        return value
    if is_type(value):
        from polyopt.frontend.syntax.type_inference import from_annotation

        found = from_annotation(value, 0)
        if found is not None:
            return found
    return type_of(name, value, False, defaults)


class Fit:
    """Whether a call's values fit what was read, and the last that they were compared with."""

    def __init__(self, values: tuple[object, ...] | None) -> None:
        self.values = values
        self.signature: Signature | None = None

    def __call__(self, signature: Signature) -> None:
        """Note the signature; raises a coded error where the values do not fit it."""
        self.signature = signature
        if self.values is not None:
            check_call(signature, self.values)
