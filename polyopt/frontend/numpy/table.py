"""The tables of supported NumPy functions and array methods: name -> rule.

In: a NumPy object or a method name.  Out: the rule that turns a call into a value, or None.
Everything polyopt knows of NumPy is listed here, by the module that has the rule; a function not
listed is refused by name.
"""

from __future__ import annotations

import sys
from functools import cache
from types import BuiltinFunctionType, MethodType

import numpy as np

from polyopt import frontend
from polyopt.frontend.numpy.callback_table import called_name
from polyopt.frontend.numpy.table_rules import AnyRule
from polyopt.frontend.numpy.ufuncs import PAIRS, UFUNCS
from polyopt.late import Table

FUNCTIONS: Table[AnyRule] = Table(
    "polyopt.frontend",
    "FUNCTIONS",
    {
        "numpy.ufunc_calls": " ".join([*UFUNCS, *PAIRS, "vecdot matvec vecmat"]),
        "numpy.selection": "where clip real imag round around nan_to_num select choose copyto",
        "numpy.reductions": """
            sum prod any all mean var std count_nonzero ptp dot matmul inner outer vdot
            tensordot einsum nansum nanprod nanmax nanmin nanmean nanvar nanstd
        """,
        "numpy.callbacks": "max min amax amin",
        "numpy.scans": "cumsum cumprod argmax argmin",
        "numpy.joining": "diff roll concatenate stack vstack hstack column_stack row_stack",
        "numpy.array_splitting": "dstack block tile split array_split hsplit vsplit dsplit",
        "numpy.axes": """
            unstack moveaxis broadcast_arrays rollaxis atleast_1d atleast_2d atleast_3d ndim
            shape size iscomplexobj isrealobj isscalar
        """,
        "numpy.padding": "pad",
        "numpy.grids": "meshgrid indices arange linspace",
        "numpy.diagonals": "diag diagflat diagonal trace tri tril triu fill_diagonal",
        "numpy.creation": """
            zeros ones empty ndarray full zeros_like ones_like empty_like full_like eye identity
            copy ascontiguousarray asfortranarray astype
        """,
        "numpy.arrays": "array asarray asanyarray",
        "numpy.reshaping": "transpose swapaxes expand_dims squeeze flip flipud fliplr broadcast_to",
        "numpy.regrouping": "reshape ravel",
        "numpy.windows": "lib.stride_tricks.sliding_window_view",
        "numpy.type_queries": """
            result_type promote_types issubdtype isdtype can_cast finfo iinfo dtype
            min_scalar_type
        """,
        "numpy.indexing": "take take_along_axis put put_along_axis ix_",
        "numpy.data_dependent_sizes": "nonzero flatnonzero argwhere compress extract bincount",
        "library.sets": "unique intersect1d setdiff1d union1d ravel_multi_index",
        "library.solving": "linalg.lstsq",
        "library.spectra": "fft.fftfreq fft.rfftfreq fft.fftshift fft.ifftshift",
        "library.comparing": """
            angle fix sinc isclose allclose array_equal array_equiv isreal iscomplex isposinf
            isneginf
        """,
        "library.measures": """
            average cov corrcoef linalg.norm linalg.vector_norm linalg.matrix_norm
            cumulative_sum cumulative_prod nancumsum nancumprod nanargmax nanargmin
        """,
        "library.calculus": """
            trapezoid trapz gradient ediff1d polyval polymul polyder polyint vander cross
            linalg.cross kron linalg.multi_dot linalg.matrix_power
        """,
        "library.signals": """
            convolve correlate hanning hamming blackman bartlett logspace geomspace
        """,
        "library.movement": """
            rot90 append repeat matrix_transpose linalg.matrix_transpose putmask insert delete
            unravel_index diag_indices isin
        """,
        "library.calls": "apply_along_axis fromfunction piecewise",
    },
)
METHODS: Table[AnyRule] = Table(
    "polyopt.frontend",
    "METHODS",
    {
        "numpy.ufunc_calls": "conjugate conj",
        "numpy.selection": "clip round choose",
        "numpy.reductions": "sum prod any all mean var std dot",
        "numpy.callbacks": "max min sort argsort argpartition searchsorted",
        "numpy.scans": "cumsum cumprod argmax argmin",
        "numpy.diagonals": "diagonal trace",
        "numpy.creation": "copy astype fill item",
        "numpy.reshaping": "transpose swapaxes squeeze",
        "numpy.regrouping": "reshape ravel flatten",
        "variables.lists": "tolist",
        "numpy.indexing": "take put",
        "numpy.data_dependent_sizes": "nonzero compress",
        "library.movement": "repeat",
    },
)
_HOOKS: Table[AnyRule] = Table(
    "polyopt.frontend",
    "HOOKS",
    {"numpy.axes": "require_extent refused", "numpy.grids": "grids", "numpy.joining": "repeated"},
)
"""What the functions written in Python ask of the compiler."""


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
        return FUNCTIONS[name]
    if getattr(function, "__module__", None) == "polyopt.frontend.library.asking":
        return _HOOKS[getattr(function, "__name__", "")]
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


def method_rule(name: str) -> AnyRule | None:
    """Return the rule of an array method; the array is its first argument."""
    return METHODS.get(name)
