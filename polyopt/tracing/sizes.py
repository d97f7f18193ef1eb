"""Sizes of lazy arrays: numbers, or polynomials over the names that placeholders give.

In: texts such as "N", "T+1", 4, (x.shape[0] - 2) // 2.  Out: `int` where a value is known, `Size`.
Refuses: uses that need the number itself (PO0803), texts that are no sizes (PO0806).
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn, TypeAlias

from polyopt.dataclass import dataclass
from polyopt.tracing.places import refuse


@dataclass(frozen=True, slots=True)
class Name:
    """A size that a placeholder names."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Unknown:
    """The extent of dimension `dim` of a node whose shape no rule gives; `node` is opaque here."""

    node: object
    dim: int

    def __str__(self) -> str:
        return "?"


@dataclass(frozen=True, slots=True)
class Quotient:
    """`left // right` or, with `remainder`, `left % right`."""

    left: Extent
    right: Extent
    remainder: bool = False

    def __str__(self) -> str:
        return f"{_inner(self.left)}{'%' if self.remainder else '//'}{_inner(self.right)}"


@dataclass(frozen=True, slots=True)
class Extreme:
    """The larger or, with `least`, the smaller of two sizes."""

    left: Extent
    right: Extent
    least: bool = False

    def __str__(self) -> str:
        return f"{'min' if self.least else 'max'}({self.left}, {self.right})"


Atom: TypeAlias = "Name | Unknown | Quotient | Extreme"
Monomial: TypeAlias = "tuple[Atom, ...]"


def _inner(extent: Extent) -> str:
    text = str(extent)
    return f"({text})" if isinstance(extent, Size) and not extent.is_atom else text


@dataclass(frozen=True, slots=True)
class Size:
    """A polynomial: products of atoms with their coefficients, in a fixed order."""

    terms: tuple[tuple[Monomial, int], ...]

    @property
    def is_atom(self) -> bool:
        """Whether it is one name, quotient or extreme."""
        return len(self.terms) == 1 and len(self.terms[0][0]) == 1 and self.terms[0][1] == 1

    def __neg__(self) -> object:
        return _product(self, -1)

    def __pos__(self) -> Size:
        return self

    def __pow__(self, other: object) -> object:
        if type(other) is int and other > 0:
            found: Extent = self
            for _ in range(other - 1):
                found = _product(found, self)
            return found
        return _lifted(operator.pow, self, other)

    def __array_ufunc__(
        self, ufunc: Callable[..., object], method: str, *inputs: object, **options: object
    ) -> object:
        """Record a NumPy operation on a size."""
        from polyopt.tracing.arrays import record_ufunc

        return record_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object],
        options: dict[str, object],
    ) -> object:
        """Record a function of which a size is an argument."""
        from polyopt.tracing.arrays import record

        return record(function, *args, **options)

    def __str__(self) -> str:
        text = ""
        for monomial, coefficient in self.terms:
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} " if text else ("-" if coefficient < 0 else "")
            text += _show(monomial, abs(coefficient))
        return text

    __repr__ = __str__


Extent: TypeAlias = "int | Size"
Shape: TypeAlias = tuple[Extent, ...]


def _show(monomial: Monomial, coefficient: int) -> str:
    parts = [str(atom) for atom in monomial]
    if coefficient != 1 or not parts:
        parts.insert(0, str(coefficient))
    return "*".join(parts)


def _lifted(op: Callable[[object, object], object], left: object, right: object) -> object:
    """Return the result of an operation that gives no size: a lazy number."""
    from polyopt.tracing.compiling import as_lazy

    if isinstance(left, Size):
        return op(as_lazy(left), right)
    return op(left, as_lazy(right))


def _computed(
    left: object,
    right: object,
    rule: Callable[[Extent, Extent], Extent],
    op: Callable[[object, object], object],
) -> object:
    """Return a size where both operands are; a lazy number for other Python numbers."""
    if is_extent(left) and is_extent(right):
        return rule(as_extent(left), as_extent(right))
    if isinstance(left, float | complex) or isinstance(right, float | complex):
        return _lifted(op, left, right)
    return NotImplemented


def is_extent(value: object) -> bool:
    """Whether `value` is an integer or a `Size`."""
    if isinstance(value, bool):
        return False
    return isinstance(value, Size | int) or (
        hasattr(value, "__index__") and hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0
        and type(value).__module__ == "numpy"
    )  # fmt: skip


def as_extent(value: object) -> Extent:
    """Return an integer of any kind as an `int`, a size as it is."""
    return value if isinstance(value, Size) else operator.index(value)  # type: ignore[arg-type]


# -- arithmetic -------------------------------------------------------------------------------


def named(text: str) -> Size:
    """Return the size called `text`."""
    return Size((((Name(text),), 1),))


def atom(found: Atom) -> Size:
    """Return an atom as a size."""
    return Size((((found,), 1),))


def _terms(extent: Extent) -> dict[Monomial, int]:
    if isinstance(extent, int):
        return {(): extent} if extent else {}
    return dict(extent.terms)


def _made(terms: Mapping[Monomial, int]) -> Extent:
    kept = [(monomial, c) for monomial, c in terms.items() if c]
    if not kept:
        return 0
    if len(kept) == 1 and kept[0][0] == ():
        return kept[0][1]
    kept.sort(key=lambda term: (-len(term[0]), term[1] < 0, [str(part) for part in term[0]]))
    return Size(tuple(kept))


def _sum(left: Extent, right: Extent) -> Extent:
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    terms = _terms(left)
    for monomial, coefficient in _terms(right).items():
        terms[monomial] = terms.get(monomial, 0) + coefficient
    return _made(terms)


def _product(left: Extent, right: Extent) -> Extent:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    terms: dict[Monomial, int] = {}
    for one, c in _terms(left).items():
        for two, d in _terms(right).items():
            both = tuple(sorted((*one, *two), key=str))
            terms[both] = terms.get(both, 0) + c * d
    return _made(terms)


def plus(*parts: Extent) -> Extent:
    """Return the sum."""
    total: Extent = 0
    for part in parts:
        total = _sum(total, part)
    return total


def minus(left: Extent, right: Extent) -> Extent:
    """Return the difference."""
    return _sum(left, _product(right, -1))


def times(*parts: Extent) -> Extent:
    """Return the product."""
    total: Extent = 1
    for part in parts:
        total = _product(total, part)
    return total


def quotient(left: Extent, right: Extent) -> Extent:
    """Return `left // right`, exact where every term divides."""
    if isinstance(left, int) and isinstance(right, int):
        if right == 0:
            refuse("PO0806", f"`{left} // 0` is no size")
        return left // right
    divided = _divided(left, right)
    return atom(Quotient(left, right)) if divided is None else divided


def remainder(left: Extent, right: Extent) -> Extent:
    """Return `left % right`."""
    if isinstance(left, int) and isinstance(right, int) and right:
        return left % right
    if _divided(left, right) is not None:
        return 0
    return atom(Quotient(left, right, True))


def _divided(left: Extent, right: Extent) -> Extent | None:
    """Return the exact quotient by a single term, or None."""
    if left == 0:
        return 0
    divisor = list(_terms(right).items())
    if len(divisor) != 1:
        return 1 if left == right else None
    (below, d) = divisor[0]
    terms: dict[Monomial, int] = {}
    for monomial, c in _terms(left).items():
        rest = list(monomial)
        for part in below:
            if part not in rest:
                return None
            rest.remove(part)
        if c % d:
            return None
        terms[tuple(rest)] = c // d
    return _made(terms)


def extreme(left: Extent, right: Extent, least: bool) -> Extent:
    """Return the larger or smaller, where it is known without an atom for it if possible."""
    difference = minus(left, right)
    if isinstance(difference, int):
        return left if (difference <= 0) == least else right
    return atom(Extreme(left, right, least))


def at_least_zero(extent: Extent) -> Extent:
    """Return an extent clipped at zero; sizes are taken to be large enough."""
    return max(extent, 0) if isinstance(extent, int) else extent


# -- reading and walking ----------------------------------------------------------------------

_OPERATORS: dict[type[ast.operator], Callable[[Extent, Extent], Extent]] = {
    ast.Add: _sum,
    ast.Sub: minus,
    ast.Mult: _product,
    ast.FloorDiv: quotient,
    ast.Mod: remainder,
}


def parse(text: str) -> Extent:
    """Return the size that a text such as `N`, `2*N+1` or `64` names."""
    try:
        return _parsed(ast.parse(text.strip(), mode="eval").body, text)
    except SyntaxError:
        refuse("PO0806", f"{text!r} is no size")


def _parsed(node: ast.expr, text: str) -> Extent:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return named(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_parsed(left, text), _parsed(right, text))
        case _:
            refuse("PO0806", f"{text!r} is no size")


def atoms(extent: Extent) -> Iterator[Atom]:
    """Yield the names and unknown extents that a size is made of."""
    for monomial, _ in () if isinstance(extent, int) else extent.terms:
        for part in monomial:
            match part:
                case Name() | Unknown():
                    yield part
                case Quotient(left=left, right=right) | Extreme(left=left, right=right):
                    yield from atoms(left)
                    yield from atoms(right)


def is_polynomial(extent: Extent) -> bool:
    """Whether it holds names only, so that unlike texts are unlike sizes."""
    if isinstance(extent, int):
        return True
    return all(isinstance(part, Name) for monomial, _ in extent.terms for part in monomial)


def value_of(
    extent: Extent, names: Mapping[str, int], shape_of: Callable[[Unknown], int] | None = None
) -> int | None:
    """Return the number for given sizes, None where it depends on others.

    `shape_of` tells extents that no name gives.
    """
    if isinstance(extent, int):
        return extent
    total = 0
    for monomial, coefficient in extent.terms:
        for part in monomial:
            found = _atom_value(part, names, shape_of)
            if found is None:
                return None
            coefficient *= found
        total += coefficient
    return total


def _atom_value(
    part: Atom, names: Mapping[str, int], shape_of: Callable[[Unknown], int] | None
) -> int | None:
    match part:
        case Name(text=text):
            return names.get(text)
        case Unknown():
            return None if shape_of is None else shape_of(part)
        case Quotient(left=left, right=right, remainder=rest):
            a, c = (value_of(side, names, shape_of) for side in (left, right))
            if a is None or not c:
                return None
            return a % c if rest else a // c
        case Extreme(left=left, right=right, least=least):
            a, c = (value_of(side, names, shape_of) for side in (left, right))
            if a is None or c is None:
                return None
            return min(a, c) if least else max(a, c)


def _install(name: str, rule: Callable[[Extent, Extent], Extent] | None) -> None:
    """Give sizes an operator: by `rule` between extents, as a lazy number otherwise."""
    op = getattr(operator, name)

    def computed(left: object, right: object) -> object:
        return _lifted(op, left, right) if rule is None else _computed(left, right, rule, op)

    if not hasattr(Size, f"__{name}__"):
        setattr(Size, f"__{name}__", computed)
    setattr(Size, f"__r{name}__", lambda self, other: computed(other, self))


def _install_refusal(name: str, what: str) -> None:
    """Have sizes refuse what needs their number."""

    def refused(self: Size, *_: object) -> NoReturn:
        refuse("PO0803", f"{what} the size `{self}` is needed, which is known only at a call")

    setattr(Size, f"__{name}__", refused)


for _name, _rule in {
    **{"add": _sum, "sub": minus, "mul": _product, "floordiv": quotient, "mod": remainder},
    **{"truediv": None, "pow": None},
}.items():
    _install(_name, _rule)
for _name, _what in {
    **dict.fromkeys(("lt", "le", "gt", "ge"), "a comparison of"),
    **dict.fromkeys(("index", "int", "float"), "the number of"),
    "bool": "the truth of",
}.items():
    _install_refusal(_name, _what)
