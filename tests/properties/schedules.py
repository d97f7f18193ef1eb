"""Random schedules of a Scop, judged by enumeration, interpreters and compiled code.

In: a Scop (hash semantics make every order visible), a seed.  Out: nothing, or an AssertionError.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from polyopt.emit.lower import lower
from polyopt.errors import BudgetError, IllegalSchedule, ScheduleError
from polyopt.ir.affine import quota
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import Instance, Trace, points, run_loops, run_scop
from polyopt.ir.loops import LoopFunction, LoopKind
from polyopt.ir.scop import Scop, Statement
from polyopt.machine import Machine
from polyopt.schedule.data_steps import DataStep
from polyopt.schedule.schedule import Schedule, Transform, source_schedule
from polyopt.schedule.tree import Band, Sequence, Tree, bands, children, time_of
from polyopt.transforms import (
    Affine,
    Cut,
    Diamond,
    Distribute,
    Fuse,
    Fusion,
    Interchange,
    Parallelize,
    Peel,
    Reorder,
    Reverse,
    Separate,
    Shift,
    Sink,
    Skew,
    Split,
    Strip,
    Tile,
    Unroll,
    Vectorize,
)
from polyopt.transforms.amount import Distance, read_amount
from tests.oracle.hashed import random_arrays
from tests.oracle.judge import confirm_witness, judge_tree
from tests.oracle.program import as_program
from tests.oracle.values import confirm_refusal
from tests.properties.data_steps import random_data_step

Execute = Callable[[LoopFunction, dict[str, Any], dict[str, int]], None]
MACHINE = Machine(cores=2)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a random sequence: how many steps were taken, refused, did not fit."""

    accepted: int
    refused: int
    misfits: int


SIZES = (1, 2, 3, 4, 5, 8)
AMOUNTS = ("0", "1", "-1", "2", "5", "N", "M - 1", "N - M", "-N + 2")
POINTS = (*AMOUNTS, "3", "N - 1", "N//2", "M - 2", "2*N - 3")


@dataclass(frozen=True, slots=True)
class _Draw:
    """Draws parts of a step for one band of a tree."""

    rng: Random
    tree: Tree
    band: Band

    @property
    def label(self) -> str:
        return self.band.label

    def count(self, least: int = 0) -> int:
        return self.rng.randint(least, len(self.band.members))

    def loop(self) -> str:
        return f"{self.label}[{self.rng.randrange(len(self.band.members))}]"

    def size(self) -> int:
        return self.rng.choice(SIZES)

    def amount(self, texts: tuple[str, ...] = AMOUNTS) -> Distance:
        return read_amount(self.rng.choice(texts), {})

    def statement(self) -> str:
        return self.rng.choice(("", "S0", "S1", "S1", "S2"))

    def tile(self) -> Transform:
        return Tile(self.label, tuple(self.size() for _ in range(self.count(1))))

    def fuse(self) -> Transform:
        pairs = [p for p in _neighbours(self.tree) if self.label in p]
        pairs = pairs or list(_neighbours(self.tree))
        return Fuse(*self.rng.choice(pairs)) if pairs else Parallelize(self.loop())

    def reorder(self) -> Transform:
        body = self.band.child
        order = list(range(len(body.parts) if isinstance(body, Sequence) else 2))
        self.rng.shuffle(order)
        return Reorder(self.label, tuple(order))

    def diamond(self) -> Transform:
        used = self.rng.choice((1, 1, 2))
        return Diamond(self.label, tuple(self.size() for _ in range(used)))

    def separate(self) -> Transform:
        sizes = tuple(self.rng.choice((0, *SIZES)) for _ in range(self.count(1)))
        return Separate(self.label, self.label, sizes)


ORDER_STEPS: tuple[tuple[float, Callable[[_Draw], Transform]], ...] = (
    (15, _Draw.tile),
    (12, lambda d: Interchange(d.loop(), d.loop())),
    (12, lambda d: Skew(d.loop(), d.loop(), d.rng.choice((1, 1, 1, 2, -1)))),
    (13, _Draw.fuse),
    (8, lambda d: Distribute(d.label, d.count())),
    (13, lambda d: Parallelize(d.loop())),
    (5, lambda d: Vectorize(d.loop())),
    (4, lambda d: Unroll(d.loop())),
    (10, lambda d: Shift(d.loop(), d.amount(), d.statement())),
    (5, lambda d: Reverse(d.loop())),
    (6, lambda d: Split(d.loop(), d.amount(POINTS))),
    (5, lambda d: Strip(d.loop(), d.size())),
    (5, _Draw.diamond),
    (3, _Draw.reorder),
    (2, lambda d: Cut(d.label, d.count())),
    (2, lambda d: Sink(d.loop())),
    (1, lambda d: Peel(d.label)),
    (2, _Draw.separate),
    (1, lambda d: Affine(d.rng.choice(tuple(Fusion)))),
)
"""Every step that changes the order alone, with its weight."""


def random_step(rng: Random, tree: Tree) -> Transform | None:
    """Return a step that mostly fits the shape of `tree`."""
    found = list(bands(tree))
    if not found:
        return None
    draw = _Draw(rng, tree, rng.choice(found))
    (make,) = rng.choices([m for _, m in ORDER_STEPS], [w for w, _ in ORDER_STEPS])
    return make(draw)


def _neighbours(tree: Tree) -> list[tuple[str, str]]:
    found = []
    if isinstance(tree, Sequence):
        for one, two in zip(tree.parts, tree.parts[1:], strict=False):
            if isinstance(one.child, Band) and isinstance(two.child, Band):
                found.append((one.child.label, two.child.label))
    for child in children(tree):
        found += _neighbours(child)
    return found


def random_schedule(
    rng: Random, schedule: Schedule, length: int, data: float = 0.2
) -> tuple[Schedule, Outcome]:
    """Return `schedule` after the legal ones of `length` random steps; refusals are confirmed.

    `data` is the share of steps that change data.
    """
    accepted = refused = misfits = 0
    for _ in range(length):
        step: Transform | None = random_step(rng, schedule.tree)
        if rng.random() < data:
            step = random_data_step(rng, schedule)
        if step is None:
            break
        try:
            with quota(20_000_000):
                schedule = schedule.apply(step)
            accepted += 1
        except BudgetError:
            misfits += 1
        except IllegalSchedule as refusal:
            refused += 1
            if isinstance(step, DataStep):
                confirm_refusal(step, schedule, refusal)
                continue
            broken = step.rewrite(schedule.tree, schedule.scop)
            confirm_witness(schedule.scop, refusal.witness, broken)
            str(refusal)
        except ScheduleError as misfit:
            misfits += 1
            str(misfit)
    return schedule, Outcome(accepted, refused, misfits)


def sizes_for(least: int, large: bool = False) -> list[dict[str, int]]:
    """Return sizes to try: empty, one, odd, unequal."""
    pairs = ((0, 0), (1, 1), (0, 3), (5, 4), (4, 7), (9, 6), *(((17, 13),) if large else ()))
    return [{"N": n, "M": m} for n, m in pairs if min(n, m) >= least]


def check_schedule(
    scop: Scop,
    schedule: Schedule,
    sizes: list[dict[str, int]],
    rng: Random,
    executes: tuple[Execute, ...] = (),
    limit: int = 4000,
) -> None:
    """Assert that `schedule` computes what `scop` does, in every form it can be run in.

    `executes` run the lowered loops in further ways (after loop passes, compiled).  A schedule
    whose loops take too long to generate is let pass.
    """
    try:
        with quota(3_000_000):
            loops = lower(schedule, as_program(schedule.scop))
    except BudgetError:
        return
    times = time_of(schedule.tree, schedule.scop.domain)
    for params in sizes:
        before = random_arrays(scop.arrays, params, 7)
        want = copied(before)
        run_scop(scop, want, params)
        instances = Counter(
            _source_instance(s, p, params)
            for s in schedule.scop.statements
            if s.origin is None or s.origin.statement
            for p in points(s.domain, params)
        )
        if instances.total() > limit:
            continue
        broken = judge_tree(schedule.scop, params, schedule.tree)
        assert not broken, f"accepted at {params}: {broken[:2]}\n{schedule}"
        compare(want, before, lambda a, p=params: run_scop(schedule.scop, a, p, order=times))
        trace: Trace = []
        compare(want, before, lambda a, p=params, t=trace: run_loops(loops, a, p, trace=t))
        executed = Counter(instance for instance in trace if instance[0])
        guarded = {s.name for s in scop.statements if s.guard is not None}
        assert executed <= instances, sorted((executed - instances).items())[:3]
        missing = [i for i in instances - executed if i[0] not in guarded]
        assert not missing, f"instances never run at {params}: {sorted(missing)[:3]}"
        compare(want, before, lambda a, p=params: run_loops(loops, a, p, shuffle=rng))
        for execute in executes:
            compare(want, before, lambda a, p=params, e=execute: e(loops, a, p))


def _source_instance(
    statement: Statement, point: tuple[int, ...], params: dict[str, int]
) -> Instance:
    """Return the instance of the source that an instance of a rewritten Scop computes again."""
    if statement.origin is None:
        return statement.name, point
    env = params | dict(zip(statement.iters, point, strict=True))
    own = tuple(evaluate(part, env) for part in statement.origin.instance)
    return statement.origin.statement, own


def copied(arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Return fresh copies."""
    return {name: array.copy() for name, array in arrays.items()}


def compare(
    want: Mapping[str, np.ndarray[Any, Any]],
    before: Mapping[str, np.ndarray[Any, Any]],
    run: Callable[[dict[str, Any]], None],
) -> None:
    """Assert that `run` turns `before` into `want`, bit for bit."""
    arrays = copied(before)
    run(arrays)
    for name, expected in want.items():
        got = arrays[name]
        assert got.tobytes() == expected.tobytes(), (
            f"{name} differs at {np.argwhere(np.asarray(got != expected))[:3].tolist()}"
        )


def starting_points(scop: Scop, auto: bool) -> list[Schedule]:
    """Return the schedules random steps start from."""
    found = [source_schedule(scop)]
    if auto:
        from polyopt.strategy import auto_schedule

        found.append(auto_schedule(scop, MACHINE))
    return found


def parallel_loops(loops: LoopFunction) -> bool:
    """Tell whether the outermost level holds a parallel loop."""
    return any(getattr(node, "kind", None) is LoopKind.PARALLEL for node in loops.body)
