"""What an operation gives, by the rules with which the front end reads it in a kernel.

In: a call or an operator with its operands.  Out: the kinds of the results, None for an extent that
only its value tells.
Refuses: what the front end refuses, and sizes of different names that would be equal (PO0140).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from polyopt.capture.reads import Recording
from polyopt.dataclass import dataclass
from polyopt.errors import FrontendError, Loc
from polyopt.frontend.arithmetic import operators
from polyopt.frontend.integers import affine_integers as integers
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.facts import Facts
from polyopt.frontend.reader.calls import call_value
from polyopt.frontend.reader.statements import StatementReader
from polyopt.frontend.syntax.pysource import PyFunction, read_function
from polyopt.frontend.values.computed_sizes import as_affine
from polyopt.frontend.values.constants import as_sequence
from polyopt.frontend.values.values import (
    Buffer,
    Known,
    Masked,
    Number,
    Sequence,
    Tensor,
    Value,
    view_of,
)
from polyopt.frontend.variables.call_frames import Frame
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Param, Symbol, integer
from polyopt.ir.types import dtype_of
from polyopt.never import assert_never
from polyopt.tracing import writing
from polyopt.tracing.nodes import Call, Kind, Node, Operator
from polyopt.tracing.places import here, refuse
from polyopt.tracing.sizes import (
    Atom,
    Extent,
    Extreme,
    Name,
    Quotient,
    Size,
    Unknown,
    at_least_zero,
    atom,
    extreme,
    is_polynomial,
    minus,
    plus,
    quotient,
    remainder,
    times,
)

MOST_READINGS = 20


@dataclass(frozen=True, slots=True)
class Found:
    """A result's extents and element type; `weak` tells a Python number."""

    shape: tuple[Extent | None, ...]
    dtype: np.dtype[np.generic]
    weak: bool = False


Results: TypeAlias = tuple[tuple[Found, ...], bool]


def results(
    op: Call | Operator, operands: tuple[object, ...], keywords: Mapping[str, object]
) -> Results:
    """Return what an operation gives, and whether that is a tuple."""
    given = tuple((name, _described(value)) for name, value in keywords.items())
    try:
        return _results(op, tuple(map(_described, operands)), given)
    except FrontendError as error:
        error.loc = here()
        raise


def kind_of(op: Call | Operator, *operands: object) -> Kind:
    """Return the kind of an operation on numbers, which gives one."""
    ((found,), _) = results(op, operands, {})
    return Kind((), found.dtype, found.weak)


# -- operands ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Constant:
    kind: type
    value: object


@dataclass(frozen=True, slots=True)
class _List:
    items: tuple[object, ...]


def _described(value: object) -> object:
    """Return what decides the kinds of results: of arrays their own kinds."""
    match value:
        case Node():
            return value.kind
        case Size() | Kind():
            return value
        case tuple():
            return tuple(map(_described, value))
        case list():
            return _List(tuple(map(_described, value)))
        case slice() | dict() | set():
            refuse("PO0151", f"the operand {value!r}")
        case _:
            return _Constant(type(value), value)


class _Sizes(Facts):
    """What one operation says of sizes; names that differ are taken to differ."""

    def __init__(self) -> None:
        super().__init__(Recording(_nothing), depth=2)
        self.atoms: dict[str, Atom] = {}

    def set_equal(self, param: str, value: Expr, loc: Loc | None = None) -> None:
        left, right = self.extent(Param(param)), self.extent(value)
        named = [e for e in (left, right) if isinstance(e, Size) and is_polynomial(e)]
        if len(named) == 2:
            refuse("PO0140", f"the shapes of the operands do not fit: {left} is not {right}")
        super().set_equal(param, value, loc)

    def expr(self, extent: Extent) -> Expr:
        """Return a size as the front end writes it."""
        total: Expr = integer(extent) if isinstance(extent, int) else integers.ZERO
        for monomial, factor in () if isinstance(extent, int) else extent.terms:
            product: Expr = integer(factor)
            for part in monomial:
                product = integers.times(product, self._part(part))
            total = integers.plus(total, product)
        return as_affine(self, total)

    def _part(self, part: Atom) -> Expr:
        match part:
            case Name(text=text):
                name = f"[{text}]"
            case Unknown():
                name = f"[?{id(part.node)}.{part.dim}]"
            case Quotient(left=left, right=right, remainder=rest):
                rule = integers.modulo if rest else integers.floordiv
                return rule(self.expr(left), self.expr(right))
            case Extreme(left=left, right=right, least=least):
                rule = integers.minimum if least else integers.maximum
                return rule(self.expr(left), self.expr(right))
            case _:
                assert_never(part)
        self.atoms[name] = part
        return Param(name)

    def extent(self, expr: Expr) -> Extent | None:
        """Return a size of the front end's, None for one that only the running kernel knows."""
        return self._extent(self.expanded(self.resolve(expr)))

    def _extent(self, expr: Expr) -> Extent | None:
        match expr:
            case Const(value=int(value)):
                return value
            case Param(name=name) if name in self.atoms:
                return atom(self.atoms[name])
            case Binary(op=op) if op in _ARITHMETIC:
                left, right = self._extent(expr.left), self._extent(expr.right)
                if left is None or right is None:
                    return None
                return _ARITHMETIC[op](left, right)
            case _:
                return None


def _largest(left: Extent, right: Extent) -> Extent:
    """Sizes are taken to be large enough."""
    return at_least_zero(left) if right == 0 else extreme(left, right, least=False)


_ARITHMETIC: dict[BinaryOp, Callable[[Extent, Extent], Extent]] = {
    BinaryOp.ADD: plus,
    BinaryOp.SUB: minus,
    BinaryOp.MUL: times,
    BinaryOp.FLOORDIV: quotient,
    BinaryOp.MOD: remainder,
    BinaryOp.MIN: lambda left, right: extreme(left, right, least=True),
    BinaryOp.MAX: _largest,
}


def _value(sizes: _Sizes, described: object) -> Value:
    """Return an operand as the front end's value."""
    match described:
        case Kind(shape=(), dtype=np.dtype(kind="i"), weak=True):
            return Number(Param("[number]"), True)
        case Kind(shape=(), dtype=dtype, weak=weak):
            return Number(Symbol("number", dtype_of(dtype)), weak)
        case Kind(shape=shape, dtype=dtype):
            return view_of(Buffer("array", dtype_of(dtype), tuple(map(sizes.expr, shape))))
        case Size():
            return Number(sizes.expr(described), True)
        case tuple():
            return Sequence(tuple(_value(sizes, part) for part in described))
        case _List(items=items):
            return Sequence(tuple(_value(sizes, part) for part in items), True)
        case _Constant(value=value):
            return Known(value)
        case _:
            raise AssertionError(described)


# -- reading ----------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _results(
    op: Call | Operator, operands: tuple[object, ...], keywords: tuple[tuple[str, object], ...]
) -> Results:
    sizes = _Sizes()
    for _ in range(MOST_READINGS):
        before = sizes.version
        b = Builder(sizes, True, frozenset())
        values = tuple(_value(sizes, operand) for operand in operands)
        try:
            value = _applied(b, op, values, {k: _value(sizes, v) for k, v in keywords})
        except FrontendError:
            if sizes.version == before:
                raise
            continue
        if sizes.version == before:
            break
    found = as_sequence(value)
    if isinstance(found, Sequence):
        return tuple(_found(sizes, item) for item in found.items), True
    return (_found(sizes, found),), False


def _applied(
    b: Builder, op: Call | Operator, values: tuple[Value, ...], keywords: Mapping[str, Value]
) -> Value:
    match op:
        case Operator(text=text) if (text, len(values)) in _NAMES:
            return operators.operate(b, _NAMES[text, len(values)], values, None)
        case Operator(text=text):
            name, function = text, {"@": np.matmul, "abs": abs}[text]
        case Call(function=function):
            name = writing.function_name(function) or function.__name__
    frame = Frame(_no_function(), StatementReader())
    node = ast.Call(ast.Name(name), [], [], lineno=0, col_offset=0)
    return call_value(b, frame, Known(function), Arguments(name, values, keywords, None), node)


_NAMES = {
    **{(text, 1): operators.UNARY[type(op)] for text, op in writing.UNARY.items()},
    **{(text, 2): operators.BINARY[type(op)] for text, op in writing.BINARY.items() if text != "@"},
    **{(text, 2): operators.COMPARE[type(op)] for text, op in writing.COMPARE.items()},
}


def _nothing() -> None:
    """Stand for the function that an operation is read in."""


@lru_cache(maxsize=1)
def _no_function() -> PyFunction:
    return read_function(_nothing)


def _found(sizes: _Sizes, value: Value) -> Found:
    match value:
        case Number(dtype=dtype, weak=weak):
            return Found((), dtype.numpy, weak)
        case Tensor(shape=shape, dtype=dtype, weak=weak):
            extents = (sizes.extent(extent) for extent in shape)
            known = tuple(None if e is None else at_least_zero(e) for e in extents)
            return Found(known, dtype.numpy, weak and not known)
        case Masked(tensor=tensor):
            return Found((None,), tensor.dtype.numpy)
        case Known(value=bool() | int() | float() | complex() as number):
            return Found((), np.dtype(type(number)), True)
        case Known(value=np.generic() as number):
            return Found((), number.dtype)
        case _:
            hint = "use it with concrete values, outside of lazy arrays"
            refuse("PO0151", f"a result that is {operators.describe(value)}", hint=hint)
