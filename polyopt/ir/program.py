"""A whole function: static control parts and the control around them that is not affine.

In: what the front end read.  Out: immutable records; most programs are one `Scop` and nothing else.
A name bound by `Bind` or `Repeat` is a parameter (`Param`) of everything after or inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.ir.expr import Expr, Load
from polyopt.ir.scop import Array, Scop
from polyopt.ir.showing import show
from polyopt.ir.source import Signature
from polyopt.never import assert_never


@dataclass(frozen=True, slots=True)
class Bind:
    """From here to the end of the enclosing body, parameter `param` is `value`.

    `value` is INT64 over parameters and elements of 0-d arrays, read once, here.
    """

    param: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Require:
    """Leave the kernel with fault number `fault` of the signature unless `condition` holds.

    `condition` is BOOL over parameters.
    """

    condition: Expr
    fault: int


@dataclass(frozen=True, slots=True)
class Allocate:
    """Give memory to the TEMP array `array`, whose shape uses names bound above.

    Contents are undefined.  Reached again, it first gives back the memory it had.
    """

    array: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """`for param in range(lower, upper, step)`, left as soon as `going` is false.

    `step` is positive.  `upper` None: no bound but `going`.  `going` (BOOL, an element of a 0-d
    array) is read before every iteration.  `parallel` was proven: iterations are independent but
    for the `private` arrays, of which each iteration has its own.
    """

    param: str
    lower: Expr
    upper: Expr | None
    step: int
    going: Load | None
    body: Parts
    label: str = ""
    parallel: bool = False
    private: tuple[str, ...] = ()
    loc: Loc | None = None


@dataclass(frozen=True, slots=True)
class Invoke:
    """Call library function number `site` of the signature on whole arrays, by name."""

    site: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


Part: TypeAlias = Scop | Bind | Require | Allocate | Repeat | Invoke
Parts: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """A user's function: its parts in order, and the signature it is called through.

    `arrays` are all arrays of all parts; their roles are those in the whole function.  A part's
    `Scop` may know an array as INOUT that is TEMP here: its contents pass between parts.
    """

    name: str
    parts: Parts
    arrays: tuple[Array, ...]
    signature: Signature
    file: str
    line: int

    @property
    def scops(self) -> tuple[Scop, ...]:
        """The static control parts in textual order."""
        return tuple(part for part in all_parts(self.parts) if isinstance(part, Scop))

    @property
    def is_static(self) -> bool:
        """Whether the whole function is one static control part."""
        return len(self.parts) == 1 and isinstance(self.parts[0], Scop)

    @property
    def scop(self) -> Scop:
        """The static control part of a program that is nothing else; raises `ValueError`."""
        match self.parts:
            case (Scop() as scop,):
                return scop
            case _:
                raise ValueError(f"{self.name} has control around its static control parts")

    def array(self, name: str) -> Array:
        """Return the array called `name`; raises `KeyError`."""
        for array in self.arrays:
            if array.name == name:
                return array
        raise KeyError(name)

    def __str__(self) -> str:
        return "\n".join(show_parts(self.parts))


def all_parts(parts: Parts) -> Iterator[Part]:
    """Yield every part, parents first."""
    for part in parts:
        yield part
        if isinstance(part, Repeat):
            yield from all_parts(part.body)


def show_parts(
    parts: Parts,
    show_scop: Callable[[Scop], list[str]] = lambda scop: str(scop).splitlines(),
    depth: int = 0,
) -> list[str]:
    """Return the parts for people, one line each but for static control parts."""
    pad = "    " * depth
    lines: list[str] = []
    for part in parts:
        match part:
            case Scop():
                lines += [f"{pad}{line}" for line in show_scop(part)]
            case Bind():
                lines.append(f"{pad}{part.param} = {show(part.value)}")
            case Require():
                lines.append(f"{pad}require {show(part.condition)} else fault {part.fault}")
            case Allocate():
                lines.append(f"{pad}allocate {part.array}")
            case Invoke():
                given, made = ", ".join(part.inputs), ", ".join(part.outputs)
                lines.append(f"{pad}{made} = call {part.site}({given})")
            case Repeat():
                lines.append(f"{pad}{_head(part)}")
                lines += show_parts(part.body, show_scop, depth + 1)
            case _:
                assert_never(part)
    return lines


def _head(part: Repeat) -> str:
    upper = "" if part.upper is None else show(part.upper)
    while_ = "" if part.going is None else f" while {show(part.going)}"
    kind = "" if not part.parallel else f"  # parallel, private {', '.join(part.private) or '-'}"
    return f"for {part.param} in range({show(part.lower)}, {upper}, {part.step}){while_}:{kind}"


def inner_scops(program: Program) -> frozenset[int]:
    """Return which static control parts are in loops that end by counting, by `id`."""
    around = (part for part in all_parts(program.parts) if isinstance(part, Repeat))
    counting = (loop.body for loop in around if loop.upper is not None and loop.going is None)
    return frozenset(id(p) for body in counting for p in all_parts(body) if isinstance(p, Scop))
