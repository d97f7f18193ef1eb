"""Arrays of a name whose length changes in a loop: `x = x[mask]` from one iteration to the next.

In: the memory of a name, an array that it becomes.  Out: statements that keep its length in a
variable; what the name stands for.
The memory is as large as the first array; one that does not fit is a fault (PO0173).
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import at_least, minus
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import is_dynamic_name
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import Index, Tensor, view_of
from polyopt.frontend.variables.call_frames import Pin
from polyopt.ir.expr import Load
from polyopt.ir.names import params_of
from polyopt.ir.types import DType


def differs(before: Index, now: Index) -> bool:
    """Whether an array gets another length, which only the running kernel knows."""
    if not now or len(before) != len(now) or before[0] == now[0]:
        return False
    return any(map(is_dynamic_name, params_of((before[0], now[0]))))


def of_any_length(b: Builder, name: str, pin: Pin, shape: Index) -> Pin:
    """Return the pin of an array of `shape` whose length may change."""
    length = Load(b.new_buffer(f"{name}_length", DType.INT64, ()).name, (), DType.INT64)
    b.emit((), length, shape[0])
    return replace(pin, length=length)


def as_long_as_now(b: Builder, pin: Pin) -> Tensor:
    """Return the array that a name stands for here."""
    assert pin.length is not None
    most = pin.shape[0]
    extent = b.bound_here(pin.length, "length")
    b.sizes += [extent, minus(most, extent)]
    b.bounds[extent] = most
    return replace(view_of(pin.buffer), shape=(extent, *pin.shape[1:]))


def resized(b: Builder, name: str, pin: Pin, array: Tensor, loc: Loc | None) -> Tensor:
    """Return the elements that an array is stored in, and note how many there are."""
    assert pin.length is not None
    length, most = array.shape[0], pin.shape[0]
    hint = "use another name for what is longer"
    fits = at_least(most, length)
    b.demand(fits, "PO0173", f"`{name}` becomes longer than it was before the loop", loc, hint)
    for mine, other in zip(pin.shape[1:], array.shape[1:], strict=True):
        equate(b, mine, other, f"`{name}` changes its shape", loc)
    b.emit((), pin.length, length)
    return replace(view_of(pin.buffer), shape=(length, *pin.shape[1:]))
