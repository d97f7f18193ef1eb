"""How control leaves an emitted function before its end.

In: where a statement stands, a status.  Out: the C lines that leave there with that status.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, unique

import cgen
from typing_extensions import assert_never

from polyopt.dataclass import dataclass
from polyopt.emit.blocks import indented
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.regions import thread_arrays
from polyopt.ir.loops import AllocateArray, Body, CallLibrary, Fail, For, If, LoopKind, While

STATUS = "po_status"
END = "po_end"
FIRST_FAULT = 2
"""The status of fault 0."""


@unique
class Way(Enum):
    """What leaving takes at some place."""

    RETURN = "return"  # nothing to clean up
    GOTO = "goto"  # to the end of the entry, where everything is cleaned up
    REGION = "region"  # end an iteration of a parallel loop, whose body is a function
    LOOP = "loop"  # end an iteration of a parallel loop by a jump to `label`


@dataclass(frozen=True, slots=True)
class Exit:
    """The way out at some place."""

    way: Way
    label: str = END

    def lines(self, status: str, printer: ExprPrinter) -> list[cgen.Generable]:
        """Return the statements that leave with `status`."""
        match self.way:
            case Way.RETURN:
                return [cgen.Line(f"return {status};")]
            case Way.GOTO:
                own = [] if status == STATUS else [cgen.Line(f"{STATUS} = {status};")]
                return [*own, cgen.Line(f"goto {self.label};")]
            case Way.REGION:
                fail = printer.helper(Helper(HelperKind.FAIL))
                return [cgen.Line(f"{fail}({STATUS}, {status});"), cgen.Line("return;")]
            case Way.LOOP:
                fail = printer.helper(Helper(HelperKind.FAIL))
                jump = cgen.Line(f"goto {self.label};")
                return [cgen.Line(f"{fail}(&{STATUS}, {status});"), jump]
            case _:
                assert_never(self.way)


class Block(cgen.Generable):
    """`{`, the body indented, `}`."""

    mapper_method = "map_block"

    def __init__(self, body: list[cgen.Generable]) -> None:
        self.body = tuple(body)

    def generate(self, with_semicolon: bool = True) -> Iterator[str]:
        """Yield the lines."""
        del with_semicolon
        yield "{"
        yield from indented(self.body)
        yield "}"


def leaves_early(body: Body) -> bool:
    """Tell whether `body` may end the kernel before its end."""
    for node in body:
        match node:
            case Fail() | AllocateArray() | CallLibrary():
                return True
            case For() | While():
                if leaves_early(node.body):
                    return True
            case If():
                if leaves_early(node.then) or leaves_early(node.otherwise):
                    return True
            case _:
                pass
    return False


def fails_in_parallel(body: Body) -> bool:
    """Tell whether an iteration of a parallel loop in `body` may end the kernel."""
    for node in body:
        match node:
            case For(kind=LoopKind.PARALLEL):
                if leaves_early(node.body) or thread_arrays(node.body):
                    return True
            case For() | While():
                if fails_in_parallel(node.body):
                    return True
            case If():
                if fails_in_parallel(node.then) or fails_in_parallel(node.otherwise):
                    return True
            case _:
                pass
    return False
