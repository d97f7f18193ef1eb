"""What becomes of NumPy's functions in a kernel, for people: groups, names, limits.

In: the tables of functions.  Out: `GROUPS`, one row a name, and the table of `docs/numpy.md`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.frontend.numpy import table
from polyopt.frontend.numpy.callback_table import LIBRARY
from polyopt.frontend.numpy.table import Group, How

MEANING = {
    How.COMPILED: "loops of the kernel, scheduled with everything around them",
    How.PREDICATED: "loops over all elements whose statements ask a condition or a subscript first",
    How.CALLED: "the kernel stops, the library's own function runs, the kernel goes on",
    How.REFUSED: "an error with a code, when the function is compiled",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One function."""

    name: str
    group: str
    how: str
    limits: str


def _groups() -> tuple[Group, ...]:
    ours = table.functions()
    shorts = (name.removeprefix("numpy.") for name in LIBRARY)
    called = sorted(short for short in shorts if short not in ours)
    rest = _refused({*ours, *called})
    return (
        *table.GROUPS,
        Group(
            "library calls",
            How.CALLED,
            {"numpy.callbacks": " ".join(called)},
            "operands and results lie in memory",
        ),
        Group(
            "not in a kernel",
            How.REFUSED,
            {"": " ".join(rest)},
            "call them outside, or write them as loops",
        ),
    )


def _refused(known: set[str]) -> Iterator[str]:
    """Yield NumPy's other functions, by the names of its main namespace."""
    objects = {id(table.function_named(name)) for name in known}
    for name in dir(np):
        value = getattr(np, name, None)
        if name.startswith("_") or not callable(value) or isinstance(value, type):
            continue
        if id(value) not in objects:
            yield name


GROUPS = _groups()


def rows() -> Iterator[Row]:
    """Yield one row for every function that this version of NumPy has."""
    for group in GROUPS:
        for name in group.names:
            if name.startswith("scipy.") or table.function_named(name) is not None:
                yield Row(name, group.title, group.how.value, group.limits)


def markdown() -> str:
    """Return the tables of functions and methods for the documentation."""
    lines = ["| kind | how | functions | arguments and limits |", "| --- | --- | --- | --- |"]
    for group in GROUPS:
        if group.how is not How.REFUSED:
            names = " ".join(f"`{name}`" for name in group.names)
            lines.append(f"| {group.title} | {group.how.value} | {names} | {group.limits} |")
    methods = " ".join(f"`{name}`" for name in sorted(table.METHODS))
    return "\n".join([*lines, "", "Methods of arrays: " + methods + ".", ""])
