"""Products of a nest that a BLAS library would compute sooner than its loops.

In: the report's subject, a nest.  Out: steps and predicted seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

import islpy as isl

from polyopt.errors import ScheduleError
from polyopt.ir.blas import LibraryProduct
from polyopt.ir.scop import Scop
from polyopt.machine import Machine, Rates
from polyopt.model.library import LibraryTime, library_time
from polyopt.schedule.schedule import Schedule
from polyopt.transforms.library import Library


def products_of(
    statements: tuple[str, ...],
    source: Schedule,
    sizes: Mapping[str, int],
    machine: Machine,
    rates: Rates,
) -> Iterator[tuple[Library, LibraryTime]]:
    """Yield the steps that hand statements to a library, and the time of all of its calls."""
    for name in statements:
        step = Library(name)
        with suppress(ScheduleError):
            product = step.product(source.tree, source.scop)
            lengths = _lengths(source.scop, name, product, sizes)
            if lengths is not None:
                rows, columns, terms = lengths
                dtype = product.target.dtype
                yield step, library_time(rows, columns, terms, dtype, machine, rates)


def _lengths(
    scop: Scop, name: str, product: LibraryProduct, sizes: Mapping[str, int]
) -> tuple[int, int | None, int] | None:
    """Return the lengths of rows, columns and terms; None where a loop is around the product."""
    statement = scop.statement(name)
    domain = statement.domain
    for place in range(domain.dim(isl.dim_type.param)):
        size = sizes.get(str(domain.get_dim_name(isl.dim_type.param, place)))
        if size is None:
            return None
        domain = domain.fix_val(isl.dim_type.param, place, isl.Val(size))
    wanted = (product.rows, product.columns, product.terms)
    if set(statement.iters) != {one for one in wanted if one} or domain.is_empty():
        return None
    found = [None if one is None else _length(domain, statement.iters.index(one)) for one in wanted]
    rows, columns, terms = found
    assert rows is not None
    assert terms is not None
    return rows, columns, terms


def _length(box: isl.Set, place: int) -> int:
    last, first = box.dim_max_val(place), box.dim_min_val(place)
    return int(last.sub(first).to_python()) + 1
