"""Random steps that change where values are kept.

In: a seeded `Random`, a schedule.  Out: a step that mostly names arrays, loops and sizes there are.
A refusal of one is confirmed by enumeration.
"""

from __future__ import annotations

from random import Random

from polyopt.errors import IllegalSchedule
from polyopt.ir.scop import Array, Role
from polyopt.schedule.data import ValueWitness
from polyopt.schedule.data_steps import DataStep
from polyopt.schedule.rebase import rebased
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import bands
from polyopt.transforms import (
    Contract,
    Dimension,
    Expand,
    LayOut,
    Pack,
    Rearrange,
    Recompute,
    Rfactor,
    read_dimension,
)
from tests.oracle.judge import confirm_witness
from tests.oracle.moved import confirm_moved


def random_data_step(rng: Random, schedule: Schedule) -> Transform | None:
    """Return a step that changes data, or None where there is nothing to change."""
    found = list(bands(schedule.tree))
    arrays = list(schedule.scop.arrays)
    if not found or not arrays:
        return None
    band = rng.choice(found)

    def loop() -> str:
        return f"{band.label}[{rng.randrange(len(band.members))}]"

    temps = [array for array in arrays if array.role is Role.TEMP]
    array = rng.choice(arrays)
    temp = rng.choice(temps) if temps else array
    sums = [s.name for s in schedule.scop.statements if s.reduction is not None]
    match rng.randrange(9):
        case 0 | 1:
            loops = (loop(),) if rng.random() < 0.7 else (loop(), loop())
            return Expand(rng.choice((array, temp)).name, tuple(dict.fromkeys(loops)))
        case 3 if temp.shape:
            return LayOut(temp.name, _dimensions(rng, temp))
        case 2 | 3:
            sizes = tuple(rng.choice((0, 0, 1, 2, 3, 4)) for _ in temp.shape)
            return Contract(temp.name, sizes if rng.random() < 0.5 else ())
        case 4 | 5:
            return Pack(array.name, loop())
        case 6:
            return Recompute(temp.name, loop())
        case 7 if array.shape:
            label = rng.choice(list(bands(schedule.tree))).label
            return Rearrange(array.name, label, _dimensions(rng, array))
        case _:
            name = rng.choice(sums) if sums and rng.random() < 0.9 else "S0"
            return Rfactor(name, loop())


def _dimensions(rng: Random, array: Array) -> tuple[Dimension, ...]:
    texts = []
    for number in range(len(array.shape)):
        size = rng.choice((2, 3, 8))
        whole = [str(number)]
        texts += rng.choice(
            (whole, whole, [f"{number}+{size}"], [f"{number}/{size}", f"{number}%{size}"])
        )
    if len(array.shape) > 1 and rng.random() < 0.3:
        texts = [f"1+{rng.choice((1, 2))}*0", *map(str, range(2, len(array.shape))), "0"]
    rng.shuffle(texts)
    found = [read_dimension(text) for text in texts]
    return tuple(dimension for dimension in found if dimension is not None)


def confirm_refusal(step: DataStep, schedule: Schedule, refusal: IllegalSchedule) -> bool:
    """Assert that a refused data step breaks something; tell whether there was a witness."""
    str(refusal)
    witness = refusal.witness
    match witness:
        case None:
            return False
        case ValueWitness():
            confirm_moved(schedule.scop, schedule.tree, step, witness)
        case _:
            made = step.renew(schedule.tree, schedule.scop)
            confirm_witness(rebased(made.scop, made.tree), witness, made.tree)
    return True
