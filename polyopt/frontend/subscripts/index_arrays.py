"""Subscripts by arrays: `A[rows]`, `A[rows, columns]`, `A[:, order]`, and assignment through them.

In: an array, parts of a subscript of which some are integer arrays.  Out: an array value, a copy
as in NumPy; or the statements that write, in the order of the index arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polyopt.dataclass import dataclass, field, replace
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    ONE,
    TRUE,
    both,
    is_affine,
    plus,
    select,
    times,
)
from polyopt.frontend.integers.affine_integers import compare as compared
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import buffers_read, forced, stored
from polyopt.frontend.subscripts.basic import (
    At,
    By,
    Cut,
    Dots,
    Mask,
    NewAxis,
    Part,
    Stepped,
    cut,
    position,
)
from polyopt.frontend.subscripts.basic import with_dots as expanded
from polyopt.frontend.subscripts.compaction import collected, positions
from polyopt.frontend.subscripts.masks import is_same_mask
from polyopt.frontend.subscripts.runtime_subscripts import Pending, SubscriptSite
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.shapes import broadcast, equate, stretched
from polyopt.frontend.values.values import Index, Masked, Number, Tensor, View, as_tensor, cost_of
from polyopt.ir.expr import CompareOp, Expr, Iter, Load, integer, loads, substitute
from polyopt.ir.linear import normalize
from polyopt.ir.scop import Reduction
from polyopt.ir.types import DType

SHORT = 16  # items of a list of subscripts that are told apart in the subscript itself


@dataclass(frozen=True, eq=False)
class Selected:
    """`array[parts]`: element `index` of it is at `places(index)` in the array.

    `conditions(index)` must hold for an element to be written.
    """

    shape: Index
    places: Callable[[Index], Index]
    conditions: Callable[[Index], Sequence[Expr]]


@dataclass(frozen=True, eq=False)
class _Chosen:
    """One index array: iterators of its own loops, the position in their terms, conditions."""

    index: Index
    shape: Index
    position: Expr
    conditions: Sequence[Expr]

    def at(self, expr: Expr, index: Index) -> Expr:
        """Return `expr` for element `index` of the common shape."""
        own = index[len(index) - len(self.shape) :]
        values = {
            name.name: part
            for name, part in zip(self.index, own, strict=True)
            if isinstance(name, Iter)
        }
        found = substitute(expr, values)
        return normalize(found) if found.dtype is DType.INT64 and is_affine(found) else found


@dataclass
class _Dims:
    """What was read of a subscript, dimension by dimension of the array."""

    place: SubscriptSite
    target: bool
    slices: list[tuple[Expr, int, Expr] | None] = field(default_factory=list)  # base, step, length
    chosen: dict[int, _Chosen] = field(default_factory=dict)  # source dimension -> index array
    kinds: list[str] = field(default_factory=list)  # "slice", "new", "array" for each part


def is_fancy(parts: Sequence[Part]) -> bool:
    """Whether an array or a mask is among the parts of a subscript."""
    return any(isinstance(part, By | Mask) for part in parts)


def is_mask_of(part: Part, array: Tensor) -> bool:
    """Whether a part is a mask of all dimensions of the array."""
    return isinstance(part, Mask) and part.flags.rank == array.rank


def _without_masks(
    b: Builder, shape: Index, parts: Sequence[Part], name: str, loc: Loc | None
) -> list[Part]:
    """Return the parts with the positions of a mask in its place."""
    result: list[Part] = []
    for part in expanded(len(shape), parts, name, loc):
        if not isinstance(part, Mask):
            result.append(part)
            continue
        first = sum(not isinstance(other, NewAxis) for other in result)
        for d, extent in enumerate(part.flags.shape):
            equate(b, shape[first + d], extent, "mask", loc)
        result += [By(found, "the mask") for found in positions(b, part.flags, kept=True)]
    return result


def selected(
    b: Builder, shape: Index, parts: Sequence[Part], name: str, loc: Loc | None, *, target: bool
) -> Selected:
    """Return which elements `array[parts]` are; every index array is checked once, here."""
    dims = _Dims(SubscriptSite(name, "", loc), target)
    for part in _without_masks(b, shape, parts, name, loc):
        source = len(dims.slices)
        extent = shape[source] if source < len(shape) else ONE
        match part:
            case NewAxis():
                dims.kinds.append("new")
            case Cut():
                base, length = cut(b, part, extent, loc)
                dims.slices.append((base, part.step, length))
                dims.kinds.append("slice")
            case At(index=index, text=text):
                _choose(b, dims, as_tensor(Number(index, True)), text, extent)
            case By(index=array, text=text, mask=mask):
                _choose(b, dims, array, text, extent, mask)
            case Stepped():
                hint = "take the slice first, in a statement of its own"
                refuse("PO0134", "a slice with such a step beside index arrays", loc, hint)
            case Dots() | Mask():
                raise AssertionError("expanded above")
    return _arranged(b, dims)


def _choose(
    b: Builder, dims: _Dims, array: Tensor, text: str, extent: Expr, mask: Tensor | None = None
) -> None:
    """Read one index array: its positions, checked where `mask` holds."""
    array = forced(b, array)
    loops, index = b.fresh_loops(array.shape)
    element = array.at(index)
    if not is_affine(element) and (cost_of(element) > 1 or len(loads(element)) > 1):
        array = stored(b, array, "index")
        element = array.at(index)
    pending = Pending() if dims.target else None
    place = SubscriptSite(dims.place.name, text, dims.place.loc)
    flag = TRUE if mask is None else mask.at(index)
    with b.under((), flag):
        found = position(b, element, extent, place, pending, False, loops)
    conditions = tuple(pending.conditions) if pending is not None else ()
    conditions += () if mask is None else (flag,)
    dims.chosen[len(dims.slices)] = _Chosen(index, array.shape, found, conditions)
    dims.slices.append(None)
    dims.kinds.append("array")


def _arranged(b: Builder, dims: _Dims) -> Selected:
    """Put the dimensions of the index arrays where NumPy puts them.

    They take the place of the subscripts where these stand side by side, else they come first.
    """
    loc = dims.place.loc
    shapes = [chosen.shape for chosen in dims.chosen.values()]
    common = broadcast(b, shapes, "subscripts", loc)
    chosen = {source: _stretched(one, common) for source, one in dims.chosen.items()}
    first = dims.kinds.index("array")
    last = len(dims.kinds) - 1 - dims.kinds[::-1].index("array")
    together = all(kind == "array" for kind in dims.kinds[first : last + 1])
    before = 0 if not together else first
    shape: list[Expr] = []
    lengths = [entry[2] for entry in dims.slices if entry is not None]
    own: dict[int, int] = {}  # source dimension -> place in the result
    plain = [kind for kind in dims.kinds if kind != "array"]
    sources = [source for source, entry in enumerate(dims.slices) if entry is not None]
    taken = 0
    for number, kind in enumerate(plain):
        if number == before:
            shape += common
        if kind == "new":
            shape.append(ONE)
            continue
        own[sources[taken]] = len(shape)
        shape.append(lengths[taken])
        taken += 1
    if before >= len(plain):
        shape += common

    def of_arrays(index: Index) -> Index:
        return index[before : before + len(common)]

    def places(index: Index) -> Index:
        found: list[Expr] = []
        for source, entry in enumerate(dims.slices):
            if entry is None:
                one, at = chosen[source]
                found.append(one.at(one.position, at(of_arrays(index))))
            else:
                base, step, _ = entry
                found.append(plus(base, times(index[own[source]], step)))
        return tuple(found)

    def conditions(index: Index) -> list[Expr]:
        inner = of_arrays(index)
        return [one.at(c, at(inner)) for one, at in chosen.values() for c in one.conditions]

    return Selected(tuple(shape), places, conditions)


def _stretched(one: _Chosen, common: Index) -> tuple[_Chosen, Callable[[Index], Index]]:
    """Return the index array and the map from the common shape's subscripts to its own."""
    wide = stretched(Tensor(one.shape, DType.INT64, lambda index: integer(0)), common)
    if wide.shape == one.shape:
        return one, lambda index: index
    skip = len(common) - len(one.shape)
    single = tuple(extent == ONE and common[skip + d] != ONE for d, extent in enumerate(one.shape))
    return one, lambda index: tuple(
        integer(0) if alone else index[skip + d] for d, alone in enumerate(single)
    )


# -- masks of index arrays --------------------------------------------------------------------


def shared_mask(parts: Sequence[Part], rank: int) -> Tensor | None:
    """Return the one mask of all index arrays, where they alone say which elements are meant."""
    masks = [part.mask for part in parts if isinstance(part, By) and part.mask is not None]
    arrays = [part for part in parts if not isinstance(part, At)]
    if not masks or len(parts) != rank or len(arrays) != len(masks):
        return None
    return masks[0] if all(is_same_mask(masks[0], mask) for mask in masks[1:]) else None


def without_masks(b: Builder, parts: Sequence[Part]) -> list[Part]:
    """Return the parts with the index arrays that their masks pick, one element after another."""
    result = list(parts)
    for number, part in enumerate(parts):
        if not isinstance(part, By) or part.mask is None or result[number] is not part:
            continue
        alike = [(n, p) for n, p in enumerate(parts) if isinstance(p, By) and _is_under(p, part)]
        indices = [forced(b, other.index) for _, other in alike]
        found = collected(b, part.mask, "index", indices)
        for (place, other), index in zip(alike, found, strict=True):
            result[place] = By(index, other.text)
    return result


def _is_under(one: By, other: By) -> bool:
    """Whether two index arrays have the same mask."""
    if one.mask is None or other.mask is None:
        return False
    return is_same_mask(one.mask, other.mask)


# -- reading ----------------------------------------------------------------------------------


def taken(
    b: Builder, tensor: Tensor, parts: Sequence[Part], name: str, loc: Loc | None
) -> Tensor | Masked:
    """Return `tensor[parts]`; index arrays under one mask give elements under it."""
    mask = shared_mask(parts, tensor.rank)
    if mask is None:
        return gathered(b, tensor, without_masks(b, parts), name, loc)
    return Masked(gathered(b, tensor, parts, name, loc), mask)


def gathered(
    b: Builder, tensor: Tensor, parts: Sequence[Part], name: str, loc: Loc | None
) -> Tensor:
    """Return `tensor[parts]`, a new array."""
    tensor = forced(b, tensor)
    found = selected(b, tensor.shape, parts, name, loc, target=False)
    return Tensor(
        found.shape, tensor.dtype, lambda i: tensor.at(found.places(i)), cost=tensor.cost + 1
    )


def index_list(items: Sequence[Expr]) -> Tensor:
    """Return a short list of affine subscripts as an array whose elements stay affine."""

    def at(index: Index) -> Expr:
        found = items[-1]
        for place in range(len(items) - 2, -1, -1):
            here = compared(CompareOp.EQ, index[0], integer(place))
            found = select(here, items[place], found)
        return found

    return Tensor((integer(len(items)),), DType.INT64, at)


# -- writing ----------------------------------------------------------------------------------


def steady(b: Builder, parts: Sequence[Part], view: View) -> list[Part]:
    """Return the parts with index arrays copied that the write could change."""
    result: list[Part] = []
    for part in parts:
        if isinstance(part, By) and view.buffer.name in buffers_read(part.index):
            part = replace(part, index=stored(b, part.index, "index"))
        if isinstance(part, By) and part.mask and view.buffer.name in buffers_read(part.mask):
            part = replace(part, mask=stored(b, part.mask, "mask"))
        result.append(part)
    return result


def scatter(
    b: Builder,
    view: Tensor,
    parts: Sequence[Part],
    name: str,
    value: Callable[[Tensor], Tensor],
    loc: Loc | None,
) -> None:
    """`view[parts] = value(view[parts])`: all of it is computed before any is written."""
    assert view.view is not None
    found = selected(b, view.shape, steady(b, parts, view.view), name, loc, target=True)
    old = Tensor(found.shape, view.dtype, _safe(view, found))
    new = _fitted(b, value(old), found.shape, view.dtype, loc)
    if view.view.buffer.name in buffers_read(new):
        new = stored(b, new, "new")
    _write(b, view, found, lambda _, i: cast(new.at(i), view.dtype, loc), None)


def accumulate(
    b: Builder,
    view: Tensor,
    parts: Sequence[Part],
    value: Tensor | None,
    combine: Callable[[tuple[Expr, ...]], Expr],
    reduction: Reduction | None,
    loc: Loc | None,
) -> None:
    """`view[parts] = combine(view[parts], value)` one element after the other."""
    assert view.view is not None
    found = selected(b, view.shape, steady(b, parts, view.view), "the array", loc, target=True)
    new: Tensor | None = None
    if value is not None:
        new = _fitted(b, value, found.shape, value.dtype, loc)
        if view.view.buffer.name in buffers_read(new):
            new = stored(b, new, "new")

    def rule(target: Load, index: Index) -> Expr:
        return combine((target,) if new is None else (target, new.at(index)))

    _write(b, view, found, rule, reduction)


def _write(
    b: Builder,
    view: Tensor,
    found: Selected,
    value: Callable[[Load, Index], Expr],
    reduction: Reduction | None,
) -> None:
    assert view.view is not None
    loops, index = b.fresh_loops(found.shape)
    target = view.at(found.places(index))
    assert isinstance(target, Load)
    affine: list[Expr] = []
    guard: Expr = TRUE
    for condition in found.conditions(index):
        if is_affine(condition):
            affine.append(condition)
        else:
            guard = both(guard, condition)
    with b.under(affine, guard):
        b.emit(loops, target, value(target, index), reduction)


def _safe(view: Tensor, found: Selected) -> Callable[[Index], Expr]:
    """Return the elements now there; where a subscript is outside, zero."""
    zero = cast(integer(0), view.dtype)

    def at(index: Index) -> Expr:
        element = view.at(found.places(index))
        for condition in found.conditions(index):
            element = select(condition, element, zero)
        return element

    return at


def _fitted(b: Builder, value: Tensor, shape: Index, dtype: DType, loc: Loc | None) -> Tensor:
    """Return the value broadcast to the shape that is written."""
    value = forced(b, value)
    if value.dtype.is_complex and not dtype.is_complex:
        refuse("PO0144", "complex values cannot be stored into a real array", loc, "take `.real`")
    extra = value.rank - len(shape)
    if extra > 0:
        if any(extent != ONE for extent in value.shape[:extra]):
            message = f"an array of rank {value.rank} does not fit a target of rank {len(shape)}"
            refuse("PO0140", message, loc)
        whole, zeros = value, (integer(0),) * extra
        value = Tensor(whole.shape[extra:], whole.dtype, lambda i: whole.at((*zeros, *i)))
    skip = len(shape) - value.rank
    for d, extent in enumerate(value.shape):
        if extent != ONE:
            equate(b, shape[skip + d], extent, "assignment", loc)
    return stretched(value, shape)
