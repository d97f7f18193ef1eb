"""`polyopt machine`: what is known of the processor, what it reaches, what the compiler can do.

In: the machine, a C compiler.  Out: numbers, each with where it is from; as JSON a file that
POLYOPT_MACHINE may name.  `--measure` measures for a second or two and keeps the result.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from polyopt.cli.cmd_cache import show_size
from polyopt.cli.console import result, result_json
from polyopt.cli.prepare import json_option
from polyopt.dataclass import asdict
from polyopt.errors import ToolchainError
from polyopt.machine import Machine, Rates


@click.command("machine")
@click.option("--measure", is_flag=True, help="Measure speeds now and keep them.")
@json_option
def command(measure: bool, as_json: bool) -> None:
    """Show what schedules are chosen by: caches, vectors, speeds, the compiler's capabilities."""
    from polyopt.measuring.capabilities import capabilities
    from polyopt.measuring.rates import measure_rates, rates_of
    from polyopt.runtime.store import open_store
    from polyopt.runtime.toolchain import find_compiler
    from polyopt.targets import detect_machine

    machine, store = detect_machine(), open_store()
    try:
        compiler = find_compiler(store)
    except ToolchainError:
        if measure:
            raise
        compiler = None
    if measure and compiler is not None:
        rates = measure_rates(machine, store, compiler)
    else:
        rates = rates_of(machine, store, compiler)
    able = None if compiler is None else capabilities(store, compiler)
    if as_json:
        told = {} if able is None else {"compiler": asdict(able)}
        speeds = asdict(rates)
        is_measured = speeds.pop("is_measured")
        shown = {"rates": speeds} if is_measured else {}
        result_json({"machine": asdict(machine), **shown, **told})
        return
    for line in (*machine_lines(machine), *rate_lines(machine, rates)):
        result(line)
    if compiler is not None and able is not None:
        result(f"compiler: {compiler.describe()}")
        for name, value in asdict(able).items():
            result(f"    {name.replace('_', ' ')}: {'yes' if value else 'no'}")


def machine_lines(machine: Machine) -> Iterator[str]:
    """Yield the numbers that decide code."""
    yield f"cores: {machine.cores}"
    fma = "multiply-adds" if machine.fma else "operations"
    units = f"{machine.fma_units} vectors of {fma} a cycle"
    yield f"vectors: {machine.vector_registers} registers of {machine.vector_bytes} bytes, {units}"
    for level, owner in ((1, "a core"), (2, "a core"), (3, "all cores")):
        size, ways = getattr(machine, f"l{level}"), getattr(machine, f"l{level}_ways")
        yield f"L{level}: {show_size(size)} of {owner}, {ways} ways, lines of {machine.line} bytes"


def rate_lines(machine: Machine, rates: Rates) -> Iterator[str]:
    """Yield a table of what one core and all cores reach."""
    source = "measured" if rates.is_measured else "assumed; `polyopt machine --measure` measures"
    yield f"speeds ({source}):"
    yield f"    {'':<24}{'1 core':>12}{f'{machine.cores} cores':>12}"
    titles = {
        "float64": ("float64, GF/s", 1e9),
        "float32": ("float32, GF/s", 1e9),
        "l1": ("reading L1, GB/s", 1e9),
        "l2": ("reading L2, GB/s", 1e9),
        "l3": ("reading L3, GB/s", 1e9),
        "memory": ("reading memory, GB/s", 1e9),
        "stream": ("triad in memory, GB/s", 1e9),
    }
    for name, (title, unit) in titles.items():
        one, every = (float(getattr(s, name)) / unit for s in (rates.one, rates.every))
        yield f"    {title:<24}{one:>12.1f}{every:>12.1f}"
    yield f"    a parallel loop: {rates.region * 1e6:.1f} us, a cycle: {1e9 / rates.hertz:.3f} ns"
