"""Random statements on whole arrays: temporaries, slices, masks, reductions, branches.

In: a seeded `random.Random`.  Out: lines that NumPy runs, in `Statements.lines`.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from tests.properties.numpy_case import ArraySpec, Shape
from tests.properties.numpy_expressions import Expressions, Known, shape_text
from tests.properties.numpy_trial import DTYPES, PROFILES, SHAPES, Trial, shape_like
from tests.properties.random_sources import Line


class Statements:
    """What is known so far, and rules that draw one statement each."""

    def __init__(self, rng: Random, beyond: bool) -> None:
        self.rng = rng
        self.beyond = beyond
        self.profile = rng.choice(PROFILES)
        count = rng.choice((1, 2, 2, 3, 3, 4))
        shapes = [rng.choice(SHAPES) for _ in range(count)]
        if not any("N" in s for s in shapes):
            shapes[0] = ("N",)
        specs = [
            ArraySpec(name, rng.choice(DTYPES[self.profile]), shape)
            for name, shape in zip("ABCDE", shapes, strict=False)
        ]
        if beyond and rng.random() < 0.6:
            size = rng.choice([s for shape in shapes for s in shape if s in "NM"])
            specs.append(ArraySpec("I", "int64", (rng.choice(("N", "M", size)),), size))
        self.arrays = tuple(specs)
        scalars: list[tuple[str, Any]] = []
        if rng.random() < 0.6:
            scalars.append(("alpha", 2 if self.profile == "int" else 1.25))
        if rng.random() < 0.3:
            scalars.append(("steps", 3))
        if rng.random() < 0.15:
            scalars.append(("flag", rng.random() < 0.5))
        self.scalars = tuple(scalars)
        self.known = Known(
            {a.name: tuple((s, 0) for s in a.shape) for a in self.arrays},
            {a.name: a.dtype for a in self.arrays},
            {name: {bool: "b", int: "i", float: "f"}[type(v)] for name, v in scalars},
            (),
            {a.name: a.index_of for a in self.arrays if a.index_of},
        )
        self.out = Expressions(rng, self.known, self.profile, beyond)
        self.trial = Trial(self.arrays, self.scalars)
        self.temps = 0
        self.returned = ""
        self.lines: list[Line] = []

    def add(self, lines: tuple[Line, ...]) -> bool:
        """Take the lines if NumPy runs them."""
        if not self.trial.run(lines):
            return False
        self.lines += lines
        for name in self.known.shapes:
            value = self.trial.space.get(name)
            if isinstance(value, np.ndarray):
                self.known.dtypes[name] = value.dtype.name
        return True

    # -- whole arrays -----------------------------------------------------------------------------

    def some_shape(self) -> Shape:
        shape = self.known.shapes[self.rng.choice(list(self.known.shapes))]
        if self.rng.random() < 0.35:
            cuts = (0, 0, 1, 2)
            shape = tuple(
                (s, cut + self.rng.choice(cuts) if s in "NM" else cut) for s, cut in shape
            )
        elif self.rng.random() < 0.2:
            sizes = sorted({s for dims in self.known.shapes.values() for s, _ in dims if s in "NM"})
            shape = tuple((self.rng.choice(sizes), 0) for _ in range(self.rng.choice((1, 2, 2))))
        return shape

    def temporary(self) -> bool:
        shape = self.some_shape()
        old = [n for n in self.known.shapes if n[0] == "t"]
        again = old and self.rng.random() < 0.2
        name = self.rng.choice(old) if again else f"t{self.temps}"
        roll = self.rng.random()
        if roll < 0.25:
            make = self.rng.choice(("zeros", "ones", "empty"))
            dtype = self.rng.choice(DTYPES[self.profile])
            text = f"np.{make}({shape_text(shape)}, dtype=np.{dtype})"
            lines = [Line(f"{name} = {text}")]
            if make == "empty" or self.rng.random() < 0.5:
                lines.append(Line(f"{name}[...] = {self.out.array(shape, 2)}"))
        elif roll < 0.35:
            source = self.out.own(shape)
            lines = [Line(f"{name} = {source}{self.rng.choice(('.copy()', '', ' + 0'))}")]
        else:
            lines = [Line(f"{name} = {self.out.array(shape, 3)}")]
        if not self.trial.run(tuple(lines)):
            return False
        value = self.trial.space[name]
        self.lines += lines
        self.temps += not again
        self.known.shapes.pop(name, None)
        self.known.numbers.pop(name, None)
        if not isinstance(value, np.ndarray) or not value.ndim:
            self.known.numbers[name] = np.asarray(value).dtype.kind
            return True
        found = shape_like(value.shape, shape)
        if found is None:
            self.lines.pop() if len(lines) == 1 else None
            return len(lines) > 1
        self.known.shapes[name] = found
        self.known.dtypes[name] = value.dtype.name
        return True

    def target(self) -> tuple[str, str, Shape]:
        """Return a target, its subscript and the shape of that part."""
        rng = self.rng
        name = rng.choice([n for n in self.known.shapes if n not in self.known.indices])
        shape = self.known.shapes[name]
        roll = rng.random()
        if roll < 0.3:
            return name, rng.choice(("[:]", "[...]", "[:]")), shape
        if roll < 0.45:
            dim = rng.randrange(len(shape))
            parts = [":"] * len(shape)
            parts[dim] = self.out.subscript(shape[dim])
            return name, f"[{', '.join(parts)}]", shape[:dim] + shape[dim + 1 :]
        if roll < 0.55 and shape[0] == ("N", 0):
            return name, f"[::{rng.choice(('2', '-2', '2'))}]", (("H", 0), *shape[1:])
        if roll < 0.65:
            return name, "[::-1]", shape
        parts, inner = [], []
        for size, cut in shape:
            low, high = (rng.randint(0, 2), rng.randint(0, 2)) if size in "NM" else (0, 0)
            parts.append(f"{low or ''}:{f'-{high}' if high else ''}")
            inner.append((size, cut + low + high))
        return name, f"[{', '.join(parts)}]", tuple(inner)

    def half(self, shape: Shape) -> str:
        """Return something of a shape that begins with H, which is every second element."""
        full = (("N", 0), *shape[1:])
        text = self.out.whole_leaf(full) or self.out.number(0)
        if text in self.known.shapes:
            text = f"{text}[::{self.rng.choice(('2', '-2'))}]"
            return f"{text} {self.rng.choice(('+', '*'))} {self.out.number(0)}"
        return self.out.number(1)

    def value(self, shape: Shape, depth: int = 2) -> str:
        if shape and shape[0][0] == "H":
            return self.half(shape)
        return self.out.array(shape, depth)

    def store(self) -> bool:
        name, part, shape = self.target()
        return self.add((Line(f"{name}{part} = {self.value(shape)}"),))

    def augmented(self) -> bool:
        rng = self.rng
        name, part, shape = self.target()
        op = rng.choice(("+=", "-=", "*=", "+=", "//=", "/="))
        if rng.random() < 0.25:
            part, shape = "", self.known.shapes[name]
        if op in ("//=", "/="):
            divisor = rng.choice(("2", "3", f"np.abs({name}{part}) + 1"))
            return self.add((Line(f"{name}{part} {op} {divisor}"),))
        if rng.random() < 0.3 and shape and shape == self.known.shapes[name]:
            size, cut = shape[0]
            if size in "NM":
                left, right = rng.choice(((":-1", "1:"), ("1:", ":-1"), ("2:", ":-2")))
                return self.add((Line(f"{name}[{left}] {op} {name}[{right}]"),))
        return self.add((Line(f"{name}{part} {op} {self.value(shape)}"),))

    def masked(self) -> bool:
        rng = self.rng
        name = rng.choice([n for n in self.known.shapes if n not in self.known.indices])
        shape = self.known.shapes[name]
        mask = self.out.condition(shape)
        lines: list[Line] = []
        if rng.random() < 0.4:
            mask_name = "mask"
            lines.append(Line(f"{mask_name} = {mask}"))
            mask = mask_name
        roll = rng.random()
        if roll < 0.5:
            lines.append(Line(f"{name}[{mask}] = {self.out.number(1)}"))
        elif roll < 0.75:
            lines.append(
                Line(f"{name}[{mask}] {rng.choice(('+=', '*=', '-='))} {self.out.number(1)}")
            )
        elif roll < 0.9:
            other = rng.choice([n for n, s in self.known.shapes.items() if s == shape])
            if mask != "mask":
                lines.append(Line(f"mask = {mask}"))
            lines.append(
                Line(f"{name}[mask] = {other}[mask] {rng.choice(('+', '*'))} {self.out.number(0)}")
            )
        else:
            lines.append(Line(f"{name}[...] = np.where({mask}, {name}, {self.out.number(0)})"))
        return self.add(tuple(lines))

    def reduction(self) -> bool:
        rng = self.rng
        name = f"s{len(self.known.numbers)}"
        roll = rng.random()
        if roll < 0.7:
            text = self.out.whole()
        elif roll < 0.8:
            text = f"float({self.out.element()})" if self.profile != "complex" else self.out.whole()
        elif roll < 0.9:
            array = rng.choice(list(self.known.shapes))
            text = rng.choice(
                (f"{array}.size", f"{array}.ndim", f"len({array})", f"{array}.shape[0] * 2")
            )
        else:
            test = f"{self.out.number(1)} {rng.choice(('<', '>'))} {self.out.number(1)}"
            text = f"{self.out.number(1)} if {test} else {self.out.number(1)}"
        if not self.add((Line(f"{name} = {text}"),)):
            return False
        self.known.numbers[name] = np.asarray(self.trial.space[name]).dtype.kind
        return True

    def swap(self) -> bool:
        names = list(self.known.shapes)
        one = self.rng.choice(names)
        two = [n for n in names if n != one and self.known.shapes[n] == self.known.shapes[one]
               and self.known.dtypes[n] == self.known.dtypes[one]
               and n not in self.known.indices and one not in self.known.indices]  # fmt: skip
        if not two:
            return False
        other = self.rng.choice(two)
        shape = self.known.shapes[one]
        body = (
            Line(f"{other}[1:-1] = {one}[1:-1] + {one}[:-2]") if shape[0][0] in "NM"
            else Line(f"{other}[:] = {one} + 1"),
            Line(f"{one}, {other} = {other}, {one}"),
        )  # fmt: skip
        return self.add((Line(f"for step in range({self.rng.choice(('2', '3'))}):", body),))

    def out_argument(self) -> bool:
        name = self.rng.choice([n for n in self.known.shapes if n not in self.known.indices])
        shape = self.known.shapes[name]
        func = self.rng.choice(("add", "multiply", "subtract", "maximum"))
        self.out.unsigned |= func == "maximum"
        values = f"{self.out.own(shape)}, {self.out.array(shape, 1)}"
        return self.add((Line(f"np.{func}({values}, out={name})"),))

    def unpacked(self) -> bool:
        """Several targets at once, from a shape or from expressions."""
        rng = self.rng
        twos = [n for n, s in self.known.shapes.items() if len(s) == 2]
        if twos and rng.random() < 0.5:
            done = self.add((Line(f"n0, n1 = {rng.choice(twos)}.shape"),))
            if done:
                self.known.numbers |= {"n0": "i", "n1": "i"}
            return done
        one, two = f"s{len(self.known.numbers)}", f"s{len(self.known.numbers) + 1}"
        done = self.add((Line(f"{one}, {two} = {self.out.number(1)}, {self.out.number(1)}"),))
        if done:
            for name in (one, two):
                self.known.numbers[name] = np.asarray(self.trial.space[name]).dtype.kind
        return done

    def early(self) -> bool:
        """Return early, the same kind of result as at the end: nothing or one array."""
        rng = self.rng
        if any("return" in line.text for line in self.lines):
            return False
        test = rng.choice(("N < 2", "N == 0", "N > 40"))
        names = [n for n in self.known.shapes if n[0] in "ABC"]
        name = rng.choice(names)
        self.lines.append(Line(f"if {test}:", (Line(f"return {name}"),)))
        self.returned = f"{name}{rng.choice((' * 2', '', ' + 1'))}"
        return True
