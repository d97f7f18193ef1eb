"""NumPy's functions over symbolic arrays: by definition, or by NumPy itself on arrays of objects.

In: arrays and numbers.  Out: arrays and numbers.  Refuses: other functions (`Unread`).
Functions that move elements are NumPy's own; sums and products go term by term; what the kernel
calls back is named by what it is given.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.reader.reductions import accumulated, into, mean, reduced, reducing, var
from tests.reader.values import (
    WORLD,
    Arr,
    Kind,
    Sym,
    Unread,
    Value,
    apply,
    as_arr,
    as_sym,
    boxed,
    casted,
    literal,
    numbers,
)

MOVES = frozenset(
    [
        "append",
        "array_split",
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "block",
        "broadcast_to",
        "column_stack",
        "concatenate",
        "delete",
        "diag",
        "diagonal",
        "dstack",
        "expand_dims",
        "flip",
        "fliplr",
        "flipud",
        "hsplit",
        "hstack",
        "moveaxis",
        "ravel",
        "repeat",
        "reshape",
        "roll",
        "rollaxis",
        "rot90",
        "split",
        "squeeze",
        "stack",
        "swapaxes",
        "take",
        "tile",
        "transpose",
        "vsplit",
        "vstack",
    ]
)
CONSTANT = frozenset(
    [
        "arange",
        "diag_indices",
        "eye",
        "geomspace",
        "hamming",
        "hanning",
        "identity",
        "indices",
        "linspace",
        "logspace",
        "tri",
        "tril_indices",
        "triu_indices",
    ]
)
ASKED = frozenset(
    [
        "argmax",
        "argmin",
        "nonzero",
        "flatnonzero",
        "argwhere",
        "count_nonzero",
        "searchsorted",
        "any",
        "all",
        "shape",
        "ndim",
        "size",
        "allclose",
        "array_equal",
        "isclose",
        "argsort",
        "unravel_index",
        "lexsort",
    ]
)
"""Functions whose results are sizes, subscripts or truth: taken for the numbers at hand."""
CALLED = frozenset(
    [
        "linalg.solve",
        "linalg.cholesky",
        "linalg.inv",
        "linalg.det",
        "fft.fft",
        "fft.ifft",
        "sort",
        "median",
    ]
)


def shaped(cells: Any, dtype: Kind) -> Value:
    """Return cells of NumPy's making; numbers that it filled in are constants."""
    if isinstance(cells, list | tuple):
        return type(cells)(shaped(part, dtype) for part in cells)
    if isinstance(cells, np.ndarray):
        for place in np.ndindex(cells.shape):
            if not isinstance(cells[place], Sym):
                cells[place] = literal(cells[place], dtype)
    return boxed(cells, dtype)


def moved(name: str, *args: Any, **kwargs: Any) -> Value:
    """Return what NumPy's function makes of the cells."""
    dtype = kwargs.pop("dtype", None)
    first = args[0]
    if isinstance(first, list | tuple) and name not in ("block",):
        parts = [as_arr(part) for part in first]
        kind = np.result_type(*(p.dtype for p in parts)) if dtype is None else np.dtype(dtype)
        given: Any = [casted(part, kind).cells for part in parts]
    else:
        whole = as_arr(first)
        if name == "append":
            kind = np.result_type(whole.dtype, as_arr(args[1]).dtype)
            args = (first, casted(as_arr(args[1]), kind).cells, *args[2:])
        kind, given = whole.dtype, whole.cells
    rest = [numbers(a) if not isinstance(a, np.ndarray) else a for a in args[1:]]
    made = getattr(np, name)(given, *rest, **{k: numbers(v) for k, v in kwargs.items()})
    return shaped(made, kind)


def created(fill: Any) -> Callable[..., Arr]:
    """Return `zeros`, `ones` or `empty`."""

    def make(shape: Any, dtype: Any = float, order: str = "C") -> Arr:
        del order
        return filled(shape, fill, np.dtype(dtype))

    return make


def filled(shape: Any, fill: Any, kind: Kind) -> Arr:
    """Return an array of one number, undefined for None."""
    found = numbers(shape)
    cells = np.empty(
        tuple(map(int, found)) if isinstance(found, tuple | list) else int(found), object
    )
    undefined = Sym(WORLD.algebra.leaf("undefined", kind), kind, np.zeros((), kind)[()])
    one = undefined if fill is None else literal(fill, kind) if not isinstance(fill, Sym) else fill
    for place in np.ndindex(cells.shape):
        cells[place] = one
    return Arr(cells, kind)


def like(fill: Any) -> Callable[..., Arr]:
    """Return `zeros_like` and its relatives."""

    def make(other: Any, dtype: Any = None, order: str = "C", shape: Any = None) -> Arr:
        del order
        array = as_arr(other)
        kind = array.dtype if dtype is None else np.dtype(dtype)
        return filled(array.shape if shape is None else shape, fill, kind)

    return make


def full(shape: Any, value: Any, dtype: Any = None) -> Arr:
    kind = as_arr(value).dtype if dtype is None else np.dtype(dtype)
    cells = np.empty(np.broadcast_shapes(filled(shape, None, kind).shape), object)
    cells[...] = casted(as_arr(value), kind).cells
    return Arr(cells, kind)


# -- products -----------------------------------------------------------------------------------


def product(name: str) -> Callable[..., Value]:
    """Return `dot`, `matmul` and relatives: NumPy's own on objects, whose operators are ours."""

    def run(left: Any, right: Any, out: Any = None, **kwargs: Any) -> Value:
        one, two = as_arr(left), as_arr(right)
        kind = np.result_type(one.dtype, two.dtype)
        a, b = casted(one, kind).cells, casted(two, kind).cells
        if name in ("matmul", "dot", "inner") and a.ndim and b.ndim and 0 in (*a.shape, *b.shape):
            made = np.asarray(
                getattr(np, name)(np.zeros(a.shape, kind), np.zeros(b.shape, kind)), object
            )
        else:
            made = getattr(np, name)(a, b, **kwargs)
        return into(out, shaped(made, kind))

    return run


def einsum(text: str, *operands: Any, **kwargs: Any) -> Value:
    if kwargs.pop("optimize", None) is not None:
        kwargs = {}
    parts = [as_arr(part) for part in operands]
    kind = np.result_type(*(p.dtype for p in parts))
    given = [casted(part, kind) for part in parts]
    inputs, arrow, output = text.replace(" ", "").partition("->")
    names = inputs.split(",")
    if not arrow:
        letters = sorted(set("".join(names)))
        output = "".join(c for c in letters if "".join(names).count(c) == 1)
    if "." in text:
        raise Unread("einsum with an ellipsis")
    sizes = {
        c: n
        for name, p in zip(names, given, strict=True)
        for c, n in zip(name, p.shape, strict=True)
    }
    summed = [c for c in sizes if c not in output]
    out = np.empty(tuple(sizes[c] for c in output), object)
    for place in np.ndindex(out.shape):
        total: Any = literal(0, kind)
        for inner in np.ndindex(tuple(sizes[c] for c in summed)):
            at = {**dict(zip(output, place, strict=True)), **dict(zip(summed, inner, strict=True))}
            factors = [
                p.cells[tuple(at[c] for c in name)] for name, p in zip(names, given, strict=True)
            ]
            total = apply(
                "add", total, functools.reduce(lambda x, y: apply("multiply", x, y), factors)
            )
        out[place] = total
    return boxed(out if out.ndim else out.item(), kind)


# -- others -------------------------------------------------------------------------------------


def where(condition: Any, *branches: Any) -> Value:
    """Return the chosen elements, for the numbers at hand."""
    if not branches:
        return tuple(of for of in map(as_arr, np.nonzero(np.asarray(numbers(condition)))))
    chosen = np.asarray(numbers(condition)).astype(bool)
    kinds = [
        b.dtype if isinstance(b, Arr) or (isinstance(b, Sym) and not b.weak) else numbers(b)
        for b in branches
    ]
    kind = np.result_type(*kinds)
    one, two = (casted(as_arr(b), kind).cells for b in branches)
    made = np.frompyfunc(lambda c, x, y: x if c else y, 3, 1)(chosen, one, two)
    return boxed(made, kind)


def clip(array: Any, low: Any = None, high: Any = None, out: Any = None) -> Value:
    found = array
    if low is not None:
        found = apply("maximum", found, low)
    if high is not None:
        found = apply("minimum", found, high)
    return into(out, found)


def masked(keep: Callable[[Any, int], Any]) -> Callable[..., Value]:
    def run(array: Any, k: int = 0) -> Value:
        whole = as_arr(array)
        mask = keep(np.ones(whole.shape, int), numbers(k)) != 0
        return where(mask, whole, literal(0, whole.dtype))

    return run


def pad(array: Any, width: Any, mode: str = "constant", **kwargs: Any) -> Value:
    whole = as_arr(array)
    if mode == "constant":
        value = kwargs.pop("constant_values", 0)
        places = np.pad(np.arange(1, whole.size + 1).reshape(whole.shape), numbers(width))
        one = literal(numbers(value), whole.dtype)
        flat = [one, *whole.cells.reshape(-1)]
    else:
        places = np.pad(np.arange(whole.size).reshape(whole.shape), numbers(width), mode)
        flat = list(whole.cells.reshape(-1))
    out = np.empty(places.shape, object)
    for at in np.ndindex(places.shape):
        out[at] = flat[places[at]]
    return Arr(out, whole.dtype)


def diff(array: Any, n: int = 1, axis: int = -1) -> Value:
    whole = as_arr(array)
    for _ in range(n):
        after = Arr(np.moveaxis(np.moveaxis(whole.cells, axis, 0)[1:], 0, axis), whole.dtype)
        before = Arr(np.moveaxis(np.moveaxis(whole.cells, axis, 0)[:-1], 0, axis), whole.dtype)
        whole = as_arr(apply("not_equal" if whole.dtype.kind == "b" else "subtract", after, before))
    return whole


def convolve(a: Any, v: Any, mode: str = "full") -> Value:
    one, two = as_arr(a), as_arr(v)
    kind = np.result_type(one.dtype, two.dtype)
    one, two = casted(one, kind), casted(two, kind)
    if len(two) > len(one):
        one, two = two, one
    made = np.empty(len(one) + len(two) - 1, object)
    for n in range(len(made)):
        made[n] = literal(0, kind)
    for i in range(len(one)):
        for j in range(len(two)):
            made[i + j] = apply("add", made[i + j], apply("multiply", one[i], two[j]))
    cut = {"full": 0, "same": (len(two) - 1) // 2, "valid": len(two) - 1}[mode]
    size = {"full": len(made), "same": len(one), "valid": len(one) - len(two) + 1}[mode]
    return Arr(made[cut : cut + size], kind)


def norm(array: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Value:
    if ord is not None:
        raise Unread("a norm of an order")
    whole = as_arr(array)
    if whole.dtype.kind != "f":
        whole = casted(whole, np.dtype(float))
    return apply("sqrt", reduced("add", apply("multiply", whole, whole), axis, None, keepdims))


def called_back(name: str) -> Callable[..., Value]:
    """Return a library function whose results are named by what it is given."""

    def run(*args: Any, **kwargs: Any) -> Value:
        if kwargs:
            raise Unread(f"np.{name} with keywords")
        given = [as_arr(a) for a in args]
        function: Any = functools.reduce(getattr, name.split("."), np)
        made = np.asarray(function(*(numbers(a) for a in given)))
        codes = tuple(c.code for a in given for c in a.cells.reshape(-1))
        cells = np.empty(made.shape, object)
        for place in np.ndindex(made.shape):
            leaf = f"numpy.{name}:{hash(codes)}.0{list(place)}"
            cells[place] = Sym(WORLD.algebra.leaf(leaf, made.dtype), made.dtype, made[place])
        return boxed(cells if cells.ndim else cells.item(), made.dtype)

    return run


def sliding(array: Any, shape: Any, axis: Any = None) -> Value:
    whole = as_arr(array)
    made = np.lib.stride_tricks.sliding_window_view(whole.cells, numbers(shape), axis)
    return Arr(made, whole.dtype)


def meshgrid(*axes: Any, indexing: str = "xy", sparse: bool = False) -> Any:
    given = [as_arr(a) for a in axes]
    cells: Any = [a.cells for a in given]
    made = np.meshgrid(*cells, indexing=indexing, sparse=sparse)
    return [Arr(m, a.dtype) for m, a in zip(made, given, strict=True)]


def outer(a: Any, b: Any) -> Value:
    one, two = as_arr(a), as_arr(b)
    return apply(
        "multiply",
        Arr(one.cells.reshape(-1, 1), one.dtype),
        Arr(two.cells.reshape(1, -1), two.dtype),
    )


def copied(array: Any, dtype: Any = None, **kwargs: Any) -> Value:
    del kwargs
    whole = as_arr(array)
    made = casted(whole, whole.dtype if dtype is None else np.dtype(dtype))
    return Arr(made.cells.copy(), made.dtype)


def same(array: Any, dtype: Any = None, **kwargs: Any) -> Value:
    del kwargs
    return as_arr(array, dtype)


def astype(array: Any, dtype: Any, **kwargs: Any) -> Value:
    del kwargs
    return copied(array, np.dtype(dtype))


def asked(name: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        given = [
            np.asarray(numbers(a)) if isinstance(a, Arr | Sym | list) else numbers(a) for a in args
        ]
        out = kwargs.pop("out", None)
        found = getattr(np, name)(*given, **{k: numbers(v) for k, v in kwargs.items()})
        return into(out, as_arr(found)) if isinstance(found, np.ndarray) else found

    return run


class Ufunc:
    """A ufunc: called, reduced, accumulated, outer, at."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, out: Any = None, where: Any = None, dtype: Any = None) -> Value:
        nin = getattr(np, self.name).nin
        if len(args) > nin:
            args, out = args[:nin], args[nin]
        made = apply(self.name, *args, dtype=dtype)
        if where is None:
            return into(out, made)
        if out is None:
            raise Unread("where= without out=")
        mask = np.asarray(numbers(where)).astype(bool)
        out[...] = _chosen(mask, casted(as_arr(made), out.dtype), out)
        return out

    def reduce(self, array: Any, axis: Any = 0, out: Any = None, **kwargs: Any) -> Value:
        return into(out, reduced(self.name, array, axis, **kwargs))

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Value:
        return accumulated(self.name, array, axis, dtype, out)

    def outer(self, a: Any, b: Any) -> Value:
        one, two = as_arr(a), as_arr(b)
        lifted = Arr(one.cells.reshape(one.shape + (1,) * two.ndim), one.dtype)
        return apply(self.name, lifted, two)

    def at(self, array: Arr, places: Any, values: Any) -> None:
        flat = np.arange(array.size).reshape(array.shape)[numbers(places)]
        given = np.broadcast_to(as_arr(values).cells, flat.shape)
        for n in np.ndindex(flat.shape):
            where_ = np.unravel_index(int(flat[n]), array.shape)
            array[where_] = apply(self.name, array[where_], given[n])


def _chosen(mask: Any, one: Arr, two: Arr) -> Arr:
    cells = np.frompyfunc(lambda c, x, y: x if c else y, 3, 1)(mask, one.cells, two.cells)
    return Arr(np.asarray(cells, object), two.dtype)


def full_like(other: Any, value: Any, dtype: Any = None) -> Arr:
    array = as_arr(other)
    return filled(array.shape, cast_of(value, array, dtype), array.dtype)


def result_type(*values: Any) -> Any:
    return np.result_type(*(v.dtype if isinstance(v, Arr | Sym) else v for v in values))


def ptp(array: Any, axis: Any = None) -> Value:
    ends = (reduced(name, array, axis) for name in ("maximum", "minimum"))
    return apply("subtract", *ends)


def transposed(array: Arr, *axes: Any) -> Value:
    order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple) else axes or None
    return moved("transpose", array, order)


def reshaped(array: Arr, *shape: Any, **kwargs: Any) -> Value:
    return moved("reshape", array, shape[0] if len(shape) == 1 else shape, **kwargs)


def listed(array: Arr) -> list[Any]:
    return [part.item() if isinstance(part, Sym) else listed(part) for part in array]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: created(fill) for name, fill in (("zeros", 0), ("ones", 1), ("empty", None))},
    **{f"{name}_like": like(fill) for name, fill in (("zeros", 0), ("ones", 1), ("empty", None))},
    **{name: product(name) for name in ("dot", "matmul", "inner", "vdot", "tensordot", "kron")},
    **dict.fromkeys(("asarray", "ascontiguousarray", "asanyarray", "asfortranarray"), same),
    "ndarray": created(None),
    "full": full,
    "full_like": full_like,
    "sum": reducing("add"),
    "prod": reducing("multiply"),
    "max": reducing("maximum"),
    "min": reducing("minimum"),
    "amax": reducing("maximum"),
    "amin": reducing("minimum"),
    "mean": mean,
    "var": var,
    "std": lambda *args, **kwargs: apply("sqrt", var(*args, **kwargs)),
    "ptp": ptp,
    "cumsum": functools.partial(accumulated, "add"),
    "cumprod": functools.partial(accumulated, "multiply"),
    "trace": lambda array: reduced("add", moved("diagonal", array)),
    "outer": outer,
    "einsum": einsum,
    "where": where,
    "clip": clip,
    "tril": masked(np.tril),
    "triu": masked(np.triu),
    "pad": pad,
    "diff": diff,
    "convolve": convolve,
    "copy": copied,
    "array": copied,
    "astype": astype,
    "meshgrid": meshgrid,
    "real": lambda array: array.real,
    "imag": lambda array: array.imag,
    "result_type": result_type,
}
LINALG = {"norm": norm}
_METHODS_OF = "sum prod max min mean var std cumsum cumprod dot clip copy astype trace"
_MOVING = "ravel swapaxes squeeze repeat diagonal take"
_ASKING = "any all argmax argmin nonzero argsort"
METHODS: dict[str, Callable[..., Any]] = {
    **{name: FUNCTIONS[name] for name in _METHODS_OF.split()},
    **{name: functools.partial(moved, name) for name in _MOVING.split()},
    **{name: asked(name) for name in _ASKING.split()},
    "flatten": lambda array: copied(moved("ravel", array)),
    "reshape": reshaped,
    "transpose": transposed,
    "fill": lambda array, value: array.__setitem__(..., value),
    "item": lambda array, *at: array.cells.item(*numbers(at)).item(),
    "conj": functools.partial(apply, "conjugate"),
    "conjugate": functools.partial(apply, "conjugate"),
    "tolist": listed,
}


def cast_of(value: Any, other: Any, dtype: Any) -> Sym:
    from tests.reader.values import cast

    return cast(as_sym(value), as_arr(other).dtype if dtype is None else np.dtype(dtype))
