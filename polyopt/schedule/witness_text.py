"""Format a witness as text and as a record: the example, the values, both source lines.

In: a `Witness` and its Scop.  Out: lines for a person, or plain data for programs.
"""

from __future__ import annotations

from typing import Any

import islpy as isl

from polyopt.ir.expr import Param, walk
from polyopt.ir.names import params
from polyopt.ir.parameters import param_names
from polyopt.ir.scop import Scop, Statement
from polyopt.ir.showing import show
from polyopt.schedule.legality import Fault
from polyopt.schedule.replay import How, Number, Replay
from polyopt.schedule.witness import LOST, Witness

_VERBS = {"flow": ("writes", "reads"), "anti": ("reads", "writes"), "output": ("writes", "writes")}
_FAULTS = {
    Fault.REVERSED: "the second would run before the first",
    Fault.UNORDERED: "nothing would order the two",
    Fault.CONCURRENT: "the two would run at the same time",
    Fault.LOST: "it would not run exactly once",
}


def describe(witness: Witness, scop: Scop, step: str = "") -> tuple[str, ...]:
    """Return the witness as lines: the example, the values, the kind, both source lines.

    `step` is the refused step, named beside values.
    """
    first, second = scop.statement(witness.source[0]), scop.statement(witness.target[0])
    values = () if witness.replay is None else (_values(witness, witness.replay, scop, step),)
    kind = () if witness.kind == LOST else (_kind(witness),)
    lines = dict.fromkeys((source_line(first), source_line(second)))
    return (example(witness, scop), *values, *kind, *lines)


def example(witness: Witness, scop: Scop) -> str:
    """Return one line: sizes, both iterations, the cell, what goes wrong."""
    first, second = scop.statement(witness.source[0]), scop.statement(witness.target[0])
    named = _sizes_of(scop, witness)
    sizes = ", ".join(f"{name}={value}" for name, value in witness.params if name in named)
    head = f"example{': ' + sizes if sizes else ''}: "
    cell = f"{witness.array}{_subscript(witness.cell)}"
    here = _iteration(first, witness.source[1])
    if witness.kind == LOST:
        return f"{head}{here} writes {cell}; {_FAULTS[witness.fault]}"
    verbs = _VERBS[witness.kind]
    there = _iteration(second, witness.target[1])
    if here == there:
        there = "the same iteration"
    pair = f"{here} {verbs[0]} {cell}, then {there} {verbs[1]} it"
    return f"{head}{pair}; {_FAULTS[witness.fault]}"


def _sizes_of(scop: Scop, witness: Witness) -> frozenset[str]:
    """Return the sizes that the witness's loops, subscripts and array depend on."""
    found = {
        part.name
        for extent in scop.array(witness.array).shape
        for part in walk(extent)
        if isinstance(part, Param)
    }
    for name in (witness.source[0], witness.target[0]):
        statement = scop.statement(name)
        for position, param in enumerate(param_names(statement.domain)):
            if statement.domain.involves_dims(isl.dim_type.param, position, 1):
                found.add(param)
        found |= params(statement.target, statement.value)
    return frozenset(found)


def _kind(witness: Witness) -> str:
    may = ""
    if not witness.exact:
        may = f" (a may-dependence: the subscript of {witness.because} is not affine)"
    pair = f"{witness.source[0]} -> {witness.target[0]}"
    return f"kind: {witness.kind} dependence on {witness.array}, {pair}{may}"


def _values(witness: Witness, replay: Replay, scop: Scop, step: str) -> str:
    if replay.reason:
        return f"values: not replayed: {replay.reason}"
    named = f"after {step}" if step else replay.how.value
    other = named if replay.how is How.REFUSED else replay.how.value
    if replay.change is None:
        return (
            f"values: equal in both orders on {replay.sets} sets of small data; "
            "the order is kept because other data may differ"
        )
    change = replay.change
    cell = f"{change.array}{_subscript(change.cell)}"
    before, after = _numbers(change.before, change.after)
    at = ""
    if replay.params != witness.params:
        shown = _sizes_of(scop, witness)
        sizes = (f"{name}={value}" for name, value in replay.params if name in shown)
        at = f" at {', '.join(sizes)}"
    return f"values{at}: {cell} is {before} in the source's order, {after} {other}"


def _numbers(before: Number, after: Number) -> tuple[str, str]:
    """Return both values as text, with six digits if these differ."""
    if not isinstance(before, float) or not isinstance(after, float):
        return str(before), str(after)
    if before == round(before, 6) and after == round(after, 6):
        return str(before), str(after)
    short = f"{before:.6g}", f"{after:.6g}"
    return short if short[0] != short[1] else (repr(before), repr(after))


def _subscript(cell: tuple[int, ...] | None) -> str:
    if cell is None:
        return "[…]"
    return f"[{', '.join(map(str, cell))}]" if cell else ""


def _iteration(statement: Statement, instance: tuple[int, ...]) -> str:
    values = ", ".join(f"{n}={v}" for n, v in zip(statement.iters, instance, strict=True))
    return f"iteration ({values})" if values else f"statement {statement.name}"


def source_line(statement: Statement) -> str:
    """Return where a statement stands and its text."""
    where = str(statement.loc) if statement.loc is not None else statement.name
    text = statement.text or f"{show(statement.target)} = {show(statement.value)}"
    return f"{where}: {text}"


def to_record(witness: Witness, scop: Scop) -> dict[str, Any]:
    """Return the witness as JSON-ready data."""
    replayed = witness.replay
    change = None if replayed is None else replayed.change
    return {
        "kind": witness.kind,
        "fault": witness.fault.value,
        "array": witness.array,
        "cell": None if witness.cell is None else list(witness.cell),
        "sizes": dict(witness.params),
        "source": _instance_record(scop, witness.source),
        "target": _instance_record(scop, witness.target),
        "exact": witness.exact,
        "because": witness.because,
        "values": None
        if replayed is None
        else {
            "sets": replayed.sets,
            "reason": replayed.reason,
            "how": replayed.how.value,
            "sizes": dict(replayed.params),
            "array": None if change is None else change.array,
            "cell": None if change is None else list(change.cell),
            "before": None if change is None else _plain(change.before),
            "after": None if change is None else _plain(change.after),
        },
    }


def _plain(value: Number) -> Number | str:
    """Return a number as JSON has it; NaN, infinities and complex numbers as text."""
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    return str(value)


def _instance_record(scop: Scop, instance: tuple[str, tuple[int, ...]]) -> dict[str, Any]:
    statement = scop.statement(instance[0])
    loc = statement.loc
    return {
        "statement": statement.name,
        "iteration": dict(zip(statement.iters, instance[1], strict=True)),
        "text": statement.text,
        "file": None if loc is None else loc.file,
        "line": None if loc is None else loc.line,
        "column": None if loc is None else loc.col,
    }
