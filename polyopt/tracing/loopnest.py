"""The loops of a comprehension, as text of a Python function and as an evaluation by NumPy.

In: indices, their extents, a term.  Out: `Nest`.
A reduction inside the term gets an array of its own over the indices it depends on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from polyopt.dataclass import dataclass, field
from polyopt.never import assert_never
from polyopt.tracing import writing
from polyopt.tracing.nodes import Array, LoopNest, Node
from polyopt.tracing.places import refuse
from polyopt.tracing.sizes import Extent, Size
from polyopt.tracing.terms import (
    Affine,
    Apply,
    Element,
    Index,
    Number,
    Reduce,
    Term,
    parts_of,
    type_of,
)


@dataclass(frozen=True, eq=False)
class Nest(LoopNest):
    """`body` at every value of `outer`."""

    outer: tuple[Index, ...]
    body: Term
    extents: Mapping[Index, Extent]
    arrays: tuple[Node, ...]
    dtype: np.dtype[np.generic]

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes that the loops mention."""
        found = [extent for extent in self.extents.values() if isinstance(extent, Size)]
        for part in parts_of(self.body):
            match part:
                case Affine(offset=Size() as offset):
                    found.append(offset)
                case Number(value=Size() as size):
                    found.append(size)
                case Element(subscripts=subscripts):
                    found += [s.offset for s in subscripts if isinstance(s.offset, Size)]
                case _:
                    pass
        return tuple(dict.fromkeys(found))

    @property
    def operands(self) -> tuple[object, ...]:
        """The operands of the node: arrays, then sizes."""
        return (*self.arrays, *self.sizes)

    def define(self, name: str) -> list[str]:
        """Return the lines of a function of the operands."""
        return _Writer(self).define(name)

    def evaluate(self, operands: Sequence[object]) -> Array:
        """Return the value by NumPy, on grids of the indices."""
        count = len(self.arrays)
        arrays = {id(n): np.asarray(a) for n, a in zip(self.arrays, operands, strict=False)}
        sizes = dict(zip(self.sizes, operands[count:], strict=True))
        oracle = _Oracle(arrays, sizes, self.extents)
        axes = {index: d for d, index in enumerate(self.outer)}
        shape = tuple(oracle.extent(self.extents[index]) for index in self.outer)
        found = np.asarray(oracle.value(self.body, axes, len(shape)))
        return np.array(np.broadcast_to(found, shape), self.dtype)


# -- text -------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Writer:
    nest: Nest
    lines: list[str] = field(default_factory=list)
    names: dict[object, str] = field(default_factory=dict)
    taken: set[str] = field(
        default_factory=lambda: {"np", "po", "ml_dtypes", "min", "max", "abs", "range"}
    )

    def define(self, name: str) -> list[str]:
        nest = self.nest
        self.taken.add(name)
        for part in parts_of(nest.body):
            if isinstance(part, Reduce):
                for index, _ in part.over:
                    self._name(index, index.name)
        for index in nest.outer:
            self._name(index, index.name)
        parameters = [self._name(id(node), "a") for node in nest.arrays]
        parameters += [self._name(size, "n") for size in nest.sizes]
        result = self._name("result", "result")
        self.lines.append(f"def {name}({', '.join(parameters)}):")
        extents = tuple(nest.extents[index] for index in nest.outer)
        body = self._hoisted(nest.body, nest.outer, top=True)
        if not extents:
            extents = (1,)
        self._allocate(result, extents, nest.dtype, 1)
        target = self._target(result, nest.outer)
        depth = self._loops(nest.outer, 1)
        self._compute(target, body, nest.dtype, depth)
        self._line(1, f"return {result}" if nest.outer else f"return {result}[0]")
        return self.lines

    def _name(self, key: object, base: str) -> str:
        if key not in self.names:
            text, number = base, 1
            while text in self.taken:
                number += 1
                text = f"{base}{number}"
            self.taken.add(text)
            self.names[key] = text
        return self.names[key]

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _extent(self, extent: Extent) -> str:
        return str(extent) if isinstance(extent, int) else self.names[extent]

    def _allocate(
        self, name: str, extents: Sequence[Extent], dtype: np.dtype[np.generic], depth: int
    ) -> None:
        shape = ", ".join(self._extent(extent) for extent in extents)
        kind = ast.unparse(writing.constant(dtype))
        self._line(depth, f"{name} = np.empty(({shape},), {kind})")

    def _target(self, name: str, indices: Sequence[Index]) -> str:
        return f"{name}[{', '.join(self.names[index] for index in indices) or '0'}]"

    def _loops(self, indices: Sequence[Index], depth: int) -> int:
        for index in indices:
            extent = self._extent(self.nest.extents[index])
            self._line(depth, f"for {self.names[index]} in range({extent}):")
            depth += 1
        return depth

    # -- reductions -----------------------------------------------------------------------------

    def _hoisted(self, body: Term, scope: tuple[Index, ...], top: bool = False) -> Term:
        """Return the term with each reduction inside it computed before, into an array."""
        match body:
            case Apply(function=function, text=text, operands=operands):
                parts = tuple(self._hoisted(part, scope) for part in operands)
                return Apply(function, text, parts)
            case Reduce(combine=combine, body=inner, over=over):
                within = tuple(dict.fromkeys((*scope, *(index for index, _ in over))))
                whole = Reduce(combine, self._hoisted(inner, within), over)
                return whole if top else self._stored(whole, body, scope)
            case _:
                return body

    def _stored(self, value: Reduce, original: Reduce, scope: tuple[Index, ...]) -> Term:
        free = tuple(index for index in scope if _mentions(original, index))
        name = self._name(original, "part")
        dtype = type_of(original)
        self._allocate(name, [self.nest.extents[index] for index in free] or [1], dtype, 1)
        depth = self._loops(free, 1)
        target = self._target(name, free)
        self._compute(target, value, dtype, depth)
        return Number(_Code(target))

    def _compute(self, target: str, body: Term, dtype: np.dtype[np.generic], depth: int) -> None:
        """Write `target = body`; a reduction accumulates in the target."""
        match body:
            case Reduce(combine=combine, body=inner, over=over):
                start = ast.unparse(writing.constant(identity(combine, dtype)))
                self._line(depth, f"{target} = {start}")
                inside = self._loops([index for index, _ in over], depth)
                pattern = _accumulation(combine, target)
                self._choose(inner, inside, pattern)
            case _:
                self._choose(body, depth, f"{target} = {{}}")

    def _choose(self, body: Term, depth: int, pattern: str) -> None:
        """Write the statement, under `if` where the term is a choice."""
        match body:
            case Apply(function=np.where, operands=(condition, one, two)):
                self._line(depth, f"if {self._text(condition)}:")
                self._choose(one, depth + 1, pattern)
                self._line(depth, "else:")
                self._choose(two, depth + 1, pattern)
            case _:
                self._line(depth, pattern.format(self._text(body)))

    # -- expressions ----------------------------------------------------------------------------

    def _text(self, value: Term) -> str:
        return ast.unparse(ast.fix_missing_locations(self._tree(value)))

    def _tree(self, value: Term) -> ast.expr:
        match value:
            case Index():
                return writing.name(self.names[value])
            case Affine():
                return self._affine(value)
            case Element(node=node, subscripts=subscripts):
                parts: list[ast.expr] = [self._affine(part) for part in subscripts]
                key = parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())
                return ast.Subscript(writing.name(self.names[id(node)]), key, ast.Load())
            case Number(value=_Code() as text):
                return ast.parse(text, mode="eval").body
            case Number(value=Size() as size):
                return writing.name(self.names[size])
            case Number(value=number):
                return writing.constant(number)
            case Apply():
                return self._applied(value)
            case Reduce():
                raise AssertionError("reductions were hoisted")

    def _affine(self, value: Affine) -> ast.expr:
        found: ast.expr | None = None
        for index, coefficient in value.terms:
            name = writing.name(self.names[index])
            factor = abs(coefficient)
            part = name if factor == 1 else ast.BinOp(ast.Constant(factor), ast.Mult(), name)
            found = writing.added(found, part, coefficient < 0)
        offset = value.offset
        if isinstance(offset, Size):
            return writing.added(found, writing.name(self.names[offset]), False)
        if found is None:
            return writing.constant(offset)
        if offset == 0:
            return found
        return writing.added(found, ast.Constant(abs(offset)), offset < 0)

    def _applied(self, value: Apply) -> ast.expr:
        parts = [self._tree(part) for part in value.operands]
        if value.function is np.where:
            return ast.IfExp(*parts)
        if value.text in ("&", "|") and all(_is_truth(part) for part in value.operands):
            return ast.BoolOp(ast.And() if value.text == "&" else ast.Or(), parts)
        if value.text is not None:
            return writing.operation(value.text, parts)
        text = writing.function_name(value.function)
        if text is None:
            refuse("PO0807", f"the function {value.function!r} of elements")
        return writing.call(writing.dotted(text), *parts)


class _Code(str):
    """Text of an element computed before."""

    __slots__ = ()


def _is_truth(value: Term) -> bool:
    return isinstance(value, Apply) and (
        value.text in ("<", "<=", ">", ">=", "==", "!=")
        or (value.text in ("&", "|") and all(_is_truth(part) for part in value.operands))
    )


def _mentions(value: Term, index: Index) -> bool:
    """Whether the term depends on an index from outside."""
    match value:
        case Index():
            return value is index
        case Affine(terms=terms):
            return any(one is index for one, _ in terms)
        case Element(subscripts=subscripts):
            return any(_mentions(part, index) for part in subscripts)
        case Apply(operands=operands):
            return any(_mentions(part, index) for part in operands)
        case Reduce(body=body, over=over):
            return not any(one is index for one, _ in over) and _mentions(body, index)
        case Number():
            return False
        case _:
            assert_never(value)


def _accumulation(combine: Callable[..., object], target: str) -> str:
    if combine is np.add:
        return f"{target} += {{}}"
    if combine is np.multiply:
        return f"{target} *= {{}}"
    name = "maximum" if combine is np.maximum else "minimum"
    return f"{target} = np.{name}({target}, {{}})"


def identity(combine: Callable[..., object], dtype: np.dtype[np.generic]) -> object:
    """Return what a reduction of nothing gives."""
    if combine is np.add or combine is np.multiply:
        return dtype.type(combine is np.multiply).item()
    least = combine is np.minimum
    match dtype.kind:
        case "f":
            return np.inf if least else -np.inf
        case "b":
            return least
        case "i" | "u":
            return int(np.iinfo(dtype).max if least else np.iinfo(dtype).min)  # type: ignore[type-var]
        case _:
            refuse("PO0146", "the largest of complex numbers", hint="compare real parts")


# -- the oracle -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Oracle:
    arrays: Mapping[int, Array]
    sizes: Mapping[Size, object]
    extents: Mapping[Index, Extent]

    def extent(self, extent: Extent) -> int:
        found = extent if isinstance(extent, int) else self.sizes[extent]
        assert isinstance(found, int)
        return max(found, 0)

    def value(self, body: Term, axes: Mapping[Index, int], rank: int) -> object:
        """Return the term on a grid of `rank` dimensions."""
        match body:
            case Index():
                return self._affine(Affine(((body, 1),)), axes, rank)
            case Affine():
                return self._affine(body, axes, rank)
            case Number(value=value):
                return self.sizes[value] if isinstance(value, Size) else value
            case Element(node=node, subscripts=subscripts):
                array = self.arrays[id(node)]
                index = [self._affine(part, axes, rank) for part in subscripts]
                limits = (max(extent - 1, 0) for extent in array.shape)
                inside = (np.clip(i, 0, top) for i, top in zip(index, limits, strict=True))
                places = np.broadcast_arrays(*inside)
                return (
                    array[tuple(places)] if array.size else np.zeros(places[0].shape, array.dtype)
                )
            case Apply(function=function, operands=operands):
                return function(*(self.value(part, axes, rank) for part in operands))
            case Reduce(combine=combine, body=inner, over=over):
                return self._reduced(combine, inner, [index for index, _ in over], axes, rank)

    def _affine(self, value: Affine, axes: Mapping[Index, int], rank: int) -> Array:
        offset = value.offset
        total = np.asarray(offset if isinstance(offset, int) else self.sizes[offset])
        for index, coefficient in value.terms:
            count, axis = self.extent(self.extents[index]), axes[index]
            grid = np.arange(count).reshape((1,) * axis + (count,) + (1,) * (rank - axis - 1))
            total = total + coefficient * grid
        return total.astype(np.int64)

    def _reduced(
        self,
        combine: Callable[..., object],
        body: Term,
        over: Sequence[Index],
        axes: Mapping[Index, int],
        rank: int,
    ) -> object:
        assert isinstance(combine, np.ufunc)
        inner = {**axes, **{index: rank + d for d, index in enumerate(over)}}
        found = np.asarray(self.value(body, inner, rank + len(over)))
        found = found.reshape((1,) * (rank + len(over) - found.ndim) + found.shape)
        counts = tuple(self.extent(self.extents[index]) for index in over)
        grid = np.broadcast_to(found, (*found.shape[:rank], *counts))
        dtype = combine.reduce(np.zeros(1, found.dtype)).dtype
        start = identity(combine, dtype)
        return combine.reduce(grid, tuple(range(rank, rank + len(over))), dtype, initial=start)
