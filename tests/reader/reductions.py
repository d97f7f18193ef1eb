"""Reductions and running sums of symbolic arrays, term by term.

In: an array, axes.  Out: numbers or arrays.  Refuses: what has no plain definition (`Unread`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.reader.values import Arr, Unread, Value, apply, as_arr, boxed, casted, literal, numbers


def reduced(
    name: str, array: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
    initial: Any = None, where: Any = True,
) -> Value:  # fmt: skip
    """Return a ufunc's reduction, term by term."""
    whole = as_arr(array)
    ufunc: np.ufunc = getattr(np, name)
    axes = _axes(axis, whole.ndim)
    kind = ufunc.reduce(np.ones(1, whole.dtype), dtype=dtype).dtype
    parts = casted(whole, kind) if name not in ("logical_and", "logical_or") else whole
    mask = np.broadcast_to(np.asarray(numbers(where)), whole.shape)
    kept = tuple(d for d in range(whole.ndim) if d not in axes)
    out = np.empty(tuple(whole.shape[d] for d in kept), object)
    for place in np.ndindex(out.shape):
        key: list[Any] = [slice(None)] * whole.ndim
        for d, p in zip(kept, place, strict=True):
            key[d] = p
        terms = [
            t for t, m in zip(
                parts.cells[tuple(key)].reshape(-1) if axes else [parts.cells[tuple(key)]],
                mask[tuple(key)].reshape(-1) if axes else [mask[tuple(key)]], strict=True,
            ) if m
        ]  # fmt: skip
        start = [literal(numbers(initial), kind)] if initial is not None else []
        if not terms and not start:
            if ufunc.identity is None:
                raise ValueError(f"zero-size array to reduction operation {name}")
            start = [literal(ufunc.identity, kind)]
        out[place] = functools.reduce(functools.partial(apply, name), [*start, *terms])
    if keepdims:
        out = out.reshape(tuple(1 if d in axes else n for d, n in enumerate(whole.shape)))
    return boxed(out if out.ndim else out.item(), kind)


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    found = numbers(axis)
    listed = found if isinstance(found, tuple) else (found,)
    return tuple(int(a) % rank for a in listed)


def reducing(name: str) -> Callable[..., Value]:
    def run(
        array: Any, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any
    ) -> Value:
        made = reduced(name, array, axis, dtype, **kwargs)
        return into(out, made)

    return run


def into(out: Any, made: Value) -> Value:
    if out is None:
        return made
    target = out[0] if isinstance(out, tuple) else out
    target[...] = made
    return target


def mean(array: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
         where: Any = True) -> Value:  # fmt: skip
    whole = as_arr(array)
    if dtype is None and whole.dtype == np.float16:
        raise Unread("mean of float16")
    kind = np.mean(np.ones(1, whole.dtype), dtype=dtype).dtype
    total = reduced("add", casted(whole, kind), axis, None, keepdims, where=where)
    count = _count(whole, axis, where)
    return into(out, apply("divide", total, literal(count, kind)))


def _count(whole: Arr, axis: Any, where: Any) -> int:
    if where is not True:
        raise Unread("where= of a mean")
    return int(np.prod([whole.shape[d] for d in _axes(axis, whole.ndim)]))


def var(array: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0,
        keepdims: bool = False) -> Value:  # fmt: skip
    whole = as_arr(array)
    middle = mean(whole, axis, dtype, keepdims=True)
    apart = apply("subtract", whole, middle)
    if as_arr(apart).dtype.kind == "c":
        raise Unread("variance of complex numbers")
    total = reduced("add", apply("multiply", apart, apart), axis, dtype, keepdims)
    count = _count(whole, axis, True) - numbers(ddof)
    return into(out, apply("divide", total, literal(count, as_arr(total).dtype)))


def accumulated(
    name: str, array: Any, axis: Any = None, dtype: Any = None, out: Any = None
) -> Value:
    """Return running sums or products."""
    whole = as_arr(array)
    if axis is None:
        whole, axis = Arr(whole.cells.reshape(-1), whole.dtype), 0
    kind = getattr(np, name).accumulate(np.ones(1, whole.dtype), dtype=dtype).dtype
    cells = np.moveaxis(casted(whole, kind).cells.copy(), axis, 0)
    for n in range(1, len(cells)):
        step = apply(name, boxed(cells[n - 1], kind), boxed(cells[n], kind))
        cells[n] = step.cells if isinstance(step, Arr) else step
    return into(out, Arr(np.moveaxis(cells, 0, axis), kind))
