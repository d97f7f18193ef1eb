"""Random loops: over elements, rows and items, carried numbers, conditions, index arrays.

In: what `Statements` knows.  Out: lines that NumPy runs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.properties.numpy_case import Shape
from tests.properties.numpy_expressions import LoopVariable, dim_text
from tests.properties.numpy_statements import Statements
from tests.properties.random_sources import Line


class Loops(Statements):
    """Rules that draw loops."""

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
