"""Detect the processor: instruction sets, registers, caches.

In: what Linux lists in `/proc` and `/sys`.  Out: `Machine`; what is not listed is a usual number.
Environment variables and a file give other numbers of the machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path

from polyopt.dataclass import asdict, dataclass, fields, replace
from polyopt.errors import UsageError
from polyopt.files import read_text
from polyopt.machine import USUAL_HERTZ, Machine, Rates, Speeds
from polyopt.runtime.threads import available_cores
from polyopt.runtime.toolchain import LEVELS, VARIABLE, chosen_level, processor_features
from polyopt.settings import setting

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
MOST_INDICES = 8


@dataclass(frozen=True, slots=True)
class CacheFacts:
    """A data cache as sysfs lists it; 0 is what it does not tell."""

    size: int
    ways: int = 0
    line: int = 0


def detect_machine() -> Machine:
    """Return the running machine; POLYOPT_CORES, POLYOPT_L1 and so on override what is found.

    So does the file that POLYOPT_MACHINE names.
    """
    flags = frozenset(processor_features())
    vector, registers = vectors_of(flags)
    machine = Machine(
        cores=available_cores(),
        vector_bytes=vector,
        vector_registers=registers,
        fma=bool(flags & {"fma", "asimd"}),
    )
    return overridden(with_caches(machine, caches_in(CACHES)))


def vectors_of(flags: frozenset[str]) -> tuple[int, int]:
    """Return the bytes of one vector register and how many there are."""
    if "avx512f" in flags:
        return 64, 32
    if flags & {"avx", "avx2"}:
        return 32, 16
    if "asimd" in flags:
        return 16, 32
    return 16, 16


def with_caches(machine: Machine, caches: dict[int, CacheFacts]) -> Machine:
    """Return `machine` with what is known of its caches."""
    for level, facts in caches.items():
        changes = {f"l{level}": facts.size, f"l{level}_ways": facts.ways, "line": facts.line}
        known = {name: value for name, value in changes.items() if value and level <= 3}
        machine = replace(machine, **known)  # type: ignore[arg-type]
    return machine


def caches_in(directory: Path) -> dict[int, CacheFacts]:
    """Return level -> the data cache that sysfs lists for it."""
    found: dict[int, CacheFacts] = {}
    scale = {"K": 1 << 10, "M": 1 << 20, "": 1}
    for index in range(MOST_INDICES):
        entry = directory / f"index{index}"
        with contextlib.suppress(OSError, ValueError):
            kind = (entry / "type").read_text().strip()
            size = re.fullmatch(r"(\d+)([KM]?)", (entry / "size").read_text().strip())
            if kind != "Instruction" and size is not None:
                level = int((entry / "level").read_text())
                ways = _number(entry / "ways_of_associativity")
                line = _number(entry / "coherency_line_size")
                found[level] = CacheFacts(int(size[1]) * scale[size[2]], ways, line)
    return found


def _number(path: Path) -> int:
    """Return the number in a file, 0 where there is none."""
    with contextlib.suppress(OSError, ValueError):
        return max(0, int(path.read_text()))
    return 0


MOST = 1 << 50  # no machine has more of anything
MOST_TEXT = 1 << 16  # bytes of a file


def overridden(machine: Machine) -> Machine:
    """Return `machine` as the environment has it; single variables go before the file."""
    values: dict[str, object] = dict(_section("machine", {f.name for f in fields(Machine)}))
    for name, value in values.items():
        machine = _with(machine, name, value, f"`{name}` in {_path()}", VARIABLE)
    for field in fields(Machine):
        variable = f"POLYOPT_{field.name.upper()}"
        text = os.environ.get(variable)
        if text:
            number = int(text) if text.isdecimal() and len(text) < 20 else text
            machine = _with(machine, field.name, number, variable, variable)
    return machine


def _with(machine: Machine, name: str, value: object, what: str, variable: str) -> Machine:
    """Return `machine` with one number replaced; raises `UsageError` for what is none."""
    is_flag = name == "fma"
    if type(value) not in (int, bool) or not (0 if is_flag else 1) <= value <= MOST:  # type: ignore[operator]
        raise UsageError(
            "PO0224", f"{what} is `{value}`, not a positive number", hint=f"unset {variable}"
        )
    changes = {name: bool(value) if is_flag else value}
    return replace(machine, **changes)  # type: ignore[arg-type]


def given_rates() -> Rates | None:
    """Return the rates in the file that POLYOPT_MACHINE names, None where there are none."""
    known = _section("rates", {field.name for field in fields(Rates)})
    if not known:
        return None
    try:
        one, every, region = known["one"], known["every"], known["region"]
        if not isinstance(one, dict) or not isinstance(every, dict):
            raise TypeError
        hertz = known.get("hertz", USUAL_HERTZ)
        rates = Rates(Speeds(**one), Speeds(**every), region, True, hertz)  # type: ignore[arg-type]
    except (KeyError, TypeError):
        raise _malformed("`rates` are not what `polyopt machine --json` writes") from None
    numbers = (
        *asdict(rates.one).values(),
        *asdict(rates.every).values(),
        rates.region,
        rates.hertz,
    )
    if not all(type(n) in (int, float) and 0 < n < float("inf") for n in numbers):
        raise _malformed("`rates` are not all positive numbers")
    return rates


def _section(name: str, known: set[str]) -> dict[str, object]:
    """Return one part of the file, empty where there is no file or no such part."""
    if not _path() or chosen_level() is not None:
        return {}
    try:
        found = json.loads(read_text(_path(), MOST_TEXT))
    except OSError as error:
        raise _malformed(error.strerror or "it cannot be read") from None
    except (ValueError, RecursionError):
        raise _malformed("it is not JSON") from None
    part = found.get(name, {}) if isinstance(found, dict) else None  # other parts are ignored
    if not isinstance(part, dict):
        raise _malformed(f"`{name}` is not an object")
    for key in part:
        if key not in known:
            raise _malformed(f"there is no `{key}` in `{name}`")
    return part


def _path() -> str:
    return setting("machine") or ""


def _malformed(reason: str) -> UsageError:
    return UsageError(
        "PO0224",
        f"{VARIABLE} names {_path()}: {reason}",
        hint=f"write one by `polyopt machine --json`, name one of {', '.join(LEVELS)}, "
        f"or unset {VARIABLE}",
    )
