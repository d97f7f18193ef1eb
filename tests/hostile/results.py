"""Productions of what a program returns."""

from __future__ import annotations

from tests.hostile.arrays import array
from tests.hostile.grammar import PYTHON, Kind, Maker, production


def any_number(m: Maker) -> tuple[str, Kind]:
    """Return text of a number, and what it is."""
    family = m.rng.choices(PYTHON, (1, 4, 6, 0.3 + m.hostility))[0]
    return m.make(family, 2), Kind(family)


def give_back(m: Maker) -> str:
    """Return text for `return`: of one form in all of an ordinary program."""
    if m.chance(m.hostility):
        return m.make("result", 2)
    form = m.results
    if form.startswith("array"):
        return array(m, ("N",), 1) if form == "array" else f"{form[6:]}"
    return ", ".join(m.make(family, 2) for family in form.split())


@production("result", 4, leaf=True)
def one_name(m: Maker, depth: int) -> str:
    names = m.named(lambda kind: True)
    return m.rng.choice(names) if names else "0"


@production("result", 2)
def some_expression(m: Maker, depth: int) -> str:
    return any_number(m)[0]


@production("result", 1.5)
def several(m: Maker, depth: int) -> str:
    return ", ".join(m.make("result", 0) for _ in range(m.rng.randint(2, 4)))


@production("result", 0.8)
def array_expression(m: Maker, depth: int) -> str:
    return array(m, ("N",), 2)
