"""What becomes of NumPy's functions in a kernel, for people: groups, names, limits.

In: the tables of rules.  Out: `GROUPS`, one row a name, and the table of `docs/numpy.md`.
A test keeps the groups and the tables equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, unique

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.frontend.numpy import data_dependent_sizes, indexing
from polyopt.frontend.numpy.callback_table import LIBRARY
from polyopt.frontend.numpy.table import METHODS, function_named, functions


@unique
class How(Enum):
    """What a kernel does with a function."""

    COMPILED = "compiled"
    PREDICATED = "predicated"
    CALLED = "called"
    REFUSED = "refused"


MEANING = {
    How.COMPILED: "loops of the kernel, scheduled with everything around them",
    How.PREDICATED: "loops over all elements whose statements ask a condition or a subscript first",
    How.CALLED: "the kernel stops, the library's own function runs, the kernel goes on",
    How.REFUSED: "an error with a code, when the function is compiled",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Functions of one kind and what limits all of them."""

    title: str
    how: How
    names: tuple[str, ...]
    limits: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One function."""

    name: str
    group: str
    how: str
    limits: str


def _group(title: str, how: How, names: str, limits: str = "") -> Group:
    return Group(title, how, tuple(names.split()), limits)


_C = How.COMPILED
_OF_UFUNCS = "`out`, `where`, `dtype`, `casting`; `.reduce`, `.accumulate`, `.outer`, `.at`"
_OF_REDUCTIONS = "`axis` (None, one or several), `dtype`, `out`, `keepdims`, `initial`, `where`"
_OURS: tuple[Group, ...] = (
    _group(
        "arithmetic",
        _C,
        """add subtract multiply divide floor_divide remainder fmod divmod power float_power
        negative positive absolute fabs sign reciprocal square maximum minimum fmax fmin gcd lcm""",
        _OF_UFUNCS,
    ),
    _group(
        "comparison and logic",
        _C,
        """equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
        logical_not""",
        _OF_UFUNCS,
    ),
    _group(
        "bits",
        _C,
        """bitwise_and bitwise_or bitwise_xor invert left_shift right_shift bitwise_count ldexp
        frexp modf nextafter spacing""",
        _OF_UFUNCS,
    ),
    _group(
        "exponentials, roots, logarithms",
        _C,
        "sqrt cbrt exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 hypot sinc",
        _OF_UFUNCS,
    ),
    _group(
        "trigonometry",
        _C,
        """sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh deg2rad
        rad2deg degrees radians""",
        _OF_UFUNCS,
    ),
    _group(
        "rounding and tests",
        _C,
        """floor ceil trunc fix rint round around signbit copysign heaviside isnan isinf isfinite
        isposinf isneginf isclose allclose array_equal array_equiv""",
        "`array_equal` of arrays of one shape",
    ),
    _group(
        "parts of complex numbers",
        _C,
        "real imag conjugate angle isreal iscomplex iscomplexobj isrealobj",
    ),
    _group(
        "choice",
        How.PREDICATED,
        "where clip select choose piecewise nan_to_num copyto putmask",
        "`choose` with `mode` clip or wrap",
    ),
    _group(
        "reductions",
        _C,
        """sum prod max min amax amin any all mean var std average ptp count_nonzero nansum nanprod
        nanmax nanmin nanmean nanvar nanstd argmax argmin nanargmax nanargmin cov corrcoef trace
        linalg.norm linalg.vector_norm linalg.matrix_norm""",
        f"{_OF_REDUCTIONS}; `ddof`; norms of any order but those of singular values",
    ),
    _group(
        "running",
        _C,
        """cumsum cumprod cumulative_sum cumulative_prod nancumsum nancumprod diff
        ediff1d gradient trapezoid trapz convolve correlate""",
        "`axis`, `dtype`, `out`; `prepend` and `append` of `diff`",
    ),
    _group(
        "products",
        _C,
        """dot matmul inner outer vdot vecdot matvec vecmat tensordot einsum kron cross
        linalg.cross linalg.multi_dot linalg.matrix_power""",
        "`einsum` in all its forms; `cross` of three components; known powers",
    ),
    _group(
        "creation",
        _C,
        """zeros ones empty full zeros_like ones_like empty_like full_like arange linspace logspace
        geomspace eye identity tri vander copy array asarray asanyarray ascontiguousarray
        asfortranarray astype indices meshgrid fromfunction hanning hamming blackman bartlett
        fft.fftfreq fft.rfftfreq apply_along_axis""",
        "`arange` of integers, or of real numbers known while compiling; `mgrid` and `ogrid` too",
    ),
    _group(
        "put together and cut",
        _C,
        """concatenate stack vstack hstack dstack column_stack row_stack block append insert delete
        tile repeat pad split array_split hsplit vsplit dsplit unstack""",
        "known counts of parts; `repeat` by numbers and by arrays of them; `pad` with constants, "
        "edge, wrap, reflect, symmetric",
    ),
    _group(
        "moved and turned",
        _C,
        """transpose swapaxes moveaxis rollaxis expand_dims squeeze reshape ravel flip flipud fliplr
        rot90 roll broadcast_to broadcast_arrays atleast_1d atleast_2d atleast_3d matrix_transpose
        linalg.matrix_transpose fft.fftshift fft.ifftshift""",
        "views where NumPy has views",
    ),
    _group(
        "diagonals and triangles",
        _C,
        "diag diagonal diagflat tril triu fill_diagonal",
    ),
    _group("polynomials", _C, "polyval polymul polyder polyint"),
    _group(
        "shapes and types",
        _C,
        """ndim shape size isscalar result_type promote_types issubdtype isdtype can_cast finfo
        iinfo dtype min_scalar_type""",
        "answered while compiling",
    ),
)


def _groups() -> tuple[Group, ...]:
    placed, ours = {name for group in _OURS for name in group.names}, functions()
    more_of_ours = ("unique", "unravel_index", "diag_indices", "isin")
    indexed = tuple(
        sorted({*indexing.FUNCTIONS, *data_dependent_sizes.FUNCTIONS, *more_of_ours} - placed)
    )
    more = tuple(sorted(set(ours) - placed - set(indexed)))
    called = tuple(
        sorted(
            short
            for short in (name.removeprefix("numpy.") for name in LIBRARY)
            if short not in ours
        )
    )
    rest = _refused({*ours, *called})
    return (
        *_OURS,
        Group("by index arrays and masks", How.PREDICATED, indexed, "subscripts are checked"),
        *([Group("others", How.COMPILED, more)] if more else []),
        Group("library calls", How.CALLED, called, "operands and results lie in memory"),
        Group("not in a kernel", How.REFUSED, rest, "call them outside, or write them as loops"),
    )


def _refused(known: set[str]) -> tuple[str, ...]:
    """Return NumPy's other functions, by the names of its main namespace."""
    objects = {id(function_named(name)) for name in known}
    found = []
    for name in dir(np):
        value = getattr(np, name, None)
        if name.startswith("_") or not callable(value) or isinstance(value, type):
            continue
        if id(value) not in objects:
            found.append(name)
    return tuple(found)


GROUPS = _groups()


def rows() -> Iterator[Row]:
    """Yield one row for every function that this version of NumPy has."""
    for group in GROUPS:
        for name in group.names:
            if name.startswith("scipy.") or function_named(name) is not None:
                yield Row(name, group.title, group.how.value, group.limits)


def markdown() -> str:
    """Return the tables of functions and methods for the documentation."""
    lines = ["| kind | how | functions | arguments and limits |", "| --- | --- | --- | --- |"]
    for group in GROUPS:
        if group.how is not How.REFUSED:
            names = " ".join(f"`{name}`" for name in group.names)
            lines.append(f"| {group.title} | {group.how.value} | {names} | {group.limits} |")
    methods = " ".join(f"`{name}`" for name in sorted(METHODS))
    return "\n".join([*lines, "", "Methods of arrays: " + methods + ".", ""])
