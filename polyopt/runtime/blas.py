"""Find a BLAS library that kernels can be linked with: SciPy's, NumPy's or the system's.

In: what is installed.  Out: flags for the C compiler and the linker.
Refuses: to build a kernel that asks for a library where there is none (PO0246).
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from polyopt.dataclass import dataclass
from polyopt.errors import ToolchainError

NEEDED = ("sgemm", "dgemm", "sgemv", "dgemv")
_NAMES = (
    ("scipy_cblas_", "64_", "int64_t"),
    ("cblas_", "64_", "int64_t"),
    ("scipy_cblas_", "", "int"),
    ("cblas_", "", "int"),
)
"""How libraries name their functions for C: what is before and behind, the type of integers."""
_PACKAGES = ("scipy", "numpy")
_SYSTEM = ("openblas", "cblas", "blas")


@dataclass(frozen=True, slots=True)
class Blas:
    """A library: `place` as it is linked, and how it names its functions."""

    place: str
    before: str
    behind: str
    integer: str

    @property
    def compile_flags(self) -> tuple[str, ...]:
        """The macros that emitted text asks for."""
        name = f"{self.before}##name" + (f"##{self.behind}" if self.behind else "")
        return (f"-DPO_BLAS(name)={name}", f"-DPO_BLAS_INT={self.integer}")

    @property
    def link_flags(self) -> tuple[str, ...]:
        """What links the library, which is found again where it is now."""
        if "/" not in self.place:
            return (f"-l:{self.place}",)
        return (self.place, f"-Wl,-rpath,{Path(self.place).parent}")


@cache
def find_blas() -> Blas | None:
    """Return the first library that has all functions, None where there is none."""
    for place in _places():
        try:
            library = ctypes.CDLL(place)
        except OSError:
            continue
        for before, behind, integer in _NAMES:
            if all(hasattr(library, f"{before}{one}{behind}") for one in NEEDED):
                return Blas(place, before, behind, integer)
    return None


def require_blas() -> Blas:
    """Return the library; raises `ToolchainError` PO0246."""
    found = find_blas()
    if found is None:
        raise ToolchainError(
            "PO0246",
            "the schedule hands a product to a BLAS library, and none was found",
            hint="install OpenBLAS, or NumPy or SciPy from PyPI, which bring one; or leave "
            "`library` out of the schedule",
        )
    return found


def _places() -> Iterator[str]:
    for package in _PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent.parent / f"{package}.libs"
            yield from sorted(map(str, folder.glob("*openblas*")))
    for name in _SYSTEM:
        found = ctypes.util.find_library(name)
        if found is not None:
            yield found
