"""Memory as blocks of numbers, and who touched each.

In: reads and writes by iterations that run at the same time.  Out: values, `NOTHING`
where none was written; `Trouble` for what lies outside, was freed, or is touched by two iterations
of which one writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.oracle.text.kinds import NOTHING, Kind, Trouble, Vector, Void, size

_SERIAL = count()


@dataclass(slots=True)
class Block:
    """`cells` numbers of one kind; memory that was asked for has none until it is first used."""

    name: str
    kind: Kind
    cells: list[Any]
    bytes: int = 0
    is_free: bool = False
    serial: int = field(default_factory=lambda: next(_SERIAL))

    @property
    def address(self) -> int:
        """A different phase for each block, as allocators and slices give them."""
        return 4096 * (self.serial + 1) + 8 * (self.serial % 3)

    def give(self, kind: Kind) -> None:
        """Take `kind` as that of the elements, if nothing is known yet."""
        if isinstance(self.kind, Void) and not isinstance(kind, Void):
            self.kind = kind
            self.cells = [NOTHING] * (self.bytes // size(kind))


@dataclass(frozen=True, slots=True)
class Pointer:
    """Element `offset` of a block; None is no block."""

    block: Block | None
    offset: int = 0


@dataclass(slots=True)
class Team:
    """Iterations that run at the same time; `who` is the one that runs now."""

    where: str
    who: object = None
    loops: int = 0
    touched: dict[tuple[int, int], tuple[object, object]] = field(default_factory=dict)

    def note(self, block: Block, offset: int, *, writes: bool) -> None:
        """Note an access; raises `Trouble` when another iteration's is in its way."""
        if self.who is None:
            return
        key = block.serial, offset
        reader, writer = self.touched.get(key, (None, None))
        others = [
            w for w in ((writer, reader) if writes else (writer,)) if w not in (None, self.who)
        ]
        if others:
            both = f"iterations {others[0]} and {self.who}"
            raise Trouble(f"{self.where}: {both} meet in {block.name}[{offset}]")
        self.touched[key] = (reader, self.who) if writes else (self.who, writer)


@dataclass(slots=True)
class Memory:
    """All accesses go through here."""

    teams: list[Team] = field(default_factory=list)

    def read(self, place: Pointer, kind: Kind, *, atomic: bool = False) -> Any:
        """Return the number, or the lanes, at a place."""
        if isinstance(kind, Vector):
            return tuple(self._one(place, n) for n in range(kind.lanes))
        return self._one(place, 0, atomic)

    def write(self, place: Pointer, kind: Kind, value: Any, *, atomic: bool = False) -> None:
        """Store a number or lanes at a place."""
        values = value if isinstance(kind, Vector) else (value,)
        block = self._settled(place)
        for n, one in enumerate(values):
            self._check(block, place.offset + n, writes=True, atomic=atomic)
            block.cells[place.offset + n] = one

    def _one(self, place: Pointer, lane: int, atomic: bool = False) -> Any:
        block = self._settled(place)
        self._check(block, place.offset + lane, writes=False, atomic=atomic)
        return block.cells[place.offset + lane]

    def _settled(self, place: Pointer) -> Block:
        if place.block is None:
            raise Trouble("a null pointer is followed")
        if place.block.is_free:
            raise Trouble(f"{place.block.name} was freed")
        return place.block

    def _check(self, block: Block, offset: int, *, writes: bool, atomic: bool) -> None:
        if not 0 <= offset < len(block.cells):
            verb = "written" if writes else "read"
            raise Trouble(f"{block.name}[{offset}] is {verb}, of {len(block.cells)} elements")
        if not atomic:
            for team in self.teams:
                team.note(block, offset, writes=writes)


def variable(name: str, kind: Kind, length: int = 1) -> Block:
    """Return memory for a local, not written yet."""
    return Block(name, kind, [NOTHING] * length)


def asked(name: str, amount: int) -> Block:
    """Return memory of so many bytes."""
    return Block(name, Void(), [], amount)
