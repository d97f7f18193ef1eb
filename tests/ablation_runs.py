"""Compile programs with and without rules of the automatic schedule for CPUs, and time both.

In: rules, the programs that each decides for, levels of instruction sets.  Out: rows of
`tests.ablation`: predicted times, times at one thread.  Results are compared before anything is
timed.  `measure` is apart from `compile_all`, so that compilers that run meanwhile do not disturb.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import statistics
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sympy

from polyopt.building import Built, build_kernel
from polyopt.compiled import exact_values, restore
from polyopt.errors import PolyoptError
from polyopt.ir.interp import bind_sizes
from polyopt.ir.loops import LoopFunction
from polyopt.ir.source import ArrayArg, Signature, Source
from polyopt.machine import Machine, Rates
from polyopt.measuring.rates import kept_rates, measure_rates
from polyopt.model.amount import Amount
from polyopt.model.predict import predict
from polyopt.pipeline import machine_for
from polyopt.runtime.check import check_call
from polyopt.runtime.store import open_store
from polyopt.runtime.toolchain import find_compiler
from polyopt.targets import Options, detect_machine
from polyopt.tuning.timing import Copies
from tests.ablation import BASE, Row, without
from tests.heldout import PROGRAMS
from tests.hostile.stages import Settled
from workloads import registry

HELD_OUT = "heldout"
"""The form of a program of `tests/heldout`."""
SECONDS = 3600.0
"""The budget of a compilation: what is left out must not depend on how busy the machine is."""
SHORTEST, LONGEST = 0.04, 1.0  # seconds of a call that is timed
FEW = 8  # a size below stays as it is when a program's sizes grow
BYTES = 1 << 29  # of the arguments of a held-out program, at most
ROUNDS, SPAN = 9, 3.0  # calls of each schedule at most, seconds of all calls of a program
HOPELESS = 4.0  # times as long as with all rules: called once more
BOUND = 1e-9  # of the largest element, for float64; `_bound` says the others'


# -- programs -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Work:
    program: str
    rules: tuple[str, ...]
    mode: str
    level: str
    cache: Path
    rates: Rates

    @property
    def options(self) -> Options:
        changed = {"fp": self.mode, "target": "c", "threads": 1, "budget": SECONDS}
        return Options().changed(changed)


@dataclass(frozen=True, slots=True)
class _Made:
    """A kernel with the signature that `Settled` asks for."""

    built: Built

    @property
    def signature(self) -> Signature:
        assert isinstance(self.built.source, Source)
        return self.built.source.signature


def _kernel(work: _Work, rule: str) -> Settled:
    """Return the program's kernel without a rule; its code is kept in a cache of its own."""
    name, form = work.program.split(":")
    function = PROGRAMS[name].function if form == HELD_OUT else registry.get(name).forms[form]

    def make(types: Any) -> _Made:
        os.environ["POLYOPT_CACHE_DIR"] = str(work.cache / work.level / work.mode / rule)
        with without(rule):
            return _Made(build_kernel(function, types, work.options))

    return Settled(function, make)


def _grown(program: str) -> Iterator[tuple[dict[str, int], tuple[Any, ...]]]:
    """Yield sizes and arguments of a program, from small to large."""
    name, form = program.split(":")
    if form == HELD_OUT:
        one = PROGRAMS[name]
        for doubling in range(14):
            sizes = _doubled(one.sizes, doubling)
            dims = (getattr(a, "dims", ()) for a in one.function.__annotations__.values())
            cells = (np.prod([float(sizes.get(d) or int(d)) for d in dim]) for dim in dims)
            if 8 * sum(cells) > BYTES:
                return
            yield sizes, replace(one, sizes=sizes).arguments()
        return
    workload = registry.get(name)
    for dataset in ("MEDIUM", "LARGE"):
        if dataset in workload.sizes:
            yield workload.at(dataset), tuple(workload.make(dataset).values())


def _doubled(sizes: Mapping[str, int], times: int) -> dict[str, int]:
    """Return sizes several times twice as large; few stay few, and `N - 2` follows `N`."""
    own = {name: value for name, value in sizes.items() if name.isidentifier()}
    is_small = all(value < FEW for value in own.values())
    grown = {n: v << times if is_small or v >= FEW else v for n, v in own.items()}
    return {
        name: grown[name] if name in grown else int(sympy.sympify(name, locals=grown))
        for name in sizes
    }


def _called(kernel: Settled, values: tuple[Any, ...]) -> tuple[list[Any], float]:
    """Return results and written arguments of a call, and its seconds."""
    made, plain = kernel.of(values)
    own = copy.deepcopy(plain)
    exact = exact_values(made.signature, own, check_call(made.signature, own).symbols)
    begun = time.thread_time()
    result = made.built.loaded.call(*exact)
    seconds = time.thread_time() - begun
    if result is NotImplemented:
        raise AssertionError("the kernel refuses a call that fits")
    return list(_flat((restore(result, own, values), *own))), seconds


def _flat(values: Any) -> Iterator[Any]:
    for value in values if isinstance(values, tuple) else (values,):
        if isinstance(value, tuple):
            yield from _flat(value)
        elif value is not None:
            yield value


def _sized(kernel: Settled, program: str) -> tuple[dict[str, int], tuple[Any, ...]]:
    """Return the sizes, and arguments of them, at which calls take long enough, or the largest."""
    found = None
    for sizes, values in _grown(program):
        seconds = min(_called(kernel, values)[1] for _ in range(2))
        if found is not None and seconds > LONGEST:
            return found
        found = sizes, values
        if seconds > (SHORTEST if program.endswith(HELD_OUT) else LONGEST / 8):
            return found
    assert found is not None
    return found


def _values(program: str, sizes: Mapping[str, int]) -> tuple[Any, ...]:
    name, form = program.split(":")
    if form == HELD_OUT:
        return replace(PROGRAMS[name], sizes=dict(sizes)).arguments()
    return tuple(registry.get(name).make(sizes).values())


# -- compiling ----------------------------------------------------------------------------------


def _compiled(work: _Work) -> list[Row]:
    """Return a row for each rule of a program; kernels that differ are kept for timing."""
    base = _kernel(work, BASE)
    try:
        sizes, values = _sized(base, work.program)
        text, expected = _made(base, values)
    except PolyoptError as error:
        row = Row(
            "", work.program, work.level, work.mode, False, {}, (0.0, 0.0), problem=str(error.code)
        )
        return [replace(row, rule=rule) for rule in work.rules]
    rows = []
    for rule in work.rules:
        row = Row(rule, work.program, work.level, work.mode, False, sizes, (0.0, 0.0))
        try:
            other, seconds = _made(_kernel(work, rule), values, work.rates)
            with_all = _made(base, values, work.rates)[1]
            rows.append(replace(row, is_same=other == text, predicted=(with_all, seconds)))
        except PolyoptError as error:
            rows.append(replace(row, problem=str(error.code)))
    return rows


def _made(
    kernel: Settled, values: tuple[Any, ...], rates: Rates | None = None
) -> tuple[str, float]:
    """Return what is emitted, and the predicted seconds of a call, 0 without stages or rates."""
    made, plain = kernel.of(values)
    stages = made.built.stages
    seconds = 0.0
    if stages is not None and rates is not None:
        machine = machine_for(Options().changed({"threads": 1}), detect_machine())
        seconds = _predicted(stages.loops, made.signature, plain, machine, rates)
    return made.built.source.text, seconds


def _predicted(
    loops: LoopFunction, signature: Signature, values: Any, machine: Machine, rates: Rates
) -> float:
    sizes = bind_sizes(signature, values)
    amounts = {p: Amount(sizes[p], sympy.Symbol(p)) for p in loops.params if p in sizes}
    try:
        return predict(loops, amounts, machine, rates).seconds
    except (PolyoptError, KeyError):
        return 0.0


def compile_all(
    decisions: Mapping[str, Sequence[str]],
    rules: Sequence[str],
    level: str,
    mode: str,
    *,
    known: Collection[tuple[str, str]],
    most: int,
    cache: Path,
    jobs: int,
) -> Iterator[Row]:
    """Yield rows, not timed yet, for at most `most` programs that each rule decides for.

    `decisions` are those of `tests.rules`: programs by rule, in a mode; pairs that are `known`
    already are left out.  `cache` is a folder for kernels.
    """
    programs: dict[str, list[str]] = {}
    for rule in rules:
        for program in _spread(decisions.get(rule, ()), most):
            if (rule, program) in known:
                continue
            programs.setdefault(program, []).append(rule)
    _choose(level)
    rates = _rates()
    work = [
        _Work(program, tuple(mine), _mode(program, mode), level, cache, rates)
        for program, mine in programs.items()
    ]
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=8) as pool:
        for rows in pool.imap_unordered(_compiled, work):
            yield from rows


def _spread(programs: Sequence[str], most: int) -> list[str]:
    """Return some of the programs, evenly chosen."""
    count = len(programs)
    return list(programs) if count <= most else [programs[n * count // most] for n in range(most)]


def _mode(program: str, mode: str) -> str:
    """Return the mode that a program is compiled in: a held-out one has its own."""
    name, form = program.split(":")
    return PROGRAMS[name].fp if form == HELD_OUT else mode


def _choose(level: str) -> None:
    if level == "native":
        os.environ.pop("POLYOPT_MACHINE", None)
    else:
        os.environ["POLYOPT_MACHINE"] = level


def _rates() -> Rates:
    """Return the machine's rates, measured if they are not kept."""
    os.environ.pop("POLYOPT_CACHE_DIR", None)
    store = open_store()
    compiler, machine = find_compiler(store, Options().compiler), detect_machine()
    return kept_rates(machine, store, compiler) or measure_rates(machine, store, compiler)


# -- timing -------------------------------------------------------------------------------------


def _timed(work: tuple[_Work, Mapping[str, int]]) -> dict[str, tuple[tuple[float, float], int]]:
    """Return for each rule the seconds with and without it, and rounds; negative where wrong."""
    own, sizes = work
    values = _values(own.program, sizes)
    base = _kernel(own, BASE)
    expected, once = _called(base, values)
    others = {rule: _kernel(own, rule) for rule in own.rules}
    wrong = {
        rule: ((0.0, 0.0), -1)
        for rule, kernel in others.items()
        if not _agree(expected, _called(kernel, values)[0])
    }
    made, plain = base.of(values)
    written = [
        n for n, a in enumerate(made.signature.arguments) if isinstance(a, ArrayArg) and a.written
    ]
    exact = exact_values(made.signature, plain, check_call(made.signature, plain).symbols)
    copies = Copies(tuple(exact), written, time.thread_time)  # others on the machine add nothing
    calls = {BASE: made.built.loaded.call}
    for rule, kernel in others.items():
        if rule not in wrong:
            calls[rule] = kernel.of(values)[0].built.loaded.call
    first = {rule: copies.seconds(call) for rule, call in calls.items()}
    live = {r: c for r, c in calls.items() if first[r] < HOPELESS * first[BASE]}
    rounds = max(3, min(ROUNDS, int(SPAN / max(sum(first[r] for r in live), 1e-6))))
    found: dict[str, list[float]] = {rule: [] for rule in live}
    for _ in range(rounds):
        for rule, call in live.items():
            found[rule].append(copies.seconds(call))
    slow = {r: [copies.seconds(calls[r])] for r in calls.keys() - live.keys()}
    medians = {rule: statistics.median(times) for rule, times in {**found, **slow}.items()}
    return wrong | {
        rule: ((medians[BASE], medians[rule]), rounds) for rule in calls if rule != BASE
    }


def _agree(one: list[Any], other: list[Any]) -> bool:
    """Tell whether two lists of results are equal but for roundings."""
    return len(one) == len(other) and all(map(_are_close, one, other))


def _are_close(one: Any, other: Any) -> bool:
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype.kind in "iub":
        return np.array_equal(a, b)
    finite = a[np.isfinite(a)]
    scale = float(np.abs(finite).max()) if finite.size else 1.0
    return np.allclose(a, b, rtol=1e-3, atol=_bound(a.dtype) * max(scale, 1.0), equal_nan=True)


def _bound(dtype: np.dtype[Any]) -> float:
    return BOUND if dtype.itemsize > 4 else {4: 1e-4, 2: 2e-2}.get(dtype.itemsize, 1e-4)


def measure(rows: Sequence[Row], cache: Path, seconds: float) -> Iterator[Row]:
    """Yield the open rows timed, until `seconds` are over; each program in a process of its own."""
    end = time.monotonic() + seconds
    programs: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.is_open:
            programs.setdefault((row.level, row.program, row.mode), []).append(row)
    for (level, program, mode), mine in programs.items():
        if time.monotonic() > end:
            return
        _choose(level)
        names = tuple(row.rule for row in mine)
        work = _Work(program, names, mode, level, cache, _rates())
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found = pool.apply(_timed, ((work, mine[0].sizes),))
        for row in mine:
            times, rounds = found[row.rule]
            wrong = "the results differ" if rounds < 0 else ""
            yield replace(row, seconds=times, rounds=max(rounds, 0), problem=wrong)
