"""Measure what the machine reaches, once, and keep it.

In: a `Machine`, the C compiler, the store.  Out: `Rates`: given in a file, kept, or measured now.
Refuses: a compiler that fails (PO0502), a measurement that does not end as it should (PO0522).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import inf
from pathlib import Path

from polyopt.dataclass import asdict
from polyopt.errors import ToolchainError
from polyopt.machine import Machine, Rates, Speeds, assumed_rates
from polyopt.measuring.detection import given_rates
from polyopt.runtime.store import Store, digest
from polyopt.runtime.toolchain import Compiler, call_tool, kernel_flags, processor_features

TEXT = Path(__file__).with_name("native") / "rates.c"
KIND = "machines"
SECONDS = 60.0
MEMORY = (64 << 20, 512 << 20)  # bytes to walk over: more than the last cache holds, not too many
KINDS = ("float64", "float32", "l1", "l2", "l3", "memory", "stream")

Run = Callable[[tuple[str, ...], Path], tuple[int, str]]
"""Runs a program in a directory; gives its status and what it printed."""


def rates_of(machine: Machine, store: Store, compiler: Compiler | None) -> Rates:
    """Return the rates that are given or kept, or else those of a usual machine."""
    given = given_rates()
    if given is not None:
        return given
    kept = None if compiler is None else kept_rates(machine, store, compiler)
    return kept or assumed_rates(machine)


def kept_rates(machine: Machine, store: Store, compiler: Compiler) -> Rates | None:
    """Return what was measured before on this machine with this compiler."""
    return store.load(
        KIND, _key(machine, compiler), lambda entry: _from_record(entry.json("rates.json"))
    )


def _from_record(known: object) -> Rates:
    match known:
        case {"one": dict(one), "every": dict(every), "region": float(region), "hertz": hertz}:
            rates = Rates(Speeds(**one), Speeds(**every), region, True, hertz)
        case _:
            raise ValueError("it does not hold rates")
    numbers = (*asdict(rates.one).values(), *asdict(rates.every).values(), region, rates.hertz)
    if not all(type(number) in (int, float) and 0 < number < inf for number in numbers):
        raise ValueError("its rates are not all positive numbers")
    return rates


def measure_rates(
    machine: Machine, store: Store, compiler: Compiler, run: Run | None = None
) -> Rates:
    """Measure for about a second, and keep the result in place of an earlier one."""
    rates = measured(machine, store, compiler, run or _run)
    key = _key(machine, compiler)
    store.forget(KIND, key)
    store.write(KIND, key, {"rates.json": json.dumps(asdict(rates)).encode()})
    return rates


def measured(machine: Machine, store: Store, compiler: Compiler, run: Run) -> Rates:
    """Build the program that measures, run it, and read what it says."""
    memory = min(max(4 * machine.l3, MEMORY[0]), MEMORY[1])
    sizes = tuple(str(size) for size in (machine.l1, machine.l2, machine.l3, memory))
    with store.staging() as work:
        program = str(work / "rates")
        flags = kernel_flags(compiler, openmp=machine.cores > 1, contract=True)
        lanes = f"-DVECTOR_BYTES={machine.vector_bytes}"
        command = (*compiler.command, *flags, lanes, str(TEXT), "-o", program)
        status, said = call_tool(command, work, SECONDS, _refused)
        if status != 0:
            notes = tuple(said.strip().splitlines()[:3])
            raise ToolchainError(
                "PO0502", f"the compiler failed on {TEXT.name} with status {status}", notes=notes,
                hint="run `polyopt doctor`, or set POLYOPT_CC to another compiler",
            )  # fmt: skip
        status, said = run((program, *sizes), work)
    if status != 0:
        raise _failed(f"it ended with status {status}")
    return parse_rates(said)


def _run(command: tuple[str, ...], work: Path) -> tuple[int, str]:
    return call_tool(command, work, SECONDS, lambda reason: _failed(reason))


def parse_rates(text: str) -> Rates:
    """Return the rates that the program printed: lines `threads what number`."""
    found: dict[tuple[int, str], float] = {}
    for line in text.splitlines():
        match = re.fullmatch(r"(\d+) (\w+) ([0-9.e+-]+)", line)
        if match is None or not float(match[3]) > 0:
            raise _failed(f"it printed `{line[:60]}`")
        found[int(match[1]), match[2]] = float(match[3])
    most = max((threads for threads, _ in found), default=1)
    try:
        one = Speeds(*(found[1, kind] for kind in KINDS))
        every = Speeds(*(found[most, kind] for kind in KINDS))
        return Rates(one, every, found[most, "region"], True, found[1, "hertz"])
    except KeyError as missing:
        raise _failed(f"it did not print {missing}") from None


def _failed(reason: str) -> ToolchainError:
    return ToolchainError(
        "PO0522",
        f"the speed of this machine was not measured: {reason}",
        hint="give the numbers in a file that POLYOPT_MACHINE names",
    )


def _refused(reason: str) -> ToolchainError:
    return ToolchainError("PO0505", reason, hint="set CC to a working gcc or clang")


def _key(machine: Machine, compiler: Compiler) -> str:
    facts = [
        repr(machine),
        compiler.identity,
        list(processor_features()),
        digest(TEXT.read_bytes()),
    ]
    return json.dumps(facts)
