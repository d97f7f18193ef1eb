"""Annotations for arguments: `po.f64["N,M"]` is a matrix of float64, `po.f64` a number.

In: an element type subscripted by dimension names, numbers or slices; a function.  Out:
`Annotation` records; what the annotations of a function say.
Refuses: types that are not what annotations say (PO0207, PO0208, PO0215).
Types of a kernel's arguments, as far as code depends on them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any, TypeAlias, get_args, get_origin

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ArgumentError, UsageError
from polyopt.ir.expr import Const, Expr
from polyopt.ir.source import Layout, Part
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Annotation:
    """A dtype and, for an array, one text per dimension; `dims` is None for a number."""

    dtype: DType
    dims: tuple[str, ...] | None = None

    def __getitem__(self, dims: object) -> Annotation:
        """Return the array annotation: `f64["N,M"]`, `f64[:, :]`, `f64["N", 1]`.

        Raises `UsageError` PO0239 for a dimension that is no sum or product of names and numbers.
        """
        parts = dims if isinstance(dims, tuple) else (dims,)
        names: list[str] = []
        for part in parts:
            match part:
                case str(text):
                    names += [name.strip() for name in text.split(",")]
                case slice():
                    names.append(":")
                case _:
                    names.append(str(part))
        for name in names:
            if not (name == ":" or name.isidentifier() or name.isdecimal() or _is_sum(name)):
                raise UsageError(
                    "PO0239",
                    f"`{name}` is not a dimension of an array",
                    hint='write `:`, a name, a number, or sums and products: po.f64["N,2*M+1"]',
                )
        return replace(self, dims=tuple(names))

    def __repr__(self) -> str:
        dims = "" if self.dims is None else f'["{",".join(self.dims)}"]'
        return f"po.{'bool_' if self.dtype is DType.BOOL else self.dtype.short_name}{dims}"

    def __str__(self) -> str:
        name = self.dtype.short_name
        return name if self.dims is None else f"{name}[{','.join(self.dims)}]"


def _is_sum(text: str) -> bool:
    """Tell whether a dimension is made of names and whole numbers by `+ - * //`."""
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval").body))
    except (SyntaxError, ValueError):
        return False
    known = (ast.Name, ast.BinOp, ast.operator, ast.expr_context)
    return all(
        isinstance(node, known) or (isinstance(node, ast.Constant) and type(node.value) is int)
        for node in nodes
    ) and all(
        isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv)
        for node in nodes
        if isinstance(node, ast.BinOp)
    )


bool_ = Annotation(DType.BOOL)
i8 = Annotation(DType.INT8)
i16 = Annotation(DType.INT16)
i32 = Annotation(DType.INT32)
i64 = Annotation(DType.INT64)
u8 = Annotation(DType.UINT8)
u16 = Annotation(DType.UINT16)
u32 = Annotation(DType.UINT32)
u64 = Annotation(DType.UINT64)
f16 = Annotation(DType.FLOAT16)
bf16 = Annotation(DType.BFLOAT16)
f32 = Annotation(DType.FLOAT32)
f64 = Annotation(DType.FLOAT64)
c64 = Annotation(DType.COMPLEX64)
c128 = Annotation(DType.COMPLEX128)


def annotations_of(func: Callable[..., object]) -> dict[str, object]:
    """Return name -> annotation, of parameters and of the result ("return").

    Aliases and `Annotated` are resolved.  Annotations that cannot be evaluated say nothing, but
    for wrong dimensions: `UsageError` PO0239.
    """
    if not getattr(func, "__annotations__", None):
        return {}
    try:
        found = inspect.get_annotations(func, eval_str=True)
    except UsageError:
        raise
    except Exception:
        return {}
    return {name: _plain(note) for name, note in found.items()}


@lru_cache(maxsize=512)
def declared(func: Callable[..., object]) -> Mapping[str, Annotation]:
    """Return name -> annotation, of those that are polyopt's: they say what every call passes."""
    found = annotations_of(func).items()
    return {name: note for name, note in found if isinstance(note, Annotation)}


def _plain(note: object) -> object:
    """Return what an alias or `Annotated[np.ndarray, po.f64["N"]]` says: ours, or else the type.

    `NDArray[…]` is an alias by the `type` statement since NumPy 2.5.
    """
    origin = get_origin(note)
    if origin is not None and hasattr(origin, "__value__"):
        return _plain(origin.__value__[get_args(note)])
    if hasattr(note, "__value__"):
        return _plain(note.__value__)
    if origin is not Annotated:
        return note
    kind, *others = get_args(note)
    return next((other for other in others if isinstance(other, Annotation)), kind)


def require(subject: str, kind: ArrayType | ScalarType, note: Annotation, hint: str) -> None:
    """Require an element type and a rank; raises `ArgumentError` PO0207, PO0208, PO0215."""
    rank = kind.rank if isinstance(kind, ArrayType) else 0
    asked = len(note.dims or ())
    if kind.dtype is note.dtype and rank == asked:
        return
    found = fitting(kind, note)
    code = "PO0207" if rank == asked else "PO0208" if rank and asked else "PO0215"
    raise ArgumentError(code, f"{subject} `{found!r}`, its annotation says `{note!r}`", hint=hint)


def fitting(kind: ArrayType | ScalarType, note: Annotation) -> Annotation:
    """Return the annotation for a type, with the dimensions of `note` if it has as many."""
    if isinstance(kind, ScalarType):
        return Annotation(kind.dtype)
    known = note.dims if note.dims is not None and len(note.dims) == kind.rank else None
    return Annotation(kind.dtype, known or (":",) * kind.rank)


@dataclass(frozen=True, slots=True)
class ArrayType:
    """A NumPy array; `ones[d]` tells that dimension `d` is known to be 1 (it broadcasts).

    `before` is not empty when other arguments share memory with the array without lying inside:
    the memory begins so many elements before it, in each dimension.  `extents` is not empty when
    some are compiled in; None stands for the others.
    """

    dtype: DType
    rank: int
    layout: Layout
    ones: tuple[bool, ...]
    before: tuple[int, ...] = ()
    extents: tuple[int | None, ...] = ()

    def extent(self, dim: int) -> int | None:
        """Return how long a dimension is known to be."""
        known = self.extents[dim] if self.extents else None
        return 1 if known is None and self.ones[dim] else known

    @property
    def shown(self) -> str:
        """The dimensions as text: `8,:`."""
        known = (self.extent(dim) for dim in range(self.rank))
        return ",".join(":" if extent is None else str(extent) for extent in known)


@dataclass(frozen=True, slots=True)
class PartType:
    """An array that shares memory with the array that argument number `part.owner` is.

    `whole[d]` tells that dimension `d` is as long as the owner's; `written`: the kernel writes it.
    """

    part: Part
    ones: tuple[bool, ...]
    whole: tuple[bool, ...]
    written: bool


_PYTHON = (DType.BOOL, DType.INT64, DType.FLOAT64, DType.COMPLEX128)


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A number passed by value; `weak` for Python's bool, int, float and complex (NEP 50).

    No number of another type is weak.
    """

    dtype: DType
    weak: bool = True

    def __post_init__(self) -> None:
        if self.weak and self.dtype not in _PYTHON:
            object.__setattr__(self, "weak", False)


@dataclass(frozen=True, slots=True, eq=False)
class ConstType:
    """An argument whose value is compiled in; `dtype` is that of a NumPy scalar.

    Equal are equal values of one type: 1, 1.0, True and a NumPy scalar differ.
    """

    value: object
    dtype: DType | None = None

    @property
    def known(self) -> object:
        """The value that the function gets."""
        return self.value if self.dtype is None else self.dtype.numpy.type(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstType):
            return NotImplemented
        same = type(self.value) is type(other.value) and self.dtype is other.dtype
        return same and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value), self.dtype))


@dataclass(frozen=True, slots=True)
class SizeCondition:
    """What holds, or not, in the calls that code is for; stands after the types of all arguments.

    `condition` is BOOL over integer arguments and dimensions of arrays, by their working names.
    """

    condition: Expr
    holds: bool


ANY_SIZES = SizeCondition(Const(True, DType.BOOL), True)
"""Stands where code is for every size: what data or empty loops keep from being read, too.

Other code is for calls whose arrays hold all that loops would reach if they ran, whatever data say.
"""

ArgType: TypeAlias = ArrayType | PartType | ScalarType | ConstType | SizeCondition


class NeedConstant(Exception):
    """An integer argument decides the shape of the code (axis, step, exponent): give its value."""

    def __init__(self, argument: str) -> None:
        super().__init__(f"the value of `{argument}` must be known")
        self.argument = argument


def by_position(function: Callable[..., object]) -> Callable[..., Any]:
    """Return a function that takes what `function` takes, all of it by position as kernels do."""
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    names = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    if not names:
        return function

    def called(*values: object) -> object:
        first = len(values) - len(names)
        return function(*values[:first], **dict(zip(names, values[first:], strict=True)))

    return called
