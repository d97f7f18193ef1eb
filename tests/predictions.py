"""Compare predicted with measured times: is the order of schedules right, is the choice good?

In: workloads' names, all in explicit loops otherwise.  Out: per program and schedule the predicted
and the measured time; the rank correlation of both (C. Spearman, "The proof and measurement of
association between two things", 1904); how much longer than the fastest the automatic schedule and
the one with the least predicted time take.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sympy

import polyopt as po
import workloads
from bench import clock
from polyopt.building import Built, build_kernel, compile_stages
from polyopt.dataclass import replace
from polyopt.errors import PolyoptError
from polyopt.ir.interp import bind_sizes
from polyopt.ir.source import ArrayArg
from polyopt.measuring.rates import rates_of
from polyopt.model.amount import Amount
from polyopt.model.predict import predict
from polyopt.pipeline import machine_for
from polyopt.runtime.store import open_store
from polyopt.runtime.toolchain import find_compiler
from polyopt.specialize import Parameters, types_of
from polyopt.targets import FpMode, Options, detect_machine
from polyopt.tuning.knobs import knobs, with_value
from polyopt.tuning.timing import Copies
from polyopt.tuning.tune import alternative_texts

MOST = 12  # schedules of a program
FACTORS = (0.25, 0.5, 2.0, 4.0)  # of the numbers of the automatic schedule
ROUNDS, SPAN = 7, 0.4  # calls of a schedule, seconds of all of them
NOISE = 1.03  # times as long: nothing that a repetition would show again
HOPELESS = 8.0  # times as long as the fastest: measured once


@dataclass(frozen=True)
class Row:
    """A schedule of a program; seconds of a call."""

    program: str
    schedule: str
    predicted: float
    measured: float
    binding: str
    is_automatic: bool


@dataclass(frozen=True)
class Summary:
    """One program: the correlation, and times over that of the fastest schedule."""

    program: str
    schedules: int
    correlation: float
    automatic: float
    chosen: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the arguments ask for; 0 when all programs could be compared."""
    parser = argparse.ArgumentParser(prog="python -m tests.predictions", description=__doc__)
    parser.add_argument("names", nargs="*", help="workloads; all with explicit loops otherwise")
    parser.add_argument("--form", default="loops", choices=["loops", "numpy"])
    parser.add_argument("--dataset", default="LARGE")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--fp", default="reassociate", choices=["strict", "reassociate"])
    parser.add_argument("--clock", default="wall", choices=clock.NAMES)
    parser.add_argument("--most", type=int, default=MOST, help="schedules of a program")
    parser.add_argument("--json", type=Path, help="file for all rows")
    parser.add_argument("--again", type=Path, help="predict the schedules of such a file again")
    options = parser.parse_args(arguments)
    if options.clock == "processor" and options.threads != 1:
        parser.error("processor time says how long a call takes for one thread only")
    clock.choose(options.clock)
    kept = (
        [] if options.again is None else [Row(**r) for r in json.loads(options.again.read_text())]
    )
    chosen = options.names or list(dict.fromkeys(row.program for row in kept))
    chosen = chosen or [w.name for w in workloads.all() if "loops" in w.forms]
    rows: list[Row] = []
    found: list[Summary] = []
    for name in chosen:
        try:
            own = list(_measured(name, options, {r.schedule: r for r in kept if r.program == name}))
        except PolyoptError as error:
            print(f"{name:24s} {error.code}", flush=True)
            continue
        rows += own
        if len(own) > 2 and any(row.is_automatic for row in own):
            found.append(_summary(own))
            print(_line(found[-1]), flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    print(_total(found))
    return 0 if len(found) == len(chosen) else 1


def _measured(name: str, options: argparse.Namespace, kept: Mapping[str, Row]) -> Iterator[Row]:
    """Yield a program's schedules with their times, those of `kept` ones as they were."""
    workload = workloads.get(name)
    function = workload.forms[options.form if options.form in workload.forms else "loops"]
    values = tuple(workload.make(options.dataset).values())
    made = Options(fp=FpMode(options.fp), threads=options.threads)
    types = types_of(Parameters.of(function), values, frozenset())
    machine = machine_for(made, detect_machine())
    store = open_store()
    rates = rates_of(detect_machine(), store, find_compiler(store, made.compiler))
    stages = compile_stages(function, types, made)
    automatic = next((text for text, row in kept.items() if row.is_automatic), "")
    automatic = automatic or build_kernel(function, types, made).schedule_text or "source"
    sizes = bind_sizes(stages.program.signature, values)
    texts = list(kept) or [
        automatic,
        *alternative_texts(stages, made, machine),
        "source",
        *_varied(automatic),
    ]
    built: dict[str, Built] = {}
    predicted: dict[str, tuple[float, str]] = {}
    for text in dict.fromkeys(texts):
        if len(built) == options.most:
            break
        own = replace(made, schedule=text)
        try:
            loops = compile_stages(function, types, own).loops
            if text not in kept:
                built[text] = build_kernel(function, types, own)
        except PolyoptError:
            continue  # refused, or too long to make: no candidate
        amounts = {p: Amount(sizes[p], sympy.Symbol(p)) for p in loops.params if p in sizes}
        forecast = predict(loops, amounts, machine, rates)
        predicted[text] = forecast.seconds, forecast.binding.name
    times = {text: row.measured for text, row in kept.items()} or _times(built, values)
    for text, (seconds, binding) in predicted.items():
        yield Row(name, text, seconds, times[text], binding, text == automatic)


def _varied(text: str) -> Iterator[str]:
    """Yield the schedule with one number, or all of them, several times as large."""
    if text == "source":
        return
    known = knobs(text)
    for factor in FACTORS:
        for knob in known:
            if knob.value * factor >= 2:
                yield with_value(text, knob, int(knob.value * factor))


def _times(built: dict[str, Built], values: tuple[Any, ...]) -> dict[str, float]:
    """Return the median seconds of a call of each, called in turns."""
    signature = next(iter(built.values())).source.signature
    written = [
        n for n, a in enumerate(signature.arguments) if isinstance(a, ArrayArg) and a.written
    ]
    copies = Copies(values, written, clock.now)
    first = {
        text: min(copies.seconds(one.loaded.call) for _ in range(2))  # memory is new to the first
        for text, one in built.items()
    }
    fastest = min(first.values())
    calls: dict[str, Callable[..., object]] = {
        text: built[text].loaded.call for text in built if first[text] < HOPELESS * fastest
    }
    found: dict[str, list[float]] = {text: [] for text in calls}
    rounds = max(3, min(ROUNDS, int(SPAN / fastest)))
    for _ in range(rounds):
        for text, call in calls.items():
            found[text].append(copies.seconds(call))
    return {**first, **{text: statistics.median(times) for text, times in found.items()}}


def _summary(rows: Sequence[Row]) -> Summary:
    fastest = min(row.measured for row in rows)
    automatic = next(row.measured for row in rows if row.is_automatic)
    chosen = min(rows, key=lambda row: row.predicted).measured
    return Summary(
        rows[0].program,
        len(rows),
        correlation([row.predicted for row in rows], [row.measured for row in rows]),
        automatic / fastest,
        chosen / fastest,
    )


def correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's rank correlation; values within noise share ranks."""
    ranks = [_ranks(np.asarray(values)) for values in (one, other)]
    if any(np.ptp(r) == 0 for r in ranks):
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])


def _ranks(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    below = (values[:, None] > NOISE * values[None, :]).sum(axis=1)
    above = (NOISE * values[:, None] < values[None, :]).sum(axis=1)
    return np.asarray((below - above) / 2)


def _line(found: Summary) -> str:
    return (
        f"{found.program:24s} {found.schedules:3d} schedules  correlation {found.correlation:5.2f}"
        f"  automatic {found.automatic:5.2f}  least predicted {found.chosen:5.2f}"
    )


def _total(found: Sequence[Summary]) -> str:
    if not found:
        return "no program was compared"
    mean = statistics.mean(s.correlation for s in found)
    autos, chosen = ([getattr(s, key) for s in found] for key in ("automatic", "chosen"))
    return (
        f"{len(found)} programs: mean correlation {mean:.2f}, median "
        f"{statistics.median(s.correlation for s in found):.2f}; times over the fastest: automatic "
        f"{statistics.geometric_mean(autos):.2f} ({sum(a <= 1.1 for a in autos)} within 1.1), "
        f"least predicted {statistics.geometric_mean(chosen):.2f} "
        f"({sum(c <= 1.1 for c in chosen)} within 1.1)"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", po.PolyoptWarning)
    raise SystemExit(main())
