"""Shapes of results: one rule for each family of NumPy functions.

In: a function's operands, by NumPy's own parameter names.  Out: extents.
Refuses: shapes that do not fit (PO0140, PO0141), axes outside the array (PO0153).
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from polyopt.tracing.broadcasting import (
    axes_of,
    axis_of,
    broadcast,
    dims_of,
    require_equal,
    shape_of,
    show,
)
from polyopt.tracing.places import refuse
from polyopt.tracing.sizes import Extent, Shape, as_extent, is_extent, minus, plus, quotient, times

Rule: TypeAlias = Callable[..., Shape]


# -- elementwise and reductions ---------------------------------------------------------------


def elementwise(*operands: object, **_: object) -> Shape:
    """where, clip, real, round and the like"""
    return broadcast(*(shape_of(value) for value in operands))


def _clip(a: object, a_min: object = None, a_max: object = None, **rest: object) -> Shape:
    return elementwise(a, a_min, a_max, *(rest.get(name) for name in ("min", "max")))


def _first(a: object, *_: object, **__: object) -> Shape:
    return shape_of(a)


def reduction(
    a: object, axis: object = None, dtype: object = None, out: object = None,
    keepdims: object = False, **_: object,
) -> Shape:  # fmt: skip
    """sum, mean, max and the like"""
    shape = shape_of(a)
    gone = axes_of(axis, len(shape))
    if keepdims is True:
        return tuple(1 if d in gone else extent for d, extent in enumerate(shape))
    return tuple(extent for d, extent in enumerate(shape) if d not in gone)


def _extreme(
    a: object, axis: object = None, out: object = None, keepdims: object = False, **_: object
) -> Shape:
    return reduction(a, axis, keepdims=keepdims)


def _norm(x: object, ord: object = None, axis: object = None, keepdims: object = False) -> Shape:
    return reduction(x, axis, keepdims=keepdims)


def _running(a: object, axis: object = None, *_: object, **__: object) -> Shape:
    return (times(*shape_of(a)),) if axis is None else shape_of(a)


def _trace(a: object, offset: object = 0, axis1: int = 0, axis2: int = 1, **_: object) -> Shape:
    shape = shape_of(a)
    gone = axes_of((axis1, axis2), len(shape))
    return tuple(extent for d, extent in enumerate(shape) if d not in gone)


# -- products ---------------------------------------------------------------------------------


def matmul(a: object, b: object, **_: object) -> Shape:
    """np.matmul, @"""
    left, right = shape_of(a), shape_of(b)
    if not left or not right:
        refuse("PO0141", f"a matrix product of shapes {show(left)} and {show(right)}")
    rows = (1, *left) if len(left) == 1 else left
    columns = (*right, 1) if len(right) == 1 else right
    require_equal(rows[-1], columns[-2], f"matrix product of {show(left)} and {show(right)}")
    result = [*broadcast(rows[:-2], columns[:-2]), rows[-2], columns[-1]]
    if len(left) == 1:
        del result[-2]
    if len(right) == 1:
        del result[-1]
    return tuple(result)


def _dot(a: object, b: object, **_: object) -> Shape:
    left, right = shape_of(a), shape_of(b)
    if not left or not right:
        return broadcast(left, right)
    if len(right) == 1:
        require_equal(left[-1], right[0], "np.dot")
        return left[:-1]
    require_equal(left[-1], right[-2], "np.dot")
    return (*left[:-1], *right[:-2], right[-1])


def _inner(a: object, b: object) -> Shape:
    left, right = shape_of(a), shape_of(b)
    if not left or not right:
        return broadcast(left, right)
    require_equal(left[-1], right[-1], "np.inner")
    return (*left[:-1], *right[:-1])


def _outer(a: object, b: object, **_: object) -> Shape:
    return times(*shape_of(a)), times(*shape_of(b))


def _vdot(a: object, b: object) -> Shape:
    return ()


def _tensordot(a: object, b: object, axes: object = 2) -> Shape:
    left, right = shape_of(a), shape_of(b)
    if isinstance(axes, tuple | list):
        gone, also = axes_of(axes[0], len(left)), axes_of(axes[1], len(right))
    else:
        count = axes_of(axes, 99)[0]
        gone, also = tuple(range(len(left) - count, len(left))), tuple(range(count))
    for one, two in zip(gone, also, strict=True):
        require_equal(left[one], right[two], "np.tensordot")
    first = (extent for d, extent in enumerate(left) if d not in gone)
    return (*first, *(extent for d, extent in enumerate(right) if d not in also))


def _einsum(subscripts: object, *operands: object, **_: object) -> Shape:
    if not isinstance(subscripts, str):
        refuse(
            "PO0151", "np.einsum without a subscripts text", hint='write np.einsum("ij,jk", a, b)'
        )
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        refuse("PO0141", f"np.einsum: {len(terms)} terms for {len(operands)} operands")
    extents: dict[str, Extent] = {}
    for term, operand in zip(terms, operands, strict=True):
        for letter, extent in _letters(term, shape_of(operand)):
            known = extents.setdefault(letter, extent)
            if known == 1:
                extents[letter] = extent
            elif extent != 1:
                require_equal(known, extent, f"np.einsum index {letter}")
    dots = "".join(sorted((k for k in extents if len(k) > 1), key=lambda k: -int(k[1:])))
    rank = max((int(k[1:]) for k in extents if len(k) > 1), default=0)
    if not arrow:
        letters = inputs.replace(",", "").replace("...", "")
        output = "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
        output = ("..." if dots else "") + output
    result: list[Extent] = []
    head, _dots, tail = output.partition("...")
    for letter in head:
        result.append(_letter(extents, letter))
    if "..." in output:
        result += [extents[f".{d}"] for d in range(rank, 0, -1)]
    return (*result, *(_letter(extents, letter) for letter in tail))


def _letter(extents: dict[str, Extent], letter: str) -> Extent:
    if letter not in extents:
        refuse("PO0141", f"np.einsum: `{letter}` is in no operand")
    return extents[letter]


def _letters(term: str, shape: Shape) -> Iterator[tuple[str, Extent]]:
    """Yield each index of a term with its extent; `...` gives `.1`, `.2` from the right."""
    head, dots, tail = term.partition("...")
    named = len(head) + len(tail)
    if any(letter not in string.ascii_letters for letter in head + tail):
        refuse("PO0151", f"np.einsum term {term!r}", hint="use letters, `,`, `...` and `->`")
    if named > len(shape) or (not dots and named != len(shape)):
        refuse("PO0141", f"np.einsum term {term!r} for an array of shape {show(shape)}")
    yield from zip(head, shape, strict=False)
    middle = shape[len(head) : len(shape) - len(tail)]
    for d, extent in enumerate(middle):
        yield f".{len(middle) - d}", extent
    yield from zip(tail, shape[len(shape) - len(tail) :], strict=True)


# -- joins ------------------------------------------------------------------------------------


def _concatenate(arrays: Sequence[object], axis: object = 0, **_: object) -> Shape:
    shapes = [shape_of(array) for array in arrays]
    if not shapes or any(len(shape) != len(shapes[0]) for shape in shapes):
        refuse("PO0140", f"arrays of shapes {', '.join(map(show, shapes))} cannot be joined")
    if axis is None:
        return (plus(*(times(*shape) for shape in shapes)),)
    along = axis_of(axis, len(shapes[0]))
    result = list(shapes[0])
    for shape in shapes[1:]:
        for d, extent in enumerate(shape):
            if d == along:
                result[d] = plus(result[d], extent)
            else:
                require_equal(result[d], extent, f"joining along axis {along}")
    return tuple(result)


def _stack(arrays: Sequence[object], axis: object = 0, **_: object) -> Shape:
    shapes = [shape_of(array) for array in arrays]
    if not shapes:
        refuse("PO0140", "no arrays to stack")
    whole = broadcast(*shapes)
    along = axis_of(axis, len(whole) + 1)
    return (*whole[:along], len(shapes), *whole[along:])


def _raised(array: object, rank: int, right: bool) -> Shape:
    shape = shape_of(array)
    ones = (1,) * (rank - len(shape))
    return (*shape, *ones) if right else (*ones, *shape)


def _join_shapes(shapes: Sequence[Shape], along: int) -> Shape:
    result = list(shapes[0])
    for shape in shapes[1:]:
        for d, extent in enumerate(shape):
            if d == along:
                result[d] = plus(result[d], extent)
            else:
                require_equal(result[d], extent, "joining")
    return tuple(result)


def _vstack(tup: Sequence[object], **_: object) -> Shape:
    return _join_shapes([_raised(array, 2, False) for array in tup], 0)


def _hstack(tup: Sequence[object], **_: object) -> Shape:
    shapes = [_raised(array, 1, False) for array in tup]
    return _join_shapes(shapes, 0 if len(shapes[0]) == 1 else 1)


def _column_stack(tup: Sequence[object]) -> Shape:
    return _join_shapes([_raised(array, 2, True) for array in tup], 1)


def _pad(array: object, pad_width: object, mode: object = "constant", **_: object) -> Shape:
    shape = shape_of(array)
    widths = np.broadcast_to(np.asarray(pad_width), (len(shape), 2))
    return tuple(plus(e, int(w[0]), int(w[1])) for e, w in zip(shape, widths, strict=True))


def _repeat(a: object, repeats: object, axis: object = None) -> Shape:
    shape = shape_of(a)
    if not is_extent(repeats):
        refuse("PO0151", "np.repeat by other than a number", hint="repeat by one count")
    count = as_extent(repeats)
    if axis is None:
        return (times(*shape, count),)
    along = axis_of(axis, len(shape))
    return tuple(times(e, count) if d == along else e for d, e in enumerate(shape))


def _tile(A: object, reps: object) -> Shape:  # noqa: N803
    shape, counts = shape_of(A), dims_of(reps)
    rank = max(len(shape), len(counts))
    wide = ((1,) * (rank - len(shape)), shape), ((1,) * (rank - len(counts)), counts)
    left, right = ((*ones, *rest) for ones, rest in wide)
    return tuple(times(a, c) for a, c in zip(left, right, strict=True))


def _diff(a: object, n: int = 1, axis: object = -1, **_: object) -> Shape:
    shape = shape_of(a)
    along = axis_of(axis, len(shape))
    return tuple(minus(e, n) if d == along else e for d, e in enumerate(shape))


# -- movement ---------------------------------------------------------------------------------


def _transpose(a: object, axes: object = None) -> Shape:
    shape = shape_of(a)
    order = tuple(reversed(range(len(shape)))) if axes is None else axes_of(axes, len(shape))
    if sorted(order) != list(range(len(shape))):
        refuse("PO0153", f"axes {order} of an array with {len(shape)} dimensions")
    return tuple(shape[axis] for axis in order)


def _swapaxes(a: object, axis1: object, axis2: object) -> Shape:
    shape = list(shape_of(a))
    one, two = axis_of(axis1, len(shape)), axis_of(axis2, len(shape))
    shape[one], shape[two] = shape[two], shape[one]
    return tuple(shape)


def _moveaxis(a: object, source: object, destination: object) -> Shape:
    shape = shape_of(a)
    rank = len(shape)
    origin, places = axes_of(source, rank), axes_of(destination, rank)
    order = [d for d in range(rank) if d not in origin]
    for place, axis in sorted(zip(places, origin, strict=True)):
        order.insert(place, axis)
    return tuple(shape[axis] for axis in order)


def _expand_dims(a: object, axis: object) -> Shape:
    shape = list(shape_of(a))
    parts = axis if isinstance(axis, tuple | list) else (axis,)
    for place in sorted(axes_of(tuple(parts), len(shape) + len(parts))):
        shape.insert(place, 1)
    return tuple(shape)


def _squeeze(a: object, axis: object = None) -> Shape:
    shape = shape_of(a)
    if axis is None:
        return tuple(extent for extent in shape if extent != 1)
    gone = axes_of(axis, len(shape))
    for d in gone:
        require_equal(shape[d], 1, "np.squeeze")
    return tuple(extent for d, extent in enumerate(shape) if d not in gone)


def _ravel(a: object, order: object = "C") -> Shape:
    return (times(*shape_of(a)),)


def _broadcast_to(array: object, shape: object, **_: object) -> Shape:
    target = dims_of(shape)
    if len(shape_of(array)) > len(target):
        refuse("PO0140", f"shape {show(shape_of(array))} does not broadcast to {show(target)}")
    broadcast(shape_of(array), target)
    return target


def reshape(a: object, shape: object = None, order: object = "C", **_: object) -> Shape:
    """np.reshape; -1 is what is left"""
    old, new = times(*shape_of(a)), list(dims_of(shape))
    open_places = [d for d, extent in enumerate(new) if extent == -1]
    if len(open_places) > 1:
        refuse("PO0140", "np.reshape with more than one -1")
    rest = times(*(extent for extent in new if extent != -1))
    if not open_places:
        require_equal(old, rest, f"np.reshape of {show(shape_of(a))} to {show(tuple(new))}")
        return tuple(new)
    if rest == 0 or (isinstance(old, int) and isinstance(rest, int) and old % rest):
        refuse("PO0140", f"np.reshape of {show(shape_of(a))} to {show(tuple(new))}")
    new[open_places[0]] = quotient(old, rest)
    return tuple(new)


def _diagonal(a: object, offset: object = 0, axis1: int = 0, axis2: int = 1) -> Shape:
    shape = shape_of(a)
    one, two = axes_of((axis1, axis2), len(shape))
    if offset != 0 or shape[one] != shape[two]:
        refuse("PO0151", "np.diagonal off the main one, or of no square",
               hint="use a subscript or np.einsum")  # fmt: skip
    return (*(e for d, e in enumerate(shape) if d not in (one, two)), shape[one])


def _filled(prototype: object, *_: object, shape: object = None, **__: object) -> Shape:
    return shape_of(prototype) if shape is None else dims_of(shape)


def _created(shape: object, *_: object, **__: object) -> Shape:
    return dims_of(shape)


def _eye(N: object, M: object = None, *_: object, **__: object) -> Shape:  # noqa: N803
    return dims_of((N, N if M is None else M))


def words(text: str) -> tuple[str, ...]:
    """Return the words of a table's line."""
    return tuple(text.split())


_NAMES: dict[str, Rule] = {
    "where": elementwise,
    **dict.fromkeys(
        words("""real imag round around nan_to_num roll flip flipud fliplr tril triu copy sort
        real_if_close ascontiguousarray astype array asarray isclose"""),
        _first,
    ),
    "clip": _clip,
    "isclose": lambda a, b, **_: elementwise(a, b),
    **dict.fromkeys(words("sum prod mean nansum nanmean nanprod"), reduction),
    "var": reduction,
    "std": reduction,
    **dict.fromkeys(
        words("max min amax amin any all ptp argmax argmin nanmax nanmin argmax argmin"), _extreme
    ),
    "count_nonzero": lambda a, axis=None, keepdims=False: reduction(a, axis, keepdims=keepdims),
    "linalg.norm": _norm,
    **dict.fromkeys(words("cumsum cumprod"), _running),
    "trace": _trace,
    "matmul": matmul,
    "dot": _dot,
    "inner": _inner,
    "outer": _outer,
    "vdot": _vdot,
    "tensordot": _tensordot,
    "einsum": _einsum,
    "concatenate": _concatenate,
    "stack": _stack,
    "vstack": _vstack,
    "hstack": _hstack,
    "column_stack": _column_stack,
    "pad": _pad,
    "repeat": _repeat,
    "tile": _tile,
    "diff": _diff,
    "transpose": _transpose,
    "permute_dims": _transpose,
    "swapaxes": _swapaxes,
    "moveaxis": _moveaxis,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "ravel": _ravel,
    "reshape": reshape,
    "broadcast_to": _broadcast_to,
    "diagonal": _diagonal,
    **dict.fromkeys(words("zeros_like ones_like empty_like"), _filled),
    "full_like": lambda a, fill_value, dtype=None, **rest: _filled(a, **rest),
    **dict.fromkeys(words("zeros ones empty full"), _created),
    "eye": _eye,
    "identity": lambda n, *_, **__: dims_of((n, n)),
}

MOVEMENT = frozenset(
    words("""transpose swapaxes moveaxis expand_dims squeeze reshape ravel broadcast_to flip flipud
    fliplr diagonal permute_dims""")
)
_KEEPS_TYPE = MOVEMENT | frozenset(words("roll pad repeat tile tril triu copy ascontiguousarray"))


def _object(name: str) -> object:
    found: object = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


RULES: dict[object, Rule] = {_object(name): rule for name, rule in _NAMES.items()}
RULES.pop(None, None)
KEEPS_TYPE = frozenset(_object(name) for name in _KEEPS_TYPE) - {None}
MOVES = frozenset(_object(name) for name in MOVEMENT) - {None}
