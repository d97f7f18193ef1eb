"""Attributes: of modules, NumPy's types, numbers and arrays.

In: the value that has the attribute, its name.  Out: the attribute's value."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from polyopt import frontend
from polyopt.capture.reads import plain_function
from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.operators import describe, operate
from polyopt.frontend.integers.affine_integers import times
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.numpy.table import METHODS
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced
from polyopt.frontend.subscripts.compaction import compacted
from polyopt.frontend.subscripts.masks import count
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.computed_sizes import as_affine
from polyopt.frontend.values.constants import value_of_global
from polyopt.frontend.values.records import Bound, Modelled, Record, Ruled
from polyopt.frontend.values.values import (
    Known,
    Masked,
    Method,
    Number,
    Operandish,
    Sequence,
    Tensor,
    Value,
    as_tensor,
)
from polyopt.frontend.variables import lists
from polyopt.ir.expr import Expr, integer

Call = Callable[[Value, Arguments], Value]
"""Calls a function while a kernel is read."""


def attribute_of(  # noqa: C901  one case per kind of object
    b: Builder, base: Value, node: ast.Attribute, loc: Loc | None, call: Call
) -> Value:
    """Return the attribute that `node` asks of the value `base`; PO0124 or PO0152 if none."""
    match base:
        case Known(value=ModuleType() as module):
            if not hasattr(module, node.attr):
                hint = frontend.syntax.advice.did_you_mean(
                    node.attr, dir(module), f"{ast.unparse(node.value)}."
                )
                hint = hint or f"check the spelling: `{module.__name__}` has other names"
                refuse("PO0124", f"module `{module.__name__}` has no `{node.attr}`", loc, hint)
            found = b.facts.recording.attribute(module, node.attr)
            return value_of_global(b, node.attr, found, loc)
        case Known(value=np.dtype() as element) if node.attr in ("type", "itemsize", "kind"):
            return Known(getattr(element, node.attr))
        case Known(value=np.ufunc() as ufunc) if hasattr(ufunc, node.attr):
            return Known(getattr(ufunc, node.attr))
        case Known(value=np.finfo() | np.iinfo() | np.dtype() as facts) if hasattr(
            facts, node.attr
        ):
            return Known(getattr(facts, node.attr))
        case Known(value=int() | float() | complex() as number) if hasattr(
            number, node.attr
        ) and not node.attr.startswith("_"):
            return Known(getattr(number, node.attr))
        case Known(value=Record() as owner):
            return _part_of(b, owner, node.attr, loc, call)
        case Known(value=type() as kind) if (
            part := _of_class(b, kind, node.attr, loc)
        ) is not None:
            return part
        case Known(value=Enum() as member) if node.attr in ("value", "name"):
            return Known(getattr(member, node.attr))
        case Sequence(kind=type()) if node.attr == "_replace":
            return Known(Ruled(lambda _, args: _replaced(base, args)))
        case Known(value=Modelled() as owner):
            return owner.attribute(node.attr, loc)
        case Sequence(items=items, names=names) if node.attr in names:
            return items[names.index(node.attr)]
        case Masked():
            return _masked_attribute(b, base, node.attr, loc)
        case Tensor() | Number():
            return _array_attribute(b, base, node.attr, loc)
        case _:
            is_generator = isinstance(base, Known) and _is_of_random(base.value)
            rest = _OF_GENERATORS if is_generator else "use arrays and numbers only"
            hint = frontend.syntax.advice.instead_of_attribute(node.attr, (), rest)
            refuse("PO0152", f"`.{node.attr}` of {describe(base)} is not supported", loc, hint)


_OF_GENERATORS = (
    "make the generator in the kernel, of `np.random.Philox(key=...)`, or use `po.random`"
)


def _is_of_random(value: object) -> bool:
    """Tell whether a value is a generator of NumPy's; the module is not imported for that."""
    return type(value).__module__.startswith("numpy.random")


def key_in(table: Collection[object], key: Value, loc: Loc | None) -> object:
    """Return the text or number that `key` is, which has to be one of a dict's keys."""
    match key:
        case Known(value=str() | int() as name) if name in table:
            return name
        case _:
            shown = repr(key.value) if isinstance(key, Known) else describe(key)
            hint = f"its keys are {', '.join(map(repr, table))}"
            refuse("PO0135", f"the dict has no entry {shown}", loc, hint)


def _replaced(owner: Sequence, args: Arguments) -> Value:
    """Return a named tuple with some of its items changed."""
    unknown = [name for name in args.keywords if name not in owner.names]
    if unknown or args.values:
        hint = f"its items are {', '.join(owner.names)}"
        refuse("PO0103", "`_replace` takes items by their names", args.loc, hint)
    pairs = zip(owner.names, owner.items, strict=True)
    return replace(owner, items=tuple(args.keywords.get(name, item) for name, item in pairs))


def _of_class(b: Builder, kind: type, name: str, loc: Loc | None) -> Value | None:
    """Return an attribute of a class of the user's, None where it has none, or none to read."""
    found = inspect.getattr_static(kind, name, None)
    if issubclass(kind, Enum):
        return Known(kind.__members__[name]) if name in kind.__members__ else None
    if kind.__module__ == "builtins" or kind.__module__.partition(".")[0] == "numpy":
        return None
    if isinstance(found, staticmethod | classmethod):
        function = cast(Any, found.__func__)
        return Known(function if isinstance(found, staticmethod) else Bound(function, kind))
    if found is None or hasattr(found, "__get__"):
        return Known(found) if isinstance(plain_function(found), FunctionType) else None
    return value_of_global(b, name, b.facts.recording.attribute(kind, name), loc)


def _part_of(b: Builder, owner: Record, name: str, loc: Loc | None, call: Call) -> Value:
    """Return an attribute of an object, or of its class."""
    if owner.kind is dict:
        hint = 'read its entries, by names that are written out: `params["w"]`'
        refuse("PO0152", f"`.{name}` of a dict is not supported", loc, hint)
    if name in owner.fields:
        return owner.fields[name]
    found = inspect.getattr_static(owner.kind, name, None)
    if isinstance(found, staticmethod):
        return Known(found.__func__)
    if isinstance(plain_function(found), FunctionType):
        return Known(Bound(cast(Any, found), owner))
    if isinstance(found, property) and isinstance(found.fget, FunctionType):
        return call(Known(Bound(found.fget, owner)), Arguments(name, (), {}, loc))
    if isinstance(found, classmethod):
        return Known(Bound(cast(Any, found.__func__), owner.kind))
    if found is not None and not hasattr(found, "__get__"):
        return value_of_global(b, name, b.facts.recording.attribute(owner.kind, name), loc)
    hint = (
        "kernels read attributes that are arrays, numbers, functions, tuples, or objects with such"
    )
    message = f"`.{name}` of an object of class `{owner.kind.__name__}` is not supported"
    refuse("PO0152", message, loc, hint)


def _masked_attribute(b: Builder, base: Masked, name: str, loc: Loc | None) -> Value:
    match name:
        case "size":
            return count(b, base, loc)
        case "shape":
            return Sequence((count(b, base, loc),))
        case _ if name in METHODS:
            return Method(base, name)
        case _:
            return _array_attribute(b, compacted(b, base), name, loc)


ATTRIBUTES = (
    "shape", "size", "ndim", "dtype", "T", "mT", "real", "imag", "flat", "itemsize", "nbytes",
)  # fmt: skip


def _array_attribute(  # noqa: C901  one case per attribute
    b: Builder, base: Operandish, name: str, loc: Loc | None
) -> Value:
    array = as_tensor(base)
    match name:
        case "shape":
            return Sequence(tuple(Number(b.extent(e), True) for e in array.shape))
        case "size":
            total: Expr = integer(1)
            for extent in array.shape:
                total = as_affine(b.facts, times(total, b.extent(extent)))
            return Number(total, True)
        case "ndim":
            return Known(array.rank)
        case "dtype":
            return Known(array.dtype.numpy)
        case "T" if isinstance(base, Tensor):
            return frontend.numpy.reshaping.transposed(forced(b, array))
        case "T":
            return base
        case "mT" if array.rank > 1:
            axes = (*range(array.rank - 2), array.rank - 1, array.rank - 2)
            return frontend.numpy.reshaping.permuted(forced(b, array), axes)
        case "flat":
            return frontend.numpy.regrouping.ravel(b, Arguments("ravel", (base,), {}, loc))
        case "itemsize" | "nbytes":
            bytes_ = Known(array.dtype.size)
            if name == "itemsize":
                return bytes_
            return operate(b, "multiply", (_array_attribute(b, base, "size", loc), bytes_), loc)
        case "real":
            return frontend.numpy.selection.real(b, Arguments("real", (base,), {}, loc))
        case "imag":
            return frontend.numpy.selection.imag(b, Arguments("imag", (base,), {}, loc))
        case _ if name in METHODS:
            return Method(base, name)
        case "append" | "pop" if lists.is_list(base):
            hint = "write `items.append(x)` or `x = items.pop()`, of the last item, as a statement"
            refuse("PO0152", f"`.{name}` of a list in another form than these", loc, hint)
        case _:
            hint = frontend.syntax.advice.instead_of_attribute(name, (*METHODS, *ATTRIBUTES))
            refuse("PO0152", f"`.{name}` of an array is not supported", loc, hint)
