"""NumPy functions written with other NumPy functions, in plain Python.

In: what NumPy's function of that name takes.  Out: what it returns.
They are read like functions of the user; run by Python they can be compared with NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyopt.dataclass import dataclass
from polyopt.frontend.library import (
    calculus,
    calls,
    comparing,
    measures,
    movement,
    sets,
    signals,
    solving,
    spectra,
)
from polyopt.frontend.library.asking import grids, refused, repeated, require_extent

vectorized = calls.vectorized
__all__ = ["FUNCTIONS", "Written", "grids", "refused", "repeated", "require_extent", "vectorized"]


@dataclass(frozen=True, slots=True)
class Written:
    """A function of this package in place of a rule."""

    function: Callable[..., Any]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "unique": sets.unique,
    "intersect1d": sets.intersect1d,
    "setdiff1d": sets.setdiff1d,
    "union1d": sets.union1d,
    "ravel_multi_index": sets.ravel_multi_index,
    "linalg.lstsq": solving.lstsq,
    "fft.fftfreq": spectra.fftfreq,
    "fft.rfftfreq": spectra.rfftfreq,
    "fft.fftshift": spectra.fftshift,
    "fft.ifftshift": spectra.ifftshift,
    "angle": comparing.angle,
    "fix": comparing.fix,
    "sinc": comparing.sinc,
    "isclose": comparing.isclose,
    "allclose": comparing.allclose,
    "array_equal": comparing.array_equal,
    "array_equiv": comparing.array_equiv,
    "isreal": comparing.isreal,
    "iscomplex": comparing.iscomplex,
    "isposinf": comparing.isposinf,
    "isneginf": comparing.isneginf,
    "average": measures.average,
    "cov": measures.cov,
    "corrcoef": measures.corrcoef,
    "linalg.norm": measures.norm,
    "linalg.vector_norm": measures.vector_norm,
    "linalg.matrix_norm": measures.matrix_norm,
    "cumulative_sum": measures.cumulative_sum,
    "cumulative_prod": measures.cumulative_prod,
    "nancumsum": measures.nancumsum,
    "nancumprod": measures.nancumprod,
    "nanargmax": measures.nanargmax,
    "nanargmin": measures.nanargmin,
    "trapezoid": calculus.trapezoid,
    "trapz": calculus.trapezoid,
    "gradient": calculus.gradient,
    "ediff1d": calculus.ediff1d,
    "polyval": calculus.polyval,
    "polymul": calculus.polymul,
    "polyder": calculus.polyder,
    "polyint": calculus.polyint,
    "vander": calculus.vander,
    "cross": calculus.cross,
    "linalg.cross": calculus.cross,
    "kron": calculus.kron,
    "linalg.multi_dot": calculus.multi_dot,
    "linalg.matrix_power": calculus.matrix_power,
    "convolve": signals.convolve,
    "correlate": signals.correlate,
    "hanning": signals.hanning,
    "hamming": signals.hamming,
    "blackman": signals.blackman,
    "bartlett": signals.bartlett,
    "logspace": signals.logspace,
    "geomspace": signals.geomspace,
    "rot90": movement.rot90,
    "append": movement.append,
    "repeat": movement.repeat,
    "matrix_transpose": movement.matrix_transpose,
    "linalg.matrix_transpose": movement.matrix_transpose,
    "putmask": movement.putmask,
    "insert": movement.insert,
    "delete": movement.delete,
    "unravel_index": movement.unravel_index,
    "diag_indices": movement.diag_indices,
    "isin": movement.isin,
    "apply_along_axis": calls.apply_along_axis,
    "fromfunction": calls.fromfunction,
    "piecewise": calls.piecewise,
}
