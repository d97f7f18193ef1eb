"""The table of NumPy's functions: every name once, with its module, its group and its limits.

In: a NumPy object or a method's name.  Out: the rule that turns a call into a value, or None.
Everything polyopt knows of NumPy is listed here or in `callback_table`: the reader, lazy arrays,
`doctor --numpy` and `docs/numpy.md` ask these tables.  Other functions are refused by name.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import Enum, unique
from functools import cache
from importlib import import_module
from types import BuiltinFunctionType, MethodType
from typing import Any

import numpy as np

from polyopt import frontend
from polyopt.dataclass import dataclass
from polyopt.frontend.numpy.callback_table import called_name
from polyopt.frontend.numpy.table_rules import AnyRule, Written
from polyopt.frontend.numpy.ufuncs import UFUNCS
from polyopt.frontend.values.records import Ruled


@unique
class How(Enum):
    """What a kernel does with a function."""

    COMPILED = "compiled"
    PREDICATED = "predicated"
    CALLED = "called"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Group:
    """Functions of one kind and what limits all of them.

    `homes` has their names, parted by spaces, by module; `name=other` is called `other` there.
    """

    title: str
    how: How
    homes: Mapping[str, str]
    limits: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """NumPy's names of the functions."""
        return tuple(word.partition("=")[0] for word in " ".join(self.homes.values()).split())


@dataclass(frozen=True, slots=True)
class Function:
    """The function or rule called `name` in the module `home`, which is imported on use.

    A module of rules that it makes from tables has these in its `FUNCTIONS`.
    """

    home: str
    name: str

    @property
    def rule(self) -> AnyRule:
        """What turns a call into a value."""
        module = import_module(f"polyopt.frontend.{self.home}")
        name = self.name.rpartition(".")[2]
        made: Mapping[str, Any] = getattr(module, "FUNCTIONS", {})
        rule = made[name] if name in made else getattr(module, name)
        return Written(rule) if self.home.startswith("library.") else rule


_COMPILED, _PREDICATED = How.COMPILED, How.PREDICATED
_OF_UFUNCS = "`out`, `where`, `dtype`, `casting`; `.reduce`, `.accumulate`, `.outer`, `.at`"
GROUPS: tuple[Group, ...] = (
    Group("arithmetic", _COMPILED, {
        "numpy.ufunc_calls": """add subtract multiply divide floor_divide remainder fmod divmod
            power float_power negative positive absolute fabs sign reciprocal square maximum minimum
            fmax fmin gcd lcm""",
    }, _OF_UFUNCS),
    Group("comparison and logic", _COMPILED, {
        "numpy.ufunc_calls": """equal not_equal less less_equal greater greater_equal logical_and
            logical_or logical_xor logical_not""",
    }, _OF_UFUNCS),
    Group("bits", _COMPILED, {
        "numpy.ufunc_calls": """bitwise_and bitwise_or bitwise_xor invert left_shift right_shift
            bitwise_count ldexp frexp modf nextafter spacing""",
    }, _OF_UFUNCS),
    Group("exponentials, roots, logarithms", _COMPILED, {
        "numpy.ufunc_calls": """sqrt cbrt exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2
            hypot""",
        "library.comparing": "sinc",
    }, _OF_UFUNCS),
    Group("trigonometry", _COMPILED, {
        "numpy.ufunc_calls": """sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh
            arccosh arctanh deg2rad rad2deg degrees radians""",
    }, _OF_UFUNCS),
    Group("rounding and tests", _COMPILED, {
        "numpy.ufunc_calls": """floor ceil trunc rint signbit copysign heaviside isnan isinf
            isfinite""",
        "library.comparing": "fix isposinf isneginf isclose allclose array_equal array_equiv",
        "numpy.selection": "round=round_ around=round_",
    }, "`array_equal` of arrays of one shape"),
    Group("parts of complex numbers", _COMPILED, {
        "numpy.selection": "real imag",
        "numpy.ufunc_calls": "conjugate",
        "library.comparing": "angle isreal iscomplex iscomplexobj isrealobj",
    }),
    Group("choice", _PREDICATED, {
        "numpy.selection": "where clip select=choice choose nan_to_num copyto",
        "library.calls": "piecewise",
        "library.movement": "putmask",
    }, "`choose` with `mode` clip or wrap"),
    Group("reductions", _COMPILED, {
        "numpy.reductions": """sum prod any all mean var std count_nonzero nansum nanprod nanmax
            nanmin nanmean nanvar nanstd""",
        "numpy.callbacks": "max min amax=max amin=min",
        "library.measures": """average ptp trace nanargmax nanargmin cov corrcoef linalg.norm
            linalg.vector_norm linalg.matrix_norm linalg.trace=matrix_trace""",
        "numpy.scans": "argmax argmin",
    }, "`axis` (None, one or several), `dtype`, `out`, `keepdims`, `initial`, `where`; `ddof`; "
       "norms of any order but those of singular values"),
    Group("running", _COMPILED, {
        "numpy.scans": "cumsum cumprod",
        "library.measures": "cumulative_sum cumulative_prod nancumsum nancumprod",
        "numpy.joining": "diff",
        "library.calculus": "ediff1d gradient trapezoid trapz=trapezoid",
        "library.signals": "convolve correlate",
    }, "`axis`, `dtype`, `out`; `prepend` and `append` of `diff`"),
    Group("products", _COMPILED, {
        "numpy.reductions": """dot matmul inner outer vdot tensordot einsum linalg.matmul
            linalg.tensordot""",
        "numpy.ufunc_calls": "vecdot matvec vecmat",
        "library.measures": "linalg.vecdot",
        "library.calculus": """kron cross linalg.cross linalg.multi_dot linalg.matrix_power
            linalg.lstsq""",
    }, "`einsum` in all its forms; `cross` of three components; known powers"),
    Group("creation", _COMPILED, {
        "numpy.creation": """zeros ones empty full zeros_like ones_like empty_like full_like eye
            identity copy astype ndarray""",
        "numpy.regrouping": "ascontiguousarray=contiguous asfortranarray=fortran",
        "numpy.arrays": "array asarray asanyarray=asarray",
        "numpy.grids": "arange linspace indices meshgrid",
        "library.signals": "logspace geomspace hanning hamming blackman bartlett",
        "library.movement": "tri",
        "library.calculus": "vander",
        "library.calls": "fromfunction apply_along_axis",
        "library.spectra": "fft.fftfreq fft.rfftfreq",
    }, "`arange` of integers, or of real numbers known while compiling; `mgrid` and `ogrid` too"),
    Group("put together and cut", _COMPILED, {
        "numpy.joining": "concatenate stack vstack hstack column_stack row_stack=vstack",
        "numpy.array_splitting": "block tile split array_split",
        "library.movement": "append insert delete repeat dstack hsplit vsplit dsplit unstack",
        "numpy.padding": "pad",
    }, "known counts of parts; `repeat` by numbers and by arrays of them; `pad` with constants, "
       "edge, wrap, reflect, symmetric"),
    Group("moved and turned", _COMPILED, {
        "numpy.reshaping": """transpose swapaxes expand_dims squeeze flip broadcast_to
            lib.stride_tricks.sliding_window_view""",
        "numpy.axes": "moveaxis broadcast_arrays atleast_1d atleast_2d atleast_3d",
        "numpy.regrouping": "reshape ravel",
        "library.movement": "rot90 rollaxis flipud fliplr matrix_transpose linalg.matrix_transpose",
        "numpy.joining": "roll",
        "library.spectra": "fft.fftshift fft.ifftshift",
    }, "views where NumPy has views"),
    Group("diagonals and triangles", _COMPILED, {
        "numpy.diagonals": "diag diagonal tril triu fill_diagonal",
        "library.measures": "linalg.diagonal=matrix_diagonal",
        "library.movement": "diagflat",
    }),
    Group("polynomials", _COMPILED, {
        "library.calculus": "polyval polymul polyder polyint",
    }),
    Group("shapes and types", _COMPILED, {
        "numpy.axes": "ndim shape size isscalar",
        "numpy.type_queries": """result_type promote_types issubdtype isdtype can_cast finfo iinfo
            dtype min_scalar_type""",
    }, "answered while compiling"),
    Group("by index arrays and masks", _PREDICATED, {
        "numpy.selection": "argwhere bincount compress extract nonzero",
        "library.movement": """diag_indices tril_indices triu_indices flatnonzero isin
            unravel_index""",
        "numpy.indexing": "ix_ put put_along_axis take take_along_axis",
        "library.sets": "unique intersect1d setdiff1d union1d ravel_multi_index",
    }, "subscripts are checked"),
    Group("random numbers", _COMPILED, {
        "numpy.random_draws": "random.Generator=generator random.Philox=philox",
    }, "`Generator(Philox(key=...))` made in the kernel: `random`, `uniform`; `Philox.jumped`"),
)  # fmt: skip

FUNCTIONS: dict[str, Function] = {
    name: Function(home, other or name)
    for group in GROUPS
    for home, words in group.homes.items()
    for name, _, other in (word.partition("=") for word in words.split())
}
_OWN_METHODS = {
    "conj": FUNCTIONS["conjugate"],
    "sort": Function("numpy.callbacks", "sort_in_place"),
    "fill": Function("numpy.creation", "fill"),
    "item": Function("numpy.creation", "item"),
    "flatten": Function("numpy.regrouping", "flatten"),
    "copy": Function("numpy.creation", "copy_in_order"),
    "tolist": Function("variables.lists", "tolist"),
    "compress": Function("numpy.selection", "compressed"),
}
METHODS = frozenset(
    name
    for name in (*FUNCTIONS, *_OWN_METHODS, "argsort", "argpartition", "searchsorted")
    if callable(getattr(np.ndarray, name, None))
)
"""Methods of arrays: functions whose first argument is the array, and a few of their own."""
_HOOKS = {
    "require_extent": Function("numpy.axes", "require_extent"),
    "refused": Function("numpy.axes", "refused"),
    "repeated": Function("numpy.joining", "repeated"),
}
"""What the functions written in Python ask of the compiler."""
_OWN_FUNCTIONS = {
    "polyopt.frontend.library.asking": _HOOKS,
    "polyopt.random": {
        name: Function("numpy.random_draws", name)
        for name in ("bits", "integers", "normal", "uniform")
    },
}


def function_named(name: str) -> object | None:
    """Return NumPy's function of this name; None where this version has none."""
    function: object = np
    for part in name.split("."):
        function = getattr(function, part, None)
    return function


def functions() -> tuple[str, ...]:
    """Return the names of the table that this version of NumPy has."""
    return tuple(name for name in FUNCTIONS if function_named(name) is not None)


@cache
def _names_in(home: str) -> dict[int, tuple[object, str]]:
    """Return the names of functions by the objects of one of NumPy's modules, "" or "linalg.".

    The same object may go by several names (`np.abs` is `np.absolute`).
    """
    found: dict[int, tuple[object, str]] = {}
    for name in FUNCTIONS:
        if name[: name.rfind(".") + 1] == home:
            function = function_named(name)
            found[id(function)] = (function, name)
    found.pop(id(None), None)
    return found


_MODULES = sorted({name[: name.rfind(".") + 1] for name in FUNCTIONS})


def _name_of(function: object) -> str | None:
    """Return the name of an object; modules that nobody has imported have none."""
    for home in _MODULES:
        if f"numpy.{home}"[:-1] in sys.modules:
            found = _names_in(home).get(id(function))
            if found is not None:
                return found[1]
    return None


def rule_of(function: object) -> AnyRule | None:
    """Return the rule of a NumPy function object, or of one that does the same."""
    function = getattr(function, "same_as", function)
    name = _name_of(function)
    if name is not None:
        return FUNCTIONS[name].rule
    if isinstance(function, Ruled):
        return function.rule
    own = _OWN_FUNCTIONS.get(getattr(function, "__module__", None) or "", {})
    if getattr(function, "__name__", "") in own:
        return own[function.__name__].rule  # type: ignore[attr-defined]
    owner = getattr(function, "__self__", None)
    if not isinstance(function, BuiltinFunctionType | MethodType) or not isinstance(
        owner, np.ufunc
    ):
        is_called = isinstance(function, np.ufunc) or called_name(function) is not None
        return frontend.numpy.callbacks.rule_of(function) if is_called else None
    known = UFUNCS.get(owner.__name__)
    if known is not None and function.__name__ == "at":
        return frontend.numpy.indexing.at_of(known)
    return None if known is None else frontend.numpy.ufunc_calls.method(known, function.__name__)


def method_rule(name: str) -> AnyRule:
    """Return the rule of one of the `METHODS`; the array is its first argument."""
    own = _OWN_METHODS.get(name)
    found = rule_of(getattr(np, name)) if own is None else own.rule
    assert found is not None
    return found
