"""np.r_ and np.c_: arrays, numbers and ranges between brackets, one after the other.

In: what stands between the brackets.  Out: a new array.
Refuses: the texts with which np.r_ takes instructions (PO0151).
"""

from __future__ import annotations

from polyopt.errors import Loc
from polyopt.frontend.numpy.axis_reductions import at_least_vector, with_unit_axes
from polyopt.frontend.numpy.call_arguments import Arguments, tensor
from polyopt.frontend.numpy.grids import GridPart, grid
from polyopt.frontend.numpy.joining import joined
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Known, Tensor, Value


def rows_or_columns(
    b: Builder, parts: list[Value | GridPart], columns: bool, loc: Loc | None
) -> Tensor:
    """Return `np.c_[parts]` with `columns`, else `np.r_[parts]`."""
    name = "np.c_" if columns else "np.r_"
    found: list[Tensor] = []
    for part in parts:
        if isinstance(part, GridPart):
            made = grid(b, [part], False, loc)
            assert isinstance(made, Tensor)
            found.append(made)
            continue
        if isinstance(part, Known) and isinstance(part.value, str):
            refuse("PO0151", f"{name} with a text", loc, "use np.concatenate with an axis")
        found.append(forced(b, tensor(b, part, loc)))
    wide = [_column(part) if columns else at_least_vector(part) for part in found]
    return joined(b, wide, wide[0].rank - 1 if columns else 0, Arguments(name, (), {}, loc))


def _column(value: Tensor) -> Tensor:
    value = at_least_vector(value)
    return with_unit_axes(value, (1,)) if value.rank == 1 else value
