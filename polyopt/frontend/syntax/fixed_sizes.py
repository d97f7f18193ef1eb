"""Compile sizes that annotations name in: `compile(N=4096, T=po.any)`.

In: a function whose arrays are annotated, as `po.f64["T+1,N"]`; sizes by name.  Out: the types of
its arguments, with the extents that the sizes decide.
Refuses: a size that is neither a number from 0 nor `any` (PO0222).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from enum import Enum, unique
from typing import Final

from polyopt.dataclass import replace
from polyopt.errors import ArgumentError, UsageError
from polyopt.frontend.syntax.annotations import ArgType, ArrayType
from polyopt.frontend.syntax.type_inference import annotated_dims

MOST = 2**48


@unique
class AnySize(Enum):
    """A size that is left open: every value that a call has."""

    ANY = "any"

    def __repr__(self) -> str:
        return "po.any"


any: Final = AnySize.ANY
"""A size that stays open, as all sizes that `compile` is not told."""


def sizes_among(
    func: Callable[..., object], given: Mapping[str, object], parameters: Collection[str]
) -> dict[str, int | None]:
    """Return the keywords that name sizes of annotations; None for open ones.

    Raises `ArgumentError` PO0201 for one that names nothing.
    """
    if all(name in parameters for name in given):
        return {}
    dims = [dim for found in annotated_dims(func).values() for dim in found]
    named = dict.fromkeys(name for dim in dims for name in sorted(_names(dim)))
    unknown = [name for name in given if name not in named and name not in parameters]
    if unknown and named:
        raise ArgumentError(
            "PO0201",
            f"there is no size or parameter `{unknown[0]}`",
            hint=f"the sizes are {', '.join(named)}, the parameters {', '.join(parameters)}",
        )
    return {n: _size(n, v) for n, v in given.items() if n in named and n not in parameters}


def refuse_open(
    args: tuple[object, ...], kwargs: Mapping[str, object], parameters: tuple[str, ...]
) -> None:
    """Refuse `any` where a parameter's example or type belongs (PO0222)."""
    given = [*zip(parameters, args, strict=False), *kwargs.items()]
    for name, value in given:
        if value is AnySize.ANY and name in parameters:
            hint = "leave it out: types are inferred; `po.any` is for sizes that annotations name"
            raise UsageError("PO0222", f"parameter `{name}` is po.any", hint=hint)


def _size(name: str, value: object) -> int | None:
    if value is AnySize.ANY:
        return None
    if type(value) is int and 0 <= value <= MOST:
        return value
    hint = f"use a number from 0, as in `{name}=4096`, or `{name}=po.any` to leave it open"
    raise UsageError("PO0222", f"size `{name}` is {value!r}", hint=hint)


def with_extents(
    func: Callable[..., object], types: tuple[ArgType, ...], sizes: Mapping[str, int | None]
) -> tuple[ArgType, ...]:
    """Return `types` with the extents that `sizes` decide compiled in."""
    known = {name: size for name, size in sizes.items() if size is not None}
    if not known:
        return types
    dims = annotated_dims(func)
    return tuple(
        _with_known(kind, dims.get(name, ()), known) for name, kind in zip(dims, types, strict=True)
    )


def _with_known(kind: ArgType, dims: tuple[str, ...], known: Mapping[str, int]) -> ArgType:
    if not isinstance(kind, ArrayType) or kind.extents or len(dims) != kind.rank:
        return kind
    extents = tuple(_value(dim, known) for dim in dims)
    return kind if all(extent is None for extent in extents) else replace(kind, extents=extents)


def _names(dim: str) -> set[str]:
    tree = _tree(dim)
    return set() if tree is None else {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}


def _tree(dim: str) -> ast.expr | None:
    try:
        return ast.parse(dim, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _value(dim: str, known: Mapping[str, int]) -> int | None:
    """Return what a dimension is; None where it is open, or no sum of names and numbers.

    >>> _value("T + 1", {"T": 7}), _value("N", {"T": 7})
    (8, None)
    """

    def value(node: ast.expr | None) -> int | None:
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.Name(id=name):
                return known.get(name)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
                one, two = value(left), value(right)
                if one is None or two is None:
                    return None
                if isinstance(op, ast.Mult):
                    return one * two
                return one + two if isinstance(op, ast.Add) else one - two
            case _:
                return None

    found = value(_tree(dim))
    return found if found is not None and found >= 0 else None
