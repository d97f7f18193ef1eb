"""Kernels on several ranks: what `po.kernel(mesh=…)` makes.

In: a function, a mesh, the arrays that are cut.  Out: results, the same as on one rank.
Refuses: functions whose control depends on data (PO0854), and what the judge does not prove.
A plan as text; whether whole arguments agree on all ranks.
"""

from __future__ import annotations

import copy
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polyopt.building import BuiltProgram, build_program
from polyopt.dataclass import dataclass, field, replace
from polyopt.digest import hex_digest
from polyopt.distribution.arrays import DistributedArray
from polyopt.distribution.binding import (
    Call,
    bound_arrays,
    check_distributed,
    distributed_results,
    results,
)
from polyopt.distribution.cyclic import on_mesh
from polyopt.distribution.execution import Arrays, Plan, Run
from polyopt.distribution.forms import Form
from polyopt.distribution.judge import judge
from polyopt.distribution.local import Domains, Window, local_program
from polyopt.distribution.mesh import Mesh
from polyopt.distribution.ownership import Cut
from polyopt.distribution.phases import Phase, Step, Together
from polyopt.distribution.planning import Request, make_plan
from polyopt.distribution.scaling import BANDWIDTH, COUNTS, LATENCY, Scaling, scaling
from polyopt.distribution.simulator import Simulated, simulate
from polyopt.distribution.transport import TIME_LIMIT, Alone, Transport, world
from polyopt.distribution.volume import Volume, total, volumes
from polyopt.distribution.widening import iterations_between
from polyopt.errors import InternalError, UsageError, boundary
from polyopt.ir.budget import Budget
from polyopt.ir.program import Program
from polyopt.ir.showing import show
from polyopt.ir.source import ArrayArg, ScalarArg
from polyopt.runtime.check import check_call
from polyopt.runtime.threads import thread_count
from polyopt.settings import is_set
from polyopt.targets import Options, seconds_to_compile


@dataclass(eq=False)
class Variant:
    """A plan, and the kernels of its phases, which are built when first run."""

    plan: Plan
    kernels: dict[tuple[Phase, str], BuiltProgram] = field(default_factory=dict)


@dataclass(eq=False)
class Compiled:
    """What was made for some types of arguments, by iterations between exchanges, and by meshes."""

    program: Program
    variants: dict[int, Variant] = field(default_factory=dict)
    on_mesh: dict[tuple[int, ...], Variant] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Reading:
    """How a function's arguments are bound, typed, and the function read for their types.

    `alone` runs it as an ordinary kernel.
    """

    alone: Callable[..., Any]
    bind: Callable[[Any, Any], tuple[object, ...]]
    example: Callable[[Any, Any], tuple[Any, Any]]
    read: Callable[[Any, Any], tuple[Any, Program]]


@dataclass(frozen=True, eq=False)
class Outcome:
    """One rank at the end of a simulated call: its arguments and result, what it has sent."""

    arguments: tuple[Any, ...]
    result: Any
    sent: Mapping[str, int]
    messages: int


class DistributedKernel:
    """A Python function that runs on the ranks of an MPI job, or alone.

    All ranks call it together, with the same sizes and numbers.  Arrays are NumPy's, the same on
    all ranks before and after; or each is a `DistributedArray`, of which a rank has its block.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        reading: Reading,
        request: Request,
        options: Options,
        timeout: float = TIME_LIMIT,
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        self.py_func = function
        self.request, self.options, self.timeout = request, options, timeout
        self._reading = reading
        self._compiled: dict[Any, Compiled] = {}
        self.sent: Mapping[str, int] = {}
        self.messages = 0
        self._lock = threading.RLock()

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Run the kernel on this rank; raises what a kernel raises, `UsageError` PO0855, PO0860."""
        return self.run(world(self.timeout), *args, **kwargs)

    @boundary
    def plan(self, *args: Any, **kwargs: Any) -> Plan:  # noqa: ANN401
        """Return phases and exchanges for example arguments or types, or what is inferred."""
        made = self._made(*self._example(args, kwargs))
        return self._variant(made, self.request.every or 1).plan

    @boundary
    def explain(self, *args: Any, **kwargs: Any) -> str:  # noqa: ANN401
        """Return what is cut, what each rank runs, what crosses ranks and what is proven."""
        name: str = self.__name__  # type: ignore[attr-defined]
        return describe(self.plan(*args, **kwargs), name, self.request.text)

    @boundary
    def scaling(
        self,
        *args: object,
        alone: float,
        ranks: Sequence[int] = COUNTS,
        weak: bool = False,
        latency: float = LATENCY,
        bandwidth: float = BANDWIDTH,
    ) -> Scaling:
        """Return predicted times on many ranks for such a call, which takes `alone` seconds on one.

        `latency` is in seconds, `bandwidth` in bytes a second for each rank; `weak`: each rank has
        as much as the one has.  Raises `UsageError` PO0858 where there is no formula.
        """
        return scaling(
            self.plan(*args), self.sizes(*args), alone, ranks,
            weak=weak, latency=latency, bandwidth=bandwidth,
        )  # fmt: skip

    def sizes(self, *args: object) -> dict[str, int]:
        """Return the sizes of a call by their names in the program."""
        types, values = self._example(args, {})
        return dict(check_call(self._made(types, values).program.signature, values).sizes)

    def _example(self, args: Any, kwargs: Any) -> tuple[Any, Any]:  # noqa: ANN401
        plain = tuple(map(_whole_like, args))
        named = {name: _whole_like(value) for name, value in kwargs.items()}
        return self._reading.example(plain, named)

    def _made(self, types: Any, values: Any) -> Compiled:  # noqa: ANN401
        with self._lock:
            if types not in self._compiled:
                with Budget(seconds_to_compile(self.options)).running():
                    settled, program = self._reading.read(types, values)
                    made = self._compiled.setdefault(settled, Compiled(program))
                self._compiled[types] = made
            return self._compiled[types]

    def _variant(self, made: Compiled, every: int) -> Variant:
        with self._lock:
            if every not in made.variants:
                with Budget(seconds_to_compile(self.options)).running():
                    plan = make_plan(made.program, self.request, self.options, every)
                made.variants[every] = Variant(plan)
            return made.variants[every]

    def _chosen(self, made: Compiled, sizes: Mapping[str, int], ranks: int) -> Variant:
        """Return the plan for a call: halos for as many iterations as suit its blocks."""
        if self.request.every is not None:
            return self._variant(made, self.request.every)
        first = self._variant(made, 1)
        return self._variant(made, iterations_between(first.plan, sizes, ranks))

    def _on_mesh(self, made: Compiled, chosen: Variant, mesh: Mesh) -> Variant:
        """Return the plan for a mesh, if ranks have several blocks; else the plan for all."""
        if not chosen.plan.exchanges.own.is_cyclic:
            return chosen
        with self._lock:
            if mesh.shape not in made.on_mesh:
                with Budget(seconds_to_compile(self.options)).running():
                    made.on_mesh[mesh.shape] = Variant(on_mesh(chosen.plan, mesh.shape))
            return made.on_mesh[mesh.shape]

    @boundary
    def run(self, transport: Transport, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Run the kernel as one rank of `transport`."""
        given = self._reading.bind(args, kwargs)
        if isinstance(transport, Alone):
            return self._alone(given)
        result, run = self._run(transport, given)
        self.sent, self.messages = dict(run.sent), run.messages
        return result

    def _alone(self, given: tuple[object, ...]) -> Any:  # noqa: ANN401
        """Run the ordinary kernel: one rank has whole arrays."""
        whole = [value.local if isinstance(value, DistributedArray) else value for value in given]
        if all(value is mine for value, mine in zip(whole, given, strict=True)):
            return self._reading.alone(*whole)
        types, values = self._example(given, {})
        made = self._made(types, values)
        bound = check_call(made.program.signature, values)
        plan = self._variant(made, 1).plan
        call = Call(plan, made.program, self._mesh(Alone()), Alone(), dict(bound.sizes), given)
        check_distributed(call)
        return distributed_results(call, self._reading.alone(*whole))

    def _run(self, transport: Transport, given: tuple[object, ...]) -> tuple[Any, Run]:
        mesh = self._mesh(transport)
        types, values = self._example(given, {})
        made = self._made(types, values)
        bound = check_call(made.program.signature, values)
        chosen = self._on_mesh(made, self._chosen(made, bound.sizes, transport.size), mesh)
        call = Call(chosen.plan, made.program, mesh, transport, dict(bound.sizes), given)
        if is_wanted():
            require_same(call, "before the call")
        arrays = bound_arrays(call)
        self._prepare(chosen, transport)

        def run_phase(phase: Phase, part: str, arrays: Arrays, values: Mapping[str, int]) -> None:
            kernel = chosen.kernels[phase, part]
            passed = [
                arrays[a.array] if isinstance(a, ArrayArg)
                else values[a.symbol] if isinstance(a, ScalarArg) and a.is_param
                else bound.symbols[a.symbol]  # type: ignore[union-attr]
                for a in kernel.source.signature.arguments
            ]  # fmt: skip
            if kernel.loaded.call_apart(*passed) is NotImplemented:
                raise InternalError("PO0901", "the call wrapper refused a call that fits")

        run = Run(chosen.plan, mesh, transport, call.sizes, arrays, run_phase)
        run()
        found = results(call, arrays)
        if is_wanted():
            require_same(call, "after the call")
        return found, run

    @boundary
    def simulate(
        self, *args: object, ranks: int | None = None, seed: int = 0, delay: float = 0.0
    ) -> list[Outcome]:
        """Run the kernel on copies, on simulated ranks in this process; return what each one has.

        `ranks` is the number of the mesh by default; messages take up to `delay` seconds.
        Raises `InternalError` PO0862 to PO0864 where MPI would hang or mix messages up.
        """
        count = self.request.mesh.size if ranks is None else ranks
        made = self._made(*self._example(args, {}))
        self._chosen(made, self.sizes(*args), count)

        def act(transport: Simulated) -> Outcome:
            mine = copy.deepcopy(args)
            result, run = self._run(transport, mine)
            return Outcome(mine, result, dict(run.sent), run.messages)

        return simulate(count, act, seed, delay)

    def _mesh(self, transport: Transport) -> Mesh:
        mesh = self.request.mesh
        if transport.size == 1:
            return Mesh((1,) * mesh.axes)
        if isinstance(transport, Simulated) and mesh.axes == 1:
            return Mesh((transport.size,))
        if mesh.size != transport.size:
            raise UsageError(
                "PO0855",
                f"a mesh of {mesh.size} ranks in a job of {transport.size}",
                hint=f"start it as `mpirun -n {mesh.size}`, or make the mesh of the job's ranks",
            )
        return mesh

    def _prepare(self, made: Variant, transport: Transport) -> None:
        """Build the kernels of all phases: one rank first, the others find them in the cache."""
        with self._lock:
            if made.kernels:
                return
            options = self.options
            if options.threads is None and transport.size > 1:
                options = replace(options, threads=max(1, thread_count(None) // transport.size))

            def build() -> None:
                for phase in made.plan.exchanges.phases.phases:
                    for part, domains in made.plan.parts(phase).items():
                        made.kernels[phase, part] = self._built(
                            made.plan, phase, part, domains, options
                        )

            transport.first_alone(build)

    def _built(
        self, plan: Plan, phase: Phase, part: str, domains: Domains, options: Options
    ) -> BuiltProgram:
        name = f"{self.__name__}_{part}{phase.number}_{phase.depth}"  # type: ignore[attr-defined]
        program = local_program(plan.exchanges, phase, plan.storage, name, domains, plan.known)
        numbers = [a for a in program.signature.arguments if isinstance(a, ScalarArg)]
        return build_program(program, tuple(a.is_param for a in numbers), options)


def _whole_like(value: object) -> object:
    """Return an array with the shape of a distributed one; its memory is never touched."""
    if isinstance(value, DistributedArray):
        return np.empty(value.shape, value.dtype)
    return value


def is_wanted() -> bool:
    """Tell whether calls compare arguments."""
    return is_set("verify") or is_set("debug")


def require_same(call: Call, when: str) -> None:
    """Raise `UsageError` PO0859, on all ranks, where arguments differ that should be the same."""
    names, digests = [], []
    cuts = call.plan.exchanges.own.cuts
    for argument, value in zip(call.program.signature.arguments, call.given, strict=True):
        is_cut = isinstance(argument, ArrayArg) and argument.array in cuts
        names.append(argument.name)
        digests.append(_digest(value, is_cut or isinstance(value, DistributedArray)))
    mine = np.array(digests, np.int64)
    least = call.transport.reduce_all(mine, "min", np.minimum)
    most = call.transport.reduce_all(mine, "max", np.maximum)
    differing = np.flatnonzero(least != most)
    if not len(differing):
        return
    first = int(differing[0])
    sizes = [mine.nbytes] * call.transport.size
    parts = call.transport.gather_all(mine.view(np.uint8), sizes)
    of_rank = [int(part.view(np.int64)[first]) for part in parts]
    others = [rank for rank, one in enumerate(of_rank) if one != of_rank[0]]
    ranks = ", ".join(map(str, others))
    raise UsageError(
        "PO0859",
        f"`{names[first]}` is not the same on all ranks {when}: "
        f"it is another one on rank{'s'[: len(others) != 1]} {ranks} than on rank 0",
        hint="give each rank the same values, as by a broadcast; or cut the array",
    )


def _digest(value: Any, is_cut: bool) -> int:  # noqa: ANN401
    """Return 63 bits of what an argument is; of an array that is cut, of its shape and type."""
    array = value if isinstance(value, DistributedArray) else np.asarray(value)
    facts = f"{array.shape} {array.dtype}".encode()
    data = b"" if is_cut else np.ascontiguousarray(array).tobytes()
    return int(hex_digest(facts + data, 8), 16) >> 1


COMPLETING = {form.value for form in (Form.ALL_REDUCE, Form.REDUCE_SCATTER, Form.SCAN)}
"""Collectives after a phase."""


def describe(plan: Plan, name: str, steps: str) -> str:
    """Return the plan, one line for each array, phase and exchange, after the steps asked for."""
    own, lines = plan.exchanges.own, [f"{name} on P ranks: {steps}"]
    for array, cuts in own.cuts.items():
        windows = plan.storage.windows[array]
        parts = [_cut(cut, window) for cut, window in zip(cuts, windows, strict=True)]
        lines.append(f"  {array} is cut along {', '.join(parts)}")
    whole = [a.name for a in own.scop.arrays if a.name not in own.cuts and a.shape]
    if whole:
        lines.append(f"  each rank has all of {', '.join(whole)}")
    by_phase: dict[Phase, list[Volume]] = {}
    for volume in volumes(plan):
        by_phase.setdefault(volume.phase, []).append(volume)
    lines += _steps(plan, plan.exchanges.phases.steps, by_phase, "  ")
    amount = total(plan)
    if amount is not None:
        lines.append(f"  bytes of one call, all ranks together: {amount}")
    claims = judge(plan)
    failed = [claim.name for claim in claims if not claim.holds]
    names = ", ".join(claim.name for claim in claims if claim.holds)
    lines.append(f"  proven for all sizes and numbers of ranks: {names}")
    if failed:
        lines.append(f"  not proven: {', '.join(failed)}")
    return "\n".join(lines)


def _cut(cut: Cut, window: Window) -> str:
    blocks = f"axis {cut.axis} in blocks of {show(cut.blocks.extent)} / P"
    if cut.blocks.size is not None:
        blocks = f"axis {cut.axis} in blocks of {cut.blocks.size}, dealt to the ranks in turn"
    if window.whole:
        return f"{blocks}, a rank keeps copies of all"
    if window.before or window.after:
        return f"{blocks}, a rank keeps {window.before} before and {window.after} after its own"
    return blocks


def _steps(
    plan: Plan, steps: Sequence[Step], by_phase: dict[Phase, list[Volume]], pad: str
) -> Iterator[str]:
    rules = plan.exchanges.phases.placement.rules
    for step in steps:
        if isinstance(step, Together):
            statement = plan.exchanges.own.scop.statement(step.statements[0])
            yield f"{pad}all ranks: loop {show(statement.order[2 * step.depth + 1])}"
            yield from _steps(plan, step.body, by_phase, pad + "  ")
            continue
        for volume in by_phase.get(step, []):
            if volume.form not in COMPLETING and volume.bytes != 0:
                yield f"{pad}{_volume(volume)}"
        where = dict.fromkeys(rules[name].value for name in step.statements)
        turn = "; one rank after the other" if step.after else ""
        turn += "; what needs no message runs meanwhile" if step in plan.splits else ""
        yield f"{pad}{', '.join(step.statements)}: {', '.join(where)}{turn}"
        for volume in by_phase.get(step, []):
            if volume.form in COMPLETING:
                yield f"{pad}{_volume(volume)}"


def _volume(volume: Volume) -> str:
    if volume.bytes is None:
        return f"{volume.form} of {volume.array}"
    return f"{volume.form} of {volume.array}: {volume.bytes} bytes"
