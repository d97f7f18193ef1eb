"""What productions are, what a program under construction knows, and how one is drawn.

In: a seeded `Random`.  Out: `Maker`, which productions get; `PRODUCTIONS`, all of them by kind.
A hostile production is one that ordinary code seldom has; each program has its own share of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

PYTHON = ("bool", "int", "float", "complex")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEXES = ("complex64", "complex128")
NUMPY = ("bool_", *INTEGERS, *FLOATS, *COMPLEXES)
ORDINARY = 0.8
"""The share of programs that are ordinary code, with hostile corners only here and there."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a name is thought to hold: `dims` are names of lengths, () for a number."""

    dtype: str
    dims: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """`bool`, `int`, `float` or `complex`."""
        for family in ("bool", "complex", "float"):
            if self.dtype.startswith(family):
                return family
        return "int"


Make: TypeAlias = Callable[..., str]


@dataclass(frozen=True, slots=True)
class Production:
    """One way to make text of a kind."""

    name: str
    make: Make
    weight: float
    hostile: bool
    leaf: bool


PRODUCTIONS: dict[str, list[Production]] = {}


def production(
    kind: str, weight: float = 1.0, *, hostile: bool = False, leaf: bool = False
) -> Callable[[Make], Make]:
    """Register a function as a production of `kind`; one returns "" where it cannot apply."""

    def register(make: Make) -> Make:
        name = f"{kind}.{make.__name__.removeprefix('_')}"
        PRODUCTIONS.setdefault(kind, []).append(Production(name, make, weight, hostile, leaf))
        return make

    return register


@dataclass(slots=True)
class Scope:
    """Names of a function: what they hold, which lengths are known, which loops are around."""

    names: dict[str, Kind] = field(default_factory=dict)
    maybe: dict[str, Kind] = field(default_factory=dict)
    indices: dict[str, str] = field(default_factory=dict)
    lengths: dict[str, list[str]] = field(default_factory=dict)
    loops: int = 0
    frozen: set[str] = field(default_factory=set)


class Maker:
    """Draws a program; all choices come from one `Random`."""

    def __init__(self, rng: Random, ordinary: bool) -> None:
        self.rng = rng
        self.ordinary = ordinary
        self.hostility = 0.06 if self.ordinary else 0.7
        self.used: set[str] = set()
        self.results = self.pick("float", "int", "float", "array", "float float", "int float")
        self.returns = False
        self.scope = Scope()
        self.lines: list[str] = []
        self.indent = 1
        self.budget = rng.choice((3, 5, 7, 9, 12, 16, 22))
        self.helpers: dict[str, tuple[str, str]] = {}
        self.prelude: list[str] = []
        self.modules: dict[str, str] = {}
        self.imports: list[str] = []
        self._count = 0

    def chance(self, share: float) -> bool:
        """Return True with probability `share`."""
        return self.rng.random() < share

    def pick(self, *options: str) -> str:
        """Return one of the texts."""
        return self.rng.choice(options)

    def make(self, kind: str, depth: int = 2, **wanted: object) -> str:
        """Return text of a kind, by one of its productions; small where `depth` is 0."""
        listed = PRODUCTIONS[kind]
        left = [p for p in listed if depth > 0 or p.leaf] or list(listed)
        while left:
            weights = [p.weight * (self.hostility if p.hostile else 1.0) for p in left]
            chosen = self.rng.choices(left, weights)[0]
            text = chosen.make(self, max(depth - 1, 0), **wanted)
            if text:
                self.used.add(chosen.name)
                return text
            left.remove(chosen)
        raise AssertionError(f"nothing makes a {kind}")

    def line(self, text: str) -> None:
        """Add a line at the current indentation."""
        self.lines.append("    " * self.indent + text)
        self.budget -= 1

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add lines under `head`; at least a `pass`."""
        self.line(head)
        self.indent += 1
        before = len(self.lines)
        try:
            yield
        finally:
            if len(self.lines) == before:
                self.lines.append("    " * self.indent + "pass")
            self.indent -= 1

    @contextmanager
    def path(self) -> Iterator[None]:
        """Run a part that may not run: names that only it assigns may be unbound behind it."""
        before = dict(self.scope.names)
        try:
            yield
        finally:
            after = self.scope.names
            for name, kind in after.items():
                if name not in before:
                    self.scope.maybe[name] = kind
            self.scope.names = {
                name: self.rng.choice((kind, after.get(name, kind)))
                if after.get(name, kind) != kind
                else kind
                for name, kind in before.items()
            }

    def fresh(self, stem: str = "v") -> str:
        """Return a name that is not used yet."""
        self._count += 1
        return f"{stem}{self._count}"

    def bind(self, name: str, kind: Kind) -> str:
        """Note that `name` holds a `kind` from now on."""
        self.scope.names[name] = kind
        self.scope.maybe.pop(name, None)
        self.scope.indices.pop(name, None)
        return name

    def named(self, wanted: Callable[[Kind], bool]) -> list[str]:
        """Return the names that hold what is wanted; seldom one that may be unbound."""
        found = [name for name, kind in self.scope.names.items() if wanted(kind)]
        if self.scope.maybe and self.chance(0.15 * self.hostility):
            found += [name for name, kind in self.scope.maybe.items() if wanted(kind)]
        return found

    def numbers(self, *families: str) -> list[str]:
        """Return the names of numbers of some families."""
        return self.named(lambda kind: not kind.dims and kind.family in families)

    def arrays(self, rank: int | None = None, *families: str) -> list[str]:
        """Return the names of arrays, of a rank and some families if they are given."""
        return self.named(
            lambda kind: (
                bool(kind.dims)
                and (rank is None or len(kind.dims) == rank)
                and (not families or kind.family in families)
            )
        )

    def kind(self, name: str) -> Kind:
        """Return what a name holds."""
        return self.scope.names.get(name) or self.scope.maybe[name]

    def length(self, dim: str) -> str:
        """Return text for a length."""
        return self.rng.choice(self.scope.lengths.get(dim) or ["3"])
