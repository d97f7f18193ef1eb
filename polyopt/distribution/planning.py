"""From a program and the arrays that are cut to a plan for all ranks.

In: a program, a mesh, axes of arrays.  Out: a `Plan`, proven for all numbers of ranks.
Refuses: arrays and axes that are not there (PO0853), control that depends on data (PO0854).
Steps that say what ranks have; proven plans in the cache.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.distribution.exchange import Combination, Exchange, Exchanges, Transfer
from polyopt.distribution.execution import Plan
from polyopt.distribution.forms import Form
from polyopt.distribution.judge import require
from polyopt.distribution.local import Storage, Window, storage_of
from polyopt.distribution.mesh import Cyclic, Mesh, Sign
from polyopt.distribution.ownership import Blocks, Cut, Ownership, make_blocks
from polyopt.distribution.phases import Phases
from polyopt.distribution.placement import Scanned, place, with_inferred
from polyopt.distribution.transport import TIME_LIMIT
from polyopt.distribution.widening import in_groups
from polyopt.errors import FrontendError, Loc, ScheduleError, UsageError
from polyopt.ir.array import Role
from polyopt.ir.expr import BinaryOp, Expr
from polyopt.ir.program import Program
from polyopt.ir.scop import Scop
from polyopt.ir.source import ArrayArg
from polyopt.runtime.fingerprint import versions
from polyopt.runtime.store import Entry, open_store
from polyopt.schedule.reductions import reassociated
from polyopt.schedulefile import Call, ScheduleText, read_items
from polyopt.targets import FpMode, Options
from polyopt.transforms.arguments import Arguments
from polyopt.transforms.layout import Dimension, Part
from polyopt.transforms.shard import Replicate, Shard
from polyopt.transforms.text import STEPS

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


NAMES = ("shard", "replicate")


@dataclass(frozen=True, slots=True)
class RankStep:
    """A step, and its place in the text."""

    step: Shard | Replicate
    loc: Loc


def without_rank_steps(text: str | None) -> tuple[tuple[RankStep, ...], str | None]:
    """Return the steps for ranks in a schedule, and what is left of it; None: nothing is.

    Raises `ScheduleError` PO0321 (syntax), PO0323 (arguments), PO0329 (version, length).
    """
    if text is None or text == "source":
        return (), text
    items = read_items(text)
    found = []
    lines = text.split("\n")
    for item in items:
        if isinstance(item, Call) and item.name in NAMES:
            known = STEPS[item.name]
            step = known.read(Arguments(item, {}, known.example))
            assert isinstance(step, (Shard, Replicate))
            found.append(RankStep(step, item.loc))
            start, line = item.loc.col - 1, lines[item.loc.line - 1]
            blank = " " * len(item.text)
            lines[item.loc.line - 1] = line[:start] + blank + line[start + len(item.text) :]
    if not found:
        return (), text
    if len(found) == len(items):
        return tuple(found), None
    origin = {"origin": text.origin} if isinstance(text, ScheduleText) else {}
    return tuple(found), ScheduleText("\n".join(lines), **origin)


def written(
    shard: Mapping[str, Sequence[int | Cyclic]], replicate: Sequence[str]
) -> tuple[Shard | Replicate, ...]:
    """Return options as steps."""
    cuts = [
        Shard(
            name,
            tuple(
                Dimension(one.axis, Part.POINT, one.block)
                if isinstance(one, Cyclic)
                else Dimension(one)
                for one in axes
            ),
        )
        for name, axes in shard.items()
    ]
    return (*cuts, *map(Replicate, sorted(replicate)))


KIND = "plans"
_FILE = "plan.json"


def key_of(exchanges: Exchanges) -> str:
    """Return what a plan depends on: who owns and runs what, and in which phases."""
    phases = exchanges.phases
    own, placement = exchanges.own, phases.placement
    facts = [versions(), own.scop, own.blocks, sorted(own.cuts.items()), own.mesh_axes, own.checks]
    domains = {name: str(one) for name, one in placement.domains.items()}
    return json.dumps([*map(repr, facts), repr(placement.rules), repr(phases.steps), domains])


def load_plan(exchanges: Exchanges, key: str) -> Plan | None:
    """Return the plan that was proven before, or None."""

    def decode(entry: Entry) -> Plan:
        try:
            return _plan(exchanges, entry.json(_FILE))
        except isl.Error as error:
            raise ValueError(str(error)) from None

    return open_store().load(KIND, key, decode)


def keep_plan(plan: Plan, key: str) -> None:
    """Write a proven plan to the cache."""
    storage = plan.storage
    facts = {
        "exchanges": [
            [
                [_written(transfer) for transfer in exchange.transfers],
                [_combined(one) for one in exchange.combinations],
            ]
            for exchange in plan.listed
        ],
        "windows": {
            name: [[w.before, w.after, w.whole] for w in windows]
            for name, windows in storage.windows.items()
        },
        "shared": sorted(storage.shared),
    }
    open_store().write(KIND, key, {_FILE: json.dumps(facts).encode()})


def _sets(sets: Mapping[Sign, isl.Set]) -> list[object]:
    return [[list(sign), str(one)] for sign, one in sets.items()]


def _written(transfer: Transfer) -> list[object]:
    one = transfer
    sets = (_sets(one.received), _sets(one.sent))
    return [one.array, *sets, one.form.name, one.late, [list(pair) for pair in one.halo]]


def _combined(one: Combination) -> list[object]:
    scan = None
    if one.scan is not None:
        s = one.scan
        scan = [s.axis, str(s.written), str(s.mine), _sets(s.begun)]
    return [one.array, one.op.name, one.form.name, scan]


def _plan(exchanges: Exchanges, facts: object) -> Plan:
    assert isinstance(facts, dict)
    listed = [
        Exchange(phase, tuple(map(_transfer, transfers)), tuple(map(_combination, combined)))
        for phase, (transfers, combined) in zip(
            exchanges.phases.phases, facts["exchanges"], strict=True
        )
    ]
    own = exchanges.own
    windows = {
        name: tuple(map(_window, own.cuts[name], found)) for name, found in facts["windows"].items()
    }
    return Plan(exchanges, Storage(windows, frozenset(facts["shared"])), tuple(listed))


def _set(text: str) -> isl.Set:
    return isl.Set.read_from_str(isl.DEFAULT_CONTEXT, text)


def _read_sets(found: list[tuple[list[int], str]]) -> dict[Sign, isl.Set]:
    return {tuple(sign): _set(text) for sign, text in found}


def _transfer(parts: list[Any]) -> Transfer:
    array, received, sent, form, late, halo = parts
    pairs = tuple((before, after) for before, after in halo)
    return Transfer(array, _read_sets(received), _read_sets(sent), Form[form], bool(late), pairs)


def _combination(parts: list[Any]) -> Combination:
    array, op, form, scan = parts
    found = None
    if scan is not None:
        axis, written, mine, begun = scan
        found = Scanned(axis, _set(written), _set(mine), _read_sets(begun))
    return Combination(array, BinaryOp[op], Form[form], found)


def _window(cut: Cut, found: list[int]) -> Window:
    before, after, whole = found
    return Window(cut, before, after, bool(whole))
