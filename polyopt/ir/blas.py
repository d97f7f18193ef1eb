"""Products that BLAS computes: `C[i, j] += A[i, k] * B[k, j]` and `y[i] += A[i, k] * x[k]`.

In: a target, a value, the names of loops.  Out: `LibraryProduct`; raises `NoProduct` with a reason.
Accesses and the form of the sum decide, as J. Dongarra et al., "A set of level 3 basic linear
algebra subprograms" (1990), define the operations; names and the order of the loops do not.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Binary, Expr, Iter, Load
from polyopt.ir.linear import linear
from polyopt.ir.loops import Assign, For, LoopKind
from polyopt.ir.names import iterators
from polyopt.ir.sums import added_products
from polyopt.ir.types import DType


class NoProduct(Exception):
    """Why a statement or a nest is none of the operations."""


@dataclass(frozen=True, slots=True)
class LibraryProduct:
    """`target (+|-)= left * right`; `columns` is None for a matrix times a vector.

    `rows` and `columns` are loops over elements of the target, its last dimension that of the
    columns; `terms` is the loop over what is added up.
    """

    rows: str
    columns: str | None
    terms: str
    is_subtracted: bool
    target: Load
    left: Load
    right: Load


@dataclass(frozen=True, slots=True)
class ProductNest:
    """A nest that is a product: the loops by name, the statement."""

    product: LibraryProduct
    loops: dict[str, For]
    assign: Assign


def product_of(target: Load, value: Expr, loops: tuple[str, ...]) -> LibraryProduct:
    """Return the product that the loops make of `target = value`; raises `NoProduct`."""
    is_subtracted, left, right = _factors(target, value)
    for operand in (left, right):
        if operand.array == target.array:
            raise NoProduct(f"{operand.array} is read and written")
    inside = {name for name in loops if _place(target, name) is not None}
    of_left = {name for name in loops if _place(left, name) is not None}
    of_right = {name for name in loops if _place(right, name) is not None}
    terms = [name for name in loops if name not in inside]
    if len(terms) != 1 or terms[0] not in of_left & of_right:
        raise NoProduct("there is no one loop over terms, of which both factors take elements")
    (term,) = terms
    columns: str | None = None
    match len(loops):
        case 3:
            columns = _at_last(target, inside)
            (rows,) = inside - {columns}
            if columns in of_left:
                left, right, of_left, of_right = right, left, of_right, of_left
            if of_left != {rows, term} or of_right != {columns, term}:
                raise NoProduct("a factor has other loops than rows or columns, and terms")
            _at_last(right, of_right)
        case 2:
            (rows,) = inside
            if rows in of_right:
                left, right, of_left, of_right = right, left, of_right, of_left
            if of_left != {rows, term} or of_right != {term}:
                raise NoProduct("its factors are not a matrix and a vector")
        case _:
            raise NoProduct("it has not two or three loops")
    _at_last(left, of_left)
    return LibraryProduct(rows, columns, term, is_subtracted, target, left, right)


def nest_of(loop: For) -> ProductNest:
    """Return the product that a nest of loops over a box makes; raises `NoProduct`."""
    loops: dict[str, For] = {}
    node: object = loop
    while isinstance(node, For):
        if node.step != 1 or node.kind is not LoopKind.LIBRARY or len(node.body) != 1:
            raise NoProduct("its loops are not those of the product alone")
        if not iterators(node.lower, node.upper).isdisjoint(loops):
            raise NoProduct(f"the bounds of loop {node.iter} depend on loops around it")
        loops[node.iter] = node
        (node,) = node.body
    if not isinstance(node, Assign) or not isinstance(node.target, Load):
        raise NoProduct("there is more in its loops than one statement")
    return ProductNest(product_of(node.target, node.value, tuple(loops)), loops, node)


def place_of(load: Load, loop: str) -> int:
    """Return the dimension of an access that a loop goes through."""
    found = _place(load, loop)
    assert found is not None
    return found


def _factors(target: Load, value: Expr) -> tuple[bool, Load, Load]:
    """Return the factors of the one product that is added, or subtracted."""
    match added_products(value):
        case (before, ((is_subtracted, Binary(left=Load() as left, right=Load() as right)),)) if (
            before == target and value.dtype in (DType.FLOAT32, DType.FLOAT64)
        ):
            if {left.dtype, right.dtype, target.dtype} != {value.dtype}:
                raise NoProduct("its arrays have several types")
            return is_subtracted, left, right
        case _:
            raise NoProduct("it does not add products of two elements, of float32 or float64")


def _place(load: Load, loop: str) -> int | None:
    """Return the dimension whose subscript is `loop` plus what is outside of the nest."""
    found = [d for d, index in enumerate(load.index) if loop in iterators(index)]
    if not found:
        return None
    (place, *more) = found
    terms = dict(linear(load.index[place]).terms)
    own = [factor for atom, factor in terms.items() if loop in iterators(atom)]
    if more or own != [1] or not any(isinstance(a, Iter) and a.name == loop for a in terms):
        raise NoProduct(f"loop {loop} does not go through {load.array} one element at a time")
    return place


def _at_last(load: Load, loops: set[str]) -> str:
    """Return the loop of the last dimension; each dimension has one loop at most."""
    places = {name: place_of(load, name) for name in loops}
    if len(set(places.values())) != len(places):
        raise NoProduct(f"two loops go through one dimension of {load.array}")
    last = [name for name, place in places.items() if place == len(load.index) - 1]
    if not last:
        raise NoProduct(f"the last dimension of {load.array} is none of the product's")
    return last[0]
