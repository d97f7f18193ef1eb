"""What a kernel is compiled for: the machine and the options of one compilation.

In: the running machine, keyword options.  Out: `Machine` and `Options`, immutable and comparable.
Refuses: an unknown option (PO0221), a wrong value (PO0222), a wrong environment variable (PO0224).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from enum import Enum, unique
from functools import partial
from typing import Any

from polyopt.dataclass import dataclass, fields, replace
from polyopt.errors import UsageError
from polyopt.ir.target import TARGETS, Target
from polyopt.machine import Machine
from polyopt.measuring.detection import detect_machine
from polyopt.schedulefile import FUSED, text_or_file
from polyopt.settings import chosen, duration

__all__ = [
    "FUSED",
    "FpMode",
    "Machine",
    "Options",
    "Target",
    "detect_machine",
    "seconds_to_compile",
]

SECONDS = 60.0  # that a compilation may take when nothing else is said
LEAST_SECONDS, MOST_SECONDS = 0.1, 86_400.0


@unique
class FpMode(Enum):
    """How far floating-point results may differ from the source's order of operations."""

    STRICT = "strict"  # the same operations in the same order per element
    REASSOCIATE = "reassociate"  # declared reductions may be split, vectorized, contracted to FMA
    FAST = "fast"  # reciprocals and approximate functions too


@dataclass(frozen=True, slots=True)
class Options:
    """One compilation's options.

    `threads`: None means all cores at run time; 1 emits sequential code.
    `schedule`: None chooses automatically, "source" keeps the source's order, "fused" recomputes
    temporaries (what the keyword `fuse="all"` sets), else a schedule's text; a file's name gives
    the text in it.
    `budget`: seconds of a processor that compiling may take, and at most as many that a search for
    a faster schedule takes; "60s" and "2min" are texts for it.  None means POLYOPT_BUDGET, or 60.
    `tune`: seconds to search for a faster schedule at the first call, measured on copies of its
    arguments; None does not search, but uses what was found before.
    `tuned`: a file of schedules that tuning found, as `polyopt tune --save` writes it; it goes
    before what the cache keeps.
    `memory`: bytes that temporaries may take at once; sizes are compiled in.
    `fixed_sizes`: the extents of array arguments are compiled in, for each shape anew.
    `device`: which of the target's devices to run on, by number or a part of its name; None takes
    the first, "emulated" runs CUDA text on the host and checks it.
    """

    fp: FpMode = FpMode.STRICT
    threads: int | None = None
    schedule: str | None = None
    compiler: str | None = None
    budget: float | None = None
    target: Target = Target.C
    device: int | str | None = None
    tune: float | None = None
    tuned: str | None = None
    memory: int | None = None
    fixed_sizes: bool = False

    def changed(self, values: Mapping[str, object]) -> Options:
        """Return the options with `values` replaced; raises `UsageError` for what is not one."""
        if values.get("fuse") is not None and values.get("schedule") is not None:
            hint = 'leave out one: fuse="all" is a schedule, of recompute and fuse steps'
            raise UsageError("PO0249", "`fuse` and `schedule` are both given", hint=hint)
        found: dict[str, Any] = {}
        for name, value in values.items():
            if name == "fuse":
                found["schedule"] = _fused(value, found.get("schedule", self.schedule))
            elif name in _READERS:
                found[name] = _READERS[name](value)
            else:
                raise _unknown(name)
        options = replace(self, **found)
        return options if options.memory is None else replace(options, fixed_sizes=True)


_OF_OTHERS = {
    "parallel": "leave it out: loops run in parallel where that is proven; `threads=1` forbids it",
    "fastmath": 'use fp="reassociate", or fp="fast" for fused products, too',
    "nopython": "leave it out: a kernel never falls back to Python",
    "nogil": "leave it out: kernels run without the interpreter's lock",
    "cache": "leave it out: kernels are cached on disk; POLYOPT_CACHE=0 forbids it",
    "boundscheck": "leave it out: subscripts are proven to be inside, or checked",
    "inline": "leave it out: functions that a kernel calls become part of it",
    "signature": 'leave it out, or annotate the arguments: `x: po.f64["N"]`',
    "static_argnums": "leave it out: what has to be known is compiled in by itself",
    "static_argnames": "leave it out: what has to be known is compiled in by itself",
    "argnums": "name the parameters of a derivative with `wrt`: a position, a name, or a tuple",
    "backend": 'use target="c", "cuda" or "opencl"',
    "dynamic": "leave it out: sizes stay open unless fixed_sizes=True",
}
"""Options that users of Numba, JAX and PyTorch look for."""


def _wrong(name: str, value: object, hint: str) -> UsageError:
    return UsageError("PO0222", f"option `{name}` is {value!r}", hint=hint)


def _near(value: object, names: list[str]) -> str:
    """Return the advice to use one of the names, the most similar one if any is."""
    from difflib import get_close_matches

    near = get_close_matches(str(value), names, n=1)
    return f"did you mean `{near[0]}`?" if near else f"use one of {', '.join(names)}"


def _fixed_sizes(value: object) -> bool:
    if type(value) is bool:
        return value
    raise _wrong("fixed_sizes", value, "use True or False")


def _unknown(name: str) -> UsageError:
    names = [*(field.name for field in fields(Options)), "fuse"]
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"the options are {', '.join(names)}"
    hint = _OF_OTHERS.get(name, hint)
    return UsageError("PO0221", f"there is no option `{name}`", hint=hint)


def _fp(value: object) -> FpMode:
    if isinstance(value, FpMode):
        return value
    modes = [mode.value for mode in FpMode]
    if isinstance(value, str) and value in modes:
        return FpMode(value)
    raise _wrong("fp", value, _near(value, modes))


def _target(value: object) -> Target:
    if isinstance(value, Target):
        return value
    if isinstance(value, str) and value not in TARGETS:
        from polyopt.offered import target_named  # looks through all installed packages

        target_named(value)
    if isinstance(value, str) and value in TARGETS:
        return TARGETS[value]
    raise _wrong("target", value, _near(value, list(TARGETS)))


def _device(value: object) -> int | str | None:
    is_number = type(value) is int and value >= 0
    if value is None or is_number or (isinstance(value, str) and value.strip()):
        return value  # type: ignore[return-value]
    hint = 'use a number from `polyopt devices`, a part of a name, or "emulated"'
    raise _wrong("device", value, hint)


def _threads(value: object) -> int | None:
    if value is None or (type(value) is int and 1 <= value <= 4096):
        return value
    raise _wrong("threads", value, "use None (all cores) or a number from 1")


def _schedule(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str | os.PathLike):
        return text_or_file(value)
    text = getattr(value, "text", None)
    if isinstance(text, str):  # a Schedule: its steps, or the source's order where it has none
        return text or "source"
    raise UsageError(
        "PO0222",
        f"option `schedule` is a {type(value).__name__}",
        hint='use None, "source", a text like "tile(L0, 32, 32)", a file\'s path or a Schedule',
    )


_BYTES = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(|[kKMGT]i?)B?")


def _bytes(value: object) -> int | None:
    """Return a number of bytes: 65536, "64kB" (1000s), "64KiB" (1024s)."""
    if value is None or (type(value) is int and value >= 0):
        return value
    match = _BYTES.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        hint = 'use a number of bytes, or a text such as "64MB" or "64MiB"'
        raise _wrong("memory", value, hint)
    prefix = match[2].upper()
    base = 1024 if prefix.endswith("I") else 1000
    return int(float(match[1]) * base ** " KMGT".index(prefix[:1] or " "))


def _fused(value: object, schedule: str | None) -> str | None:
    """Return the schedule that the value of `fuse` asks for; None leaves another one alone."""
    if value is None:
        return None if schedule == FUSED else schedule
    if value == "all":
        return FUSED
    raise _wrong("fuse", value, 'use "all" or None')


def _tuned(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str | os.PathLike) and os.fspath(value):
        return str(os.fspath(value))
    raise _wrong(
        "tuned", value, "use the file that `polyopt tune --save FILE.jsonl` wrote, or None"
    )


def _compiler(value: object) -> str | None:
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise _wrong("compiler", value, "use a program's name, such as `gcc`")


_SECONDS = f'use a number of seconds from {LEAST_SECONDS} to {MOST_SECONDS:.0f}, or "60s", "2min"'


def _seconds(name: str, value: object) -> float | None:
    found = duration(value) if isinstance(value, str) else value
    if value is None:
        return None
    if type(found) in (int, float) and LEAST_SECONDS <= found <= MOST_SECONDS:  # type: ignore[operator]
        return found  # type: ignore[return-value]
    raise _wrong(name, value, _SECONDS)


_READERS: dict[str, Callable[[object], object]] = {
    "fp": _fp,
    "threads": _threads,
    "schedule": _schedule,
    "compiler": _compiler,
    "budget": partial(_seconds, "budget"),
    "target": _target,
    "device": _device,
    "tune": partial(_seconds, "tune"),
    "tuned": _tuned,
    "memory": _bytes,
    "fixed_sizes": _fixed_sizes,
}
"""What makes the value of an option of what was given, or refuses it."""


def seconds_to_tune(options: Options, seconds: float) -> float:
    """Return how many of `seconds` a search may take: the option `budget` bounds it, too."""
    return seconds if options.budget is None else min(seconds, options.budget)


def seconds_to_compile(options: Options) -> float:
    """Return how many seconds compiling may take: the option, the setting, or the default."""
    if options.budget is not None:
        return options.budget
    text, origin = chosen("budget")
    if text is None:
        return SECONDS
    seconds = duration(text)
    if seconds is None or not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise UsageError("PO0224", f"{origin} is `{text}`", hint=_SECONDS)
    return seconds
