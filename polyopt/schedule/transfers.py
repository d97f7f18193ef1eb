"""Find arguments that need no copy to a device, since they are overwritten before they are read.

In: a program.  Out: names of arrays; none where the analysis takes too long.
"""

from __future__ import annotations

from polyopt.ir.affine import index_box
from polyopt.ir.budget import optional
from polyopt.ir.parameters import param_names
from polyopt.ir.program import Program
from polyopt.ir.scop import Array, Role, Scop
from polyopt.ir.source import ArrayArg
from polyopt.schedule.liveness import Live, live

BUDGET = 2_000_000  # isl operations


def overwritten(program: Program) -> frozenset[str]:
    """Return the arguments whose initial values a call never uses nor returns.

    None for a program that may fault midway: elements not yet written must keep their values.
    """
    if not program.is_static or program.signature.faults:
        return frozenset()
    scop = program.scop
    whole = {
        argument.array
        for argument in program.signature.arguments
        if isinstance(argument, ArrayArg) and argument.part is None and not argument.before
    }
    found: set[str] = set()
    with optional("what need not be copied to the device", BUDGET, part=0.1):
        for one in live(scop):
            array = scop.array(one.array)
            if (
                array.role is Role.INOUT
                and array.name in whole
                and _is_overwritten(scop, array, one)
            ):
                found.add(array.name)
    return frozenset(found)


def _is_overwritten(scop: Scop, array: Array, found: Live) -> bool:
    if not (found.certain and found.needed.is_empty()):
        return False
    box = index_box(array.name, array.shape, param_names(scop.context))
    return bool(box.intersect_params(scop.context).is_subset(found.left))
