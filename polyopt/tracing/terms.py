"""Elements under named indices: `A[i, k] * B[k, j]`, sums over an index, choices.

In: `Index` objects, subscripts of lazy arrays by affine expressions of them.  Out: `Term` trees.
Refuses: subscripts that are not affine, operations without an element's meaning (PO0807).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.tracing import reading
from polyopt.tracing.nodes import BINARY, COMPARE, Call, Kind, Node, Operator
from polyopt.tracing.places import refuse
from polyopt.tracing.sizes import Extent, Size, as_extent, is_extent, minus, plus, times


class _Operators:
    """Python's and NumPy's operations on elements make terms."""

    __slots__ = ()

    def __array_ufunc__(
        self, ufunc: Callable[..., object], method: str, *inputs: object, **options: object
    ) -> object:
        """Record a ufunc of elements."""
        if method != "__call__" or options or not isinstance(ufunc, np.ufunc) or ufunc.nout != 1:
            refuse("PO0807", f"`{getattr(ufunc, '__name__', ufunc)}.{method}` of elements")
        return Apply(ufunc, None, tuple(term(value) for value in inputs))

    def __array_function__(
        self,
        function: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object],
        options: Mapping[str, object],
    ) -> object:
        """Record a choice; refuse other functions, which take whole arrays."""
        if function is np.where and len(args) == 3:
            return Apply(np.where, None, tuple(term(value) for value in args))
        refuse("PO0807", f"`np.{function.__name__}` of elements",
               hint="use arithmetic, ufuncs, po.where and po.sum(term, over=k)")  # fmt: skip

    def __bool__(self) -> bool:
        refuse("PO0801", "the truth of an element is needed while it is recorded",
               hint="use po.where(condition, a, b)")  # fmt: skip

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True, eq=False)
class Affine(_Operators):
    """An integer: indices with their coefficients, and a size."""

    terms: tuple[tuple[Index, int], ...]
    offset: Extent = 0


@dataclass(frozen=True, slots=True, eq=False)
class Index(_Operators):
    """A named index."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Element(_Operators):
    """An element of an array."""

    node: Node
    subscripts: tuple[Affine, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Number(_Operators):
    """A constant, or a size."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Apply(_Operators):
    """An operation on elements; `text` is the Python operator it was written as."""

    function: Callable[..., object]
    text: str | None
    operands: tuple[Term, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Reduce(_Operators):
    """`combine` of a term over all values of indices; the extents are given or inferred."""

    combine: Callable[..., object]
    body: Term
    over: tuple[tuple[Index, Extent | None], ...]


Term: TypeAlias = "Affine | Index | Element | Number | Apply | Reduce"


# -- arithmetic -------------------------------------------------------------------------------


def term(value: object) -> Term:
    """Return an operand as a term."""
    match value:
        case Affine() | Index() | Element() | Number() | Apply() | Reduce():
            return value
        case bool() | int() | float() | complex() | np.generic() | Size():
            return Number(value)
        case _:
            refuse("PO0807", f"an operand of type {type(value).__name__} beside elements",
                   hint="subscript arrays by indices: A[i, k]")  # fmt: skip


def affine(value: object) -> Affine | None:
    """Return a term as an affine expression of indices, None when it is none."""
    match value:
        case Affine():
            return value
        case Index():
            return Affine(((value, 1),))
        case Number(value=number) if is_extent(number):
            return Affine((), as_extent(number))
        case Node() | Element() | Apply() | Reduce() | Number():
            return None
        case _ if is_extent(value):
            return Affine((), as_extent(value))
        case _:
            return None


def _combined(text: str, left: Affine, right: Affine) -> Affine | None:
    """Return the sum, difference or product of affine expressions, None when it is not affine."""
    if text == "*":
        if left.terms and right.terms:
            return None
        wide, by = (left, right.offset) if left.terms else (right, left.offset)
        if wide.terms and not isinstance(by, int):
            return None
        return Affine(
            tuple((index, c * by) for index, c in wide.terms if isinstance(by, int)),
            times(wide.offset, by),
        )
    if text not in "+-":
        return None
    sign = -1 if text == "-" else 1
    found = dict(left.terms)
    for index, c in right.terms:
        found[index] = found.get(index, 0) + sign * c
    offset = plus(left.offset, right.offset) if sign > 0 else minus(left.offset, right.offset)
    return Affine(tuple((index, c) for index, c in found.items() if c), offset)


def _operation(text: str, function: Callable[..., object], left: object, right: object) -> object:
    one, two = affine(left), affine(right)
    if one is not None and two is not None:
        found = _combined(text, one, two)
        if found is not None:
            return found
    return Apply(function, text, (term(left), term(right)))


def _install(name: str, text: str, reverse: bool) -> None:
    function = getattr(operator, f"{name}_" if name in ("and", "or") else name)

    def forward(self: object, other: object) -> object:
        return _operation(text, function, self, other)

    def backward(self: object, other: object) -> object:
        return _operation(text, function, other, self)

    setattr(_Operators, f"__{name}__", forward)
    if reverse:
        setattr(_Operators, f"__r{name}__", backward)


def _install_unary(name: str, text: str) -> None:
    function = getattr(operator, name)

    def alone(self: object) -> object:
        whole = affine(self)
        if text == "-" and whole is not None:
            return _combined("*", whole, Affine((), -1))
        return Apply(function, text, (term(self),))

    setattr(_Operators, f"__{name}__", alone)


for _name, _text in BINARY.items():
    _install(_name, _text, True)
for _name, _text in COMPARE.items():
    _install(_name, _text, False)
for _name, _text in {"neg": "-", "invert": "~", "abs": "abs"}.items():
    _install_unary(_name, _text)


# -- subscripts -------------------------------------------------------------------------------


def is_term_key(key: object) -> bool:
    """Whether a subscript names an element."""
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(part, _Operators) for part in parts)


def element(node: Node, key: object) -> Element:
    """Return `A[i, k + 1]`."""
    parts = key if isinstance(key, tuple) else (key,)
    if len(parts) != len(node.shape):
        refuse("PO0807", f"{len(parts)} subscripts of an array with {len(node.shape)} dimensions",
               hint="name an index for each dimension")  # fmt: skip
    found = []
    for part in parts:
        one = affine(part)
        if one is None:
            refuse("PO0807", "a subscript that is no sum of indices and sizes",
                   hint="use indices times constants: A[2 * i + r]")  # fmt: skip
        found.append(one)
    return Element(node, tuple(found))


def indices(names: str) -> Any:  # noqa: ANN401
    """Return an index for each name.

    >>> import polyopt as po
    >>> po.indices("i j k")
    (i, j, k)
    """
    texts = names.replace(",", " ").split()
    if not texts or any(not text.isidentifier() for text in texts):
        refuse("PO0807", f"{names!r} are no names of indices", hint='write po.indices("i j k")')
    if len(set(texts)) != len(texts):
        refuse("PO0807", f"{names!r} names an index twice", hint='write po.indices("i j k")')
    found = tuple(Index(text) for text in texts)
    return found if len(found) > 1 else found[0]


# -- reductions and choices -------------------------------------------------------------------


def _reduction(combine: Callable[..., object], value: object, over: object) -> Reduce:
    if not isinstance(value, _Operators) or over is None:
        refuse("PO0807", f"a reduction of {value!r}, which is no element, or over no index",
               hint="write po.sum(A[i, k], over=k); for whole arrays np.sum(A)")  # fmt: skip
    return Reduce(combine, term(value), bounds(over))


def bounds(over: object) -> tuple[tuple[Index, Extent | None], ...]:
    """Return the indices of `over=` with the extents that are given."""
    if isinstance(over, Mapping):
        return tuple((_index(key), as_extent(value)) for key, value in over.items())
    parts = over if isinstance(over, tuple | list) else (over,)
    if not parts:
        refuse("PO0807", "`over` names no index", hint="write over=k or over=(r, s)")
    return tuple(bound(part) for part in parts)


def bound(part: object) -> tuple[Index, Extent | None]:
    """Return an index, and its extent from `i:n`."""
    if isinstance(part, slice) and part.step is None and is_extent(part.stop):
        return _index(part.start), as_extent(part.stop)
    return _index(part), None


def _index(part: object) -> Index:
    if not isinstance(part, Index):
        refuse("PO0807", f"{part!r} is no index", hint='make indices with po.indices("i j k")')
    return part


def sum(value: object, over: object = None) -> Any:  # noqa: ANN401
    """Add up a term over indices, in their order: the last index runs fastest."""
    return _reduction(np.add, value, over)


def prod(value: object, over: object = None) -> Any:  # noqa: ANN401
    """Multiply a term over indices."""
    return _reduction(np.multiply, value, over)


def max(value: object, over: object = None) -> Any:  # noqa: ANN401
    """Return the largest value of a term over indices."""
    return _reduction(np.maximum, value, over)


def min(value: object, over: object = None) -> Any:  # noqa: ANN401
    """Return the smallest value of a term over indices."""
    return _reduction(np.minimum, value, over)


def where(condition: object, a: object, b: object) -> Any:  # noqa: ANN401
    """Choose: of elements, only the chosen one needs to exist; of lazy arrays, `np.where`."""
    if any(isinstance(value, _Operators) for value in (condition, a, b)):
        return Apply(np.where, None, (term(condition), term(a), term(b)))
    return np.where(condition, a, b)  # type: ignore[call-overload]


where.same_as = np.where  # type: ignore[attr-defined]  # inside of kernels


def parts_of(value: Term) -> Iterator[Term]:
    """Yield a term and all terms inside it."""
    yield value
    match value:
        case Apply(operands=operands):
            for part in operands:
                yield from parts_of(part)
        case Reduce(body=body):
            yield from parts_of(body)
        case _:
            return


def type_of(value: Term) -> np.dtype[np.generic]:
    """Return the element type of an array of the term."""
    found = _kind(value)
    return found.dtype if isinstance(found, Kind) else np.asarray(found).dtype


def _kind(value: Term) -> object:
    """Return the kind of a term, or the constant that it is."""
    match value:
        case Element(node=node):
            return Kind((), node.dtype)
        case Index() | Affine() | Number(value=Size()):
            return Kind((), np.dtype(np.int64), True)
        case Number(value=number):
            return number
        case Apply(function=function, text=text, operands=operands):
            op = Call(function) if text is None else Operator(text, function)
            return reading.kind_of(op, *map(_kind, operands))
        case Reduce(combine=combine, body=body):
            assert isinstance(combine, np.ufunc)
            return reading.kind_of(Call(combine.reduce), Kind((1,), type_of(body)))
