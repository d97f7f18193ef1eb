"""Library calls over symbolic values: every result is a term of the call and all it was given.

In: the arrays of a call.  Out: new contents of its results, with numbers for control.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np

from polyopt.ir.library import call_library
from polyopt.ir.source import LibraryCall
from tests.oracle.symbolic import Store, World
from tests.oracle.terms import code_of


def number_of(world: World, store: Store) -> np.ndarray[Any, Any]:
    """Return the numbers an array holds."""
    found = np.empty(store.shape, store.dtype.numpy)
    for index in product(*map(range, store.shape)):
        value = world.terms.known(world.load(store, index, _name(store)))
        found[index] = value
    return found


def _name(store: Store) -> Any:
    from polyopt.ir.expr import Symbol

    return Symbol(store.name, store.dtype)


def call_opaque(
    world: World, site: int, call: LibraryCall, inputs: list[Store], outputs: list[Store]
) -> None:
    """Run a library call: `outputs` get terms that name the call and what it read."""
    given = [number_of(world, store) for store in inputs]
    codes = tuple(
        code_of(world.load(store, index, _name(store)))
        for store in inputs
        for index in product(*map(range, store.shape))
    )
    made = [np.empty(store.shape, store.dtype.numpy) for store in outputs]

    @cache
    def called() -> None:
        call_library(call, given, made)

    called()
    name = f"{call.function}#{site}:{hash(codes)}"
    for number, (store, array) in enumerate(zip(outputs, made, strict=True)):
        for index in product(*map(range, store.shape)):
            term = world.terms.leaf(f"{name}.{number}{list(index)}", store.dtype, array[index])
            world.save(store, index, term, _name(store))
