"""Sums into adjoints that are the first ones after the adjoint was zero: these can define it.

In: the statements of the way forward, what each reads.  Out: reads whose sums define.
An element's adjoint is zero before the way back of its last read, from there to the write that
replaces its value; between two such writes the last read of a value is the first sum (value-based
dependences: P. Feautrier, Dataflow Analysis of Array and Scalar References, 1991).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import islpy as isl

from polyopt.autodiff.instances import Instances
from polyopt.ir.expr import Load

Read = tuple[int, Load]
"""A statement and an element that it reads."""


def definers(
    instances: Instances, arrays: Collection[str], reads: Sequence[Read], kills: Sequence[int]
) -> frozenset[Read]:
    """Return the reads that are the last ones of their values, in every instance.

    `reads` are all those of `arrays` that carry derivatives; `kills` are the statements that write
    elements without regard to what was there.
    """
    return frozenset(
        read for array in sorted(arrays) for read in _of_array(instances, array, reads, kills)
    )


def _of_array(
    instances: Instances, array: str, reads: Sequence[Read], kills: Sequence[int]
) -> list[Read]:
    own = [(n, load) for n, load in reads if load.array == array]
    killing = [n for n in kills if instances.statements[n].target.array == array]
    if not killing:
        return []
    again: Mapping[Read, Sequence[tuple[isl.Map, int]]] = {
        read: [
            (found, n)
            for n in killing
            if not (found := instances.later(read, (n, instances.statements[n].target))).is_empty()
        ]
        for read in own
    }
    return [read for read in own if again[read] and _is_last(instances, read, own, again[read])]


def _is_last(
    instances: Instances,
    read: Read,
    reads: Sequence[Read],
    kills: Sequence[tuple[isl.Map, int]],
) -> bool:
    """Tell whether no other read comes after one before the value is replaced."""
    number, load = read
    if instances.statements[number].guard is not None or not instances.is_exact(number, load):
        return False
    for other in reads:
        is_beside = other[0] == number and other[1] != load
        if is_beside and instances.may_be_same(number, load, other[1]):
            return False
        left = instances.later(read, other)
        for before, n in kills:
            if left.is_empty():
                break
            between = instances.later((n, instances.statements[n].target), other)
            left = left.subtract(before.apply_range(between))
        if not left.is_empty():
            return False
    return True
