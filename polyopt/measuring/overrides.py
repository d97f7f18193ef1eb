"""Numbers of the machine that the user gives: environment variables, a file.

In: a `Machine`, POLYOPT_L1 and so on, the file that POLYOPT_MACHINE names.  Out: the `Machine`,
and the `Rates` in the file.  Refuses: a wrong number, a file that holds something else (PO0224).
A level such as x86-64-v3 is no file: `detect_machine` starts from its instruction sets.
"""

from __future__ import annotations

import json
import os

from polyopt.dataclass import asdict, fields, replace
from polyopt.errors import UsageError
from polyopt.files import read_text
from polyopt.machine import Machine, Rates, Speeds
from polyopt.runtime.levels import LEVELS, VARIABLE, chosen_level
from polyopt.settings import setting

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
        rates = Rates(Speeds(**one), Speeds(**every), region, True)  # type: ignore[arg-type]
    except (KeyError, TypeError):
        raise _malformed("`rates` are not what `polyopt machine --json` writes") from None
    numbers = (*asdict(rates.one).values(), *asdict(rates.every).values(), rates.region)
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
