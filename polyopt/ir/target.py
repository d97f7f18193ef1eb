"""What kernels are printed in and where they run: a record for each language.

In: a language's name.  Out: its `Target`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from polyopt.dataclass import dataclass
from polyopt.late import named


@dataclass(frozen=True, slots=True)
class Target:
    """A language, and the devices that run it.

    `printer` returns the text of loops, `opener` a device for the option `device`; functions of
    polyopt go by their places, imported on use.  Without an opener the host runs the text.
    `conditional`: devices decide which kernels of a program run.  `matrices`, `atomics`,
    `shuffles`: there are matrix instructions, updates of elements that data chooses, and ways for
    threads of a warp to pass on values without memory.
    `package`: name and version of what has it, if not polyopt; kernels are kept for each version.
    """

    value: str
    suffix: str
    printer: str | Callable[..., Any]
    opener: str | Callable[..., Any] = ""
    conditional: bool = False
    matrices: bool = False
    atomics: bool = False
    shuffles: bool = False
    package: str = ""

    C: ClassVar[Target]
    CUDA: ClassVar[Target]
    OPENCL: ClassVar[Target]

    @property
    def is_host(self) -> bool:
        """Whether kernels run in the process itself, with OpenMP."""
        return not self.opener

    def print_loops(self, loops: Any) -> Any:  # noqa: ANN401
        """Return the text of loops; raises `EmitError`."""
        return _function(self.printer)(loops)

    def open_device(self, device: int | str | None) -> Any:  # noqa: ANN401
        """Return a `Provider`; raises `ToolchainError` where there is none."""
        return _function(self.opener)(device)

    def __repr__(self) -> str:
        package = f", package={self.package!r}" if self.package else ""
        return f"Target({self.value!r}{package})"


def _function(place: str | Callable[..., Any]) -> Callable[..., Any]:
    return named("polyopt", place) if isinstance(place, str) else place


Target.C = Target("c", ".c", "emit.c.emit_c")
Target.CUDA = Target(
    "cuda", ".cu", "emit.cuda.emit_cuda", "hosting.devices.open_cuda",
    conditional=True, matrices=True, atomics=True, shuffles=True,
)  # fmt: skip
Target.OPENCL = Target("opencl", ".cl", "emit.opencl.emit_opencl", "hosting.devices.open_opencl")

TARGETS = {target.value: target for target in (Target.C, Target.CUDA, Target.OPENCL)}
"""The languages by their names."""
