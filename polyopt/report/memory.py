"""The memory that a kernel takes besides its arguments: every temporary, and the most at once.

In: temporaries and where they live, the schedules that they came from.  Out: lines for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from polyopt.ir.array import Array
from polyopt.ir.expr import Const, Expr, Iter, Param, Symbol, integer, mul, walk
from polyopt.ir.integers import evaluate
from polyopt.ir.linear import normalize
from polyopt.ir.program import Program
from polyopt.ir.showing import show
from polyopt.schedule import Schedule

OF_ALL = ("heap", "memory of the device")
"""Places with one array for the whole call."""


def explain_memory(
    temporaries: Sequence[tuple[Array, str]],
    program: Program,
    schedules: Sequence[Schedule],
    sizes: Mapping[str, int],
    turns: Sequence[Sequence[str]] = (),
) -> Iterator[str]:
    """Yield a line for each temporary (array, place): its bytes, what for, where; then the sums.

    `turns` are names of arrays that share memory, one after another.  With `sizes` that tell them,
    bytes are numbers, too.
    """
    hosts = {name: group[0] for group in turns for name in group}
    for array, place in temporaries:
        what = _purpose(array, program, schedules)
        host = hosts.get(array.name, array.name)
        where = place if host == array.name else f"{place}, in the memory of {host}"
        yield f"{array.name}: {_bytes(((array,),), sizes)}, {where}: {what}"
    for place in dict.fromkeys(place for _, place in temporaries):
        memories: dict[str, list[Array]] = {}
        for array, where in temporaries:
            if where == place:
                memories.setdefault(hosts.get(array.name, array.name), []).append(array)
        if place in OF_ALL and memories:
            yield f"at most at once, {place}: {_bytes(tuple(memories.values()), sizes)}"
    if not any(place in OF_ALL for _, place in temporaries):
        yield "no memory for the whole call"


def _bytes(memories: Sequence[Sequence[Array]], sizes: Mapping[str, int]) -> str:
    """Return the bytes of memories, each as large as the largest of its arrays."""
    text = " + ".join(map(_largest, memories))
    values = [[_value(array, sizes) for array in arrays] for arrays in memories]
    known = [[value for value in one if value is not None] for one in values]
    is_known = known == values and (len(memories) > 1 or bool(memories[0][0].shape))
    return f"{text} bytes" + (f" = {sum(map(max, known))}" if is_known else "")


def _largest(arrays: Sequence[Array]) -> str:
    texts = [" * ".join((*map(_factor, a.shape), str(a.dtype.size))) for a in arrays]
    different = list(dict.fromkeys(texts))
    return different[0] if len(different) == 1 else f"max({', '.join(different)})"


def _factor(extent: Expr) -> str:
    text = show(normalize(extent))
    return text if text.isidentifier() or isinstance(extent, Const) else f"({text})"


def _value(array: Array, sizes: Mapping[str, int]) -> int | None:
    size: Expr = integer(array.dtype.size)
    whole = reduce(mul, array.shape, size)
    names = {p.name for p in walk(whole) if isinstance(p, Param | Symbol | Iter)}
    plain = names <= set(sizes) and not any(isinstance(p, Symbol | Iter) for p in walk(whole))
    return evaluate(whole, sizes) if plain else None


def _purpose(array: Array, program: Program, schedules: Sequence[Schedule]) -> str:
    """Return what an array is for: a temporary of the source, or the step that made it."""
    own = {a.name: a for a in program.arrays}
    if array.name in own:
        same = own[array.name].shape == array.shape
        return "a temporary of the source" + ("" if same else ", a cell for each value alive")
    for schedule in schedules:
        for number, one in enumerate(schedule.history()):
            if any(a.name == array.name for a in one.scop.arrays):
                before = schedule.history()[number - 1].trace if number else ()
                steps = "; ".join(map(str, one.trace[len(before) :]))
                return f"made by {steps}" if number else "one of the values of a source's array"
    return "a copy that a pass on the loops made"
