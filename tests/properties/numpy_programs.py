"""Random functions as people write them over NumPy arrays: whole arrays, loops, conditions.

In: a seeded `random.Random`.  Out: a `NumpyCase`.
Every statement is run by NumPy as it is drawn; one that raises, or makes huge values, is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.properties.numpy_case import NumpyCase
from tests.properties.numpy_loops import Loops
from tests.properties.numpy_trial import HELPERS
from tests.properties.random_sources import Line


def random_program(rng: Random, *, beyond: bool = False) -> NumpyCase:
    """Return a program of three to nine statements; `beyond`: with what no affine map describes."""
    return _Writer(rng, beyond).case()


class _Writer(Loops):
    """Draws a program statement by statement."""

    def case(self) -> NumpyCase:
        for size in ("N", "M"):
            found = [(a.name, a.shape.index(size)) for a in self.arrays if size in a.shape]
            if found:
                name, dim = self.rng.choice(found)
                form = f"{name}.shape[{dim}]" if dim or self.rng.random() < 0.6 else f"len({name})"
                self.add((Line(f"{size} = {form}"),))
        wanted, tries = self.rng.choice((2, 3, 3, 4, 5, 6)), 0
        start = len(self.lines)
        while len(self.lines) - start < wanted and tries < 40:
            tries += 1
            self.statement()
        self.lines += self.result()
        helpers = tuple(HELPERS[name] for name in sorted(self.out.helpers))
        exact = not self.out.loose or (self.profile == "int" and not self.out.divides)
        return NumpyCase(
            self.arrays, self.scalars, helpers, tuple(self.lines), exact, not self.out.unsigned
        )

    def statement(self) -> None:
        loose, unsigned = self.out.loose, self.out.unsigned
        rules: list[tuple[int, Callable[[], bool]]] = [
            (6, self.temporary), (5, self.store), (4, self.augmented), (3, self.masked),
            (4, self.reduction), (5, self.point_loop), (4, self.row_loop), (3, self.time_loop),
            (2, self.carried), (2, self.branch), (2, self.over_items), (1, self.swap),
            (1, self.out_argument), (1, self.early), (2, self.triangle), (1, self.unpacked),
            (2, self.called),
        ]  # fmt: skip
        if self.beyond:
            rules += [(3, self.scatter), (2, self.while_loop), (2, self.broken_loop)]
        (rule,) = self.rng.choices([r for _, r in rules], [w for w, _ in rules])
        if not rule():
            self.out.loose, self.out.unsigned = loose, unsigned

    def result(self) -> list[Line]:
        rng = self.rng
        if self.returned:
            return [Line(f"return {self.returned}")]
        temps = [n for n in (*self.known.shapes, *self.known.numbers) if n[0] in "tsn" and
                 n != "steps"]  # fmt: skip
        arrays = list(self.known.shapes)
        roll = rng.random()
        if temps and roll < 0.5:
            return [Line(f"return {rng.choice(temps)}")]
        if temps and roll < 0.75:
            return [Line(f"return {', '.join(rng.sample(temps, min(3, len(temps))))},")]
        if roll < 0.85:
            return [Line(f"return {rng.choice(arrays)}")]
        if roll < 0.95:
            return [Line(f"return {self.out.array(self.known.shapes[rng.choice(arrays)], 1)}")]
        return []
