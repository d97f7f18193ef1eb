"""What runs a program on a device: text for its kernels, and the loops around them.

In: a `LoopFunction` with kernels, the text made of it.  Out: `DeviceProgram`, a plain record.
"""

from __future__ import annotations

from typing import TypeAlias

from polyopt.dataclass import dataclass, replace
from polyopt.ir.array import Array
from polyopt.ir.loops import Body, Comment, Kernel, LoopFunction, Node
from polyopt.ir.nodes import map_bodies
from polyopt.ir.source import DeviceSource, Signature, Source


@dataclass(frozen=True, slots=True)
class DeviceProgram:
    """A function as its caller runs it: `body` on the host, its kernels on a device.

    The kernels of `body` are names: their text is in `source`.  `arrays` as in `LoopFunction`;
    of the arguments `overwritten` no element is needed that the caller has put there.
    """

    source: DeviceSource
    signature: Signature
    arrays: tuple[Array, ...]
    body: Body
    overwritten: tuple[str, ...] = ()

    @property
    def entry(self) -> str:
        """The name of the function."""
        return self.signature.name

    @property
    def text(self) -> str:
        """The kernels' text."""
        return self.source.text

    @property
    def language(self) -> str:
        """The language of the text."""
        return self.source.language


Emitted: TypeAlias = Source | DeviceProgram


def device_program(loops: LoopFunction, source: DeviceSource) -> DeviceProgram:
    """Return what runs `loops`, whose kernels are `source`."""
    return DeviceProgram(source, loops.signature, loops.arrays, _bare(loops.body))


def _bare(body: Body) -> Body:
    """Return the nodes of the host, with empty kernels and without remarks."""
    return tuple(_bare_node(node) for node in body if not isinstance(node, Comment))


def _bare_node(node: Node) -> Node:
    if isinstance(node, Kernel):
        return replace(node, body=(), finish=())
    return map_bodies(node, _bare)
