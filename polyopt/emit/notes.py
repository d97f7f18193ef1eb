"""Comment loops and statements for readers: what a nest is for, which source lines it computes.

In: a body, the position of a node.  Out: comment lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from polyopt.emit.banner import Edition, plain
from polyopt.emit.c_statements import Code, Line
from polyopt.emit.work import REST
from polyopt.ir.expr import Cast, Expr, Load, VectorLoad
from polyopt.ir.loops import (
    Assign,
    Body,
    Declare,
    DeclareView,
    For,
    If,
    LoopKind,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.nodes import all_nodes

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter

_TILE = re.compile(r"_tile\d*$")
_ONE_LINE = 70  # characters of what a nest does and of its source line together
MOST_LINES = 6
"""Source lines before one loop; longer lists end in their number."""


def notes(emitter: BodyEmitter, body: Body, number: int) -> list[Code]:
    """Return the comments before node `number` of a body."""
    edition, names = emitter.frame.edition, emitter.frame.names
    is_repeated = emitter.is_repeated
    node = body[number]
    found = []
    if isinstance(node, DeclareView):
        array = plain(node.otherwise.first.array)
        found = [f"read {array} from a copy, or in place where too little is read for one"]
    if isinstance(node, For) and not (is_repeated and len(body) == 1):
        found = _nest(node, names)
    if isinstance(node, For | While):
        found += [] if _has_loops(node.body) else _lines(edition, (node,))
    elif not is_repeated or _has_loops(body):
        lines = [] if _has_loops((node,)) else _lines(edition, (node,))
        before = _lines(edition, body[number - 1 : number]) if number else []
        found += [] if lines == before else lines
    if len(found) == 2 and len(found[0]) + len(found[1]) < _ONE_LINE:
        found = [": ".join(found)]
    return [Line(f"/* {text} */") for text in found]


def _has_loops(body: Body) -> bool:
    return any(isinstance(node, For | While) for node in all_nodes(body))


def _lines(edition: Edition, nodes: Iterable[Node]) -> list[str]:
    """Return the comments of the statements that nodes run, each once."""
    found: dict[str, None] = {}
    for node in all_nodes(tuple(nodes)):
        if isinstance(node, Assign | Declare | SetLocal):
            line = edition.lines.get(node.statement)
            if line is not None:
                found[line] = None
    lines = list(found)
    more = len(lines) - MOST_LINES
    return lines if more < 2 else [*lines[:MOST_LINES], f"and {more} lines more"]


def _nest(loop: For, names: Mapping[str, str]) -> list[str]:
    """Return what a nest does that its loops do not tell; nothing of a plain one."""
    chain = _chain(loop)
    copied = _copied(chain[-1].body)
    if copied:
        return [f"copy {copied}"]
    phrases = [_purpose(one, names) for one in chain]
    filled = _filled(chain[-1].body)
    if filled:
        return [f"fill {filled}: {', '.join(phrases)}"]
    if phrases == [names.get(one.iter, one.iter) for one in chain]:
        return []
    rest = ": what full tiles leave over" if any(REST in one.label for one in chain) else ""
    return [", ".join(phrases) + rest]


def _chain(loop: For) -> list[For]:
    """Return the loops of a nest, each with nothing but the next one in it, and conditions."""
    chain = [loop]
    body = loop.body
    while len(body) == 1:
        (node,) = body
        if isinstance(node, For):
            chain.append(node)
            body = node.body
        elif isinstance(node, If) and not node.otherwise:
            body = node.then
        else:
            break
    return chain


def _purpose(loop: For, names: Mapping[str, str]) -> str:
    """Return a loop's iterator and how its iterations run."""
    name = plain(names.get(loop.iter, loop.iter))
    what = name
    if ".tile" in loop.label:
        what = f"tiles of {_TILE.sub('', name)}"
    match loop.kind:
        case LoopKind.PARALLEL:
            return f"{what} on threads"
        case LoopKind.VECTOR if loop.lanes > 1:
            return f"{what} in vectors of {loop.lanes}"
        case LoopKind.VECTOR | LoopKind.EXTREMUM:
            return f"{what} in SIMD lanes"
        case _ if loop.lanes > 1:
            return f"{what} across {loop.lanes} rows"
        case _:
            return what


def _filled(body: Body) -> str:
    """Return the arrays that a body fills with values that no line of the source computes."""
    stores = [node for node in body if isinstance(node, Assign) and not node.statement]
    targets = dict.fromkeys(plain(node.target.array) for node in stores)
    return " and ".join(targets) if len(stores) == len(body) else ""


def _copied(body: Body) -> str:
    """Return "A into A_panel" of a body that only copies elements; "" of any other."""
    pairs: dict[str, None] = {}
    for node in body:
        if not isinstance(node, Assign) or node.statement:
            return ""
        source = _source(node.value)
        if source is None:
            return ""
        pairs[f"{plain(source.array)} into {plain(node.target.array)}"] = None
    return " and ".join(pairs)


def _source(value: Expr) -> Load | VectorLoad | None:
    """Return the element that a value is, converted or not."""
    while isinstance(value, Cast):
        value = value.operand
    return value if isinstance(value, Load | VectorLoad) else None
