"""Collect what a kernel's text declares at its head: shared arrays, thread coordinates.

In: requests while the body is printed.  Out: names, and the lines of the head.
"""

from __future__ import annotations

from math import prod

from polyopt.dataclass import dataclass, field
from polyopt.emit.frame import c_identifier
from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.ir.array import Array
from polyopt.ir.expr import Expr
from polyopt.ir.integers import evaluate
from polyopt.ir.types import DType

_LETTERS = "xyzw"
DECLARED = 48 * 1024
"""Bytes of shared memory that a text may declare; more is asked for at the launch."""
WIDE = 16
"""Bytes that a thread can read or write at once, if they are aligned."""


@dataclass(frozen=True, slots=True)
class Limit:
    """An `int` that is declared with `text`, inside the loops over `iters`."""

    name: str
    text: str
    iters: frozenset[str]


@dataclass(slots=True)
class KernelDeclarations:
    """The names that a kernel's text declares; `thread` is the number of a thread."""

    dialect: DeviceDialect
    taken: set[str]
    thread: str = ""
    coordinates: dict[str, str] = field(default_factory=dict)
    groups: list[list[str]] = field(default_factory=list)
    inner: set[str] = field(default_factory=set)
    shared: dict[tuple[str, str], str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    shared_bytes: int = 0
    limits: dict[frozenset[tuple[Expr, int]], Limit] = field(default_factory=dict)
    passed: dict[tuple[str, DType], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.thread = self.fresh("t")

    def fresh(self, wish: str) -> str:
        """Return a new identifier."""
        name = c_identifier(wish, self.taken | self.inner)
        self.taken.add(name)
        return name

    def local(self, wish: str, scope: frozenset[str]) -> str:
        """Return an identifier for a block inside `scope`; disjoint blocks may have the same."""
        name = c_identifier(wish, self.taken | scope)
        self.inner.add(name)
        return name

    def group(self) -> None:
        """Declare the coordinates that follow in a line of their own."""
        self.groups.append([])

    def coordinate(self, text: str, dim: int, size: int) -> str:
        """Return the name of what `text` computes of the thread; `dim` counts from the last."""
        if text == self.thread:
            return text
        if text not in self.coordinates:
            self.coordinates[text] = self.fresh(f"t{_LETTERS[min(dim, 3)]}")
            self.groups[-1].append(text)
        return self.coordinates[text]

    def share(self, array: Array, name: str) -> str:
        """Return the name of a shared array; one of the same name and shape has the same memory."""
        extents = [evaluate(extent, {}) for extent in array.shape]
        # compilers read neighbours in rows at once where these are aligned
        has_wide_rows = bool(extents) and extents[-1] * array.dtype.size % WIDE == 0
        align = f"{self.dialect.align.format(WIDE)} " if has_wide_rows else ""
        tail = f"{align}{self.dialect.storage(array.dtype)}{extents}"
        if (name, tail) not in self.shared:
            is_first = all(name != known for known, _ in self.shared)
            self.shared[name, tail] = name if is_first else self.fresh(name)
            size = -(-prod(extents) * array.dtype.size // WIDE) * WIDE
            self.sizes[self.shared[name, tail]] = size
            self.shared_bytes += size
        return self.shared[name, tail]

    @property
    def asked_bytes(self) -> int:
        """Bytes of shared memory that a launch has to ask for: more than a text may declare."""
        return self.shared_bytes if self.shared_bytes > DECLARED and self.dialect.pool else 0

    def shared_lines(self) -> list[str]:
        """Return the declarations of shared arrays."""
        lines = []
        pool, start = "", 0
        if self.asked_bytes:
            pool = self.fresh("pool")
            lines.append(self.dialect.pool.format(bytes=WIDE, name=pool))
        for (_, tail), name in self.shared.items():
            kind, extents = tail.removesuffix("]").split("[")
            extent, *inner = [f"[{extent}]" for extent in extents.split(", ") if extent] or [""]
            if not pool or not extents:
                lines.append(f"{self.dialect.shared} {kind} {name}{extent}{''.join(inner)};")
                continue
            kind = kind.removeprefix(f"{self.dialect.align.format(WIDE)} ")
            row = "".join(inner)
            place, to = (f"(*const {name})", "(*)") if row else (f"*const {name}", "*")
            lines.append(f"{kind} {place}{row} = ({kind} {to}{row})({pool} + {start});")
            start += self.sizes[name]
        return lines

    def coordinate_lines(self) -> list[str]:
        """Return the declarations of threads' coordinates."""
        lines = []
        for group in filter(None, self.groups):
            values = ", ".join(f"{self.coordinates[text]} = {text}" for text in group)
            lines.append(f"const int {values};")
        return lines
