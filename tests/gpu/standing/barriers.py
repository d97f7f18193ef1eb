"""Is every barrier of a kernel needed, and is its loss seen?

In: a form of a workload.  Out: for each barrier of the loops whether the proof of synchronisation
refuses the loops without it, and for each barrier of the text how the emulator sees its loss.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field
from itertools import product
from time import monotonic
from typing import Any

import numpy as np

from polyopt.emulator import DeviceFault, Order, Rules
from polyopt.errors import KernelFault
from polyopt.ir.host import DeviceProgram
from polyopt.ir.loops import Kernel
from polyopt.pipeline import Compilation
from polyopt.proof.barriers import check_synchronisation
from polyopt.proof.certificate import Verdict
from polyopt.proof.certification import bound_names, context_of
from polyopt.proof.paths import Path, with_paths
from polyopt.runtime.check import ShapeError
from tests.gpu.standing.alone import WIDTHS, Alone, kernels_alone, sizes_alone
from tests.gpu.standing.forms import FIRST, Form, sizes_of
from tests.gpu.standing.losing import LosingDevice, Lost, TextBarrier, each_loss
from workloads.workload import Workload

TINY, SMALL, MIDDLE, LARGE, LONG, FAR = 5, FIRST, 29, 75, 1100, 8500
"""First of the sizes at which a loss is looked for; the next ones are a little smaller.

What 256 threads of each of 32 blocks have is joined by one warp: `FAR` is what takes a second one.
"""
FEW = 2
"""Blocks in a dimension of which a kernel by itself has many."""
STEPS, WORK, MEMORY = (20, 90), 3e7, 1e7
EXPONENTS, STEEP = (8, 10, 12), 5000
"""Sizes of programs that do so many times as much at `SMALL` as at `TINY`."""
PATIENCE = 60.0
"""Seconds of one call after which no larger sizes are tried."""
RULES = (Rules(), Rules(order=Order.FORWARD), Rules(order=Order.BACKWARD))


@dataclass
class Report:
    """What was found of a form.

    `proof` has kernel, note and whether the loss is refused, for each barrier of the loops;
    `faults` are what was found with all barriers.
    """

    form: str
    proof: list[tuple[str, str, bool]] = field(default_factory=list)
    text: list[TextBarrier] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def missed(self) -> list[str]:
        """Every loss that was not seen, in words."""
        return [
            *self.faults,
            *(f"proof: {kernel}: {note}" for kernel, note, seen in self.proof if not seen),
            *(f"emulator: {b.kernel}, line {b.line}" for b in self.text if not b.found),
        ]


def ladder(workload: Workload) -> list[dict[str, int]]:
    """Return small sizes, each one of them large, and larger ones, as far as the emulator gets.

    Programs of many sizes do much even with small ones: there are tiny ones, too.
    """
    small, large = sizes_of(workload, SMALL), sizes_of(workload, LARGE)
    middle = sizes_of(workload, MIDDLE)
    tiny = sizes_of(workload, TINY)
    bases = [small, tiny] if min(tiny.values(), default=0) > 0 else [small]
    one = [
        {**base, name: size}
        for base in bases
        for name in base
        for size in (large[name], LONG, FAR)
        if size != FAR or (name != workload.steps and _is_small_afar(workload, base, name))
    ]
    others = [*bases[1:], *one, middle, large, sizes_of(workload, LONG)]
    if len(bases) > 1 and workload.flops(small) > STEEP * workload.flops(tiny):
        others += [sizes_of(workload, size) for size in EXPONENTS]
    if workload.steps is not None:
        others += [{**s, workload.steps: steps} for s in (small, middle) for steps in STEPS]
    able = [sizes for sizes in others if workload.flops(sizes) <= WORK]
    return sorted([small, *able], key=workload.flops)


def _is_small_afar(workload: Workload, base: dict[str, int], name: str) -> bool:
    """Tell whether arguments stay small with one size `FAR`, by how they grow before."""
    try:
        near, next_to = (
            sum(np.asarray(value).nbytes for value in workload.make(sizes, seed=3).values())
            for sizes in ({**base, name: LARGE}, {**base, name: 2 * LARGE})
        )
    except (ValueError, IndexError, MemoryError, OverflowError):
        return False
    return near * (next_to / near) ** math.log2(FAR / LARGE) <= MEMORY


def ask_proof(form: Form, report: Report) -> None:
    """Ask the proof about the loops without each barrier; it must accept those with all."""
    stages = form.compiled()
    path = _path(stages)
    idle = _idle(stages, path)
    for claim in check_synchronisation(stages.loops, path):
        if claim.verdict is not Verdict.PROVEN:
            report.faults.append(f"the proof refuses {claim.subject}: {claim.reason}")
    for lost in each_loss(stages.loops):
        if lost.kernel not in idle:
            report.proof.append((lost.kernel, lost.note, _is_refused(lost, path)))


def _idle(stages: Compilation, path: Path) -> frozenset[str]:
    """Return the kernels that no call comes to, for sizes that its checks refuse."""
    return frozenset(
        node.name
        for node, place in with_paths(stages.loops.body, path)
        if isinstance(node, Kernel) and place.domain.is_empty()
    )


def _path(stages: Compilation) -> Path:
    program = stages.written or stages.program
    params = (*stages.loops.params, *bound_names(program))
    return Path(params, context_of(program))


def _is_refused(lost: Lost, path: Path) -> bool:
    """Tell whether the kernel that lost a barrier is the one that is refused."""
    claims = check_synchronisation(lost.loops, path)
    return any(c.subject == lost.kernel and c.verdict is not Verdict.PROVEN for c in claims)


def ask_emulator(form: Form, report: Report) -> None:
    """Run the text without each barrier until it is seen: at small sizes, its kernel by itself, at
    larger sizes and in other orders.
    """
    source = form.compiled().source
    assert isinstance(source, DeviceProgram)
    if "__sync" not in source.text:
        return
    idle = _idle(form.compiled(), _path(form.compiled()))
    entries = {entry.name for entry in source.source.entries if entry.kernel in idle}
    steps = ladder(form.workload)
    for rules in RULES:
        device = LosingDevice(rules)
        kernel = form.on(device)
        if not report.text:
            report.text = [b for b in device.barriers if b.kernel not in entries]
        for number, sizes in enumerate(steps):
            if all(barrier.found for barrier in report.text):
                return
            begun = monotonic()
            if (said := _call(form, kernel, sizes)) is not None:
                report.faults.append(f"with all barriers at {sizes}: {said}")
                return
            if monotonic() - begun > PATIENCE:
                steps = steps[:number]
                break
            _lose_each(form, kernel, device, report, sizes)
            if rules is RULES[0] and number == 0:
                ask_kernels_alone(form, report)


def _lose_each(
    form: Form, kernel: Any, device: LosingDevice, report: Report, sizes: dict[str, int]
) -> None:
    """Note which of the barriers that are left are seen missing at these sizes."""
    for barrier in [barrier for barrier in report.text if not barrier.found]:
        device.lose(barrier.number)
        said = _call(form, kernel, sizes)
        if said is not None:
            barrier.found = f"{sizes}: {said}"
    device.lose(-1)


def ask_kernels_alone(form: Form, report: Report) -> None:
    """Run the kernels that have barriers left by themselves, at sizes too large for the program.

    A launch that is wrong with all barriers, as what it is given by chance may be, tells nothing.
    """
    program = form.compiled().source
    assert isinstance(program, DeviceProgram)
    stages = form.compiled()
    found = bound_names(stages.written or stages.program)
    every = sizes_alone(stages.loops.params, found, (SMALL, FEW), (LARGE, LONG, FAR))
    for rules in RULES:
        device = LosingDevice(rules)
        kernels = kernels_alone(program, device)
        for width, sizes in product(WIDTHS, every):
            for barrier in [b for b in report.text if not b.found and b.kernel in kernels]:
                with contextlib.suppress(ValueError):
                    barrier.found = _found_alone(
                        device, kernels[barrier.kernel], barrier, sizes, width
                    )


def _found_alone(
    device: LosingDevice, kernel: Alone, barrier: TextBarrier, sizes: dict[str, int], width: int
) -> str:
    """Return what is said of a launch without a barrier and not of one with all."""
    device.lose(-1)
    if kernel.run(sizes, width) is not None:
        return ""
    device.lose(barrier.number)
    said = kernel.run(sizes, width)
    return "" if said is None else f"alone, {sizes}: {said}"


def _call(form: Form, kernel: Any, sizes: dict[str, int]) -> str | None:
    """Return what the emulator or the program says of a call, or None; sizes may not fit.

    What is read too early may be a subscript: then the program ends with a fault of its own.
    """
    arguments = form.workload.make(sizes, seed=3)
    try:
        with np.errstate(all="ignore"):
            kernel(**arguments)
    except DeviceFault as error:
        races = [finding for finding in error.findings if finding.kind.is_race]
        return (races or list(error.findings))[0].describe()
    except KernelFault as error:
        return str(error).partition("\n")[0]
    except ShapeError:
        pass
    return None


def judge(form: Form, report: Report) -> None:
    """Report what both say of every barrier of a form."""
    ask_proof(form, report)
    ask_emulator(form, report)
