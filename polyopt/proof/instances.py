"""Check that exactly the source's instances run, each once.

In: a part's statements and the runs that execute them.  Out: claims, one for each statement, and
for each run the iterators that are known functions of the instance (`PlacedRun`).
Tiles are named by quotients that are parameters here: all sets stay free of divisions.
"""

from __future__ import annotations

from collections import Counter

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import Expr, Iter, add, integer, mul, sub, substitute
from polyopt.ir.linear import Linear, linear
from polyopt.ir.names import depends_on_data
from polyopt.ir.parameters import param_names
from polyopt.ir.scop import Statement
from polyopt.proof.affine import Frame, NotAffine
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.coordinates import Quotients, coordinates
from polyopt.proof.paths import conjuncts
from polyopt.proof.reading import Run
from polyopt.proof.source import SourcePart


@dataclass(frozen=True, eq=False)
class PlacedRun:
    """A run with the iterators that were proven to be functions of its instance."""

    run: Run
    known: dict[str, Expr]
    quotients: Quotients


def place_runs(part: SourcePart, statement: Statement, runs: list[Run]) -> list[PlacedRun]:
    """Return the runs of a statement with the iterators that are functions of the instance.

    Loops whose iterators one run does not determine may be determined by other runs in them.
    """
    quotients = Quotients(statement, part.scop.params)
    told = [coordinates(run, quotients) for run in runs]
    shared: dict[int, Counter[Expr]] = {}
    for run, found in zip(runs, told, strict=True):
        for loop in run.path.loops:
            if loop.iter in found:
                shared.setdefault(id(loop), Counter())[found[loop.iter]] += 1
    known: list[dict[str, Expr]] = [{} for _ in runs]
    for key, counts in shared.items():
        waiting = [
            (run, position, known[number])
            for number, run in enumerate(runs)
            for position, loop in enumerate(run.path.loops)
            if id(loop) == key
        ]
        fitting: list[tuple[Expr, list[int]]] = []
        for value, _ in counts.most_common():
            fits = [
                n
                for n, (run, at, _) in enumerate(waiting)
                if _is_function(run, run.path.loops[at].iter, value, quotients)
            ]
            fitting.append((value, fits))
            if len(fits) == len(waiting):
                break
        for value, fits in sorted(fitting, key=lambda item: len(item[1])):  # the best one last
            for n in fits:
                run, at, names = waiting[n]
                names[run.path.loops[at].iter] = value
    return [PlacedRun(run, names, quotients) for run, names in zip(runs, known, strict=True)]


def _is_function(run: Run, iterator: str, value: Expr, quotients: Quotients) -> bool:
    """Tell whether `iterator` is `value` of the instance at every iteration."""
    values = dict(zip(quotients.statement.iters, run.instance, strict=True))
    frame, domain = run.path.frame, run.path.domain
    quotient = quotients.named(value)
    if quotient is None:
        distance = sub(substitute(quotients.spelled(value), values), Iter(iterator))
        if linear(distance) == Linear(0, ()):
            return True
        return bool(frame.pw(distance).ne_set(frame.pw(integer(0))).is_disjoint(domain))
    dividend = frame.pw(substitute(quotients.spelled(quotient.value), values))
    start = mul(integer(quotient.by), Iter(iterator))
    end = add(start, integer(quotient.by))
    return bool(
        dividend.lt_set(frame.pw(start)).is_disjoint(domain)
        and dividend.ge_set(frame.pw(end)).is_disjoint(domain)
    )


def check_instances(part: SourcePart, statement: Statement, runs: list[PlacedRun]) -> Claim:
    """Return whether `runs` together execute every instance of `statement` exactly once."""
    wanted = part.domain(statement)
    least = wanted.intersect(_affine_guard(part, statement))
    if not runs:
        if least.is_empty():
            return Claim(ClaimKind.INSTANCES, statement.name, Verdict.PROVEN, str(wanted))
        return _refuted(statement, f"{_example(least)} does not run")
    defined = runs[0].quotients.defined()
    done: list[isl.Set] = []
    for placed in runs:
        ran = _ran(placed)
        if not ran.is_injective():
            return _refuted(statement, "an instance runs in two iterations")
        here = coalesced(ran.range().intersect(defined))
        for other in done:
            if not here.is_disjoint(other):
                again = here.intersect(other)
                return _refuted(statement, f"{_example(again)} runs in two places")
        if not here.is_subset(wanted):
            extra = here.subtract(wanted)
            return _refuted(statement, f"{_example(extra)} runs, which the source does not have")
        done.append(here)
    missing = _without(least.intersect(defined), done)
    if missing.is_empty():
        return Claim(ClaimKind.INSTANCES, statement.name, Verdict.PROVEN, str(wanted))
    return _refuted(statement, f"{_example(missing)} does not run")


def _without(instances: isl.Set, done: list[isl.Set]) -> isl.Set:
    for here in done:
        if instances.is_empty():
            break
        instances = instances.subtract(here)
    return instances


def _ran(placed: PlacedRun) -> isl.Map:
    """Return `{ [other iterators] -> statement[instance] }`, quotients as parameters.

    Iterators that are quotients become parameters of that name; other known ones stay.
    """
    run = placed.run
    result = run.instances
    dims = list(run.path.frame.dims)
    named = set(placed.quotients.names)
    moved: dict[str, int] = {}
    for name in list(dims):
        value = placed.known.get(name)
        parameter = getattr(value, "name", None)
        if parameter not in named:
            continue
        position = dims.index(name)
        if parameter in moved:
            result = result.equate(isl.dim_type.param, moved[parameter], isl.dim_type.in_, position)
            continue
        place_ = result.dim(isl.dim_type.param)
        result = result.move_dims(isl.dim_type.param, place_, isl.dim_type.in_, position, 1)
        result = result.set_dim_name(isl.dim_type.param, place_, parameter)
        moved[parameter] = place_
        dims.remove(name)
    return result


def _refuted(statement: Statement, reason: str) -> Claim:
    return Claim(
        ClaimKind.INSTANCES, statement.name, Verdict.REFUTED, str(statement.domain), reason
    )


def _affine_guard(part: SourcePart, statement: Statement) -> isl.Set:
    """Return the set where the guard's conditions on sizes and iterators hold."""
    frame = Frame(part.scop.params, statement.iters)
    result = frame.universe
    for condition in () if statement.guard is None else conjuncts(statement.guard):
        if depends_on_data(condition):
            continue
        try:
            result = result.intersect(frame.condition(condition))
        except NotAffine:
            continue
    return result.set_tuple_name(statement.name)


def _example(instances: isl.Set) -> str:
    """Return one instance and its sizes as text."""
    point = instances.sample_point()
    sizes = []
    for position, name in enumerate(param_names(instances)):
        if "/" not in name:
            sizes.append(f"{name}={point.get_coordinate_val(isl.dim_type.param, position)}")
    rank = instances.dim(isl.dim_type.set)
    values = ", ".join(str(point.get_coordinate_val(isl.dim_type.set, d)) for d in range(rank))
    where = f" at {', '.join(sizes)}" if sizes else ""
    return f"{instances.get_tuple_name()}[{values}]{where}"
