"""Annotations of loops: what one loop in many is asked for beside its iterations.

In: nothing.  Out: small records, and `merged`, which puts some in place of others.
A loop has at most one of a kind, in the order of `Annotation`.  One that is absent has a default:
no reductions, one lane, no pipeline, blocks alone, no streams, vectors of any length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from polyopt.dataclass import dataclass
from polyopt.ir.expr import BinaryOp, Symbol

if TYPE_CHECKING:
    from typing import TypedDict

    class Values(TypedDict, total=False):
        """Values of annotations by the names of `For`'s properties."""

        reductions: tuple[tuple[BinaryOp, Symbol], ...]
        lanes: int
        pipeline: Pipeline | None
        group: int
        finishes: bool
        streams: tuple[tuple[str, Symbol], ...]
        simd_length: int


@dataclass(frozen=True, slots=True)
class Reductions:
    """Each thread or lane accumulates some locals on its own; the operators combine these."""

    combined: tuple[tuple[BinaryOp, Symbol], ...]


@dataclass(frozen=True, slots=True)
class Lanes:
    """A VECTOR loop in explicit vectors of `count` elements, a THREAD loop in as many places."""

    count: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Copies into shared arrays run `stages` - 1 iterations ahead, if `is_async` in the background.

    Each such array has a part for every stage; an iteration uses the part of its number modulo
    `stages`.
    """

    stages: int
    is_async: bool


@dataclass(frozen=True, slots=True)
class Grouped:
    """As many iterations of a BLOCK loop start side by side."""

    size: int


@dataclass(frozen=True, slots=True)
class Finishes:
    """The last block of the kernel before runs the kernel that the loop is in."""


@dataclass(frozen=True, slots=True)
class Streams:
    """Stores into these arrays may go past the caches where the local beside them says so."""

    stores: tuple[tuple[str, Symbol], ...]


@dataclass(frozen=True, slots=True)
class SimdLength:
    """The C compiler is asked for vectors of `count` iterations of a VECTOR loop."""

    count: int


Annotation: TypeAlias = Reductions | Lanes | Pipeline | Grouped | Finishes | Streams | SimdLength

_MADE: dict[str, tuple[type, Callable[[Any], Annotation | None]]] = {
    "reductions": (Reductions, lambda combined: Reductions(combined) if combined else None),
    "lanes": (Lanes, lambda count: Lanes(count) if count != 1 else None),
    "pipeline": (Pipeline, lambda pipeline: pipeline),
    "group": (Grouped, lambda size: Grouped(size) if size != 1 else None),
    "finishes": (Finishes, lambda asks: Finishes() if asks else None),
    "streams": (Streams, lambda stores: Streams(stores) if stores else None),
    "simd_length": (SimdLength, lambda count: SimdLength(count) if count else None),
}


def merged(
    annotations: tuple[Annotation, ...], values: Mapping[str, Any]
) -> tuple[Annotation, ...]:
    """Return `annotations`, in order, with those that `values` names made of these."""
    known: dict[type, Annotation | None] = {type(one): one for one in annotations}
    for name, value in values.items():
        kind, make = _MADE[name]
        known[kind] = make(value)
    found = (known.get(kind) for kind, _ in _MADE.values())
    return tuple(one for one in found if one is not None)
