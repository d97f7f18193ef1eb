"""Random NumPy expressions of a wanted shape.

In: what is known at a place: arrays with shapes and dtypes, numbers, loop variables.
Out: the text of an expression that broadcasts to the shape; what it does to exactness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.properties.numpy_case import Dim, Shape

IN_HELPERS = ("twice", "mix", "shift", "norm")


PHRASES = (
    "np.sum({0}[::2])", "np.sum({0} > {1})", "({0} != 0).sum()", "{0}[{0} > {1}].size",
    "len({0}[{0} > {1}])", "np.sum(np.abs({0} - {0}.mean()))", "np.var({0}, ddof=0)",
    "np.ptp({0})", "np.sum({0}, dtype=np.float64)", "np.linalg.norm({0})", "{0}.ravel()[0]",
    "np.max(np.abs({0}))", "{0}.reshape(-1).sum()", "np.median({0})", "np.sort({0}, axis=0).max()",
    "np.any({0} > {1})", "np.all(({0} > -90) & ({0} < 90))", "np.cumsum({0})[-1]",
    "np.average({0})", "np.nansum({0})", "float(np.sum({0})) / max({0}.size, 1)",
    "np.where({0} > {1}, {0}, 0).sum()", "np.add.reduce({0}).sum()", "{0}.flatten()[-1]",
)  # fmt: skip
VECTOR_PHRASES = (
    "np.sum({0}[1:] * {0}[:-1])", "np.max(np.abs(np.diff({0})))", "np.sort({0})[-1]",
    "{0}[np.argmax({0})]", "np.sum({0}[::-1] * {0})", "np.dot({0}, {0})", "sum({0})",
    "np.trapezoid({0})", "np.convolve({0}, {0}[:2])[0]", "np.prod(np.sign({0}))",
    "np.interp(0.5, np.arange(len({0})), {0})", "sum([x * 2 for x in {0}])", "max({0})",
)  # fmt: skip
MATRIX_PHRASES = (
    "np.trace({0})", "np.einsum('ij,ij->', {0}, {0})", "np.sum({0}.T @ {0})", "np.diag({0}).sum()",
    "np.sum({0}.sum(axis=0) ** 2)", "np.max({0}.sum(axis=1))", "np.tril({0}).sum()",
    "np.sum({0}[:, 0] * {0}[:, -1])", "{0}.mean(axis=0).max()", "np.linalg.norm({0}, axis=1).sum()",
    "np.sum([row.sum() for row in {0}])", "np.hstack(({0}, {0})).sum()",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoopVariable:
    """`low <= name < size - high`."""

    name: str
    size: str
    low: int
    high: int


@dataclass
class Known:
    """What names mean at a place of the program."""

    shapes: dict[str, Shape] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)  # name -> "i", "f", "b", "c"
    loops: tuple[LoopVariable, ...] = ()
    indices: dict[str, str] = field(default_factory=dict)  # index arrays -> the size they index

    def arrays(self, kinds: str = "") -> list[str]:
        """Return the names of arrays whose dtype's kind is in `kinds`."""
        return [n for n in self.shapes if not kinds or _kind(self.dtypes[n]) in kinds]


def _kind(dtype: str) -> str:
    return {"i": "i", "u": "u", "f": "f", "b": "b", "c": "c"}[dtype[0]]


class Expressions:
    """Draws expressions; `loose` and `unsigned` tell what they did to exactness."""

    def __init__(self, rng: Random, known: Known, profile: str, beyond: bool) -> None:
        self.rng = rng
        self.known = known
        self.profile = profile
        self.beyond = beyond
        self.loose = profile == "complex"
        self.unsigned = False
        self.divides = False
        self.helpers: set[str] = set()
        self.uses_half = False

    # -- numbers ----------------------------------------------------------------------------------

    def number(self, depth: int = 1) -> str:  # noqa: C901  a list of the forms
        """Return an expression that is a number."""
        rng = self.rng
        roll = rng.random()
        found: list[str] = ["2", "3", "1", "-1", *self.known.numbers]
        if self.profile != "int":
            found += ["0.5", "1.5", "-2.0"]
        if self.profile == "mixed":
            found += ["np.float32(0.5)", "np.int64(3)", "True"]
        if self.profile == "complex":
            found += ["1j", "(1 + 2j)"]
        found += [loop.name for loop in self.known.loops]
        if depth <= 0 or roll < 0.6:
            return rng.choice(found)
        if roll < 0.72:
            return self.element()
        if roll < 0.8:
            op = rng.choice(("+", "-", "*"))
            return f"({self.number(depth - 1)} {op} {self.number(depth - 1)})"
        if roll < 0.86:
            return f"{rng.choice(('min', 'max'))}({self.number(0)}, {self.number(0)})"
        if roll < 0.9:
            return f"abs({self.number(0)})"
        if roll < 0.95:
            test = f"{self.number(0)} {rng.choice(('<', '>', '<=', '=='))} {self.number(0)}"
            return f"({self.number(0)} if {test} else {self.number(0)})"
        if roll < 0.97 and self.profile != "complex":
            return f"({self.number(0)} {rng.choice(('and', 'or'))} {self.number(0)})"
        divisor = rng.choice(("2", "3", "-3", "5"))
        return f"({self.number(0)} {rng.choice(('//', '%'))} {divisor})"

    def element(self) -> str:
        """Return an element of an array: by loop variables where they fit, else by constants."""
        names = [n for n in self.known.shapes if self.known.shapes[n]]
        if not names:
            return "2"
        name = self.rng.choice(names)
        return f"{name}[{', '.join(self.subscript(dim) for dim in self.known.shapes[name])}]"

    def subscript(self, dim: Dim) -> str:
        """Return a subscript inside a dimension (at ordinary sizes)."""
        size, cut = dim
        found: list[str] = []
        for loop in self.known.loops:
            if loop.size == size:
                shifts = [s for s in (-1, 0, 1, 2) if loop.low + s >= 0 and s <= loop.high - cut]
                found += [f"{loop.name}{f' + {s}' if s > 0 else f' - {-s}' if s else ''}"
                          for s in shifts]  # fmt: skip
                if cut == 0 and loop.high == 0 and loop.low == 0:
                    found.append(f"-1 - {loop.name}")
                    found.append(f"{size} - 1 - {loop.name}")
        if found and self.rng.random() < 0.85:
            return self.rng.choice(found)
        return self.rng.choice(("0", "-1", "0", "-1", "1"))

    # -- arrays -----------------------------------------------------------------------------------

    def array(self, shape: Shape, depth: int = 2, kinds: str = "") -> str:
        """Return an expression that broadcasts to `shape`."""
        rng = self.rng
        if not shape:
            return self.number(depth)
        roll = rng.random()
        if depth <= 0 or roll < 0.2:
            return self.leaf(shape)
        rules: list[tuple[int, Callable[[Shape, int], str]]] = [
            (10, self.binary),
            (4, self.unary),
            (3, self.choice),
            (2, self.integer_division),
            (2, self.cast),
            (3, self.reduced),
            (3, self.product),
            (2, self.scan),
            (3, self.moved),
            (2, self.joined),
            (1, self.created),
            (1, self.power),
            (1, self.bits),
            (1, self.helper),
        ]
        if self.beyond:
            rules.append((2, self.gathered))
        (rule,) = rng.choices([r for _, r in rules], [w for w, _ in rules])
        return rule(shape, depth - 1)

    def binary(self, shape: Shape, depth: int) -> str:
        rng = self.rng
        left, right = self.array(shape, depth), self.array(shape, depth)
        roll = rng.random()
        if roll < 0.7:
            return f"({left} {rng.choice(('+', '-', '*', '+', '-'))} {right})"
        if roll < 0.85:
            self.unsigned = True
            return f"np.{rng.choice(('minimum', 'maximum', 'fmin', 'fmax'))}({left}, {right})"
        if roll < 0.95:
            return f"np.{rng.choice(('add', 'subtract', 'multiply'))}({left}, {right})"
        self.divides = True
        return f"({left} / (np.abs({right}) + 1))"

    def unary(self, shape: Shape, depth: int) -> str:
        value = self.array(shape, depth)
        roll = self.rng.random()
        if roll < 0.5 or self.profile == "int":
            func = self.rng.choice(
                ("-{}", "np.abs({})", "abs({})", "np.square({})", "np.sign({})", "(+{})")
            )
            return func.format(f"({value})" if func.startswith("-") else value)
        if roll < 0.7:
            func = self.rng.choice(("np.sqrt(np.abs({}))", "np.floor({})", "np.ceil({})",
                                    "np.rint({})", "np.trunc({})", "np.round({})"))  # fmt: skip
            return func.format(value)
        self.loose = True
        func = self.rng.choice(("np.exp(-np.abs({}))", "np.sin({})", "np.tanh({})",
                                "np.log1p(np.abs({}))", "np.arctan({})", "np.cos({})",
                                "np.hypot({}, 2.0)", "np.exp(np.clip({}, -3, 3))"))  # fmt: skip
        return func.format(value)

    def condition(self, shape: Shape, depth: int = 1) -> str:
        """Return a boolean array."""
        rng = self.rng
        roll = rng.random()
        if roll < 0.15 and depth > 0:
            op = rng.choice(("&", "|", "^"))
            return f"({self.condition(shape, 0)} {op} {self.condition(shape, 0)})"
        if roll < 0.22 and depth > 0:
            return f"~{self.condition(shape, 0)}"
        if roll < 0.28 and depth > 0:
            func = rng.choice(("np.logical_and", "np.logical_or"))
            return f"{func}({self.condition(shape, 0)}, {self.condition(shape, 0)})"
        op = rng.choice(("<", ">", "<=", ">=", "==", "!="))
        right = self.number(0) if rng.random() < 0.6 else self.leaf(shape)
        return f"({self.own(shape)} {op} {right})"

    def choice(self, shape: Shape, depth: int) -> str:
        roll = self.rng.random()
        if roll < 0.6:
            sides = f"{self.array(shape, depth)}, {self.array(shape, depth)}"
            return f"np.where({self.condition(shape)}, {sides})"
        if roll < 0.85:
            self.unsigned = True
            bounds = self.rng.choice(("-2, 2", "0, 3", "-1, None"))
            return f"np.clip({self.array(shape, depth)}, {bounds})"
        return f"{self.condition(shape)} * {self.array(shape, depth)}"

    def integer_division(self, shape: Shape, depth: int) -> str:
        op = self.rng.choice(("//", "%"))
        if self.rng.random() < 0.6:
            return f"({self.array(shape, depth)} {op} {self.rng.choice(('2', '3', '-3', '4'))})"
        return f"({self.array(shape, depth)} {op} (np.abs({self.leaf(shape)}) + 1))"

    def cast(self, shape: Shape, depth: int) -> str:
        rng = self.rng
        value = self.array(shape, depth)
        if self.profile == "int":
            return f"np.clip({value}, -50, 50).astype(np.{rng.choice(('int32', 'int8', 'int16'))})"
        if self.profile == "mixed" and rng.random() < 0.6:
            kind = rng.choice(("int64", "int32", "uint8", "int8", "bool"))
            low = "0" if kind == "uint8" else "-50"
            return f"np.clip({value}, {low}, 50).astype(np.{kind})"
        return f"({value}).astype(np.{rng.choice(('float32', 'float64', 'float64'))})"

    def power(self, shape: Shape, depth: int) -> str:
        if self.rng.random() < 0.7:
            return f"{self.own(shape)} ** 2"
        self.loose = True
        return f"np.clip({self.own(shape)}, 0, 3) ** {self.rng.choice(('3', '2', '0.5'))}"

    def bits(self, shape: Shape, depth: int) -> str:
        names = [n for n in self.known.arrays("iu") if self.fits(n, shape)]
        if not names:
            return self.unary(shape, depth)
        value = self.plain(self.rng.choice(names), shape)
        form = self.rng.choice(("({} & 7)", "({} | 1)", "({} ^ 5)", "(({} & 15) << 2)",
                                "({} >> 1)", "(~{})", "np.left_shift({} & 3, 1)"))  # fmt: skip
        return form.format(value)

    # -- leaves -----------------------------------------------------------------------------------

    def fits(self, name: str, shape: Shape) -> bool:
        have = self.known.shapes[name]
        return len(have) == len(shape) and all(
            h[0] == w[0] and h[1] <= w[1] and (h[0] in "NM" or h == w)
            for h, w in zip(have, shape, strict=True)
        )

    def plain(self, name: str, shape: Shape) -> str:
        """Return `name` cut to `shape`."""
        have = self.known.shapes[name]
        parts = []
        for (_, cut), (_, more) in zip(have, shape, strict=True):
            low = self.rng.randint(0, more - cut)
            high = more - cut - low
            parts.append(f"{low or ''}:{f'-{high}' if high else ''}")
        if all(p == ":" for p in parts):
            return name if self.rng.random() < 0.8 else f"{name}[...]"
        return f"{name}[{', '.join(parts)}]"

    def own(self, shape: Shape) -> str:
        """Return an expression that has `shape` itself, not only broadcasts to it."""
        names = [n for n in self.known.shapes if self.fits(n, shape)]
        if not names:
            return f"np.full({shape_text(shape)}, {self.number(0)})"
        return self.plain(self.rng.choice(names), shape)

    def leaf(self, shape: Shape) -> str:
        rng = self.rng
        forms = [self.scalar_leaf, self.whole_leaf, self.whole_leaf, self.whole_leaf]
        forms += [self.reversed_leaf, self.broadcast_leaf, self.row_leaf, self.turned_leaf]
        return rng.choice(forms)(shape) or self.whole_leaf(shape) or self.number(0)

    def scalar_leaf(self, shape: Shape) -> str:
        return self.number(1)

    def whole_leaf(self, shape: Shape) -> str:
        names = [n for n in self.known.shapes if self.fits(n, shape)]
        return self.plain(self.rng.choice(names), shape) if names else ""

    def reversed_leaf(self, shape: Shape) -> str:
        text = self.whole_leaf(shape)
        if not text:
            return ""
        part = self.rng.choice(("::-1", "..., ::-1", "::-1, ..."))
        return f"{text}[{part}]" if len(shape) > 1 else f"{text}[::-1]"

    def broadcast_leaf(self, shape: Shape) -> str:
        """Return an array of lower rank, or one with new axes."""
        rng = self.rng
        if len(shape) < 2:
            return ""
        tail = self.whole_leaf(shape[1:])
        head = self.whole_leaf(shape[:1])
        if head and (not tail or rng.random() < 0.5):
            rest = ", ".join(rng.choice(("None", "np.newaxis")) for _ in shape[1:])
            return f"{head}[:, {rest}]"
        if tail:
            return f"{tail}{rng.choice(('', '', '[None, ...]', '[np.newaxis]'))}"
        return ""

    def row_leaf(self, shape: Shape) -> str:
        """Return a row, column or plane of an array of one rank more."""
        rng = self.rng
        found = []
        for name, have in self.known.shapes.items():
            if len(have) != len(shape) + 1:
                continue
            for dim in range(len(have)):
                rest = have[:dim] + have[dim + 1 :]
                if rest == shape:
                    parts = [":"] * len(have)
                    parts[dim] = self.subscript(have[dim])
                    text = ", ".join(parts)
                    if dim == 0:
                        text = rng.choice((parts[0], text))
                    if dim == len(have) - 1:
                        text = rng.choice((f"..., {parts[-1]}", text))
                    found.append(f"{name}[{text}]")
        return rng.choice(found) if found else ""

    def turned_leaf(self, shape: Shape) -> str:
        if len(shape) < 2:
            return ""
        text = self.whole_leaf(shape[::-1])
        forms = ["{}.T", "np.transpose({})", "{}.transpose()"]
        if len(shape) == 2:
            forms += ["{}.swapaxes(0, 1)", "{}.transpose(1, 0)"]
        return self.rng.choice(forms).format(text) if text else ""

    # -- functions of arrays ----------------------------------------------------------------------

    def sources(self, rank: int) -> list[str]:
        return [n for n, s in self.known.shapes.items() if len(s) == rank]

    def reduced(self, shape: Shape, depth: int) -> str:
        """Return a reduction over one axis that leaves `shape`, kept dims or not."""
        rng = self.rng
        found = []
        for name, have in self.known.shapes.items():
            if len(have) == len(shape) + 1:
                found += [
                    (name, d, False) for d in range(len(have)) if have[:d] + have[d + 1 :] == shape
                ]
            if have == shape:
                found += [(name, d, True) for d in range(len(have))]
        if not found:
            return self.leaf(shape)
        name, axis, keep = rng.choice(found)
        value = name if rng.random() < 0.5 else f"({name} * {self.number(0)})"
        rank = len(self.known.shapes[name])
        if rng.random() < 0.2:
            axis -= rank
        kept = ", keepdims=True" if keep else ""
        func = rng.choice(
            ("sum", "sum", "max", "min", "mean", "any", "all", "prod", "argmax", "std", "var")
        )
        if self.profile == "complex" and func in ("max", "min", "argmax"):
            func = "sum"
        self.note_reduction(func)
        if func == "prod":
            value = f"np.clip({name}, -1, 1)"
        if func == "argmax" and keep:
            func = "sum"
            self.loose = True
        if rng.random() < 0.5 and func in ("sum", "max", "min", "mean", "any", "all", "prod"):
            return f"{value}.{func}(axis={axis}{kept})"
        return f"np.{func}({value}, axis={axis}{kept})"

    def note_reduction(self, func: str) -> None:
        """Remember that NumPy leaves the order of these open."""
        self.unsigned = True
        if func not in ("max", "min", "any", "all", "argmax", "argmin", "count_nonzero"):
            self.loose = True
        if func in ("mean", "std", "var"):
            self.divides = True

    def whole(self) -> str:
        """Return a reduction of a whole array: a number."""
        rng = self.rng
        names = [n for n, s in self.known.shapes.items() if s]
        if not names:
            return self.number(1)
        name = rng.choice(names)
        shape = self.known.shapes[name]
        roll = rng.random()
        self.note_reduction("sum")
        if roll < 0.15:
            self.divides = True
            return f"{name}[{self.condition_on(name)}].{rng.choice(('sum', 'mean', 'sum'))}()"
        if roll < 0.2:
            return f"np.count_nonzero({self.condition_on(name)})"
        if roll < 0.3:
            other = [n for n, s in self.known.shapes.items() if s == shape]
            return f"np.sum({name} * {rng.choice(other)})"
        if roll < 0.4 and len(shape) == 1:
            other = [n for n, s in self.known.shapes.items() if s == shape]
            form = rng.choice(("np.dot({}, {})", "({} @ {})", "np.inner({}, {})"))
            return form.format(name, rng.choice(other))
        if roll < 0.6:
            self.divides = True
            return self.phrase(name)
        func = rng.choice(("sum", "max", "min", "mean", "std", "any", "all", "argmax", "argmin"))
        if self.profile == "complex" and func in ("max", "min", "argmax", "argmin"):
            func = "sum"
        self.note_reduction(func)
        return rng.choice((f"np.{func}({name})", f"{name}.{func}()"))

    def phrase(self, name: str) -> str:
        """Return one of the ways people reduce an array to a number."""
        rank = len(self.known.shapes[name])
        forms = [*PHRASES, *(VECTOR_PHRASES if rank == 1 else MATRIX_PHRASES if rank == 2 else ())]
        if self.profile == "complex":
            forms = ["np.sum({0}[::2])", "np.abs({0}).max()", "np.linalg.norm({0})"]
        return self.rng.choice(forms).format(name, self.number(0))

    def condition_on(self, name: str) -> str:
        op = self.rng.choice(("<", ">", "<=", ">=", "==", "!="))
        return f"{name} {op} {self.number(0)}"

    def product(self, shape: Shape, depth: int) -> str:  # noqa: C901  a list of the forms
        """Return a matrix product, an outer product or an einsum."""
        found: list[str] = []
        shapes = self.known.shapes
        twos = {n: s for n, s in shapes.items() if len(s) == 2}
        for name, have in twos.items():
            if len(shape) == 1:
                for other, s in shapes.items():
                    if have[:1] == shape and s == have[1:]:
                        found += [f"({name} @ {other})", f"np.dot({name}, {other})",
                                  f"{name}.dot({other})",
                                  f'np.einsum("ij,j->i", {name}, {other})']  # fmt: skip
                    if have[1:] == shape and s == have[:1]:
                        found += [f"({other} @ {name})", f"({name}.T @ {other})"]
            if len(shape) == 2:
                for other, s in twos.items():
                    if have[:1] == shape[:1] and s[1:] == shape[1:] and have[1] == s[0]:
                        found += [f"({name} @ {other})", f"np.matmul({name}, {other})",
                                  f'np.einsum("ik,kj->ij", {name}, {other})']  # fmt: skip
                    if have[:1] == shape[:1] and s[:1] == shape[1:] and have[1] == s[1]:
                        found += [f"({name} @ {other}.T)"]
        if len(shape) == 2:
            for name, have in shapes.items():
                for other, s in shapes.items():
                    if (*have, *s) == shape and len(have) == 1:
                        found += [f"np.outer({name}, {other})",
                                  f"np.add.outer({name}, {other})"]  # fmt: skip
        if not found:
            return self.binary(shape, depth)
        self.note_reduction("sum")
        return self.rng.choice(found)

    def scan(self, shape: Shape, depth: int) -> str:
        axis = self.rng.randrange(len(shape))
        roll = self.rng.random()
        if roll < 0.5:
            self.loose = True
            return f"np.cumsum({self.own(shape)}, axis={axis})"
        size, cut = shape[axis]
        if size in "NM":
            wide = (*shape[:axis], (size, cut - 1), *shape[axis + 1 :])
            names = [n for n, s in self.known.shapes.items() if s == wide]
            if names:
                return f"np.diff({self.rng.choice(names)}, axis={axis})"
        return f"np.cumsum({self.own(shape)}[::-1], axis={axis})[::-1]" if not self.mark() else ""

    def mark(self) -> bool:
        self.loose = True
        return False

    def moved(self, shape: Shape, depth: int) -> str:
        rng = self.rng
        value = self.own(shape)
        axis = rng.randrange(len(shape))
        forms = [f"np.roll({value}, {rng.choice(('1', '-1', '2'))}, axis={axis})",
                 f"np.flip({value}, axis={axis})",
                 f"np.flip({value})"]  # fmt: skip
        if len(shape) == 1:
            forms += [f"np.roll({value}, {rng.choice(('1', '-2', '3'))})"]
        if len(shape) == 2:
            forms += [f"np.flipud({value})", f"np.fliplr({value})"]
            forms += [
                f"np.{rng.choice(('tril', 'triu'))}({value}{rng.choice(('', ', 1', ', -1'))})"
            ]
            other = self.whole_leaf(shape[::-1])
            if other:
                forms += [f"np.transpose({other})", f"np.moveaxis({other}, 0, 1)"]
        if len(shape) == 3:
            forms += [f"np.swapaxes(np.swapaxes({value}, 0, {axis}), 0, {axis})"]
        return rng.choice(forms)

    def joined(self, shape: Shape, depth: int) -> str:
        """Return pieces put together, or a padded array."""
        rng = self.rng
        axis = rng.randrange(len(shape))
        size, cut = shape[axis]
        if size not in "NM":
            if size == "2" and cut == 0:
                rest = shape[:axis] + shape[axis + 1 :]
                if rest:
                    return f"np.stack(({self.own(rest)}, {self.own(rest)}), axis={axis})"
            return self.leaf(shape)

        def piece(dim: Dim) -> Shape:
            return (*shape[:axis], dim, *shape[axis + 1 :])

        roll = rng.random()
        if roll < 0.5:
            part = self.own(piece((size, cut + 1)))
            one = f"{self.own(piece((size, cut)))}[{':, ' * axis}:1]"
            both = [part, one]
            rng.shuffle(both)
            if len(shape) == 1 and rng.random() < 0.4:
                return f"np.hstack(({both[0]}, {both[1]}))"
            return f"np.concatenate(({both[0]}, {both[1]}), axis={axis})"
        part = self.own(piece((size, cut + 2)))
        width = ", ".join("(1, 1)" if d == axis else "(0, 0)" for d in range(len(shape)))
        width = rng.choice(("1", "(1, 1)")) if len(shape) == 1 else f"({width})"
        mode = rng.choice(("", "", ', mode="edge"', ', mode="constant"'))
        return f"np.pad({part}, {width}{mode})"

    def created(self, shape: Shape, depth: int) -> str:
        rng = self.rng
        last = dim_text(shape[-1])
        forms = [
            f"np.arange({last})",
            f"np.ones({shape_text(shape)})",
            f"np.zeros_like({self.own(shape)})",
            f"np.full({shape_text(shape)}, {self.number(0)})",
            f"np.arange({last}) * {self.number(0)}",
        ]
        if len(shape) == 2 and shape[0] == shape[1]:
            forms.append(f"np.eye({last})")
        if self.profile != "int":
            self.loose = True
            forms.append(f"np.linspace(0.0, 1.0, {last})")
        return rng.choice(forms)

    def helper(self, shape: Shape, depth: int) -> str:
        name = self.rng.choice(IN_HELPERS)
        self.helpers.add(name)
        if name == "mix":
            return f"mix({self.own(shape)}, {self.array(shape, 0)}, {self.number(0)})"
        if name == "norm":
            self.divides = True
            self.note_reduction("sum")
        return f"{name}({self.own(shape)})"

    def gathered(self, shape: Shape, depth: int) -> str:
        """Return elements or rows picked by an index array."""
        found = []
        for index, size in self.known.indices.items():
            have = self.known.shapes[index]
            for name, s in self.known.shapes.items():
                if s and s[0] == (size, 0) and (*have, *s[1:]) == shape:
                    found += [f"{name}[{index}]", f"np.take({name}, {index}, axis=0)"]
                if len(s) > 1 and s[-1] == (size, 0) and (*s[:-1], *have) == shape:
                    found.append(f"{name}[..., {index}]")
        return self.rng.choice(found) if found else self.leaf(shape)


def dim_text(dim: Dim) -> str:
    """Return a length as Python."""
    size, cut = dim
    if cut == 0:
        return size
    return f"max({size} - {cut}, 0)" if cut > 0 else f"({size} + {-cut})"


def shape_text(shape: Shape) -> str:
    """Return a shape as a Python tuple."""
    return f"({', '.join(dim_text(dim) for dim in shape)},)"
