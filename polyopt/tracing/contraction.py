"""`po.einsum`: on concrete arrays compiled once for each form, on lazy ones recorded.

In: a subscripts text and operands.  Out: an array, or a lazy one.
Refuses: what `np.einsum` refuses (PO0141, PO0151).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from polyopt.runtime.values import array_of
from polyopt.tracing.arrays import LazyArray, record
from polyopt.tracing.compiling import CompiledGraph, compile, tensor
from polyopt.tracing.places import refuse

_Form = tuple[tuple[str, tuple[bool, ...]], ...]  # of each operand: dtype, which extents are 1


def einsum(subscripts: str, *operands: object) -> Any:  # noqa: ANN401
    """Sum products of elements over repeated indices, as `np.einsum` does.

    >>> import numpy as np, polyopt as po
    >>> po.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((3, 2)))
    array([[3., 3.],
           [3., 3.]])
    >>> po.einsum("ii", po.tensor("a", po.f64["N,N"]))
    <LazyArray () float64>
    """
    if any(isinstance(value, LazyArray) for value in operands):
        return record(np.einsum, subscripts, *operands)
    arrays = [_array(value) for value in operands]
    form = tuple(
        (array.dtype.name, tuple(extent == 1 for extent in array.shape)) for array in arrays
    )
    return _compiled(subscripts, form)(*arrays)


einsum.same_as = np.einsum  # type: ignore[attr-defined]  # inside of kernels


def _array(value: object) -> Any:  # noqa: ANN401
    found = value if isinstance(value, np.ndarray) else array_of(value)
    if found is None and isinstance(value, list | tuple | int | float | complex | np.generic):
        found = np.asarray(value)
    if found is None:
        refuse("PO0151", f"the operand {value!r} of einsum", hint="pass arrays")
    return found


@lru_cache(maxsize=256)
def _compiled(subscripts: str, form: _Form) -> CompiledGraph:
    inputs = []
    for number, (dtype, ones) in enumerate(form):
        shape = tuple(
            1 if one else size
            for one, size in zip(ones, _size_names(subscripts, number, len(ones)), strict=True)
        )
        inputs.append(tensor(f"a{number}", shape, np.dtype(dtype)))
    result = record(np.einsum, subscripts, *inputs)
    return compile(result, inputs, name="einsum")


def _size_names(subscripts: str, number: int, rank: int) -> list[str]:
    """Return the indices' letters as names of sizes; those under `...` count from the right."""
    if not isinstance(subscripts, str):
        refuse("PO0151", "einsum without a subscripts text")
    terms = subscripts.replace(" ", "").partition("->")[0].split(",")
    head, dots, tail = (terms[number] if number < len(terms) else "").partition("...")
    middle = [f"d{n}" for n in range(rank - len(head) - len(tail), 0, -1)] if dots else []
    names = [*(f"n_{letter}" for letter in head), *middle, *(f"n_{letter}" for letter in tail)]
    return names if len(names) == rank else [f"d{number}_{d}" for d in range(rank)]
