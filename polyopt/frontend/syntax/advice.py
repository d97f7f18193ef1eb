"""What to write instead of names that kernels do not know: the hints of refusals.

In: the name that was used and the names that would do.  Out: a hint.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from difflib import get_close_matches

import numpy as np

_TABLE = "`polyopt doctor --numpy` lists the supported functions"
_OUTSIDE = "call it outside the kernel, or write it with NumPy operations"
_FUNCTIONS: dict[str, str] = {
    "print": "return the values and print them outside the kernel",
    "set": "use np.unique, or an array of flags",
    "dict": "use separate variables or an array",
    "map": "call the function on the whole array, or in a loop",
    "filter": "select with a mask: `a[a > 0]`",
    "reduce": "write a loop, or np.sum, np.prod, np.max",
    "str": "format the results outside the kernel",
    "repr": "format the results outside the kernel",
    "open": "read and write files outside the kernel, and pass arrays",
    "input": "pass the value as an argument",
    "type": "compare `a.dtype` or `a.ndim`",
    "id": "leave it out: arrays are told apart by their names",
    "getattr": "write the attribute itself: `a.name`",
    "hasattr": "pass a flag as an argument",
    "setattr": "write into arrays: `a[:] = ...`",
    "exec": "write the statements themselves",
    "eval": "write the expression itself",
    "deque": "use an array and two integers for its ends",
    "defaultdict": "use an array, subscripted by integers",
    "time": "measure outside the kernel",
    "perf_counter": "measure outside the kernel",
    "deepcopy": "use `a.copy()`",
    "warn": "check the inputs before the kernel is called",
}
_NUMPY: dict[str, str] = {
    "vectorize": "call the function on the whole array, or in a loop",
    "frompyfunc": "call the function on the whole array, or in a loop",
    "apply_along_axis": "loop over the rows: `for i in range(a.shape[0]): ... a[i] ...`",
    "apply_over_axes": "use the function's own `axis=`",
    "nditer": "loop over ranges: `for i in range(a.shape[0]): ... a[i] ...`",
    "ndenumerate": "loop over names of the indices: `for (i, j), x in np.ndenumerate(a)`",
    "ndindex": "loop over names of the indices, without `break`: `for i, j in np.ndindex(a.shape)`",
    "as_strided": "use slices, or subscripts such as `a[i + j]` in loops",
    "sliding_window_view": "use subscripts such as `a[i + j]` in loops",
    "array_equal": "use np.all(a == b)",
    "matrix": "use two-dimensional arrays and `@`",
    "block": "use np.concatenate or np.zeros and slices",
    "default_rng": "use `po.random`, or `np.random.Generator(np.random.Philox(key=...))`",
    "setdiff1d": "mark the members in an array of flags",
}
_METHODS: dict[str, str] = {
    "tolist": "use the array itself",
    "append": "make the array first, `a = np.zeros(n)`, and store with `a[i] = ...`",
    "extend": "make the array first, `a = np.zeros(n)`, and store with `a[i:j] = ...`",
    "pop": "use an array and an integer that counts its elements",
    "view": "convert the values with `.astype`",
    "resize": "use np.zeros of the new size and copy",
    "tofile": "write files outside the kernel",
    "tobytes": "convert outside the kernel",
    "base": "keep the original array under a name of its own",
    "strides": "leave it out: kernels do not see strides",
    "flags": "leave it out: kernels do not see the layout",
    "data": "use the array itself",
    "itemset": "write `a[i] = value`",
    "byteswap": "convert outside the kernel",
}
_FILES = ("load", "loadtxt", "save", "savez", "savetxt", "genfromtxt", "fromfile", "memmap")


def instead_of_function(name: str, module: str) -> str:
    """Return a hint for a function without an array meaning."""
    if module.split(".")[0] == "random":
        return "draw the numbers before, with NumPy, and pass them as an array"
    if module.split(".")[0] == "time":
        return "measure outside the kernel"
    return _FUNCTIONS.get(name, _OUTSIDE)


def instead_of_numpy(name: str, owner: object) -> str:
    """Return a hint for a NumPy function outside the table."""
    known = _NUMPY.get(name)
    if known is not None:
        return known
    if name in _FILES:
        return "read and write files outside the kernel, and pass arrays"
    if getattr(np.random, name, None) is owner or "random" in str(type(owner)) + _home(owner):
        return "draw the numbers before the kernel is called, and pass them as an array"
    if _home(owner).startswith("numpy.ma"):
        return "use np.where with the mask as an array of its own"
    return _TABLE


def _home(owner: object) -> str:
    return str(getattr(owner, "__module__", "") or "")


def instead_of_attribute(
    name: str,
    known: Iterable[str],
    otherwise: str = "`polyopt doctor --numpy` lists the supported methods and attributes",
) -> str:
    """Return a hint for an unknown attribute or method."""
    return _METHODS.get(name) or did_you_mean(name, known, ".") or otherwise


def did_you_mean(name: str, known: Iterable[str], before: str = "") -> str | None:
    """Return a hint that names the nearest known name, if one is near."""
    near = get_close_matches(name, sorted(known), 1, 0.75)
    return f"did you mean `{before}{near[0]}`?" if near else None


def builtin_names() -> tuple[str, ...]:
    """Return the names that are always defined."""
    return tuple(name for name in dir(builtins) if not name.startswith("_"))
