"""The text of `--types`: `f64[:,:],f32[:],i64,f64,=3`.

In: the text and the function it is for.  Out: one `ArgType` per argument.
Refuses: unknown element types, malformed items and a wrong count (PO0608).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from polyopt.errors import UsageError
from polyopt.frontend.syntax.argtypes import ArgType, ArrayType, ConstType, ScalarType
from polyopt.frontend.syntax.type_inference import require_declared
from polyopt.ir.source import Layout
from polyopt.ir.types import DType

_DTYPES = {d.short_name: d for d in DType} | {d.value: d for d in DType}
_EXAMPLE = 'for example --types "f64[:,:],i64,=2": a matrix, a size, the constant 2'


def parse_types(text: str, func: Callable[..., Any]) -> tuple[ArgType, ...]:
    """Return the types in `text`, one for each argument of `func`."""
    items = _items(text)
    names = list(inspect.signature(func).parameters)
    if len(items) != len(names):
        count = f"{len(items)} type{'s' * (len(items) != 1)}"
        raise UsageError(
            "PO0608",
            f"--types gives {count}, `{func.__name__}` has {len(names)} arguments: "
            f"{', '.join(names)}",
            hint=_EXAMPLE,
        )
    found = tuple(_parse(item.strip()) for item in items)
    require_declared(func, names, found)
    return found


def _items(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    items, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += (char in "[(") - (char in "])")
        if char == "," and depth == 0:
            items.append(text[start:position])
            start = position + 1
    last = text[start:]
    return [*items, last] if last.strip() or items else []


def _parse(item: str) -> ArgType:
    if item.startswith("="):
        return ConstType(_literal(item))
    name, bracket, rest = item.partition("[")
    dtype = _DTYPES.get(name.strip())
    if dtype is None:
        known = ", ".join(dtype.short_name for dtype in DType)
        raise UsageError(
            "PO0608",
            f"--types: `{item}` has no known element type",
            notes=(f"element types: {known}",),
            hint=_EXAMPLE,
        )
    if not bracket:
        return ScalarType(dtype)
    dims = [dim.strip() for dim in rest[:-1].split(",")]
    is_dim = [dim in (":", "1") or dim.isidentifier() for dim in dims]
    if not rest.endswith("]") or not all(is_dim):
        raise UsageError(
            "PO0608",
            f"--types: `{item}` is not an array type",
            hint="write one `:` per dimension, or `1` where the size is known to be 1: f64[:,1]",
        )
    return ArrayType(dtype, len(dims), Layout.C, tuple(dim == "1" for dim in dims))


def _literal(item: str) -> object:
    try:
        return ast.literal_eval(item[1:].strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise UsageError(
            "PO0608",
            f"--types: `{item}` is not a constant",
            hint="write a literal: =2, =True, =None",
        ) from None


def parse_sizes(text: str | None) -> dict[str, int]:
    """Return the sizes in `N=100,A=50x60`; `A=50x60` gives `A[0]` and `A[1]`.  Raises PO0609."""
    sizes: dict[str, int] = {}
    for item in (text or "").split(","):
        if not item.strip():
            continue
        name, equals, value = (part.strip() for part in item.partition("="))
        extents = value.split("x")
        if not equals or not name.isidentifier() or not all(map(_is_number, extents)):
            raise UsageError(
                "PO0609",
                f"--sizes: `{item.strip()}` is not a size",
                hint="write N=100 for a size, A=50x60 for the shape of an array",
            )
        if any(int(extent) < 0 for extent in extents):
            raise UsageError(
                "PO0609", f"--sizes: `{name}` is negative", hint=f"write {name}=0 or more"
            )
        if len(extents) == 1:
            sizes[name] = int(value)
        else:
            sizes |= {f"{name}[{d}]": int(extent) for d, extent in enumerate(extents)}
    return sizes


def _is_number(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19
