"""Names of the bounds beside a kernel's arrays and locals."""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass
from polyopt.ir.loops import (
    AllocateArray,
    Body,
    Declare,
    DeclareArray,
    For,
    LoopFunction,
)
from polyopt.ir.nodes import all_nodes

LOST = "lost"


@dataclass(frozen=True, slots=True)
class Names:
    """What the extended loops call the bounds of arrays and locals.

    `error` bounds the value, `terms` counts the terms of an open sum, `mass` sums their magnitudes.
    `lost` is a 0-d array: infinite once inexact data decided what is computed where no bound can
    follow.
    """

    prefix: str

    @property
    def lost(self) -> str:
        return f"{self.prefix}_{LOST}"

    def error(self, name: str) -> str:
        return f"{self.prefix}_error_{name}"

    def terms(self, name: str) -> str:
        return f"{self.prefix}_terms_{name}"

    def mass(self, name: str) -> str:
        return f"{self.prefix}_mass_{name}"

    def temporary(self, number: int) -> str:
        return f"{self.prefix}_{number}"


def unused_prefix(fn: LoopFunction) -> str:
    """Return the beginning of names that `fn` does not use."""
    used = {array.name for array in fn.arrays} | set(fn.params) | {fn.name}
    used |= {getattr(argument, "symbol", "") for argument in fn.signature.arguments}
    used |= set(_declared(fn.body))
    prefix = "bound"
    while any(name.startswith(prefix) for name in used):
        prefix += "s"
    return prefix


def _declared(body: Body) -> Iterator[str]:
    for node in all_nodes(body):
        match node:
            case For():
                yield node.iter
            case Declare():
                yield node.name
            case DeclareArray() | AllocateArray():
                yield node.array.name
            case _:
                pass
