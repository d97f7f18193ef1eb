"""From a program and the arrays that are cut to a plan for all ranks.

In: a program, a mesh, axes of arrays.  Out: a `Plan`, proven for all numbers of ranks.
Refuses: arrays and axes that are not there (PO0853), control that depends on data (PO0854).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from polyopt.dataclass import dataclass, field, replace
from polyopt.distribution.exchange import Exchanges
from polyopt.distribution.execution import Plan
from polyopt.distribution.judge import require
from polyopt.distribution.local import storage_of
from polyopt.distribution.mesh import Cyclic, Mesh
from polyopt.distribution.ownership import Blocks, Cut, Ownership, make_blocks
from polyopt.distribution.phases import Phases
from polyopt.distribution.placement import place, with_inferred
from polyopt.distribution.steps import RankStep, written
from polyopt.distribution.stored import keep_plan, key_of, load_plan
from polyopt.distribution.transport import TIME_LIMIT
from polyopt.distribution.widening import in_groups
from polyopt.errors import FrontendError, Loc, ScheduleError, UsageError
from polyopt.ir.array import Role
from polyopt.ir.expr import Expr
from polyopt.ir.program import Program
from polyopt.ir.scop import Scop
from polyopt.ir.source import ArrayArg
from polyopt.schedule.reductions import reassociated
from polyopt.targets import FpMode, Options
from polyopt.transforms.shard import Replicate

Axis: TypeAlias = "int | Cyclic"


@dataclass(frozen=True, eq=False)
class Request:
    """What somebody asked for: arrays cut along axes, one for each axis of the mesh; whole ones.

    `every`: iterations of a loop between exchanges; None: as the sizes of a call suggest.
    `places`: where a schedule says so, by array.
    """

    mesh: Mesh
    shard: Mapping[str, tuple[int | Cyclic, ...]]
    replicate: frozenset[str]
    every: int | None = None
    places: Mapping[str, Loc] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """What is asked for as steps of a schedule."""
        return "; ".join(map(str, written(self.shard, tuple(self.replicate))))


def request(
    mesh: Mesh | None = None,
    shard: Mapping[str, Axis | tuple[Axis, ...]] | None = None,
    replicate: Sequence[str] = (),
    timeout: float = TIME_LIMIT,
    exchange_every: int | None = None,
    steps: Sequence[RankStep] = (),
) -> tuple[Request, float]:
    """Return what the options of a kernel, and steps of its schedule, ask for.

    Raises `UsageError` PO0850, PO0853, and `ScheduleError` PO0331.
    """
    if not isinstance(mesh, Mesh):
        raise UsageError(
            "PO0850",
            f"`mesh` is {type(mesh).__name__}, no mesh of ranks",
            hint="give `mesh=po.mesh(4)` for four ranks",
        )
    axes = {
        name: (axis,) if isinstance(axis, (int, Cyclic)) else tuple(axis)
        for name, axis in (shard or {}).items()
    }  # fmt: skip
    if exchange_every is not None and (type(exchange_every) is not int or exchange_every < 1):
        raise UsageError(
            "PO0850",
            f"`exchange_every` is {exchange_every!r}, not a number of iterations",
            hint="give a number from 1, or leave it out",
        )
    kept, places = set(replicate), {}
    for one in steps:
        if one.step.array in axes or one.step.array in kept:
            raise UsageError(
                "PO0853",
                f"{one.step}: it is already said what ranks have of `{one.step.array}`",
                loc=one.loc,
                hint="say it once, by a step or by an option",
            )
        places[one.step.array] = one.loc
        if isinstance(one.step, Replicate):
            kept.add(one.step.array)
            continue
        try:
            cuts = one.step.cuts()
        except ScheduleError as error:
            error.loc = one.loc
            raise
        axes[one.step.array] = tuple(a if size is None else Cyclic(a, size) for a, size in cuts)
    return Request(mesh, axes, frozenset(kept), exchange_every, places), float(timeout)


def make_plan(program: Program, request: Request, options: Options, every: int = 1) -> Plan:
    """Return the plan of a program; stencils exchange once in `every` iterations where they can."""
    own = _ownership(program, request, options)
    plan = _proven(Phases(place(own)), program.name)
    if every == 1 or own.is_cyclic:
        return plan
    placement = in_groups(plan, every)
    return plan if placement is None else _proven(Phases(placement), program.name)


def _proven(phases: Phases, name: str) -> Plan:
    exchanges = Exchanges(phases)
    key = key_of(exchanges)
    known = load_plan(exchanges, key)
    if known is not None:
        return known
    plan = Plan(exchanges, storage_of(exchanges), exchanges.all)
    require(plan, name)
    keep_plan(plan, key)
    return plan


def _ownership(program: Program, request: Request, options: Options) -> Ownership:
    if options.fp is not FpMode.STRICT:
        program = reassociated(program)
    scop = _static(program)
    arguments = {
        a.name: a.array for a in program.signature.arguments if isinstance(a, ArrayArg)
    }  # fmt: skip
    cuts: dict[str, tuple[Cut, ...]] = {}
    blocks: dict[tuple[Expr, int], Blocks] = {}
    sizes: dict[int, int | None] = {}
    for name, parts in request.shard.items():
        axes = tuple(one.axis if isinstance(one, Cyclic) else one for one in parts)
        loc = request.places.get(name)
        array = scop.array(_known(name, arguments, scop, loc))
        if len(axes) > request.mesh.axes or len(set(axes)) != len(axes):
            raise UsageError(
                "PO0853",
                f"`{name}` is cut along {len(axes)} axes {axes}, the mesh has {request.mesh.axes}",
                loc=loc,
                hint="give each axis once, and a mesh of as many axes: `po.mesh(2, 2)`",
            )
        found = []
        for mesh_axis, axis in enumerate(axes):
            if not -len(array.shape) <= axis < len(array.shape):
                raise UsageError(
                    "PO0853",
                    f"`{name}` has {len(array.shape)} dimensions and no axis {axis}",
                    loc=loc,
                    hint=f"the first axis is 0, the last one {len(array.shape) - 1}",
                )
            axis %= len(array.shape)
            part = parts[mesh_axis]
            size = part.block if isinstance(part, Cyclic) else None
            if size != sizes.setdefault(mesh_axis, size):
                raise UsageError(
                    "PO0853",
                    f"`{name}` is cut in other blocks than the arrays before it",
                    loc=loc,
                    hint="give all arrays blocks of one length, dealt in turn; or one block each",
                )
            key = (array.shape[axis], mesh_axis)
            if key not in blocks:
                blocks[key] = make_blocks(*key, len(blocks), scop.params, size)
            found.append(Cut(axis, blocks[key]))
        cuts[array.name] = tuple(found)
    if not cuts:
        raise UsageError(
            "PO0853",
            "no array is cut",
            hint='name one with its axis: `shard={"A": 0}`; `po.suggest_shard` compares them',
        )
    checks = program.signature.checks
    own = Ownership(scop, tuple(blocks.values()), cuts, request.mesh.axes, checks)
    kept = frozenset(
        _known(name, arguments, scop, request.places.get(name)) for name in request.replicate
    )
    return replace(own, cuts=with_inferred(scop, own, kept))


def _known(name: str, arguments: Mapping[str, str], scop: Scop, loc: Loc | None) -> str:
    names = {array.name for array in scop.arrays}
    found = arguments.get(name, name)
    if found in names:
        return found
    raise UsageError(
        "PO0853",
        f"there is no array `{name}` to cut",
        loc=loc,
        hint=f"the arrays are {', '.join(sorted({*arguments, *names}))}",
    )


def _static(program: Program) -> Scop:
    """Return the one static control part of a program that ranks can share."""
    signature = program.signature
    reason = None
    if not program.is_static:
        reason = "its loops or branches depend on data"
    elif any(array.role is Role.FAULT for array in program.arrays):
        reason = "it uses subscripts or checks that are known only when it runs"
    elif any(output.length is not None for output in signature.outputs):
        reason = "the length of a result depends on data"
    elif any(isinstance(a, ArrayArg) and (a.part or a.before) for a in signature.arguments):
        reason = "its arguments share memory"
    if reason is None:
        return program.scop
    raise FrontendError(
        "PO0854",
        f"`{program.name}` cannot be shared by ranks: {reason}",
        hint="give the part without that to a kernel of its own, and run the rest on each rank",
    )
