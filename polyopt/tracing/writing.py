"""Python syntax of operands: constants, sizes, subscripts, the names of NumPy's functions.

In: operands of nodes and a function that writes nodes.  Out: syntax trees.
Refuses: constants that have no text (PO0151).
"""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from polyopt.never import assert_never
from polyopt.tracing.nodes import Node
from polyopt.tracing.places import refuse
from polyopt.tracing.sizes import Atom, Extent, Extreme, Name, Quotient, Size, Unknown

WriteNode: TypeAlias = Callable[[Node], ast.expr]
WriteName: TypeAlias = Callable[[str], ast.expr]

BINARY: dict[str, ast.operator] = {
    "+": ast.Add(), "-": ast.Sub(), "*": ast.Mult(), "/": ast.Div(), "//": ast.FloorDiv(),
    "%": ast.Mod(), "**": ast.Pow(), "@": ast.MatMult(), "&": ast.BitAnd(), "|": ast.BitOr(),
    "^": ast.BitXor(), "<<": ast.LShift(), ">>": ast.RShift(),
}  # fmt: skip
COMPARE: dict[str, ast.cmpop] = {
    "<": ast.Lt(), "<=": ast.LtE(), ">": ast.Gt(), ">=": ast.GtE(), "==": ast.Eq(),
    "!=": ast.NotEq(),
}  # fmt: skip
UNARY: dict[str, ast.unaryop] = {"-": ast.USub(), "+": ast.UAdd(), "~": ast.Invert()}


def name(text: str) -> ast.expr:
    """Return a name that is read."""
    return ast.Name(text, ast.Load())


def call(function: ast.expr, *operands: ast.expr) -> ast.expr:
    """Return a call."""
    return ast.Call(function, list(operands), [])


def dotted(text: str) -> ast.expr:
    """Return `np.linalg.norm` as a tree."""
    first, *rest = text.split(".")
    found = name(first)
    for part in rest:
        found = ast.Attribute(found, part, ast.Load())
    return found


def operation(text: str, operands: list[ast.expr]) -> ast.expr:
    """Return a Python operator applied to operands."""
    match operands:
        case [only] if text in UNARY:
            return ast.UnaryOp(UNARY[text], only)
        case [left, right] if text in BINARY:
            return ast.BinOp(left, BINARY[text], right)
        case [left, right] if text in COMPARE:
            return ast.Compare(left, [COMPARE[text]], [right])
        case _:
            return call(name(text), *operands)


def function_name(function: Callable[..., object]) -> str | None:
    """Return how NumPy calls a function, `np.linalg.norm`; None for functions of others."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        own = function_name(owner)
        return None if own is None else f"{own}.{function.__name__}"
    module = getattr(function, "__module__", None) or "numpy"
    if module == "polyopt.random":
        return f"po.random.{function.__name__}"
    places = [module.removeprefix("numpy").strip("."), ""]
    for place in places:
        text = ".".join(part for part in (place, function.__name__) if part)
        found: object = np
        for part in text.split("."):
            found = getattr(found, part, None)
        if found is function:
            return f"np.{text}"
    return None


def constant(value: object) -> ast.expr:
    """Return a constant as a tree that reads back as the same value."""
    match value:
        case bool() | None | str():
            return ast.Constant(value)
        case np.generic():
            return _numpy_constant(value)
        case int() | float():
            return _real(value)
        case complex():
            imaginary = ast.Constant(complex(0, abs(value.imag)))
            if not cmath.isfinite(value):
                return call(name("complex"), _real(value.real), _real(value.imag))
            sign: ast.operator = ast.Sub() if math.copysign(1, value.imag) < 0 else ast.Add()
            return ast.BinOp(_real(value.real), sign, imaginary)
        case np.dtype():
            return _dtype(value)
        case type() if value in (bool, int, float, complex):
            return name(value.__name__)
        case type() if issubclass(value, np.generic):
            return constant(np.dtype(value))
        case _:
            if value is Ellipsis:
                return ast.Constant(Ellipsis)
            refuse("PO0151", f"the operand {value!r}")


def _dtype(value: np.dtype[np.generic]) -> ast.expr:
    if value.name == "bfloat16":
        return dotted("ml_dtypes.bfloat16")
    return dotted(f"np.{'bool_' if value == np.bool_ else value.name}")


def _numpy_constant(value: np.generic) -> ast.expr:
    kind = constant(value.dtype)
    return call(kind, constant(value.item()))


def _real(value: float) -> ast.expr:
    if value != value:
        return dotted("np.nan")
    found = dotted("np.inf") if abs(value) == math.inf else ast.Constant(abs(value))
    return ast.UnaryOp(ast.USub(), found) if math.copysign(1, value) < 0 else found


def operand(value: object, node: WriteNode, size: WriteName) -> ast.expr:
    """Return an operand as a tree."""
    match value:
        case Node():
            return node(value)
        case Size():
            return extent(value, node, size)
        case tuple():
            return ast.Tuple([operand(part, node, size) for part in value], ast.Load())
        case list():
            return ast.List([operand(part, node, size) for part in value], ast.Load())
        case slice(start=start, stop=stop, step=step):
            parts = (None if p is None else operand(p, node, size) for p in (start, stop, step))
            return ast.Slice(*parts)
        case _:
            return constant(value)


def extent(value: Extent, node: WriteNode, size: WriteName) -> ast.expr:
    """Return a size as arithmetic on the shapes of arrays."""
    if isinstance(value, int):
        return _real(value)
    found: ast.expr | None = None
    for monomial, coefficient in value.terms:
        factors = [_atom(part, node, size) for part in monomial]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, ast.Constant(abs(coefficient)))
        product = factors[0]
        for factor in factors[1:]:
            product = ast.BinOp(product, ast.Mult(), factor)
        found = added(found, product, coefficient < 0)
    assert found is not None
    return found


def added(total: ast.expr | None, part: ast.expr, is_less: bool) -> ast.expr:
    """Return the sum, or with `is_less` the difference; None is nothing yet."""
    if total is None:
        return ast.UnaryOp(ast.USub(), part) if is_less else part
    return ast.BinOp(total, ast.Sub() if is_less else ast.Add(), part)


def _atom(part: Atom, node: WriteNode, size: WriteName) -> ast.expr:
    match part:
        case Name(text=text):
            return size(text)
        case Unknown(node=owner, dim=dim):
            assert isinstance(owner, Node)
            return shape_part(node(owner), dim)
        case Quotient(left=left, right=right, remainder=rest):
            op: ast.operator = ast.Mod() if rest else ast.FloorDiv()
            return ast.BinOp(extent(left, node, size), op, extent(right, node, size))
        case Extreme(left=left, right=right, least=least):
            sides = (extent(left, node, size), extent(right, node, size))
            return call(name("min" if least else "max"), *sides)
        case _:
            assert_never(part)


def shape_part(array: ast.expr, dim: int) -> ast.expr:
    """Return `array.shape[dim]`."""
    shape = ast.Attribute(array, "shape", ast.Load())
    return ast.Subscript(shape, ast.Constant(dim), ast.Load())
