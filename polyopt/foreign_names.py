"""Names that users of other libraries look for in polyopt, and what it has in their place.

In: a name that polyopt lacks.  Out: what to write instead, for the error's text.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from difflib import get_close_matches

_KERNEL = "po.kernel compiles a function"

_INSTEAD = {
    "jit": _KERNEL,
    "njit": _KERNEL,
    "autojit": _KERNEL,
    "function": _KERNEL,
    "program": _KERNEL,
    "script": _KERNEL,
    "export": "`polyopt export FILE.py:FUNC` writes C, and kernel.save(path) a kernel",
    "vectorize": "po.kernel compiles functions of whole arrays, and po.vmap adds a batch axis",
    "guvectorize": "po.kernel compiles functions of whole arrays, and po.vmap adds a batch axis",
    "stencil": "po.kernel compiles stencils that are written as loops or slices",
    "pmap": "po.kernel(mesh=po.mesh(4), shard={'A': 0}) divides arrays among processes",
    "scan": "a loop in the kernel does it, and is scheduled",
    "fori_loop": "a loop in the kernel does it, and is scheduled",
    "while_loop": "a loop in the kernel does it",
    "cond": "an `if` in the kernel does it",
    "cuda": "po.kernel(target='cuda') compiles for a device",
    "numpy": "kernels call NumPy's own functions",
    "array": "po.tensor makes a lazy array, and kernels take NumPy's",
    "set_num_threads": "po.kernel(threads=2), or the environment variable POLYOPT_NUM_THREADS",
}


def instead_of(name: str, known: Iterable[str]) -> str:
    """Return what to write in place of `name`, which is none of `known`; "" where nothing is near.

    NumPy's names of element types (`float64`, `f8`) become those of polyopt.
    """
    public = [one for one in known if not one.startswith("_")]
    found = _INSTEAD.get(name) or _type_like(name, public)
    if found is not None:
        return f": {found}"
    near = get_close_matches(name, public, 1)
    return f": did you mean `{near[0]}`?" if near else ""


def _type_like(name: str, known: Container[str]) -> str | None:
    import numpy as np

    try:
        dtype = np.dtype(name)
    except TypeError:
        return None
    short = f"{dtype.kind}{8 * dtype.itemsize}"
    return f"types are annotations, such as po.{short}['N,M']" if short in known else None
