"""Code for arrays that end before loops which do not reach so far, for packages of C.

In: a function, types, the usual program of these.  Out: the program for any sizes, compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polyopt.dataclass import replace
from polyopt.errors import FrontendError, ScheduleError
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ANY_SIZES, ArgType
from polyopt.ir.budget import Budget
from polyopt.ir.program import Program
from polyopt.ir.source import OUTSIDE
from polyopt.pipeline import compile_program
from polyopt.targets import Options, detect_machine, seconds_to_compile

if TYPE_CHECKING:
    from polyopt.exporting.kernels import Kernel


def for_any_sizes(
    function: Callable[..., Any], types: tuple[ArgType, ...], program: Program, options: Options
) -> dict[str, Kernel]:
    """Return code for calls that `program` of these types refuses for their sizes, by its name.

    The code has a name of its own.  Nothing where the program takes all sizes or is for a device,
    and where code for any sizes is refused, or does not take the schedule of `options`.
    """
    checks = program.signature.checks
    if not options.target.is_host or all(check.code != OUTSIDE for check in checks):
        return {}
    name = f"{program.name}_any_sizes"
    with Budget(seconds_to_compile(options)).running() as budget:
        try:
            found = build(function, (*types, ANY_SIZES))
            found = replace(found, name=name, signature=replace(found.signature, name=name))
            stages = compile_program(found, options, detect_machine(), budget=budget)
        except (FrontendError, ScheduleError):
            return {}
    return {program.name: (stages.written or found, stages)}
