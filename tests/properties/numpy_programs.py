"""Random functions as people write them over NumPy arrays: whole arrays, loops, conditions.

In: a seeded `random.Random`.  Out: a `NumpyCase`.
Every statement is run by NumPy as it is drawn; one that raises, or makes huge values, is left out.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from tests.properties.numpy_case import (
    PRELUDE,
    ArraySpec,
    NumpyCase,
    Shape,
    arguments,
    extent,
    printed,
)
from tests.properties.numpy_expressions import (
    Expressions,
    Known,
    LoopVariable,
    dim_text,
    shape_text,
)
from tests.properties.random_sources import Line

TRIAL = {"N": 6, "M": 5}
SHAPES: tuple[tuple[str, ...], ...] = (
    ("N",), ("N",), ("N",), ("M",), ("N", "M"), ("N", "M"), ("N", "N"), ("M", "N"), ("N", "3"),
    ("N", "M", "2"), ("3", "N", "M"), ("N", "N", "N"), ("2",),
)  # fmt: skip
DTYPES = {
    "float": ("float64",),
    "single": ("float32", "float32", "float64"),
    "int": ("int64", "int64", "int32"),
    "mixed": ("float64", "float32", "int32", "int64", "uint8", "bool", "int8", "uint16"),
    "complex": ("complex128", "float64", "complex64"),
}
PROFILES = ("float",) * 9 + ("int",) * 4 + ("mixed",) * 4 + ("single",) * 2 + ("complex",)
HELPERS = {
    "bump": Line("def bump(x, by=1):", (Line("x += by"),)),
    "smooth": Line(
        "def smooth(x):",
        (Line("for i in range(1, len(x)):", (Line("x[i] = x[i] + x[i - 1]"),)), Line("return x")),
    ),
    "limit": Line(
        "def limit(v, most=4):",
        (
            Line("if v > most:", (Line("return most"),)),
            Line("if v < -most:", (Line("return -most"),)),
            Line("return v"),
        ),
    ),
    "pair": Line("def pair(v, w):", (Line("return v + w, v - w"),)),
    "twice": Line("def twice(x):", (Line("return x + x"),)),
    "mix": Line(
        "def mix(x, y, weight=2):", (Line("z = x * weight"), Line("z = z + y"), Line("return z"))
    ),
    "shift": Line(
        "def shift(x):",
        (
            Line("y = np.zeros_like(x)"),
            Line("y[1:] = x[:-1]"),
            Line("return y"),
        ),
    ),
    "norm": Line(
        "def norm(x):",
        (
            Line("total = np.sum(np.abs(x))"),
            Line("if total > 1:", (Line("return x / total"),)),
            Line("return x / 2"),
        ),
    ),
}


def random_program(rng: Random, *, beyond: bool = False) -> NumpyCase:
    """Return a program of three to nine statements; `beyond`: with what no affine map describes."""
    return _Writer(rng, beyond).case()


class _Trial:
    """Runs the statements drawn so far at one size."""

    def __init__(self, arrays: tuple[ArraySpec, ...], scalars: tuple[tuple[str, Any], ...]) -> None:
        case = NumpyCase(arrays, scalars, (), (), True, True)
        values = arguments(case, TRIAL, 1, layouts=False)
        names = [a.name for a in arrays] + [name for name, _ in scalars]
        self.space: dict[str, Any] = dict(zip(names, values, strict=True))
        self.globals: dict[str, Any] = {}
        exec(PRELUDE + "".join("\n".join(printed((h,), 0)) + "\n" for h in HELPERS.values()),
             self.globals)  # fmt: skip

    def run(self, lines: tuple[Line, ...]) -> bool:
        """Run the lines; False and no effect where NumPy refuses or values grow."""
        before = {k: copy.copy(v) for k, v in self.space.items()}
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                both = self.globals | self.space
                exec("\n".join(printed(lines, 0)) + "\n", both)
            self.space = {k: v for k, v in both.items() if k not in self.globals}
            if all(_tame(v) for v in self.space.values()):
                return True
        except Exception:
            pass
        self.space = before
        return False


def _tame(value: Any) -> bool:
    if not isinstance(value, np.ndarray | np.generic | float | int | complex):
        return True
    array = np.asarray(value)
    return (
        array.dtype != object
        and bool(np.all(np.isfinite(array)))
        and bool(np.all(np.abs(array) < 1e6))
    )


class _Writer:
    """Draws a program statement by statement."""

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
        self.trial = _Trial(self.arrays, self.scalars)
        self.temps = 0
        self.returned = ""
        self.lines: list[Line] = []

    # -- the whole --------------------------------------------------------------------------------

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
        found = _shape_like(value.shape, shape)
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

    def called(self) -> bool:
        """Calls of helpers: in place on a part, of elements in a loop, with two results."""
        rng = self.rng
        name = rng.choice([n for n in self.known.shapes if n not in self.known.indices])
        shape = self.known.shapes[name]
        kind = rng.choice(("bump", "smooth", "limit", "pair"))
        self.out.helpers.add(kind)
        part = rng.choice(("", "[1:]", "[::-1]", "[::2]", "[..., 0]" if len(shape) > 1 else ""))
        if kind == "bump":
            return self.add((Line(f"bump({name}{part}{rng.choice(('', ', 2', ', by=3'))})"),))
        if kind == "smooth":
            return self.add((Line(f"smooth({name}{part})"),))
        if kind == "pair":
            other = rng.choice([n for n, s in self.known.shapes.items() if s == shape])
            target = f"{name}[...], {other}[...]" if other not in self.known.indices else "_, _"
            return self.add((Line(f"{target} = pair({name}, {other})"),))

        def body() -> list[Line]:
            loops = self.known.loops[-len(shape) :]
            left = f"{name}[{', '.join(loop.name for loop in loops)}]"
            return [Line(f"{left} = limit({self.out.element()}{rng.choice(('', ', 2'))})")]

        return self.add(tuple(self.nest(shape, body)))

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

    # -- loops ------------------------------------------------------------------------------------

    def inside(self, loop: LoopVariable, make: Callable[[], list[Line]]) -> list[Line]:
        """Draw lines that may use the loop's variable."""
        before = self.known.loops
        self.known.loops = (*before, loop)
        try:
            return make()
        finally:
            self.known.loops = before

    def header(self, name: str, size: str, cut: int) -> tuple[str, LoopVariable]:
        """Return a loop's head over part of `size - cut` elements, and its variable."""
        rng = self.rng
        low = rng.choice((0, 0, 1, 2))
        high = rng.choice((0, 0, 1, 2)) + cut
        stop = f"{size} - {high}" if high else size
        roll = rng.random()
        if roll < 0.6:
            text = f"range({low}, {stop})" if low else f"range({stop})"
        elif roll < 0.75:
            text = f"range({size} - {high + 1}, {low - 1}, -1)"
        elif roll < 0.85:
            text = f"range({low}, {stop}, {rng.choice(('2', '3'))})"
        elif roll < 0.9:
            text = f"reversed(range({low}, {stop}))"
        else:
            text = f"range({size} - {high + 1}, {low - 1}, -2)"
        return f"for {name} in {text}:", LoopVariable(name, size, low, high)

    def nest(self, shape: Shape, make: Callable[[], list[Line]], names: str = "ijk") -> list[Line]:
        """Return loops over all of `shape` around lines."""
        if not shape:
            return make()
        (size, cut), rest = shape[0], shape[1:]
        if size in "NM":
            head, loop = self.header(names[0], size, cut)
        else:
            head, loop = f"for {names[0]} in range({size}):", LoopVariable(names[0], size, 0, 0)
        body = self.inside(loop, lambda: self.nest(rest, make, names[1:]))
        return [Line(head, tuple(body))]

    def element_lines(self, target: str) -> list[Line]:
        """Return what a loop's body does to an element of `target`."""
        rng = self.rng
        shape = self.known.shapes[target]
        loops = self.known.loops[-len(shape) :]
        left = f"{target}[{', '.join(loop.name for loop in loops)}]"
        value = rng.choice(
            (
                f"{self.out.element()} + {self.out.element()}",
                f"{self.out.element()} * {self.out.number(0)}",
                f"{left} + {self.out.element()}",
                f"0.5 * ({self.out.element()} - {self.out.element()})"
                if self.profile != "int"
                else f"{self.out.element()} // 2",
                self.out.number(2),
            )
        )
        op = rng.choice(("=", "=", "=", "+=", "-="))
        line = Line(f"{left} {op} {value}")
        roll = rng.random()
        if roll < 0.12:
            test = f"{self.out.element()} {rng.choice(('<', '>', '>='))} {self.out.number(0)}"
            other = (Line(f"{left} {op} {self.out.number(1)}"),)
            found = [Line(f"if {test}:", (line,))]
            return [*found, Line("else:", other)] if rng.random() < 0.5 else found
        if roll < 0.2:
            test = f"{self.out.element()} {rng.choice(('<', '>'))} {self.out.number(0)}"
            return [Line(f"if {test}:", (Line("continue"),)), line]
        if roll < 0.28:
            name = loops[-1].name
            test = rng.choice(
                (f"{name} % 2 == 0", f"{name} > 2", f"{name} != 1", f"1 < {name} < 4")
            )
            return [Line(f"if {test}:", (line,))]
        if roll < 0.36:
            first = Line(f"v = {self.out.element()} {rng.choice('+-*')} {self.out.number(0)}")
            return [first, Line(f"{left} {op} v * {rng.choice(('v', '2', self.out.element()))}")]
        return [line]

    def point_loop(self) -> bool:
        name = self.rng.choice([n for n in self.known.shapes if n not in self.known.indices])
        return self.add(tuple(self.nest(self.known.shapes[name], lambda: self.element_lines(name))))

    def triangle(self) -> bool:
        """A loop whose bounds depend on the outer one."""
        rng = self.rng
        names = [
            n
            for n, s in self.known.shapes.items()
            if s in ((("N", 0), ("N", 0)), (("M", 0), ("M", 0)))
        ]
        if not names:
            return False
        name = rng.choice(names)
        size = self.known.shapes[name][0][0]
        bounds = rng.choice(("i", "i + 1", f"i, {size}", f"i + 1, {size}", "i - 1, -1, -1"))
        loop = LoopVariable("i", size, 0, 0)
        inner = LoopVariable("j", size, 0, 0)
        body = self.inside(loop, lambda: self.inside(inner, lambda: self.element_lines(name)))
        return self.add(
            (Line(f"for i in range({size}):", (Line(f"for j in range({bounds}):", tuple(body)),)),)
        )

    def row_loop(self) -> bool:
        """A loop over the rows of an array, whose body works on whole rows."""
        rng = self.rng
        names = [n for n, s in self.known.shapes.items() if n not in self.known.indices
                 and s[0][0] in "NM" and s[0][1] == 0 and len(s) > 1]  # fmt: skip
        if not names:
            return self.point_loop()
        name = rng.choice(names)
        shape = self.known.shapes[name]
        head, loop = self.header("i", *shape[0])

        def body() -> list[Line]:
            found = []
            for _ in range(rng.choice((1, 1, 2))):
                part = f"{name}[{self.out.subscript(shape[0])}{rng.choice(('', ', :'))}]"
                op = rng.choice(("=", "+=", "-=", "="))
                found.append(Line(f"{part} {op} {self.out.array(shape[1:], 2)}"))
            if rng.random() < 0.2:
                mean = f"m = np.{rng.choice(('sum', 'max', 'mean'))}({name}[i])"
                self.out.note_reduction("sum")
                found = [Line(mean), Line(f"{name}[i] -= m"), *found]
            return found

        return self.add((Line(head, tuple(self.inside(loop, body))),))

    def time_loop(self) -> bool:
        rng = self.rng
        count = "steps" if any(n == "steps" for n, _ in self.scalars) else rng.choice(("2", "3"))
        body: list[Line] = []
        for _ in range(rng.choice((1, 1, 2))):
            if rng.random() < 0.35:
                name = rng.choice([n for n in self.known.shapes if n not in self.known.indices])
                body += self.nest(self.known.shapes[name], lambda n=name: self.element_lines(n))
            else:
                name, part, shape = self.target()
                body.append(Line(f"{name}{part} {rng.choice(('=', '+='))} {self.value(shape, 1)}"))
        return self.add((Line(f"for step in range({count}):", tuple(body)),))

    def carried(self) -> bool:
        """A scalar carried through a loop."""
        rng = self.rng
        name = f"s{len(self.known.numbers)}"
        array = rng.choice(list(self.known.shapes))
        zero = "0" if self.profile == "int" else "0.0"

        def body() -> list[Line]:
            element = self.out.element()
            form = rng.choice((
                f"{name} += {element}", f"{name} = {name} + {element}",
                f"{name} = max({name}, {element})", f"{name} = {name} * 0.5 + {element}",
                f"{name} = {name} + 1 if {element} > 0 else {name}",
            ))  # fmt: skip
            if self.profile == "complex":
                form = f"{name} += {element}"
            lines = [Line(form)]
            if rng.random() < 0.3:
                lines = [Line(f"if {element} > {self.out.number(0)}:", tuple(lines))]
            if rng.random() < 0.35:
                loops = self.known.loops[-len(self.known.shapes[array]) :]
                left = f"{array}[{', '.join(loop.name for loop in loops)}]"
                lines.append(Line(f"{left} = {name}"))
            return lines

        lines = (Line(f"{name} = {zero}"), *self.nest(self.known.shapes[array], body))
        if not self.add(lines):
            return False
        self.known.numbers[name] = np.asarray(self.trial.space[name]).dtype.kind
        return True

    def branch(self) -> bool:
        """A condition on a number around statements on arrays."""
        rng = self.rng
        test = f"{self.out.number(1)} {rng.choice(('<', '>', '>=', '=='))} {self.out.number(1)}"
        if rng.random() < 0.2:
            test = f"{test} {rng.choice(('and', 'or'))} {self.out.number(0)} > 0"
        blocks = []
        for _ in range(2):
            name, part, shape = self.target()
            blocks.append((Line(f"{name}{part} {rng.choice(('=', '+='))} {self.value(shape, 1)}"),))
        lines = [Line(f"if {test}:", blocks[0])]
        if rng.random() < 0.5:
            lines.append(Line("else:", blocks[1]))
        both = [block[0] for block in blocks]
        return self.trial.run(tuple(both)) and self.add(tuple(lines))

    def over_items(self) -> bool:
        """`enumerate`, `zip` and arrays as what a loop runs over."""
        rng = self.rng
        ones = [n for n, s in self.known.shapes.items() if len(s) == 1 and s[0][0] in "NM"]
        if not ones:
            return False
        name = rng.choice(ones)
        size, cut = self.known.shapes[name][0]
        same = [n for n, s in self.known.shapes.items() if s and s[0] == (size, cut)]
        other = rng.choice(same)
        total = f"s{len(self.known.numbers)}"
        zero = Line(f"{total} = 0" if self.profile == "int" else f"{total} = 0.0")
        roll = rng.random()
        if roll < 0.4:
            update = Line(f"{other}[i] += x * {self.out.number(0)}")
            return self.add((Line(f"for i, x in enumerate({name}):", (update,)),))
        self.out.note_reduction("sum")
        if roll < 0.7:
            lines = (zero, Line(f"for x in {name}:", (Line(f"{total} += x"),)))
        else:
            lines = (zero, Line(f"for x, y in zip({name}, {rng.choice(ones)}):",
                                (Line(f"{total} += x * y"),)))  # fmt: skip
        if not self.add(lines):
            return False
        self.known.numbers[total] = np.asarray(self.trial.space[total]).dtype.kind
        return True

    # -- what no affine map describes -------------------------------------------------------------

    def scatter(self) -> bool:
        rng = self.rng
        found = [(i, n) for i, size in self.known.indices.items()
                 for n, s in self.known.shapes.items() if s[0] == (size, 0) and n != i]  # fmt: skip
        if not found:
            return False
        index, name = rng.choice(found)
        rest = self.known.shapes[name][1:]
        value = self.out.array((*self.known.shapes[index], *rest), 1)
        roll = rng.random()
        if roll < 0.4:
            return self.add((Line(f"np.add.at({name}, {index}, {value})"),))
        if roll < 0.6:
            return self.add((Line(f"{name}[{index}] = {value}"),))
        size = dim_text(self.known.shapes[index][0])
        body = Line(f"{name}[{index}[i]] += {self.out.number(0)}")
        return self.add((Line(f"for i in range({size}):", (body,)),))

    def while_loop(self) -> bool:
        rng = self.rng
        ones = [n for n, s in self.known.shapes.items() if len(s) == 1 and s[0][1] >= 0]
        if not ones:
            return False
        name = rng.choice(ones)
        size = dim_text(self.known.shapes[name][0])
        body = (Line(f"{name}[k] = {name}[k] * {self.out.number(0)}"), Line("k += 1"))
        test = rng.choice((f"k < {size}", f"k < {size} and {name}[k] > {self.out.number(0)}"))
        return self.add((Line("k = 0"), Line(f"while {test}:", body)))

    def broken_loop(self) -> bool:
        rng = self.rng
        ones = [n for n, s in self.known.shapes.items() if len(s) == 1 and s[0][0] in "NM"]
        if not ones:
            return False
        name = rng.choice(ones)
        size = dim_text(self.known.shapes[name][0])
        test = Line(f"if {name}[i] > {self.out.number(0)}:", (Line("break"),))
        body = (test, Line(f"{name}[i] = {self.out.number(0)}"))
        return self.add((Line(f"for i in range({size}):", body),))


def _shape_like(found: tuple[int, ...], wanted: Shape) -> Shape | None:
    """Return `wanted`, or its last dimensions, where the trial's array has that shape."""
    for start in range(len(wanted)):
        part = wanted[start:]
        if found == tuple(extent(dim, TRIAL) for dim in part):
            return part
    return None


def shortened(case: NumpyCase, lines: tuple[Line, ...]) -> NumpyCase:
    """Return the case with other lines."""
    return replace(case, lines=lines)
