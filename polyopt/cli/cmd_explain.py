"""`polyopt explain FILE.py:FUNC` and `polyopt explain PO0312`.

In: a target or an error code.  Out: domains, dependences, steps, and why each loop runs as it does;
or the rule behind a code.  Needs no C compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from polyopt.cli.console import result, result_json
from polyopt.cli.prepare import (
    Prepared,
    compile_options,
    compile_prepared,
    json_option,
    make_options,
    prepare,
    sizes_option,
    types_option,
)
from polyopt.cli.typespec import parse_sizes
from polyopt.errors import UsageError

if TYPE_CHECKING:
    from polyopt.ir.program import Program
    from polyopt.pipeline import Compilation
    from polyopt.report.explain import Section
    from polyopt.schedule import Schedule
    from polyopt.targets import Options


@click.command("explain")
@click.argument("target", metavar="FILE.py:FUNC|CODE")
@click.option("--timing", is_flag=True, help="Show how long each stage took.")
@click.option("--steps", is_flag=True, help="Show the loop nest after each step alone.")
@click.option("--formulas", is_flag=True, help="Write out which elements are read and written.")
@click.option("--cost", is_flag=True, help="Predict the time of a call and what limits it.")
@click.option("--measure", is_flag=True, help="Predict, and run it on random values, too.")
@types_option
@sizes_option
@compile_options
@json_option
def command(
    target: str,
    timing: bool,
    steps: bool,
    formulas: bool,
    cost: bool,
    measure: bool,
    types: str | None,
    sizes: str | None,
    threads: int | None,
    fp: str | None,
    schedule: str | None,
    as_json: bool,
) -> None:
    """Explain what becomes of a function, or what an error code means."""
    if re.fullmatch(r"(?i)PO\d{1,6}", target):
        _explain_code(target.upper(), as_json)
        return
    from polyopt.cli.costs import cost_of
    from polyopt.cli.kernels import Kernels
    from polyopt.emit.gpu.bank_conflicts import conflict_lines
    from polyopt.ir.host import DeviceProgram
    from polyopt.numerics import numerics_contract
    from polyopt.numerics.contract import show_contract
    from polyopt.proof import certify
    from polyopt.report.explain import Section, explain, show_sections, with_memory
    from polyopt.report.padding import paddings
    from polyopt.report.timing import timing_section

    prepared = prepare(target, types, parse_sizes(sizes))
    options = make_options(fp, threads, schedule, prepared.target.kernel)
    compilation = compile_prepared(prepared, options)
    if steps:
        _show_steps(prepared.target.name, compilation.schedules, as_json)
        return
    contract = numerics_contract(compilation.loops, compilation.program)
    program = prepared.program
    numerics = Section("numerics", show_contract(contract))
    memory = tuple(_memory(program, compilation, parse_sizes(sizes)))
    sections = (*with_memory(explain(program, compilation.schedules, formulas), memory), numerics)
    sections = (*sections, *_notes(prepared, compilation, options))
    kernels = Kernels(compilation) if isinstance(compilation.source, DeviceProgram) else None
    if kernels is not None:
        sections = (*sections, Section("kernels", kernels.lines()))
        shared = conflict_lines(compilation.loops, paddings(compilation.schedules))
        sections = (*sections, *([Section("shared memory", shared)] if shared else []))
    wanted = (cost or measure) and kernels is None
    given = parse_sizes(sizes)
    price = cost_of(prepared, compilation, options, given, measure) if wanted else None
    sections = sections if price is None else (*sections, Section("cost", price.lines()))
    if timing:
        timings = {"frontend": prepared.seconds, **compilation.timings}
        costs = compilation.costs
        written = compilation.written or program

        def prove() -> object:
            return certify(written, compilation.loops)

        rows = timing_section(timings, costs, compilation.schedules, prove)
        sections = (*sections, rows)
    if as_json:
        facts: dict[str, Any] = {section.title: list(section.lines) for section in sections}
        facts["numerics"] = contract.to_record()
        if kernels is not None:
            facts["launches"] = kernels.to_record()
        if price is not None:
            facts["cost"] = price.to_record()
        result_json({"function": prepared.target.name, **facts})
        return
    result(show_sections(f"{program.name} ({prepared.target.path}:{program.line})", sections))


def _memory(program: Program, compilation: Compilation, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield what the kernel's temporaries take."""
    from polyopt.emit.allocations import allocations
    from polyopt.report.memory import explain_memory

    found = [(one.array, one.storage.value) for one in allocations(compilation.loops)]
    yield from explain_memory(found, program, compilation.schedules, sizes)


def _notes(prepared: Prepared, compilation: Compilation, options: Options) -> Iterator[Section]:
    """Yield what tuning found, if it did, and what was left out."""
    from polyopt.report.explain import Section
    from polyopt.tuning.kept import tuned

    found = tuned(prepared.target.func, prepared.types, options)
    if found is not None:
        yield Section("tuning", found.lines())
    if compilation.dropped:
        yield Section(
            "left out", tuple(f"{d.what}: {d.reason} [{d.code}]" for d in compilation.dropped)
        )


def _show_steps(function: str, schedules: tuple[Schedule, ...], as_json: bool) -> None:
    """Print the loop nest of each static control part, from the source's order on."""
    if as_json:
        parts = [[one.latest() for one in schedule.history()] for schedule in schedules]
        result_json({"function": function, "steps": parts})
        return
    heads = [f"part({number})\n" if len(schedules) > 1 else "" for number in range(len(schedules))]
    stories = (f"{head}{one.story()}" for head, one in zip(heads, schedules, strict=True))
    result("\n\n".join(stories))


def _explain_code(code: str, as_json: bool) -> None:
    from polyopt.report.catalogue import CATALOGUE, show_entry

    entry = CATALOGUE.get(code)
    if entry is None:
        raise UsageError(
            "PO0615",
            f"there is no error code `{code}`",
            hint="codes are listed in docs/errors.md; they look like PO0312",
        )
    if as_json:
        result_json({"code": code, "meaning": entry.meaning, "example": entry.example,
                     "action": entry.action})  # fmt: skip
        return
    result(show_entry(code, entry))
