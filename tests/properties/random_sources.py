"""Random functions in NumPy's style, as source text: slices, broadcasting, reductions, loops.

In: a seeded `random.Random`.  Out: a `SourceCase`: text, argument names, dtypes and shapes.
Shapes are (size name, elements fewer) per dimension, so that operands always fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import TypeAlias

Dim: TypeAlias = tuple[str, int]  # ("N", 2) is a length of max(0, N - 2)
Shape: TypeAlias = tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A statement, or the head of a block with its body."""

    text: str
    body: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceCase:
    """A function `f` and what to call it with; `exact`: results must agree bit for bit."""

    arrays: tuple[tuple[str, str, tuple[str, ...]], ...]  # name, dtype, sizes
    scalars: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]
    exact: bool

    @property
    def text(self) -> str:
        """The module's source."""
        names = ", ".join([*(a[0] for a in self.arrays), *(s[0] for s in self.scalars)])
        sizes = sorted({size for _, _, shape in self.arrays for size in shape})
        heads = []
        for size in sizes:
            name, dim = next((n, shape.index(size)) for n, _, shape in self.arrays if size in shape)
            heads.append(Line(f"{size} = {name}.shape[{dim}]"))
        body = "\n".join(_print((*heads, *self.lines), 1))
        return f"import numpy as np\n\n\ndef f({names}):\n{body}\n"


def _print(lines: tuple[Line, ...], depth: int) -> Iterator[str]:
    for line in lines:
        yield "    " * depth + line.text
        yield from _print(line.body, depth + 1)


def shrunk_lines(lines: tuple[Line, ...]) -> Iterator[tuple[Line, ...]]:
    """Yield the lines with one statement less, or one block opened."""
    for position, line in enumerate(lines):
        before, after = lines[:position], lines[position + 1 :]
        yield (*before, *after)
        for body in shrunk_lines(line.body):
            if body:
                yield (*before, replace(line, body=body), *after)


SHAPES: tuple[tuple[str, ...], ...] = (("N",), ("N",), ("M",), ("N", "M"), ("N", "M"), ("N", "N"))
EXACT_CALLS = ("np.abs", "np.negative", "np.square")
FLOAT_CALLS = ("np.sqrt", "np.exp", "np.sin", "np.tanh", "np.floor")


def random_source(rng: Random) -> SourceCase:
    """Return a program of two to six statements."""
    return _Writer(rng).case()


class _Writer:
    """Draws a program; `known` are the array names and shapes usable at this point."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.kind = rng.choice(("int", "int", "float", "float", "mixed"))
        count = rng.choice((2, 3, 3, 4))
        shapes = [rng.choice(SHAPES) for _ in range(count)]
        if not any("N" in s for s in shapes):
            shapes[0] = ("N",)
        self.arrays = tuple(
            (name, self.dtype(), shape) for name, shape in zip("ABCDE", shapes, strict=False)
        )
        self.scalars = (("alpha", "float" if self.kind != "int" else "int"),)
        self.known: dict[str, Shape] = {
            name: tuple((size, 0) for size in shape) for name, _, shape in self.arrays
        }
        self.temps = 0
        self.sums = False
        self.numbers: list[str] = ["alpha"]
        self.iters: list[str] = []

    def dtype(self) -> str:
        if self.kind == "int":
            return "int64"
        if self.kind == "float":
            return "float64"
        return self.rng.choice(("float64", "float32", "int32", "int64", "uint8", "bool"))

    def case(self) -> SourceCase:
        lines: list[Line] = []
        for _ in range(self.rng.choice((1, 2, 2, 3, 4))):
            lines += self.statement(2)
        lines += self.result()
        exact = self.kind == "int" or (self.kind == "float" and not self.sums)
        return SourceCase(self.arrays, self.scalars, tuple(lines), exact)

    def result(self) -> list[Line]:
        names = [n for n in (*self.known, *self.numbers) if n != "alpha"]
        roll = self.rng.random()
        if roll < 0.4:
            return []
        if roll < 0.8:
            name = self.rng.choice(names)
            return [Line(f"return {name}")] if name[0] in "tsABCDE" else []
        temps = [n for n in names if n[0] in "ts"]
        return [Line(f"return {', '.join(temps)},")] if temps else []

    def statement(self, depth: int) -> list[Line]:
        roll = self.rng.random()
        if depth > 0 and roll < 0.3:
            return self.loop(depth)
        if roll < 0.4:
            return self.temporary()
        if roll < 0.48:
            return self.number()
        return [self.assignment()]

    def temporary(self) -> list[Line]:
        if self.iters:
            return [self.assignment()]
        shape = self.target_shape()
        text = self.expr(shape, 2)
        name = f"t{self.temps}"
        self.temps += 1
        self.known[name] = shape
        if self.rng.random() < 0.3:
            like = f"np.zeros({self.shape_text(shape)}, dtype=np.{self.dtype()})"
            self.known[name] = shape
            return [Line(f"{name} = {like}"), Line(f"{name}[...] = {text}")]
        fixed = "" if self.rng.random() < 0.6 else " + 0"
        # the expression may broadcast to less than `shape`: adding a full array fixes the shape
        return [Line(f"{name} = {self.full(shape)} + ({text}){fixed}")]

    def full(self, shape: Shape) -> str:
        dtype = "int64" if self.kind == "int" else "float64"
        return f"np.zeros({self.shape_text(shape)}, dtype=np.{dtype})"

    def shape_text(self, shape: Shape) -> str:
        parts = [s if c == 0 else f"max({s} - {c}, 0)" for s, c in shape]
        return f"({', '.join(parts)},)"

    def number(self) -> list[Line]:
        if self.iters:
            return [self.assignment()]
        array = self.rng.choice(list(self.known))
        self.sums = True
        name = f"s{len(self.numbers)}"
        self.numbers.append(name)
        rank = len(self.known[array])
        if self.rng.random() < 0.5:
            return [Line(f"{name} = np.sum({array})")]
        index = ", ".join(("i", "j")[:rank])
        zero = "0" if self.kind == "int" else "0.0"
        body: tuple[Line, ...] = (Line(f"{name} += {array}[{index}]"),)
        for dim in reversed(range(rank)):
            size, cut = self.known[array][dim]
            length = size if cut == 0 else f"{size} - {cut}"
            body = (Line(f"for {('i', 'j')[dim]} in range({length}):", body),)
        return [Line(f"{name} = {zero}"), *body]

    def loop(self, depth: int) -> list[Line]:
        if self.rng.random() < 0.35 and not self.iters:
            return [Line("for t in range(3):", tuple(self.inside("t", depth, bare=True)))]
        free = [n for n in ("i", "j", "k") if n not in self.iters]
        if not free:
            return [self.assignment()]
        name = free[0]
        if self.rng.random() < 0.6:
            return self.point_loop(name)
        size = self.rng.choice(self.sizes())
        head = f"for {name} in range({self.rng.choice((f'1, {size} - 1', f'2, {size} - 2'))}):"
        if self.rng.random() < 0.2:
            head = f"for {name} in range({size} - 2, 0, -1):"
        return [Line(head, tuple(self.rows(name, size)))]

    def inside(self, name: str, depth: int, bare: bool) -> list[Line]:
        self.iters.append(name)
        lines: list[Line] = []
        for _ in range(self.rng.choice((1, 1, 2))):
            lines += self.loop(depth - 1) if self.rng.random() < 0.3 else [self.assignment()]
        self.iters.pop()
        return lines

    def sizes(self) -> list[str]:
        return sorted({size for shape in self.known.values() for size, cut in shape if cut == 0})

    def rows(self, name: str, size: str) -> list[Line]:
        """Return statements on rows `X[i, …]` of matrices, or elements of vectors."""
        fits = [n for n, s in self.known.items() if s and s[0] == (size, 0)]
        if not fits:
            return [self.assignment()]
        target = self.rng.choice(fits)
        shape = self.known[target][1:]
        shift = self.rng.choice(("", "", " - 1", " + 1"))
        rest = "" if not shape else ", :" if self.rng.random() < 0.5 else ""
        left = f"{target}[{name}{rest}]"
        source = self.rng.choice([n for n in fits if self.known[n][1:] == shape])
        right = f"{source}[{name}{shift}]"
        other = self.expr(shape, 1) if shape else self.scalar(1)
        op = self.rng.choice(("=", "=", "+="))
        lines = [Line(f"{left} {op} {self.cast(target, f'{right} + {other}')}")]
        if self.rng.random() < 0.25:
            again = self.rng.choice(fits)
            if self.known[again][1:] == shape:
                lines.append(Line(f"{again}[{name}] = {self.cast(again, f'{target}[{name} - 1]')}"))
        if self.rng.random() < 0.2:
            condition = self.rng.choice((f"{name} > 2", f"{name} < {size} - 3", f"{name} % 2 == 0"))
            return [Line(f"if {condition}:", tuple(lines))]
        return lines

    def point_loop(self, name: str) -> list[Line]:
        """Return a nest over all elements of one array, with neighbours read."""
        target = self.rng.choice(list(self.known))
        shape = self.known[target]
        iters = (name, *["p", "q"][: len(shape) - 1])
        self_read = self.shifted(target, iters)
        other = self.rng.choice([n for n, s in self.known.items() if s == shape])
        value = f"{self_read} + {self.shifted(other, iters)}"
        if self.rng.random() < 0.4:
            value = f"{value} * {self.scalar(0)}"
        left = f"{target}[{', '.join(iters)}]"
        op = self.rng.choice(("=", "=", "+=", "-="))
        line = Line(f"{left} {op} {self.cast(target, value)}")
        body: tuple[Line, ...] = (line,)
        if self.rng.random() < 0.15:
            body = (
                Line(f"v = {self.shifted(other, iters)}"),
                Line(f"{left} = {self.cast(target, f'v * v + {self_read}')}"),
            )
        for it, (size, cut) in reversed(list(zip(iters, shape, strict=True))):
            length = size if cut == 0 else f"{size} - {cut}"
            low = self.rng.choice(("1", "1", "2"))
            high = f"{length} - 1" if self.rng.random() < 0.8 else f"{length} - 2"
            triangle = it != iters[0] and shape[0] == (size, cut) and self.rng.random() < 0.3
            if triangle:
                high = f"{iters[0]}"
            bounds = f"{low}, {high}"
            if self.rng.random() < 0.15:
                bounds = f"{high} - 1, 0, -1"
            elif self.rng.random() < 0.1:
                bounds = f"{low}, {high}, 2"
            body = (Line(f"for {it} in range({bounds}):", body),)
        return list(body)

    def shifted(self, array: str, iters: tuple[str, ...]) -> str:
        shifts = [self.rng.choice(("", "", " - 1", " + 1")) for _ in iters]
        return f"{array}[{', '.join(i + s for i, s in zip(iters, shifts, strict=True))}]"

    def cast(self, target: str, value: str) -> str:
        """Return `value`, cast to integers' own type where NumPy would refuse or truncate."""
        return value

    def target_shape(self) -> Shape:
        shape = self.known[self.rng.choice(list(self.known))]
        if self.rng.random() < 0.35:
            shape = tuple((size, cut + self.rng.choice((0, 1, 2, 2))) for size, cut in shape)
        return shape

    def assignment(self) -> Line:
        target = self.rng.choice(list(self.known))
        shape = self.known[target]
        roll = self.rng.random()
        if roll < 0.35:
            part, inner = "[:]" if self.rng.random() < 0.7 else "[...]", shape
        elif roll < 0.45 and len(shape) == 2:
            part, inner = f"[{self.rng.choice(('0', '-1', '1:2'))}]", shape[1:]
            if part == "[1:2]":
                part, inner = "[:, 0]", shape[:1]
        elif roll < 0.55:
            return self.strided(target, shape)
        else:
            inner = tuple((size, cut + self.rng.choice((0, 1, 2))) for size, cut in shape)
            part = self.slices(shape, inner)
        op = self.rng.choice(("=", "=", "=", "+=", "-=", "*="))
        return Line(f"{target}{part} {op} {self.expr(inner, 2)}")

    def strided(self, target: str, shape: Shape) -> Line:
        start = self.rng.choice(("", "1"))
        step = self.rng.choice(("2", "3", "-1", "-2"))
        if step.startswith("-"):
            start = ""
        source = self.rng.choice([n for n, s in self.known.items() if s == shape])
        part = f"[{start}::{step}]"
        other = self.rng.choice((part, part, f"[{start}::{step.lstrip('-')}]"))
        left = f"{target}{part}"
        return Line(f"{left} {self.rng.choice(('=', '+='))} {source}{other} * {self.scalar(0)}")

    def slices(self, have: Shape, want: Shape) -> str:
        """Return a subscript that takes `want` out of `have`."""
        parts = []
        for (_, cut), (_, more) in zip(have, want, strict=True):
            spare = more - cut
            low = self.rng.randint(0, spare) if spare > 0 else 0
            high = spare - low
            parts.append(f"{low or ''}:{f'-{high}' if high else ''}")
        return f"[{', '.join(parts)}]"

    def fitting(self, want: Shape) -> list[str]:
        found = []
        for name, have in self.known.items():
            if len(have) == len(want) and all(
                h[0] == w[0] and h[1] <= w[1] for h, w in zip(have, want, strict=True)
            ):
                found.append(name)
        return found

    def expr(self, shape: Shape, depth: int) -> str:
        rng = self.rng
        roll = rng.random()
        if depth == 0 or roll < 0.3:
            return self.leaf(shape)
        if roll < 0.75:
            op = rng.choice(("+", "-", "*", "+", "-"))
            return f"({self.expr(shape, depth - 1)} {op} {self.expr(shape, depth - 1)})"
        if roll < 0.82:
            func = rng.choice(("np.minimum", "np.maximum"))
            return f"{func}({self.expr(shape, depth - 1)}, {self.expr(shape, depth - 1)})"
        if roll < 0.87:
            condition = f"{self.leaf(shape)} {rng.choice(('<', '>=', '=='))} {self.leaf(shape)}"
            return f"np.where({condition}, {self.leaf(shape)}, {self.leaf(shape)})"
        if roll < 0.94:
            if self.kind == "int" or rng.random() < 0.4:
                return f"{rng.choice(EXACT_CALLS[::2])}({self.leaf(shape)})"
            func = rng.choice(FLOAT_CALLS)
            self.sums = True
            return f"{func}(np.abs({self.leaf(shape)}) * 0.125)"
        if self.kind != "int":
            return f"({self.expr(shape, depth - 1)}) / (np.abs({self.leaf(shape)}) + 1)"
        return f"({self.expr(shape, depth - 1)}) // (np.abs({self.leaf(shape)}) + 1)"

    def leaf(self, shape: Shape) -> str:
        rng = self.rng
        roll = rng.random()
        if roll < 0.12:
            return self.scalar(0)
        if roll < 0.3:
            found = self.reduced(shape)
            if found:
                return found
        if roll < 0.42 and len(shape) == 2:
            found = self.broadcast(shape)
            if found:
                return found
        names = self.fitting(shape)
        if not names:
            return self.scalar(0)
        name = rng.choice(names)
        text = f"{name}{self.slices(self.known[name], shape)}"
        if self.known[name] == shape and rng.random() < 0.5:
            text = name
        if rng.random() < 0.08:
            text = f"{text}[::-1]"
        if len(shape) == 2 and shape[0] == shape[1] and rng.random() < 0.2:
            text = f"{text}.T"
        return text

    def broadcast(self, shape: Shape) -> str:
        rows, columns = self.fitting(shape[:1]), self.fitting(shape[1:])
        if rows and self.rng.random() < 0.5:
            name = self.rng.choice(rows)
            return f"{name}{self.slices(self.known[name], shape[:1])}[:, None]"
        if columns:
            name = self.rng.choice(columns)
            part = self.slices(self.known[name], shape[1:])
            return f"{name}{part}{self.rng.choice(('', '[None, :]'))}"
        return ""

    def reduced(self, shape: Shape) -> str:  # noqa: C901  a list of the forms
        """Return a reduction or product whose result has `shape`."""
        whole = tuple((size, 0) for size, _ in shape)
        if whole != shape or not shape:
            return ""
        matrices = {n: s for n, s in self.known.items() if len(s) == 2}
        found = []
        for name, have in matrices.items():
            if len(shape) == 1 and have[0] == shape[0]:
                found += [f"np.sum({name}, axis=1)", f"{name}.sum(axis=-1)"]
                found += [f"({name} @ {v})" for v, s in self.known.items() if s == have[1:]]
            if len(shape) == 1 and have[1] == shape[0]:
                found += [f"np.sum({name}, axis=0)", f"np.max({name}, axis=0)"]
                found += [f"({v} @ {name})" for v, s in self.known.items() if s == have[:1]]
            for other, second in matrices.items():
                if len(shape) == 2 and (have[0], second[1]) == shape and have[1] == second[0]:
                    found.append(f"({name} @ {other})")
                if len(shape) == 2 and (have[0], second[0]) == shape and have[1] == second[1]:
                    found.append(f"({name} @ {other}.T)")
        if len(shape) == 2:
            for name, have in self.known.items():
                for other, second in self.known.items():
                    if (*have, *second) == shape:
                        found.append(f"np.outer({name}, {other})")
        if not found:
            return ""
        self.sums = True
        return self.rng.choice(found)

    def scalar(self, depth: int) -> str:
        rng = self.rng
        plain = ["2", "3", "alpha", *self.numbers]
        if self.kind != "int":
            plain += ["0.5", "1.5"]
        if self.iters and self.iters[-1] == "t":
            plain.append("t")
        return rng.choice(plain)
