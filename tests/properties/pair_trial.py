"""One random program under random schedules, every step labelled by enumeration.

In: a seed.  Out: counts, failures, refusals of steps that enumeration calls legal, and kernels to
build.  A pair is a program and one sequence of steps, taken as far as they are legal.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from polyopt.emit import emit_c, optimize_loops
from polyopt.emit.fault_exits import exit_on_faults
from polyopt.emit.lower import lower
from polyopt.errors import BudgetError, IllegalSchedule, ScheduleError
from polyopt.ir.affine import quota
from polyopt.ir.interp import run_scop
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.ir.scop import Scop
from polyopt.ir.source import Source
from polyopt.ir.types import DType
from polyopt.machine import Machine
from polyopt.proof import Verdict, certify
from polyopt.schedule.data_steps import DataStep
from polyopt.schedule.schedule import Schedule, Transform, source_schedule
from polyopt.strategy import auto_schedule
from polyopt.transforms import Recompute, parse_steps
from tests.oracle.enumerate import enumerate_kernel
from tests.oracle.hashed import exact, hashed, random_arrays
from tests.oracle.judge import Labels, confirm_witness
from tests.oracle.program import as_program
from tests.oracle.run_source import TooLong
from tests.properties.data_steps import confirm_refusal, random_data_step
from tests.properties.random_specs import rich_spec
from tests.properties.schedules import random_step
from tests.properties.spec import Spec, build_scop

MACHINE = Machine(cores=2, vector_bytes=16, l1=512, l2=2048, l3=8192)
SCHEDULES = 5
SIZES = ((4, 5), (6, 3), (1, 2), (0, 0))
LARGE = ((9, 13),)
LIMIT = 2**52


@dataclass(slots=True)
class Case:
    """A program of a certain meaning: what its kernels are compared with, and their arrays."""

    scop: Scop
    program: Program
    sizes: list[dict[str, int]]
    data: list[tuple[dict[str, int], dict[str, Any], dict[str, Any]]] | None = None


@dataclass(slots=True)
class Trial:
    """What became of a program's pairs; `kernels` wait to be built and run.

    `open` are the loops that a certificate does not prove.
    """

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[dict[str, Any]] = field(default_factory=list)
    open: list[dict[str, Any]] = field(default_factory=list)
    place: str = ""
    kernels: list[tuple[Case, LoopFunction, Source, str]] = field(default_factory=list)


class Wrong(AssertionError):
    """A pair fails; `kind` is the counter it belongs to."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


def sizes_for(spec: Spec, pairs: tuple[tuple[int, int], ...]) -> list[dict[str, int]]:
    """Return the sizes that the program allows."""
    found = [{"N": max(n, spec.least), "M": max(m, spec.least)} for n, m in pairs]
    return [one for k, one in enumerate(found) if one not in found[:k]]


def make_case(spec: Spec, meaning: str) -> Case:
    """Return the program under hash semantics, or over floats that hold small integers."""
    plain = build_scop(spec)
    match meaning:
        case "float64" | "float32":
            scop = exact(plain, DType(meaning))
        case _:
            scop = hashed(plain)
    return Case(scop, as_program(scop), sizes_for(spec, SIZES))


def meaning_of(rng: Random) -> str:
    """Draw what a program's values are."""
    return rng.choices(("hash", "float64", "float32"), (6, 3, 1))[0]


def run_program(seed: int, number: int, compiled: bool = True) -> Trial:
    """Run the pairs of program `number` of a run with `seed`."""
    rng = Random(f"{seed}/{number}")
    spec, meaning = rich_spec(rng), meaning_of(rng)
    trial = Trial()
    case = make_case(spec, meaning)
    try:
        start = source_schedule(case.scop)
        starts = [start] * SCHEDULES
        if number % 2 == 0:
            with quota(20_000_000):
                starts[-1] = auto_schedule(case.scop, MACHINE)
        labels = {id(start.scop): Labels(start.scop, case.sizes[:2])}
    except Exception as error:
        trial.counts["pairs"] += SCHEDULES
        trial.failures.append(_failure("start", number, 0, [], error))
        return trial
    for turn in range(SCHEDULES):
        draw = Random(f"{seed}/{number}/{turn}")
        steps = [str(step) for step in starts[turn].trace]
        name = trial.place = f"k{number}_{turn}"
        try:
            loops = run_pair(case, starts[turn], draw, trial, steps, labels)
            if compiled and loops is not None:
                keep(case, loops, trial, steps, name)
        except Exception as error:
            trial.failures.append(_failure(meaning, number, turn, steps, error))
        trial.counts["pairs"] += 1
    return trial


def _failure(
    meaning: str, number: int, turn: int, steps: list[str], error: Exception
) -> dict[str, Any]:
    kind = error.kind if isinstance(error, Wrong) else f"exception {type(error).__name__}"
    text = str(error) if isinstance(error, Wrong) else traceback.format_exc(limit=-4)
    return {
        "kind": kind,
        "program": number,
        "turn": turn,
        "meaning": meaning,
        "steps": list(steps),
        "text": text[:3000],
    }


def run_pair(
    case: Case,
    schedule: Schedule,
    rng: Random,
    trial: Trial,
    steps: list[str],
    labels: dict[int, Labels],
) -> LoopFunction | None:
    """Take random steps, each labelled; then compare the loops with the program.

    Returns the loops, None where making them takes too long.
    """
    for _ in range(rng.choice((1, 2, 3, 4, 6))):
        data = rng.random() < 0.15
        step = random_data_step(rng, schedule) if data else random_step(rng, schedule.tree)
        if step is None:
            break
        schedule = take(case, schedule, step, trial, steps, labels)
    steps[:] = [str(step) for step in schedule.trace]
    return check_loops(case, schedule, trial)


def take(
    case: Case,
    schedule: Schedule,
    step: Transform,
    trial: Trial,
    steps: list[str],
    labels: dict[int, Labels],
) -> Schedule:
    """Return the schedule after `step` if that is legal; raises `Wrong` for a wrong verdict."""
    kind = type(step).__name__
    steps.append(str(step))
    known = labels.get(id(schedule.scop))
    if known is None or known.scop is not schedule.scop:
        known = labels[id(schedule.scop)] = Labels(schedule.scop, case.sizes[:2])
    if parse_steps(str(step)) != (step,):
        raise Wrong("text", f"{step!r} prints as {step}")
    try:
        after = schedule.apply(step)
    except IllegalSchedule as refusal:
        steps.pop()
        trial.counts[f"refused {kind}"] += 1
        if isinstance(step, DataStep):
            confirm_data(schedule, step, refusal, trial)
        else:
            confirm_order(schedule, step, refusal, trial)
        return schedule
    except BudgetError as refusal:
        steps.pop()
        trial.counts[f"budget {kind}"] += 1
        if is_legal(known, schedule, step):
            trial.counts["false refusals"] += 1
            trial.refusals.append({"step": str(step), "steps": list(steps), "why": str(refusal)})
        return schedule
    except ScheduleError as misfit:
        steps.pop()
        trial.counts[f"misfit {misfit.code}"] += 1
        str(misfit)
        return schedule
    trial.counts[f"accepted {kind}"] += 1
    if after.scop is schedule.scop:
        broken = known.broken(after.tree)
        if broken is not None:
            raise Wrong("illegal step accepted", f"{step} breaks {broken[1]} at {broken[0]}")
    return after


def is_legal(labels: Labels, schedule: Schedule, step: Transform) -> bool:
    """Tell whether enumeration finds nothing wrong with a step that makes another order."""
    if isinstance(step, DataStep):
        return False
    try:
        tree = step.rewrite(schedule.tree, schedule.scop)
    except (BudgetError, ScheduleError):  # no time, or nothing that the judge would see
        return False
    return labels.broken(tree) is None


def confirm_order(
    schedule: Schedule, step: Transform, refusal: IllegalSchedule, trial: Trial
) -> None:
    """Assert that the witness is real; a refusal without one is counted."""
    str(refusal)
    witness = refusal.witness
    if witness is None:
        raise Wrong("no witness", str(refusal))
    if not witness.exact or witness.cell is None:
        trial.counts["may-dependence witnesses"] += 1
        return
    tree = step.rewrite(schedule.tree, schedule.scop)
    try:
        confirm_witness(schedule.scop, witness, tree)
    except AssertionError as error:
        raise Wrong("witness not confirmed", f"{step}: {error}") from None
    trial.counts["witnesses confirmed"] += 1
    if refusal.repair is not None:
        trial.counts["repairs offered"] += 1


def confirm_data(
    schedule: Schedule, step: DataStep, refusal: IllegalSchedule, trial: Trial
) -> None:
    """Assert that what a data step is refused for would happen."""
    try:
        known = confirm_refusal(step, schedule, refusal)
    except AssertionError as error:
        raise Wrong("witness not confirmed", f"{step}: {error}") from None
    trial.counts["witnesses confirmed" if known else "data refusals without witness"] += 1


def check_loops(case: Case, schedule: Schedule, trial: Trial) -> LoopFunction | None:
    """Compare the loops that are printed with the program, symbolically."""
    program = as_program(schedule.scop)
    try:
        with quota(10_000_000):
            loops = lower(schedule, program)
    except BudgetError:
        trial.counts["loops over budget"] += 1
        return None
    loops = exit_on_faults(optimize_loops(loops, MACHINE, "strict"))
    again = any(isinstance(step, Recompute) for step in schedule.trace)
    for sizes in case.sizes:
        try:
            found = enumerate_kernel(case.program, loops, sizes, again=again)
        except TooLong:
            trial.counts["too long to enumerate"] += 1
            continue
        if found:
            raise Wrong("wrong loops", f"{found[0]}")
    trial.counts["enumerated"] += 1
    check_certificate(case, schedule, loops, trial)
    return loops


def check_certificate(case: Case, schedule: Schedule, loops: LoopFunction, trial: Trial) -> None:
    """Note where the certificate does not prove loops that enumeration finds right."""
    try:
        with quota(20_000_000):
            certificate = certify(case.program, loops)
    except BudgetError:
        trial.counts["certificates over budget"] += 1
        return
    verdict = certificate.verdict
    trial.counts[f"certificates {verdict.value}"] += 1
    if verdict is not Verdict.PROVEN:
        claim = next(claim for claim in certificate.faults if claim.verdict is verdict)
        steps = [str(step) for step in schedule.trace]
        trial.open.append(
            {
                "place": trial.place,
                "steps": steps,
                "verdict": verdict.value,
                "why": str(claim),
            }
        )


def keep(case: Case, loops: LoopFunction, trial: Trial, steps: list[str], name: str) -> None:
    """Put the loops that were just checked on the list of kernels to build."""
    renamed = replace(loops, name=name, signature=replace(loops.signature, name=name))
    trial.kernels.append((case, renamed, emit_c(renamed), "; ".join(steps)))


def expected(case: Case) -> list[tuple[dict[str, int], dict[str, Any], dict[str, Any]]]:
    """Return sizes, arrays before and arrays after, by the slow interpreter."""
    if case.data is None:
        case.data = []
        for sizes in (case.sizes[0], case.sizes[1]):
            before = random_arrays(case.scop.arrays, sizes, 7)
            if case.scop.arrays[0].dtype.is_float:
                before = {
                    n: np.asarray(np.floor(a * 5) - 2).astype(a.dtype) for n, a in before.items()
                }
            after = {n: a.copy() for n, a in before.items()}
            run_scop(case.scop, after, sizes)
            if all(_is_exact(array) for array in after.values()):
                case.data.append((sizes, before, after))
    return case.data


def _is_exact(array: Any) -> bool:
    if array.dtype.kind != "f":
        return True
    limit = LIMIT if array.dtype.itemsize == 8 else 2**22
    return bool(np.all(np.isfinite(array)) and np.all(np.abs(array) < limit))


def differs(want: Mapping[str, Any], got: Mapping[str, Any]) -> str | None:
    """Return the first array that is not the same, bit for bit but for the sign of zero."""
    for name, array in want.items():
        if not np.array_equal(array, got[name], equal_nan=True):
            where = np.argwhere(np.asarray(array != got[name]))[:3].tolist()
            return f"{name} differs at {where}"
    return None


def run_steps(case: Case, steps: list[str]) -> str | None:
    """Return how a program fails under the steps of a text, as `kind: text`, or None."""
    trial = Trial()
    labels: dict[int, Labels] = {}
    try:
        schedule = source_schedule(case.scop)
        for text in steps:
            (step,) = parse_steps(text)
            schedule = take(case, schedule, step, trial, [], labels)
        loops = check_loops(case, schedule, trial)
    except Wrong as error:
        return f"{error.kind}: {error}"
    except Exception as error:
        return f"exception {type(error).__name__}: {traceback.format_exc(limit=-4)}"
    del loops
    return None
