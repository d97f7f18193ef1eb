"""The sections of `polyopt explain`: all there is to say, or those that were asked for.

In: a prepared target, its compilation, options.  Out: sections and plain data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from polyopt.cli.prepare import Prepared
from polyopt.dataclass import dataclass
from polyopt.errors import ToolchainError
from polyopt.ir.host import DeviceProgram
from polyopt.ir.source import Source
from polyopt.report.explain import Section, explain, with_memory

if TYPE_CHECKING:
    from polyopt.cli.costs import Cost
    from polyopt.pipeline import Compilation
    from polyopt.targets import Options


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for beside the summary."""

    full: bool
    timing: bool
    formulas: bool
    cost: bool
    measure: bool


@dataclass(frozen=True, eq=False)
class Explained:
    """A target, what became of it, and how it was compiled."""

    prepared: Prepared
    compilation: Compilation
    options: Options
    sizes: Mapping[str, int]

    def sections(self, wanted: Wanted) -> tuple[tuple[Section, ...], dict[str, Any]]:
        """Return sections in reading order, and what JSON has beside their lines."""
        from polyopt.cli.kernels import Kernels

        facts: dict[str, Any] = {}
        found = list(self._all(wanted.formulas)) if wanted.full else list(self._notes())
        is_device = isinstance(self.compilation.source, DeviceProgram)
        if wanted.full:
            facts["numerics"] = self._contract().to_record()
        if is_device and wanted.full:
            kernels = Kernels(self.compilation)
            facts["launches"] = kernels.to_record()
            found += self._kernels(kernels)
        if (wanted.cost or wanted.measure) and not is_device:
            price = self._cost(wanted.measure)
            facts["cost"] = price.to_record()
            found.append(Section("cost", price.lines()))
        if wanted.timing:
            found.append(self._timing())
        return tuple(found), facts

    def _all(self, formulas: bool) -> Iterator[Section]:
        from polyopt.numerics.contract import show_contract

        program, schedules = self.prepared.program, self.compilation.schedules
        yield from with_memory(explain(program, schedules, formulas), tuple(self._memory()))
        yield Section("numerics", show_contract(self._contract()))
        yield from self._notes()

    def _contract(self) -> Any:  # noqa: ANN401
        from polyopt.numerics import numerics_contract

        return numerics_contract(self.compilation.loops, self.compilation.program)

    def _memory(self) -> Iterator[str]:
        """Yield what the kernel's temporaries take, and what the option `memory` allows."""
        from polyopt.emit.peaks import allocations
        from polyopt.report.memory import explain_memory

        compilation = self.compilation
        found = [(one.array, one.storage.value) for one in allocations(compilation.loops)]
        yield from explain_memory(
            found, self.prepared.program, compilation.schedules, self.sizes, compilation.loops.turns
        )
        if self.options.memory is not None:
            yield f"the option `memory` allows {self.options.memory} bytes at once"

    def _notes(self) -> Iterator[Section]:
        """Yield what tuning found, if it did, and what was left out."""
        from polyopt.tuning.kept import tuned

        found = tuned(self.prepared.target.func, self.prepared.types, self.options)
        if found is not None:
            yield Section("tuning", found.lines())
        dropped = self.compilation.dropped
        if dropped:
            yield Section("left out", tuple(f"{d.what}: {d.reason} [{d.code}]" for d in dropped))

    def _kernels(self, kernels: Any) -> Iterator[Section]:  # noqa: ANN401
        from polyopt.emit.gpu.bank_conflicts import conflict_lines
        from polyopt.report.padding import paddings

        yield Section("kernels", kernels.lines())
        padded = paddings(self.compilation.schedules)
        shared = conflict_lines(self.compilation.loops, padded)
        if shared:
            yield Section("shared memory", shared)

    def _cost(self, measure: bool) -> Cost:
        from polyopt.cli.costs import cost_of

        return cost_of(self.prepared, self.compilation, self.options, self.sizes, measure)

    def _timing(self) -> Section:
        from polyopt.proof import certify
        from polyopt.report.timing import timing_section

        compilation = self.compilation
        timings = {"frontend": self.prepared.seconds, **compilation.timings}
        missing = self._time_compiler(timings)
        written = compilation.written or self.prepared.program

        def prove() -> object:
            return certify(written, compilation.loops)

        rows = timing_section(timings, compilation.costs, compilation.schedules, prove)
        return Section(rows.title, (*rows.lines, *missing))

    def _time_compiler(self, timings: dict[str, float]) -> tuple[str, ...]:
        """Add what the C compiler takes to the timings; return what is missing, in words."""
        from polyopt.explaining import compiler_seconds

        source = self.compilation.source
        if not isinstance(source, Source):
            return ()
        try:
            timings["build"] = compiler_seconds(source, self.options)
        except ToolchainError as error:
            return (f"build: not measured: {error.message} [{error.code}]",)
        return ()
